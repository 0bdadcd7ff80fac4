"""Exact transport plans of many pairs of histograms under one cost, by a simplex that restarts.

    G(r, c; M) = min_{X ≥ 0} ⟨M, X⟩   subject to   X1 = r, Xᵀ1 = c

The plan of a pair is a spanning tree of its bins. When the cost changes and the histograms do not,
the tree stays feasible, and the next optimum is a few exchanges away; a tree is one parent a bin
and is all that is kept of a pair. Where M is a semimetric, mass that two histograms have in common
stays where it is, so that at most d bins of the 2d take part.

Trees are strongly feasible: no arc without flow points away from the root, and the rule by which
arcs leave keeps it so, which rules out cycles of exchanges without gain (W. H. Cunningham, 1976,
"A network simplex method"; R. Ahuja, T. Magnanti and J. Orlin, 1993, "Network flows", Chapter 11).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.projections.metric_cone import triangle_excess

NO_TREE = -2  # first entry of a row of trees that has not been solved
ROOT = -1
# Entries of trees that are kept; beyond it, every problem is solved from a start of its own.
MOST_KEPT = 100_000_000
CHUNK = 256  # pairs a thread takes at once


@njit(cache=True, nogil=True)
def _sides(r, c, shared, bins, mass):
    """List the bins that send, then those that receive; return how many of each.

    With `shared` mass that stays in its bin is left out.
    """
    d, m = r.size, 0
    for p in range(d):
        a = r[p] - min(r[p], c[p]) if shared else r[p]
        if a > 0.0:
            bins[m], mass[m] = p, a
            m += 1
    n = 0
    for p in range(d):
        b = c[p] - min(r[p], c[p]) if shared else c[p]
        if b > 0.0:
            bins[m + n], mass[m + n] = p, b
            n += 1
    return m, n


@njit(cache=True, nogil=True)
def _greedy(C, mass, m, n, parent, left, alive):
    """Build a strongly feasible tree: each sender in turn fills the cheapest receivers left.

    Each step joins two bins and removes one of them, which hangs on the other. A receiver is
    removed while it takes mass, a sender perhaps without any: its arc points to the root then.
    """
    for x in range(m + n):
        left[x], alive[x] = mass[x], True
    receivers, root = n, 0
    for i in range(m):
        root = i
        while receivers > 0:
            j, cheapest = -1, np.inf
            for y in range(n):
                if alive[m + y] and C[i, y] < cheapest:
                    j, cheapest = y, C[i, y]
            y = m + j
            is_last_sender = i == m - 1
            if (left[y] <= left[i] and receivers > 1) or is_last_sender:
                left[i] = max(left[i] - left[y], 0.0)
                parent[y], alive[y] = i, False
                receivers -= 1
            else:
                left[y] = max(left[y] - left[i], 0.0)
                parent[i] = y
                break
    parent[root] = ROOT
    return root


@njit(cache=True, nogil=True)
def _hang(parent, size, first, following, order):
    """Link children and return the root; `order` lists parents before their children."""
    root = 0
    for x in range(size):
        first[x] = ROOT
    for x in range(size):
        p = parent[x]
        if p == ROOT:
            root = x
        else:
            following[x], first[p] = first[p], x
    order[0], filled = root, 1
    for done in range(size):
        x = first[order[done]]
        while x != ROOT:
            order[filled] = x
            filled += 1
            x = following[x]
    return root


@njit(cache=True, nogil=True)
def _flows(parent, mass, m, size, order, flow):
    """Fill the flow on the arc between each bin and its parent, from the leaves up."""
    for x in range(size):
        flow[x] = mass[x]
    for t in range(size - 1, 0, -1):
        x = order[t]
        flow[x] = max(flow[x], 0.0)  # rounding
        p = parent[x]
        flow[p] -= flow[x]  # what a sender ships leaves its parent's need, and the reverse


@njit(cache=True, nogil=True)
def _price(C, parent, m, size, order, depth, price):
    """Fill prices u, v with u_i + v_j = c_ij on the tree, u of senders and v of receivers."""
    depth[order[0]], price[order[0]] = 0, 0.0
    for t in range(1, size):
        x = order[t]
        p = parent[x]
        depth[x] = depth[p] + 1
        price[x] = (C[x, p - m] if x < m else C[p, x - m]) - price[p]


@njit(cache=True, nogil=True)
def _entering(C, price, m, n, start, floor):
    """Return the cell that gains most among the first rows with a gain, and the row to go on from.

    Rows are looked at in turn from `start`; four rows beyond the first gain end the search.
    """
    best, i, j, seen = -floor, -1, -1, 0
    row = start
    for _ in range(m):
        base, least = price[row], np.inf
        for y in range(n):
            least = min(least, C[row, y] - price[m + y])
        if least - base < best:
            best, i = least - base, row
        row = row + 1 if row + 1 < m else 0
        if i >= 0:
            seen += 1
            if seen == 4:
                break
    if i >= 0:
        least = np.inf
        for y in range(n):
            gain = C[i, y] - price[m + y]
            if gain < least:
                least, j = gain, y
    return i, j, best, row


@njit(cache=True, nogil=True)
def _cut(x, parent, first, following):
    """Take a bin from the children of its parent."""
    p = parent[x]
    if first[p] == x:
        first[p] = following[x]
        return
    y = first[p]
    while following[y] != x:
        y = following[y]
    following[y] = following[x]


@njit(cache=True, nogil=True)
def _exchange(i, j, gain, m, parent, first, following, depth, flow, price, stack):
    """Let the arc (i, j) in, send what fits around its cycle, and take one blocked arc out."""
    x, y = i, j
    theta, out, on_i = np.inf, -1, True
    while x != y:  # climb to where both paths meet
        if depth[x] >= depth[y]:
            # the sender's side loses flow on arcs of senders; the first of equals, nearest to i
            if x < m and flow[x] < theta:
                theta, out, on_i = flow[x], x, True
            x = parent[x]
        else:
            # the receiver's side loses on arcs of receivers; the last of equals, nearest the root
            if y >= m and flow[y] <= theta:
                theta, out, on_i = flow[y], y, False
            y = parent[y]
    top = x
    x = i
    while x != top:
        flow[x] += -theta if x < m else theta
        x = parent[x]
    y = j
    while y != top:
        flow[y] += -theta if y >= m else theta
        y = parent[y]
    # the part below `out` is hung on the other end of the new arc, its path to the end reversed
    x, above = (i, j) if on_i else (j, i)
    carried = theta
    while True:
        old, held = parent[x], flow[x]
        _cut(x, parent, first, following)
        parent[x], flow[x] = above, carried
        following[x], first[above] = first[above], x
        if x == out:
            break
        above, x, carried = x, old, held
    shift = gain if on_i else -gain  # of senders below, the other sign for receivers
    x = i if on_i else j
    stack[0], filled = x, 1
    while filled > 0:
        filled -= 1
        x = stack[filled]
        depth[x] = depth[parent[x]] + 1
        price[x] += shift if x < m else -shift
        x = first[x]
        while x != ROOT:
            stack[filled] = x
            filled += 1
            x = following[x]


@njit(cache=True, nogil=True)
def _solve_pairs(M, R, S, pairs, shared, trees, costs, keep):
    """Solve the pairs (row of R, row of S); trees are read and written where `keep`.

    Returns the number of exchanges, and of pairs that were given up.
    """
    d = M.shape[0]
    wide = 2 * d
    bins, order = np.empty(wide, np.int64), np.empty(wide, np.int64)
    parent, first = np.empty(wide, np.int64), np.empty(wide, np.int64)
    following, depth = np.empty(wide, np.int64), np.empty(wide, np.int64)
    stack, alive = np.empty(wide, np.int64), np.empty(wide, np.bool_)
    mass, flow = np.empty(wide), np.empty(wide)
    price, left = np.empty(wide), np.empty(wide)
    C = np.empty((d, d))
    n_exchanges, n_given_up = 0, 0
    for t in range(pairs.shape[0]):
        m, n = _sides(R[pairs[t, 0]], S[pairs[t, 1]], shared, bins, mass)
        if m == 0 or n == 0:
            costs[t] = 0.0
            if keep:
                trees[t, 0] = NO_TREE
            continue
        largest = 0.0
        for i in range(m):
            for j in range(n):
                C[i, j] = M[bins[i], bins[m + j]]
                largest = max(largest, abs(C[i, j]))
        size = m + n
        if keep and trees[t, 0] != NO_TREE:
            for x in range(size):
                parent[x] = trees[t, x]
        else:
            _greedy(C, mass, m, n, parent, left, alive)
        _hang(parent, size, first, following, order)
        _flows(parent, mass, m, size, order, flow)
        _price(C, parent, m, size, order, depth, price)
        floor, row, spent = 1e-13 * size * largest, 0, 0
        most = 200 * size + 20 * m * n
        while True:
            i, j, gain, row = _entering(C, price, m, n, row, floor)
            if i < 0:
                break
            _exchange(i, m + j, gain, m, parent, first, following, depth, flow, price, stack)
            spent += 1
            if spent == most:
                n_given_up += 1
                break
        n_exchanges += spent
        cost = 0.0
        for x in range(size):
            p = parent[x]
            if p != ROOT:
                cost += flow[x] * (C[x, p - m] if x < m else C[p, x - m])
        costs[t] = cost
        if keep:
            for x in range(size):
                trees[t, x] = parent[x]
    return n_exchanges, n_given_up


@njit(cache=True, nogil=True)
def _add_plans(R, S, pairs, shared, trees, weights, G):
    """Add weights[t] times the plan of each tree to G, the mass that stays included."""
    d = R.shape[1]
    wide = 2 * d
    bins, order = np.empty(wide, np.int64), np.empty(wide, np.int64)
    parent, first = np.empty(wide, np.int64), np.empty(wide, np.int64)
    following = np.empty(wide, np.int64)
    mass, flow = np.empty(wide), np.empty(wide)
    for t in range(pairs.shape[0]):
        r, c = R[pairs[t, 0]], S[pairs[t, 1]]
        if shared:
            for p in range(d):
                G[p, p] += weights[t] * min(r[p], c[p])
        m, n = _sides(r, c, shared, bins, mass)
        if m == 0 or n == 0:
            continue
        size = m + n
        for x in range(size):
            parent[x] = trees[t, x]
        _hang(parent, size, first, following, order)
        _flows(parent, mass, m, size, order, flow)
        for x in range(size):
            p = parent[x]
            if p != ROOT:
                i, j = (x, p) if x < m else (p, x)
                G[bins[i], bins[j]] += weights[t] * flow[x]


def is_semimetric(M: Floats) -> bool:
    """Tell whether M is a semimetric up to rounding: mass in common stays then."""
    if M.diagonal().any() or not (M == M.T).all():
        return False
    return triangle_excess(M) <= 1e-12 * float(M.max(initial=0.0))


class TransportBatch(NamedTuple):
    """Costs of pairs, and the trees that `transport_plans` reads plans from."""

    costs: Floats
    trees: Indices
    n_exchanges: int


def _chunks(n_pairs: int) -> list[slice]:
    return [slice(start, start + CHUNK) for start in range(0, n_pairs, CHUNK)]


def transport_costs(
    M: Floats,
    R: Floats,
    S: Floats,
    pairs: Indices,
    *,
    trees: Indices | None = None,
    shared: bool | None = None,
    n_jobs: int | None = None,
) -> TransportBatch:
    """Return the least costs of moving rows of R onto rows of S.

    Parameters
    ----------
    M : ndarray of shape (d, d)
        The cost of moving a unit from bin to bin.
    R, S : ndarray of shape (n, d) and (n', d)
        Histograms, each of the same sum but for rounding.
    pairs : ndarray of shape (n_pairs, 2)
        Rows of R and of S.
    trees : ndarray of shape (n_pairs, 2d), optional
        As `new_trees` makes them or an earlier call filled them, in place: the same pairs under
        another cost start from where that ended. Without them no tree is kept.
    shared : bool, optional
        Whether mass that two histograms have in common stays; None looks at M, which takes O(d³).
    n_jobs : int, optional
        Threads.

    Returns
    -------
    TransportBatch
        Costs; trees (none where none were given).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.transport.network_simplex import transport_costs
    >>> M = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> R = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    >>> transport_costs(M, R, R, np.array([[0, 1]])).costs.tolist()
    [1.5]
    """
    if shared is None:
        shared = is_semimetric(M)
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    costs = np.zeros(len(pairs))
    keep = trees is not None
    held: Any = trees if trees is not None else np.full((1, 1), NO_TREE, dtype=np.int32)

    def solve(chunk):
        mine = held[chunk] if keep else held
        return _solve_pairs(M, R, S, pairs[chunk], shared, mine, costs[chunk], keep)

    if n_jobs is None or n_jobs == 1 or len(pairs) <= CHUNK:
        done = [solve(slice(0, len(pairs)))]
    else:
        done = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(solve)(chunk) for chunk in _chunks(len(pairs))
        )
    n_given_up = sum(given_up for _, given_up in done)
    if n_given_up:
        raise ValueError(
            f"{n_given_up} transport problems did not end. Look for costs or histograms whose "
            "entries differ by more than doubles can hold."
        )
    return TransportBatch(costs, held, sum(spent for spent, _ in done))


def new_trees(n_pairs: int, d: int, shared: bool) -> Indices | None:
    """Return empty trees for pairs of histograms, or None where they would take too much room."""
    wide = d if shared else 2 * d
    if n_pairs * wide > MOST_KEPT:
        return None
    return np.full((n_pairs, wide), NO_TREE, dtype=np.int32)


def transport_plans(
    R: Floats, S: Floats, pairs: Indices, trees: Indices, weights: Floats, *, shared: bool
) -> Floats:
    """Return Σ weights[t] X_t over the plans of trees, of shape (d, d).

    Parameters
    ----------
    R, S, pairs
        As for `transport_costs`.
    trees : ndarray of shape (n_pairs, d) or (n_pairs, 2d)
        Filled by `transport_costs`.
    weights : ndarray of shape (n_pairs,)
        Weights of the plans.
    shared : bool
        As it was there.

    Returns
    -------
    ndarray of shape (d, d)
        The sum.
    """
    G = np.zeros((R.shape[1], R.shape[1]))
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    _add_plans(R, S, pairs, shared, trees, weights, G)
    return G


def _warmup() -> None:
    M = 1.0 - np.eye(3)
    R = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    pairs = np.array([[0, 1]])
    trees = new_trees(1, 3, True)
    assert trees is not None
    transport_costs(M, R, R, pairs, trees=trees)
    transport_plans(R, R, pairs, trees, np.ones(1), shared=True)
