"""Balance of signed networks: tests with a certificate, counts of cycles, measures of imbalance.

A cycle is balanced when an even number of its links is negative. A network is balanced when all
its cycles are, which is when two groups explain all signs (Theorem 5); it is weakly balanced when
no cycle has exactly one negative link, which is when any number of groups does (Theorem 8).
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.network.signed.signs import check_pairs, undirected_signs
from octavo.network.signed.walks import spectral_norm

__all__ = [
    "BalanceReport",
    "balance_report",
    "embeddedness",
    "imbalance",
    "is_balanced",
    "is_weakly_balanced",
]

DENSE_NODES = 4000
SIMPLE_NODES = 30
# how often a triangle or 4-cycle has a pattern, and how many of its links are negative
PATTERNS = {
    "+++": (1, 0),
    "++-": (3, 1),
    "+--": (3, 2),
    "---": (1, 3),
    "++++": (1, 0),
    "+++-": (4, 1),
    "++--": (4, 2),
    "+-+-": (2, 2),
    "+---": (4, 3),
    "----": (1, 4),
}


class BalanceReport(NamedTuple):
    """Counts of 3- and 4-cycles by pattern, what chance gives, and how surprising they are.

    `counts`, `shares`, `expected_shares` and `surprises` are dicts of patterns such as ``"++-"``,
    and of ``"balanced 3"``, ``"balanced 4"``; `n_conflicts` counts dropped pairs.
    """

    counts: dict[str, float]
    shares: dict[str, float]
    expected_shares: dict[str, float]
    surprises: dict[str, float]
    n_conflicts: int


@checked
def is_balanced(A: Any) -> tuple[bool, Any]:
    """Tell whether two groups explain every sign of a network.

    Parameters
    ----------
    A : graph
        A signed network: matrix, networkx graph, list of links.

    Returns
    -------
    balanced : bool
        Whether all cycles are balanced.
    certificate : ndarray of shape (n_nodes,) or list
        The groups, 0 and 1; or the nodes of a cycle with an odd number of negative links.

    Examples
    --------
    >>> from octavo.network import is_balanced
    >>> is_balanced([(0, 1, 1), (1, 2, -1), (0, 2, -1)])
    (True, array([0, 0, 1]))
    >>> is_balanced([(0, 1, 1), (1, 2, 1), (0, 2, -1)])[0]
    False
    """
    links, _ = undirected_signs(A)
    matrix = links.matrix
    n = matrix.shape[0]
    side = np.full(n, -1)
    parent = np.full(n, -1)
    for root in range(n):
        if side[root] >= 0:
            continue
        side[root] = 0
        waiting = deque([root])
        while waiting:
            u = waiting.popleft()
            for place in range(matrix.indptr[u], matrix.indptr[u + 1]):
                v = matrix.indices[place]
                wanted = side[u] if matrix.data[place] > 0 else 1 - side[u]
                if side[v] < 0:
                    side[v], parent[v] = wanted, u
                    waiting.append(v)
                elif side[v] != wanted:
                    return False, [links.nodes[w] for w in _cycle(parent, u, v)]
    return True, side


@checked
def is_weakly_balanced(A: Any) -> tuple[bool, Any]:
    """Tell whether some number of groups explains every sign of a network.

    Parameters
    ----------
    A : graph
        A signed network: matrix, networkx graph, list of links.

    Returns
    -------
    balanced : bool
        Whether no cycle has exactly one negative link.
    certificate : ndarray of shape (n_nodes,) or list
        The groups (nodes that positive links join); or the nodes of a cycle with exactly one
        negative link, which joins its last node to its first.

    Examples
    --------
    >>> from octavo.network import is_weakly_balanced
    >>> is_weakly_balanced([(0, 1, -1), (1, 2, -1), (0, 2, -1)])
    (True, array([0, 1, 2]))
    """
    links, _ = undirected_signs(A)
    matrix = links.matrix
    friends = matrix.multiply(matrix > 0).tocsr()
    # Theorem 8: friends of friends are one group
    groups = connected_components(friends, directed=False)[1].astype(np.intp)
    entry = matrix.tocoo()
    # a foe inside a group closes a cycle with one negative link
    inside = np.flatnonzero((entry.data < 0) & (groups[entry.row] == groups[entry.col]))
    if not inside.size:
        return True, groups
    u, v = int(entry.row[inside[0]]), int(entry.col[inside[0]])
    parent = np.full(matrix.shape[0], -1)
    reached = np.zeros(matrix.shape[0], dtype=bool)
    reached[u] = True
    waiting = deque([u])
    while not reached[v]:
        w = waiting.popleft()
        for x in friends.indices[friends.indptr[w] : friends.indptr[w + 1]]:
            if not reached[x]:
                reached[x], parent[x] = True, w
                waiting.append(x)
    path = [v]
    while path[-1] != u:
        path.append(int(parent[path[-1]]))
    return False, [links.nodes[w] for w in path]


def _cycle(parent: np.ndarray, u: int, v: int) -> list[int]:
    """Return the cycle that the link u-v closes in a tree of parents."""
    up = [u]
    while parent[up[-1]] >= 0:
        up.append(int(parent[up[-1]]))
    place = {node: step for step, node in enumerate(up)}
    down = [v]
    while down[-1] not in place:
        down.append(int(parent[down[-1]]))
    return up[: place[down[-1]] + 1] + down[-2::-1]


@checked
def imbalance(A: Any, order: float = 3, beta: float = 1.0, simple: bool = False) -> float:
    """Return how many cycles of a network are unbalanced, longer ones at a discount.

    Parameters
    ----------
    A : graph
        A signed network: matrix, networkx graph, list of links.
    order : int or inf, default=3
        The longest cycles that count, Eqs. (2) and (5); 3 counts unbalanced triangles, Eq. (1).
        Infinite is Eq. (6).
    beta : float, default=1.0
        A cycle of length t counts ``beta ** (t - 1)``. An infinite order needs it below one over
        the largest eigenvalue of the matrix without signs.
    simple : bool, default=False
        Whether no node may come twice, Eq. (2): the cycles are listed then, which is for few
        nodes. Else closed walks count, 1 / (2t) each: every cycle is walked from t starts, in two
        directions.

    Returns
    -------
    imbalance : float
        Zero where the network is balanced (Corollary 9, Theorem 10), for long enough cycles.

    Examples
    --------
    >>> from octavo.network import imbalance
    >>> imbalance([(0, 1, 1), (1, 2, 1), (0, 2, -1)])
    1.0
    """
    links, _ = undirected_signs(A)
    matrix = links.matrix
    if not order >= 3 or (np.isfinite(order) and order != int(order)):
        raise ValueError(f"order must be a whole number of at least 3, or infinite; got {order:g}.")
    if not beta > 0.0 or not np.isfinite(beta):
        raise ValueError(f"beta must be positive; got {beta:g}.")
    if simple:
        return _simple_imbalance(matrix, order, beta)
    if not np.isfinite(order):
        return _endless_imbalance(matrix, beta)
    signed, plain = matrix, abs(matrix)
    squares = signed @ signed, plain @ plain
    total, powers = 0.0, (signed, plain)
    for t in range(3, int(order) + 1):
        # Eq. (5): walks are unbalanced in half of their count less the sum of their signs
        traces = [_trace(power, base) for power, base in zip(powers, squares, strict=True)]
        total += beta ** (t - 1) * (traces[1] - traces[0]) / (4 * t)
        if t < order:
            powers = (powers[0] @ signed, powers[1] @ plain)
    return total


def _trace(one: Any, other: Any) -> float:
    """Return the trace of a product of two symmetric matrices."""
    return float(one.multiply(other).sum())


def _endless_imbalance(matrix: sp.csr_array, beta: float) -> float:
    plain = abs(matrix)
    top = spectral_norm(plain)
    if not beta * top < 1.0:
        raise ValueError(
            f"beta must be below 1/{top:.6g}, one over the largest eigenvalue of the network "
            f"without its signs; got {beta:g}."
        )
    if matrix.shape[0] > DENSE_NODES:
        raise ValueError(f"An infinite order needs all eigenvalues: at most {DENSE_NODES} nodes.")

    def endless(values: Floats) -> float:  # Σ_{t >= 3} β^(t-1) λ^t / t
        scaled = beta * values
        return float((-np.log1p(-scaled) - scaled - scaled**2 / 2.0).sum() / beta)

    without, with_signs = (np.linalg.eigvalsh(M.toarray()) for M in (plain, matrix))
    # walks of odd sign, once for their 2t starts and directions: Eq. (6)
    return (endless(without) - endless(with_signs)) / 4.0


def _simple_imbalance(matrix: sp.csr_array, order: float, beta: float) -> float:
    import networkx as nx

    n = matrix.shape[0]
    if n > SIMPLE_NODES:
        raise ValueError(f"simple=True lists all cycles: at most {SIMPLE_NODES} nodes, got {n}.")
    limit = int(min(order, n))
    total = 0.0
    for cycle in nx.simple_cycles(nx.from_scipy_sparse_array(abs(matrix)), length_bound=limit):
        if len(cycle) >= 3:
            negative = sum(
                matrix[u, v] < 0 for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True)
            )
            total += (negative % 2) * beta ** (len(cycle) - 1)  # Eq. (2)
    return total


@checked
def embeddedness(A: Any, pairs: Any) -> np.ndarray:
    """Return how many neighbours the two nodes of each pair have in common, whatever the signs.

    Parameters
    ----------
    A : graph
        A signed network.
    pairs : array-like of shape (m, 2)
        Rows of the network's matrix.

    Returns
    -------
    common : ndarray of shape (m,)
        Numbers of common neighbours.

    Examples
    --------
    >>> from octavo.network import embeddedness
    >>> embeddedness([(0, 1, 1), (1, 2, -1), (0, 2, -1)], [[0, 1]]).tolist()
    [1]
    """
    links, _ = undirected_signs(A)
    pairs = check_pairs(pairs, links.matrix.shape[0])
    plain = abs(links.matrix)
    return np.asarray(plain[pairs[:, 0]].multiply(plain[pairs[:, 1]]).sum(axis=1)).astype(np.intp)


@checked
def balance_report(A: Any) -> BalanceReport:
    """Count the 3- and 4-cycles of a network by their signs, beside what chance would give.

    Parameters
    ----------
    A : graph
        A signed network; directions that disagree are dropped.

    Returns
    -------
    report : BalanceReport
        Chance is the expectation over all ways to deal the signs out anew, in closed form. A
        surprise is in standard deviations of as many independent cycles (Section 5.2).

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import balance_report
    >>> network = make_weakly_balanced([20, 20], 0.5, random_state=0)
    >>> report = balance_report(network.A)
    >>> report.shares["balanced 3"], round(report.expected_shares["balanced 3"], 2)
    (1.0, 0.5)
    """
    links, n_conflicts = undirected_signs(A)
    counts = _three_cycles(links.matrix) | _four_cycles(links.matrix)
    signs = links.matrix.data
    n_links, n_negative = signs.size // 2, int((signs < 0).sum()) // 2
    expected = {
        pattern: ways * _chance(n_links, n_negative, len(pattern), negative)
        for pattern, (ways, negative) in PATTERNS.items()  # P_0 of Table 5
    }
    shares: dict[str, float] = {}
    surprises: dict[str, float] = {}
    for length in (3, 4):
        patterns = [pattern for pattern in PATTERNS if len(pattern) == length]
        total = sum(counts[pattern] for pattern in patterns)
        balanced = [pattern for pattern in patterns if PATTERNS[pattern][1] % 2 == 0]
        counts[f"balanced {length}"] = sum(counts[pattern] for pattern in balanced)
        expected[f"balanced {length}"] = sum(expected[pattern] for pattern in balanced)
        for name in [*patterns, f"balanced {length}"]:
            p = expected[name]
            shares[name] = counts[name] / total if total else np.nan
            spread = np.sqrt(total * p * (1.0 - p))  # S of Table 5: standard deviations from chance
            surprises[name] = (counts[name] - total * p) / spread if spread > 0.0 else np.nan
    return BalanceReport(counts, shares, expected, surprises, n_conflicts)


def _chance(n_links: int, n_negative: int, length: int, negative: int) -> float:
    """Return the chance that given links of a cycle are the negative ones, signs dealt anew."""
    chance = 1.0
    for step in range(length):
        left = n_negative - step if step < negative else n_links - n_negative - (step - negative)
        # without replacement: the network keeps its number of foes
        chance *= max(left, 0) / max(n_links - step, 1)
    return chance


def _three_cycles(matrix: sp.csr_array) -> dict[str, float]:
    P, N = matrix.multiply(matrix > 0).tocsr(), -matrix.multiply(matrix < 0).tocsr()
    PP, NN = P @ P, N @ N
    return {
        "+++": float(P.multiply(PP).sum()) / 6.0,  # each of a triangle's six walks is counted
        "++-": float(N.multiply(PP).sum()) / 2.0,
        "+--": float(P.multiply(NN).sum()) / 2.0,
        "---": float(N.multiply(NN).sum()) / 6.0,
    }


def _four_cycles(matrix: sp.csr_array) -> dict[str, float]:
    """Count 4-cycles: two paths of two links between opposite corners, of which there are two."""
    P, N = matrix.multiply(matrix > 0).tocsr(), -matrix.multiply(matrix < 0).tocsr()

    def upper(product: Any) -> Any:
        return sp.triu(product, 1).tocsr()

    pp, pn, np_, nn = upper(P @ P), upper(P @ N), upper(N @ P), upper(N @ N)

    def pairs_of(count: Any) -> float:  # Σ count (count - 1) / 2
        return float((count.data * (count.data - 1.0)).sum() / 2.0)

    def both(one: Any, other: Any) -> float:
        return float(one.multiply(other).sum())

    return {
        "++++": pairs_of(pp) / 2.0,
        "+++-": both(pp, pn + np_) / 2.0,
        "++--": (both(pp, nn) + pairs_of(pn) + pairs_of(np_)) / 2.0,
        "+-+-": both(pn, np_) / 2.0,
        "+---": both(nn, pn + np_) / 2.0,
        "----": pairs_of(nn) / 2.0,
    }
