"""Messages on energies: sequential tree-reweighted and min-sum, and exact answers on forests.

One kernel passes messages over the variables in an order and back. With shares γ_a = 1 / max(edges
to earlier, edges to later variables) it is TRW-S (Kolmogorov 2006), whose sums of subtracted minima
are a lower bound that never falls; with γ = 1 it is min-sum belief propagation; with γ = 1 on a
forest, parents first, one round is exact. Messages are distance transforms (Felzenszwalb and
Huttenlocher 2004): O(n_labels) for linear and quadratic d.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.graphical.energies.problem import PairwiseMRF


class MessageTrace(NamedTuple):
    """The best labels of all rounds, and energies, bounds and seconds after each round."""

    labels: Indices
    energies: list[float]
    bounds: list[float]
    seconds: list[float]
    converged: bool


@njit(cache=True)
def _transform(values, weight, kind, table, truncation, out, envelope, ends):
    """Write min_k values[k] + weight min(d(k - k'), M) into `out`; return its least entry."""
    h = values.shape[0]
    least = values[0]
    for k in range(1, h):
        least = min(least, values[k])
    if kind == 0:  # two passes with slope weight
        out[0] = values[0]
        for k in range(1, h):
            out[k] = min(values[k], out[k - 1] + weight)
        for k in range(h - 2, -1, -1):
            out[k] = min(out[k], out[k + 1] + weight)
    elif kind == 1 and weight > 0:  # the lower envelope of parabolas
        top = 0
        envelope[0] = 0
        ends[0], ends[1] = -np.inf, np.inf
        for k in range(1, h):
            while True:
                v = envelope[top]
                # where the parabolas of k and v cross
                meet = 0.5 * ((values[k] - values[v]) / (weight * (k - v)) + (k + v))
                if top > 0 and meet <= ends[top]:
                    top -= 1
                else:
                    break
            top += 1
            envelope[top] = k
            ends[top], ends[top + 1] = meet, np.inf
        top = 0
        for k in range(h):
            while ends[top + 1] < k:
                top += 1
            v = envelope[top]
            out[k] = values[v] + weight * (k - v) * (k - v)
    else:
        for k in range(h):
            out[k] = values[k]
            for v in range(h):
                out[k] = min(out[k], values[v] + weight * table[abs(k - v)])
    ceiling = least + weight * truncation  # truncation: any label at the price M
    for k in range(h):
        out[k] = min(out[k], ceiling)
    return least


@njit(cache=True)
def _pass(
    costs, order, indptr, other, edge, weights, shares, messages, kind, table, M, rank, step, labels
):
    """Pass messages along the order (step 1) or against it (step -1); return the sum of minima.

    messages[e, 0] is what arrives at the edge's first variable and messages[e, 1] at its second.
    Labels are set one after another, given those before and the messages of those after.
    """
    n, h = costs.shape
    belief, sent, out = np.empty(h), np.empty(h), np.empty(h)
    envelope, ends = np.empty(h + 1, dtype=np.int64), np.empty(h + 2)
    bound = 0.0
    for place in range(n):  # plain loops: a third of the compile time of slices and minima
        i = order[place] if step > 0 else order[n - 1 - place]
        for k in range(h):
            belief[k] = sent[k] = costs[i, k]
        for p in range(indptr[i], indptr[i + 1]):
            j, e = other[p], edge[p]
            side = 0 if i < j else 1
            fixed = (rank[j] - rank[i]) * step < 0
            for k in range(h):
                belief[k] += messages[e, side, k]
                # labels: fixed neighbours by their label, the others by what they send
                if fixed:
                    sent[k] += weights[e] * min(table[abs(k - labels[j])], M)
                else:
                    sent[k] += messages[e, side, k]
        best, least = 0, belief[0]
        for k in range(1, h):
            if sent[k] < sent[best]:
                best = k
            least = min(least, belief[k])
        labels[i] = best
        bound += least
        for p in range(indptr[i], indptr[i + 1]):
            j, e = other[p], edge[p]
            if (rank[j] - rank[i]) * step < 0:
                continue
            side = 0 if i < j else 1
            for k in range(h):
                # γ (belief - its least) less what came from there
                sent[k] = shares[i] * (belief[k] - least) - messages[e, side, k]
            # the least entry of a transform is that of what goes in: d(0) = 0
            least_out = _transform(sent, weights[e], kind, table, M, out, envelope, ends)
            bound += least_out
            for k in range(h):
                messages[e, 1 - side, k] = out[k] - least_out
    return bound


def neighbours(mrf: PairwiseMRF) -> tuple[Ints, Ints, Ints]:
    """Return for each variable its neighbours and the edges to them, as CSR."""
    m, n = len(mrf.edges), mrf.n_variables
    a, b = mrf.edges.T
    tails, heads = np.concatenate([a, b]), np.concatenate([b, a])
    by = np.argsort(tails, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))]).astype(np.int64)
    return indptr, heads[by], (by % m if m else by).astype(np.int64)


def pass_messages(
    mrf: PairwiseMRF,
    *,
    reweighted: bool,
    max_iter: int,
    order: Indices | None = None,
    tol: float = 1e-7,
    report: Callable[[], bool] | None = None,
) -> MessageTrace:
    """Pass messages until the bound (TRW-S) or the labels' energy (min-sum) stands still.

    Parameters
    ----------
    mrf : PairwiseMRF
        The energy.
    reweighted : bool
        TRW-S, or min-sum.
    max_iter : int
        Most rounds, each one pass back and one forth.
    order : ndarray of int of shape (n_variables,), default=None
        Order of the variables; as they are numbered by default.
    tol : float, default=1e-7
        TRW-S ends when the bound has risen by less than this share of it over ten rounds;
        min-sum when messages change by less.
    report : callable, default=None
        Called after each round; True stops.

    Returns
    -------
    trace : MessageTrace
        Bounds are those of TRW-S; min-sum's are worth nothing but on forests.
    """
    n, h = mrf.costs.shape
    order = np.arange(n) if order is None else np.asarray(order)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    indptr, other, edge = neighbours(mrf)
    later = rank[other] > np.repeat(rank, np.diff(indptr))
    ahead = np.bincount(np.repeat(np.arange(n), np.diff(indptr))[later], minlength=n)
    # a variable's share: one over the chains that pass through it
    most = np.maximum(ahead, np.diff(indptr) - ahead)
    shares = 1.0 / np.maximum(most, 1) if reweighted else np.ones(n)
    messages = np.zeros((len(mrf.edges), 2, h))
    labels = np.argmin(mrf.costs, axis=1).astype(np.int64)
    best, least = labels.copy(), mrf.energy_of(labels)
    energies, bounds, seconds, began = [least], [], [0.0], time.perf_counter()
    fixed = (mrf.costs, order.astype(np.int64), indptr, other, edge, mrf.weights, shares, messages)
    scale = float(np.abs(mrf.costs).max()) + float(mrf.weights.max(initial=0.0))
    converged = False
    for t in range(max_iter):
        before = None if reweighted else messages.copy()
        for step in (-1, 1):
            bound = _pass(*fixed, mrf.kind, mrf.differences, mrf.truncation, rank, step, labels)
            if step < 0:
                bounds.append(float(bound))
        if before is not None and t + 1 < max_iter:
            labels = _beliefs(mrf, messages)  # min-sum reads its beliefs
        energy = mrf.energy_of(labels)
        if energy < least:
            best, least = labels.copy(), energy
        energies.append(least)
        seconds.append(time.perf_counter() - began)
        if before is None:
            # the bound never falls: ten rounds without a gain
            converged = t >= 10 and bounds[-1] - bounds[-11] <= tol * max(abs(bounds[-1]), 1e-300)
        else:
            converged = bool(np.abs(messages - before).max(initial=0.0) <= tol * scale)
        if (report is not None and report()) or converged:
            break
    return MessageTrace(best.astype(np.intp), energies, bounds, seconds, converged)


def _beliefs(mrf: PairwiseMRF, messages: Floats) -> Indices:
    """Return the label of the least belief of each variable."""
    belief = mrf.costs.copy()
    for end in (0, 1):
        np.add.at(belief, mrf.edges[:, end], messages[:, end])
    return np.argmin(belief, axis=1)


def forest_order(mrf: PairwiseMRF) -> Indices | None:
    """Return the variables with parents before children, or None where there is a cycle."""
    n, (a, b) = mrf.n_variables, mrf.edges.T
    graph = sp.coo_array((np.ones(len(a)), (a, b)), shape=(n, n)).tocsr()
    n_parts, part = sp.csgraph.connected_components(graph, directed=False)
    if len(a) != n - n_parts:
        return None
    # breadth first from one root for all: an extra variable joined to the first of each part
    roots = np.unique(part, return_index=True)[1]
    rows, columns = np.concatenate([a, np.full(n_parts, n)]), np.concatenate([b, roots])
    joined = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n + 1, n + 1)).tocsr()
    order = sp.csgraph.breadth_first_order(joined, n, directed=False, return_predecessors=False)
    return np.asarray(order[1:], dtype=np.intp)


def solve_forest(mrf: PairwiseMRF) -> MessageTrace:
    """Return the optimum on a forest: messages to the roots, then labels from them."""
    order = forest_order(mrf)
    if order is None:
        raise ValueError(
            "method='tree' needs a graph without cycles; take 'range_expansion' or 'trws'."
        )
    return pass_messages(mrf, reweighted=False, max_iter=1, order=order)


def _warmup() -> None:
    mrf = PairwiseMRF([[0.0, 1.0], [1.0, 0.0]], [[0, 1]], 1.0, "quadratic", 1.0)
    pass_messages(mrf, reweighted=True, max_iter=1)
