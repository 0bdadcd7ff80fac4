"""Edges by tests of conditional independence: the first stage of the PC algorithm, and pairs.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, sections 6 and 8; P. Spirtes and C. Glymour (1991), "An algorithm for
fast recovery of sparse causal graphs"; D. Colombo and M. H. Maathuis (2014), "Order-independent
constraint-based causal structure learning".
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.graphical.junction_selection.moments import (
    Bools,
    batched_partials,
    edge_price,
    likelihood_gain,
    local_partials,
    smaller_sides,
)
from octavo.graphical.junction_selection.selectors import (
    Decision,
    GraphSelector,
    Region,
    gaussian_ebic,
    shrunk_mle,
)

__all__ = ["PCSkeletonUGMS", "PairwiseTestUGMS"]

MANY = 1 << 20  # subsets that are listed at a time
N_THRESHOLDS = 25


class Weakest(NamedTuple):
    """Of each pair that has a set of the size asked: the set with the least dependence."""

    which: NDArray[np.intp]
    partials: Floats
    given: Indices


def weakest_partials(R: Floats, graph: Bools, pairs: Indices, k: int) -> Weakest:
    """Return the least partial correlation of each pair over the sets S of k nodes in S_ij."""
    if k == 0:
        every = np.arange(len(pairs))
        return Weakest(every, R[pairs[:, 0], pairs[:, 1]], np.empty((len(pairs), 0), dtype=np.intp))
    sides = smaller_sides(graph, pairs)
    found: list[Weakest] = []
    batch: list[tuple[int, Indices]] = []
    size = 0
    for m, side in enumerate(sides):
        if len(side) >= k:
            sets = np.array(list(combinations(side.tolist(), k)), dtype=np.intp)
            batch.append((m, sets))
            size += len(sets)
        if size > MANY:
            found.append(_weakest(R, pairs, batch))
            batch, size = [], 0
    found.append(_weakest(R, pairs, batch, k))
    return Weakest(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _weakest(R: Floats, pairs: Indices, batch: list[tuple[int, Indices]], k: int = 1) -> Weakest:
    if not batch:
        none = np.empty(0, dtype=np.intp)
        return Weakest(none, np.empty(0), none.reshape(0, k))
    which = np.array([m for m, _ in batch], dtype=np.intp)
    counts = np.array([len(sets) for _, sets in batch])
    given = np.concatenate([sets for _, sets in batch])
    partials = batched_partials(R, pairs[np.repeat(which, counts)], given)
    size, ends = np.abs(partials), np.cumsum(counts)
    at = [
        begin + int(np.argmin(size[begin:end]))
        for begin, end in zip(ends - counts, ends, strict=True)
    ]
    return Weakest(which, partials[at], given[at])


def pc_skeleton(
    graph: Bools, candidates: Bools, kappa: int, separated: Callable[[Bools, Indices, int], Bools]
) -> Bools:
    """Return the candidates that no set of at most kappa nodes separates (Algorithm 4).

    Parameters
    ----------
    graph : ndarray of shape (d, d) of bool
        H: where separating sets are looked for.
    candidates : ndarray of shape (d, d) of bool
        L: the pairs to decide.
    kappa : int
        Largest size of a set.
    separated : callable
        Takes H, pairs and k, and tells which pairs a set of k neighbours separates.

    Returns
    -------
    ndarray of shape (d, d) of bool
        Neighbourhoods are those at the start of each k: the answer does not depend on the order
        of the variables.
    """
    H, G = graph | candidates, candidates.copy()
    for k in range(kappa + 1):
        pairs = np.argwhere(np.triu(G, 1))
        if not len(pairs):
            break
        i, j = pairs[separated(H, pairs, k)].T
        for A in (G, H):  # line 6: from G, and from H as well
            A[i, j] = A[j, i] = False
    return G


def by_threshold(R: Floats, threshold: Callable[[int], float]):
    """Return a test for `pc_skeleton`: |ρ| below a threshold for sets of k nodes, Eq. (4)."""

    def separated(H: Bools, pairs: Indices, k: int) -> Bools:
        gone = np.zeros(len(pairs), dtype=bool)
        least = weakest_partials(R, H, pairs, k)
        gone[least.which] = np.abs(least.partials) < threshold(k)
        return gone

    return separated


def fisher_threshold(n: int, k: int, alpha: float) -> float:
    """Return the |ρ| given k variables that Fisher's z finds different from 0 at a level."""
    free = n - k - 3
    # z = atanh ρ has the variance 1 / (n - k - 3)
    return float(np.tanh(-ndtri(alpha / 2.0) / np.sqrt(free))) if free > 0 else 1.0


def ebic_threshold(n: int, size: int, gamma: float) -> float:
    """Return the |ρ| at which an edge is worth its price."""
    # n log(1 / (1 - ρ²)) = price, solved for ρ
    return float(np.sqrt(-np.expm1(-edge_price(n, size, gamma) / n)))


def check_order(kappa: int, n: int) -> None:
    """Raise where sets are too large for the sample."""
    if kappa > n - 3:
        raise ValueError(
            f"kappa={kappa} needs more rows: partial correlations given {kappa} variables need at "
            f"least {kappa + 3}, got {n}."
        )


def _score(region: Region, kept: Bools, gamma: float) -> float:
    R, n = region.moments.R, region.moments.n
    Theta = shrunk_mle(R, region.known | kept, 1e-4).precision
    return gaussian_ebic(Theta, R, n, int(kept.sum()) // 2, gamma)


class PCSkeletonUGMS(GraphSelector):
    """Choose edges by the first stage of the PC algorithm.

    A pair is no edge if its partial correlation given some set of at most `kappa` neighbours is
    small. The neighbours are those of the end that has fewer.

    Parameters
    ----------
    kappa : int, default=1
        Most variables that are conditioned on.
    threshold : {"ebic", "fisher-z"} or float, default="ebic"
        What is small: the threshold whose graph the extended Bayesian criterion likes best, what
        a test at the level `alpha` does not tell from 0, or a number from 0 to 1.
    alpha : float, default=0.05
        Level of the test of ``threshold="fisher-z"``.
    gamma : float, default=0.5
        Weight of the number of variables in the criterion.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    alpha_ : float
        The threshold that was used, for "fisher-z" that without conditioning.
    score_ : float
        The criterion at it, larger is better.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    JunctionTreeUGMS : Applies it to the regions of a junction tree.

    Notes
    -----
    Neighbourhoods are held fixed while sets of one size are tried, so that the order of the
    columns does not matter. The time grows like the number of sets of `kappa` neighbours: not
    with a `kappa` of four or more on graphs with hubs.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Algorithm 4.

    Examples
    --------
    >>> from octavo.graphical import PCSkeletonUGMS, make_weak_edge_network
    >>> sample = make_weak_edge_network("CH1", 300, random_state=0, n_features=20, n_weak=5)
    >>> model = PCSkeletonUGMS().fit(sample.X)
    >>> int(model.adjacency_.sum()) // 2
    15
    """

    _parameter_constraints: dict = {
        "kappa": [Interval(Integral, 0, None, closed="left")],
        "threshold": [StrOptions({"ebic", "fisher-z"}), Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, kappa=1, threshold="ebic", alpha=0.05, gamma=0.5):
        self.kappa = kappa
        self.threshold = threshold
        self.alpha = alpha
        self.gamma = gamma

    def _decide(self, region):
        R, n = region.moments.R, region.moments.n
        check_order(self.kappa, n)
        best: Decision | None = None
        seen: set[bytes] = set()
        for alpha, test in self._tests(region):
            kept = pc_skeleton(region.allowed, region.penalised, self.kappa, by_threshold(R, test))
            if kept.tobytes() in seen:
                continue
            seen.add(kept.tobytes())
            score = _score(region, kept, self.gamma)
            if best is None or score > best.score:
                best = Decision(np.argwhere(np.triu(kept, 1)), alpha, score)
        assert best is not None
        return best

    def _tests(self, region):
        R, n = region.moments.R, region.moments.n
        if self.threshold == "fisher-z":
            return [
                (fisher_threshold(n, 0, self.alpha), lambda k: fisher_threshold(n, k, self.alpha))
            ]
        if self.threshold != "ebic":
            return [(float(self.threshold), lambda k: float(self.threshold))]
        # Below the price of an edge without gamma no graph can win; above all partials none is new.
        least = ebic_threshold(n, 1, 0.0)
        pairs = region.pairs
        size = np.sort(np.abs(R[pairs[:, 0], pairs[:, 1]]))
        large = size[size > 2.0 * least]
        steps = np.linspace(0, 1, N_THRESHOLDS)
        spread = np.unique(np.quantile(large, steps)) if large.size else large
        grid = [*np.geomspace(least, 2.0 * least, 9), *spread, 1.0]
        return [(float(g), lambda k, g=g: g) for g in grid]


class PairwiseTestUGMS(GraphSelector):
    """Test every pair by itself, given the neighbours that one of its ends may have.

    What small regions of a junction tree are decided by.

    Parameters
    ----------
    threshold : {"ebic", "fisher-z"} or float, default="ebic"
        A pair is an edge if its gain in likelihood is worth the price of an edge in the extended
        Bayesian criterion, if a test at the level `alpha` finds it, or if its partial correlation
        is at least a number from 0 to 1.
    alpha : float, default=0.05
        Level of the test of ``threshold="fisher-z"``.
    gamma : float, default=0.5
        Weight of the number of variables in the criterion.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    alpha_ : float
        The smallest partial correlation that would have been an edge without conditioning.
    score_ : float
        The gains of all edges less their prices.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    PCSkeletonUGMS : Looks for small separating sets instead.

    Notes
    -----
    With nearly as many columns as rows only the most correlated variables are conditioned on: use
    it on small regions, as `JunctionTreeUGMS` does.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 8.

    Examples
    --------
    >>> from octavo.graphical import PairwiseTestUGMS, make_weak_edge_network
    >>> sample = make_weak_edge_network("CH1", 300, random_state=0, n_features=20, n_weak=5)
    >>> model = PairwiseTestUGMS().fit(sample.X)
    >>> int(model.adjacency_.sum()) // 2
    14
    """

    _parameter_constraints: dict = {
        "threshold": [StrOptions({"ebic", "fisher-z"}), Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, threshold="ebic", alpha=0.05, gamma=0.5):
        self.threshold = threshold
        self.alpha = alpha
        self.gamma = gamma

    def _decide(self, region):
        R, n, pairs = region.moments.R, region.moments.n, region.pairs
        partials, sizes = local_partials(R, region.allowed, pairs, n - 4)
        gains = likelihood_gain(partials, n)
        price = edge_price(n, len(R), self.gamma)
        if self.threshold == "ebic":
            alpha = ebic_threshold(n, len(R), self.gamma)
            kept = gains > price
        elif self.threshold == "fisher-z":
            alpha = fisher_threshold(n, 0, self.alpha)
            kept = np.abs(partials) > [fisher_threshold(n, int(k), self.alpha) for k in sizes]
        else:
            alpha = float(self.threshold)
            kept = np.abs(partials) >= alpha
        return Decision(pairs[kept], alpha, float((gains - price)[kept].sum()))
