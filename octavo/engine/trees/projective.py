"""Sums and maxima over the projective dependency trees of a sentence, with valences.

A tree over n tokens has one root token and gives every other token a head, and no edge crosses
another or covers the root. Its weight is

    root[r] · Π edge[h, c, a] · Π stop[h, d, t],

over its edges h -> c, where a counts the dependents of h on the same side that lie farther out
than c, and over tokens h and sides d (0 left, 1 right), where t counts the dependents of h on
that side; counts beyond V - 1 are V - 1, the last of V classes. With V = 1 trees are weighted edge
by edge. `projective_marginals` gives the logarithm of the sum and the share of all trees in which
each factor takes part, `best_projective_trees` the heaviest tree, both in O(n³ V).

Weights are given as logarithms, -inf where forbidden, batched: all sentences of a call have the
same length. Sums are linear where nothing can underflow, with the weights of each token scaled by
their largest, and in logarithms elsewhere.

Reference: J. Eisner (1996), Three new probabilistic models for dependency parsing: an exploration;
the states that count dependents are described in `_sums`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

__all__ = [
    "ProjectiveMarginals",
    "best_projective_trees",
    "best_tree",
    "projective_marginals",
    "tree_marginals",
]

# All weights are at most one after scaling, so that what underflows beside a sum above this is
# smaller than 1e-150 of it.
SAFE = 1e-150


class ProjectiveMarginals(NamedTuple):
    """Log sums (B,), and shares of edges (B, n, n, V), roots (B, n) and stops (B, n, 2, V)."""

    log_partition: Floats
    edges: Floats
    roots: Floats
    stops: Floats


@njit(cache=True, nogil=True)
def _sums(edge, root, stop, left, right, reach):
    """Fill in the sums over parts of trees and return the sum over all trees.

    ``right[h, j, s]`` sums over what h governs from itself to j on its right, where s more
    dependents lie farther out (s = V - 1: that many or more); ``left`` mirrors it;
    ``reach[h, c, s]`` sums over spans between h and its dependent c, with s farther out than c.
    """
    n, V = stop.shape[0], stop.shape[2]
    for i in range(n):
        for s in range(V):
            left[i, i, s] = stop[i, 0, s]
            right[i, i, s] = stop[i, 1, s]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            for s in range(V):
                # one dependent more farther out; the last class holds all larger numbers
                inner = min(s + 1, V - 1)
                to_right = 0.0
                to_left = 0.0
                for k in range(i, j):
                    # the head's side so far, and the dependent's side that faces it
                    to_right += right[i, k, inner] * left[j, k + 1, 0]
                    to_left += right[i, k, 0] * left[j, k + 1, inner]
                reach[i, j, s] = edge[i, j, s] * to_right
                reach[j, i, s] = edge[j, i, s] * to_left
            for s in range(V):
                to_right = 0.0
                to_left = 0.0
                for k in range(i, j):
                    # the dependent's other side closes the span
                    to_right += reach[i, k + 1, s] * right[k + 1, j, 0]
                    to_left += reach[j, k, s] * left[k, i, 0]
                right[i, j, s] = to_right
                left[j, i, s] = to_left
    total = 0.0
    for i in range(n):
        total += root[i] * left[i, 0, 0] * right[i, n - 1, 0]
    return total


@njit(cache=True, nogil=True)
def _shares(edge, root, left, right, reach, total, grads, edges, roots, stops):
    """Differentiate `_sums` backwards; write the share of each factor into the last three."""
    n, V = left.shape[0], left.shape[2]
    d_left, d_right, d_reach = grads[0], grads[1], grads[2]
    for i in range(n):
        for j in range(n):
            for s in range(V):
                d_left[i, j, s] = d_right[i, j, s] = d_reach[i, j, s] = 0.0
    for i in range(n):
        outer = root[i] / total
        d_left[i, 0, 0] += outer * right[i, n - 1, 0]
        d_right[i, n - 1, 0] += outer * left[i, 0, 0]
        roots[i] = outer * left[i, 0, 0] * right[i, n - 1, 0]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            for s in range(V):
                to_right = d_right[i, j, s]
                to_left = d_left[j, i, s]
                for k in range(i, j):
                    d_reach[i, k + 1, s] += to_right * right[k + 1, j, 0]
                    d_right[k + 1, j, 0] += to_right * reach[i, k + 1, s]
                    d_reach[j, k, s] += to_left * left[k, i, 0]
                    d_left[k, i, 0] += to_left * reach[j, k, s]
            for s in range(V):
                inner = min(s + 1, V - 1)
                # the share of an edge is its value times the derivative of log total
                edges[i, j, s] = d_reach[i, j, s] * reach[i, j, s]
                edges[j, i, s] = d_reach[j, i, s] * reach[j, i, s]
                to_right = d_reach[i, j, s] * edge[i, j, s]
                to_left = d_reach[j, i, s] * edge[j, i, s]
                for k in range(i, j):
                    d_right[i, k, inner] += to_right * left[j, k + 1, 0]
                    d_left[j, k + 1, 0] += to_right * right[i, k, inner]
                    d_right[i, k, 0] += to_left * left[j, k + 1, inner]
                    d_left[j, k + 1, inner] += to_left * right[i, k, 0]
    for i in range(n):
        for s in range(V):
            edges[i, i, s] = 0.0
            # a side of one token is where its head stops
            stops[i, 0, s] = d_left[i, i, s] * left[i, i, s]
            stops[i, 1, s] = d_right[i, i, s] * right[i, i, s]


@njit(cache=True, nogil=True)
def _join(a, b, largest):
    """Return the log of the sum of two numbers given as logs, or the larger of them."""
    if a < b:
        a, b = b, a
    if largest or b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@njit(cache=True, nogil=True)
def _log_sums(edge, root, stop, left, right, reach, largest):
    """Do what `_sums` does in logarithms, with maxima in place of sums on request."""
    n, V = stop.shape[0], stop.shape[2]
    for i in range(n):
        for s in range(V):
            left[i, i, s] = stop[i, 0, s]
            right[i, i, s] = stop[i, 1, s]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            for s in range(V):
                inner = min(s + 1, V - 1)
                to_right = -np.inf
                to_left = -np.inf
                for k in range(i, j):
                    # head's side so far, dependent's side that faces it
                    to_right = _join(to_right, right[i, k, inner] + left[j, k + 1, 0], largest)
                    to_left = _join(to_left, right[i, k, 0] + left[j, k + 1, inner], largest)
                reach[i, j, s] = edge[i, j, s] + to_right
                reach[j, i, s] = edge[j, i, s] + to_left
            for s in range(V):
                to_right = -np.inf
                to_left = -np.inf
                for k in range(i, j):
                    to_right = _join(to_right, reach[i, k + 1, s] + right[k + 1, j, 0], largest)
                    to_left = _join(to_left, reach[j, k, s] + left[k, i, 0], largest)
                right[i, j, s] = to_right
                left[j, i, s] = to_left
    total = -np.inf
    for i in range(n):
        total = _join(total, root[i] + left[i, 0, 0] + right[i, n - 1, 0], largest)
    return total


@njit(cache=True, nogil=True)
def _log_shares(edge, root, left, right, reach, total, grads, edges, roots, stops):
    """Do what `_shares` does in logarithms."""
    n, V = left.shape[0], left.shape[2]
    d_left, d_right, d_reach = grads[0], grads[1], grads[2]
    for i in range(n):
        for j in range(n):
            for s in range(V):
                d_left[i, j, s] = d_right[i, j, s] = d_reach[i, j, s] = -np.inf
    for i in range(n):
        outer = root[i] - total
        d_left[i, 0, 0] = _join(d_left[i, 0, 0], outer + right[i, n - 1, 0], False)
        d_right[i, n - 1, 0] = _join(d_right[i, n - 1, 0], outer + left[i, 0, 0], False)
        roots[i] = math.exp(outer + left[i, 0, 0] + right[i, n - 1, 0])
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            for s in range(V):
                to_right = d_right[i, j, s]
                to_left = d_left[j, i, s]
                for k in range(i, j):
                    d_reach[i, k + 1, s] = _join(
                        d_reach[i, k + 1, s], to_right + right[k + 1, j, 0], False
                    )
                    d_right[k + 1, j, 0] = _join(
                        d_right[k + 1, j, 0], to_right + reach[i, k + 1, s], False
                    )
                    d_reach[j, k, s] = _join(d_reach[j, k, s], to_left + left[k, i, 0], False)
                    d_left[k, i, 0] = _join(d_left[k, i, 0], to_left + reach[j, k, s], False)
            for s in range(V):
                inner = min(s + 1, V - 1)
                # value times derivative of log total, in logarithms
                edges[i, j, s] = math.exp(d_reach[i, j, s] + reach[i, j, s])
                edges[j, i, s] = math.exp(d_reach[j, i, s] + reach[j, i, s])
                to_right = d_reach[i, j, s] + edge[i, j, s]
                to_left = d_reach[j, i, s] + edge[j, i, s]
                for k in range(i, j):
                    d_right[i, k, inner] = _join(
                        d_right[i, k, inner], to_right + left[j, k + 1, 0], False
                    )
                    d_left[j, k + 1, 0] = _join(
                        d_left[j, k + 1, 0], to_right + right[i, k, inner], False
                    )
                    d_right[i, k, 0] = _join(
                        d_right[i, k, 0], to_left + left[j, k + 1, inner], False
                    )
                    d_left[j, k + 1, inner] = _join(
                        d_left[j, k + 1, inner], to_left + right[i, k, 0], False
                    )
    for i in range(n):
        for s in range(V):
            edges[i, i, s] = 0.0
            stops[i, 0, s] = math.exp(d_left[i, i, s] + left[i, i, s])
            stops[i, 1, s] = math.exp(d_right[i, i, s] + right[i, i, s])


@njit(cache=True, nogil=True)
def _scale(log_edge, log_root, log_stop, edge, root, stop):
    """Write weights divided by the largest of their token; return the log of what was divided."""
    n, V = log_stop.shape[0], log_stop.shape[2]
    taken = 0.0
    for c in range(n):
        top = log_root[c]
        for h in range(n):
            if h != c:
                for s in range(V):
                    top = max(top, log_edge[h, c, s])
        if top == -np.inf:
            top = 0.0
        # every tree has one factor of each token: what is divided comes back as one number
        taken += top
        root[c] = math.exp(log_root[c] - top)
        for h in range(n):
            if h != c:
                for s in range(V):
                    edge[h, c, s] = math.exp(log_edge[h, c, s] - top)
        for d in range(2):
            top = -np.inf
            for s in range(V):
                top = max(top, log_stop[c, d, s])
            if top == -np.inf:
                top = 0.0
            taken += top
            for s in range(V):
                stop[c, d, s] = math.exp(log_stop[c, d, s] - top)
    return taken


@njit(cache=True, nogil=True)
def tree_marginals(log_edge, log_root, log_stop, room, edges, roots, stops, in_logs):
    """Return the log sum over the trees of one sentence; write the shares of its factors.

    ``room`` is scratch of shape (8, at least n, at least n, V); where no tree is possible the sum
    is -inf and all shares are zero. Sums are linear where ``in_logs`` is None: NaN is returned,
    and no share, where they could underflow. That sentence is to be summed with ``in_logs`` True,
    which is compiled when the first such sentence comes.
    """
    n, V = log_root.shape[0], log_stop.shape[2]
    edge, left, right, reach = room[0], room[1, :n], room[2, :n], room[3, :n]
    if in_logs is None:
        taken = _scale(log_edge, log_root, log_stop, edge, roots, stops)
        root = room[7, 0, :, 0]
        for i in range(n):
            root[i] = roots[i]
        total = _sums(edge, root, stops, left, right, reach)
        if not (total > SAFE and total < np.inf):
            return np.nan
        _shares(edge, root, left, right, reach, total, room[4:7], edges, roots, stops)
        return math.log(total) + taken
    log_total = _log_sums(log_edge, log_root, log_stop, left, right, reach, False)
    if log_total == -np.inf:
        for i in range(n):
            roots[i] = 0.0
            for s in range(V):
                stops[i, 0, s] = stops[i, 1, s] = 0.0
                for j in range(n):
                    edges[i, j, s] = 0.0
        return log_total
    _log_shares(log_edge, log_root, left, right, reach, log_total, room[4:7], edges, roots, stops)
    return log_total


@njit(cache=True, nogil=True)
def best_tree(log_edge, log_root, log_stop, room, heads):
    """Return the log weight of the heaviest tree; write heads, 0 for the root and 1-based else.

    ``room`` is scratch of shape (3 or more, at least n, at least n, V). Heads are -1 where no tree
    is possible. Of equal parts the first found is kept: smaller roots, and smaller splits.
    """
    n, V = log_stop.shape[0], log_stop.shape[2]
    left, right, reach = room[0], room[1], room[2]
    total = _log_sums(log_edge, log_root, log_stop, left, right, reach, True)
    if total == -np.inf:
        for i in range(n):
            heads[i] = -1
        return total
    best = 0
    for i in range(n):
        if log_root[i] + left[i, 0, 0] + right[i, n - 1, 0] == total:
            best = i
            break
    heads[best] = 0
    todo = np.empty((2 * n + 2, 3), np.int64)  # head, end, class; the side is that of the end
    todo[0, 0], todo[0, 1], todo[0, 2] = best, 0, 0
    todo[1, 0], todo[1, 1], todo[1, 2] = best, n - 1, 0
    count = 2
    while count:
        count -= 1
        h, end, s = todo[count, 0], todo[count, 1], todo[count, 2]
        if h == end:
            continue
        step = 1 if end > h else -1
        side = right if step == 1 else left
        value, c = -np.inf, -1
        for k in range(h + step, end + step, step):
            # the same maxima again: no back-pointers are kept
            if reach[h, k, s] + side[k, end, 0] > value:
                value, c = reach[h, k, s] + side[k, end, 0], k
        heads[c] = h + 1
        inner = min(s + 1, V - 1)
        other = left if step == 1 else right
        value, split = -np.inf, -1
        for k in range(h, c, step):
            if side[h, k, inner] + other[c, k + step, 0] > value:
                value, split = side[h, k, inner] + other[c, k + step, 0], k
        todo[count, 0], todo[count, 1], todo[count, 2] = c, end, 0
        todo[count + 1, 0], todo[count + 1, 1], todo[count + 1, 2] = h, split, inner
        todo[count + 2, 0], todo[count + 2, 1], todo[count + 2, 2] = c, split + step, 0
        count += 3
    return total


@njit(cache=True, nogil=True)
def _some_marginals(
    first, stop, log_edges, log_roots, log_stops, log_z, edges, roots, stops, in_logs
):
    """Sum from one sentence to another; return the first that asks for logarithms, or the end."""
    n, V = log_stops.shape[1], log_stops.shape[3]
    room = np.empty((8, n, n, V))
    for b in range(first, stop):
        log_z[b] = tree_marginals(
            log_edges[b], log_roots[b], log_stops[b], room, edges[b], roots[b], stops[b], in_logs
        )
        if in_logs is None and math.isnan(log_z[b]):
            return b
    return stop


@njit(cache=True, nogil=True)
def _all_best(log_edges, log_roots, log_stops, scores, heads):
    n, V = log_stops.shape[1], log_stops.shape[3]
    room = np.empty((3, n, n, V))
    for b in range(scores.shape[0]):
        scores[b] = best_tree(log_edges[b], log_roots[b], log_stops[b], room, heads[b])


def _checked(log_edges: Any, log_roots: Any, log_stops: Any) -> tuple[Floats, Floats, Floats]:
    edges = np.ascontiguousarray(log_edges, dtype=np.float64)
    roots = np.ascontiguousarray(log_roots, dtype=np.float64)
    if edges.ndim != 4 or edges.shape[1] != edges.shape[2] or 0 in edges.shape[1:]:
        raise ValueError(
            f"Edges must have the shape (sentences, n, n, classes), got {edges.shape}."
        )
    B, n, _, V = edges.shape
    stops = np.zeros((B, n, 2, V)) if log_stops is None else log_stops
    stops = np.ascontiguousarray(stops, dtype=np.float64)
    if roots.shape != (B, n) or stops.shape != (B, n, 2, V):
        raise ValueError(
            f"With edges of shape {edges.shape}, roots must be {(B, n)} and stops {(B, n, 2, V)}; "
            f"got {roots.shape} and {stops.shape}."
        )
    off = ~np.eye(n, dtype=bool)
    for name, given in (("edges", edges[:, off]), ("roots", roots), ("stops", stops)):
        if np.isnan(given).any() or (given == np.inf).any():
            raise ValueError(f"Log weights of {name} must be numbers below infinity.")
    return edges, roots, stops


def projective_marginals(
    log_edges: Any, log_roots: Any, log_stops: Any = None
) -> ProjectiveMarginals:
    """Return log sums over all projective trees and the share of each factor in them.

    Parameters
    ----------
    log_edges : array-like of shape (n_sentences, n, n, n_classes)
        Log weights by head, dependent and class; the diagonal is not read.
    log_roots : array-like of shape (n_sentences, n)
        Log weights of roots.
    log_stops : array-like of shape (n_sentences, n, 2, n_classes), optional
        Log weights of the number of dependents on the left and on the right; zero by default.

    Returns
    -------
    ProjectiveMarginals
        Log sums and shares.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.trees.projective import projective_marginals
    >>> found = projective_marginals(np.zeros((1, 4, 4, 1)), np.zeros((1, 4)))
    >>> round(float(np.exp(found.log_partition[0])), 9)
    30.0
    """
    edges, roots, stops = _checked(log_edges, log_roots, log_stops)
    out = ProjectiveMarginals(
        np.empty(len(roots)), np.empty_like(edges), np.empty_like(roots), np.empty_like(stops)
    )
    done = 0
    while done < len(roots):
        done = _some_marginals(done, len(roots), edges, roots, stops, *out, None)
        if done < len(roots):
            done = _some_marginals(done, done + 1, edges, roots, stops, *out, True)
    return out


def best_projective_trees(
    log_edges: Any, log_roots: Any, log_stops: Any = None
) -> tuple[NDArray[np.int64], Floats]:
    """Return the heaviest projective tree of each sentence.

    Parameters
    ----------
    log_edges, log_roots, log_stops : array-like
        As in `projective_marginals`.

    Returns
    -------
    heads : ndarray of shape (n_sentences, n)
        0 for the root, 1-based else; -1 where no tree is possible.
    scores : ndarray of shape (n_sentences,)
        Log weights.
    """
    edges, roots, stops = _checked(log_edges, log_roots, log_stops)
    heads, scores = np.empty(roots.shape, dtype=np.int64), np.empty(len(roots))
    _all_best(edges, roots, stops, scores, heads)
    return heads, scores


def _warmup() -> None:
    edges, roots = np.zeros((2, 2, 2, 1)), np.zeros((2, 2))
    roots[1] = -np.inf  # no tree: in logarithms
    projective_marginals(edges, roots)
    best_projective_trees(edges, roots)
