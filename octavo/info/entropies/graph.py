"""Entropies from what geometry makes of a sample: spanning trees, Voronoi cells, k-d cells.

The length of the minimum spanning tree tells Rényi's entropy (Hero and Michel 1999), the volumes of
Voronoi cells (Miller 2003) and of an adaptive partition (Stowell and Plumbley 2009) Shannon's.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, Voronoi, cKDTree
from scipy.special import digamma, gammaln, logsumexp, ndtr
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval
from octavo.info.entropies.knn import check_order, renyi_from_power
from octavo.info.estimators import EntropyEstimator

__all__ = ["KDPartitionEntropy", "MSTRenyiEntropy", "VoronoiEntropy", "mst_constant"]


# --- spanning trees -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _prim_lengths(X, lengths):
    """Fill lengths with the edges of the minimum spanning tree of all pairs, by Prim's method."""
    n, d = X.shape
    nearest = np.full(n, np.inf)
    outside = np.ones(n, dtype=np.bool_)
    last = 0
    outside[0] = False
    for step in range(n - 1):
        best, chosen = np.inf, -1
        for j in range(n):
            if not outside[j]:
                continue
            total = 0.0
            for c in range(d):
                gap = X[last, c] - X[j, c]
                total += gap * gap
            if total < nearest[j]:
                nearest[j] = total
            if nearest[j] < best:
                best, chosen = nearest[j], j
        lengths[step] = np.sqrt(best)
        outside[chosen] = False
        last = chosen


def _tree_of_graph(rows, columns, weights, n: int) -> Floats:
    graph = coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()
    return minimum_spanning_tree(graph).data


def mst_lengths(X: Floats) -> Floats:
    """Return the lengths of the edges of the Euclidean minimum spanning tree.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points; duplicates make edges of length zero, which are left out.

    Returns
    -------
    lengths : ndarray of shape (n_distinct - 1,)
        Gaps on a line, a tree on the Delaunay graph (which holds it) in two and three
        dimensions, Prim's method on all pairs beyond.
    """
    X = np.unique(X, axis=0)
    n, d = X.shape
    if d == 1:
        return np.diff(X[:, 0])
    if d <= 3 and n > 50:
        simplices = Delaunay(X).simplices
        i, j = np.triu_indices(d + 1, 1)
        pairs = np.sort(np.stack([simplices[:, i].ravel(), simplices[:, j].ravel()], 1), axis=1)
        pairs = np.unique(pairs, axis=0)
        weights = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
        lengths = _tree_of_graph(pairs[:, 0], pairs[:, 1], weights, n)
        if len(lengths) == n - 1:  # qhull leaves out points that it cannot tell apart
            return lengths
    lengths = np.empty(n - 1)
    _prim_lengths(np.ascontiguousarray(X), lengths)
    return lengths


# log β(d, α) at α = 0, 0.1, ..., 1 by `mst_constant`, from a million points for d = 2 down to
# 240,000 for d = 6; the standard errors are below 0.0025 (1 - α).
_GRID = np.linspace(0.0, 1.0, 11)
_LOG_CONSTANTS: dict[int, tuple[float, ...]] = {
    2: (-0.6824, -0.6440, -0.6006, -0.5518, -0.4971, -0.4358,
        -0.3673, -0.2906, -0.2048, -0.1084, 0.0),
    3: (-1.0666, -0.9877, -0.9041, -0.8155, -0.7214, -0.6212,
        -0.5142, -0.3998, -0.2768, -0.1440, 0.0),
    4: (-1.2850, -1.1836, -1.0775, -0.9665, -0.8500, -0.7277,
        -0.5988, -0.4627, -0.3183, -0.1646, 0.0),
    5: (-1.3795, -1.2685, -1.1529, -1.0323, -0.9063, -0.7744,
        -0.6360, -0.4904, -0.3367, -0.1737, 0.0),
    6: (-1.3857, -1.2740, -1.1577, -1.0363, -0.9095, -0.7769,
        -0.6377, -0.4915, -0.3372, -0.1739, 0.0),
}  # fmt: skip


def _log_mst_constant(d: int, alpha: float) -> float:
    if d == 1:
        return float(gammaln(2.0 - alpha))  # gaps of uniform points are exponential
    if d not in _LOG_CONSTANTS:
        raise ValueError(
            f"The constant of spanning trees is not known for d={d} (known: 1 to "
            f"{max(_LOG_CONSTANTS, default=1)}). Give constant=mst_constant({d}, {alpha:g}), or "
            "mult=False where a constant does not matter."
        )
    from scipy.interpolate import CubicSpline

    return float(CubicSpline(_GRID, _LOG_CONSTANTS[d])(alpha))


@checked
def mst_constant(
    d: int, alpha: float, *, n: int = 20_000, n_repeats: int = 5, random_state: Any = None
) -> float:
    """Return the limit of L / N^α for uniform points, L the sum of lengths^(d(1-α)), by simulation.

    The points lie on a torus, where there is no boundary that would slow down the limit.

    Parameters
    ----------
    d : int
        The dimension.
    alpha : float
        The order of Rényi's entropy, between 0 and 1.
    n : int, default=20000
        The number of points.
    n_repeats : int, default=5
        How many times.
    random_state : int, RandomState instance or None, default=None
        The generator.

    Returns
    -------
    constant : float
        β(d, α), for `MSTRenyiEntropy`.

    Examples
    --------
    >>> from octavo.info import mst_constant
    >>> print(f"{mst_constant(2, 0.5, n=2000, random_state=0):.1f}")  # 0.63
    0.6
    """
    powers = _torus_powers(d, np.array([alpha]), n, n_repeats, check_random_state(random_state))
    return float(powers.mean())


def _torus_powers(d, alphas, n, n_repeats, rng) -> Floats:
    """Return Σ lengths^(d(1-α)) / N^α of uniform points on the torus, (n_repeats, n_alphas)."""
    k = min(12 + 8 * d, n - 1)  # a graph of neighbours that holds the tree but for rare edges
    found = np.empty((n_repeats, len(alphas)))
    for repeat in range(n_repeats):
        X = rng.uniform(size=(n, d))
        distances, near = cKDTree(X, boxsize=1.0).query(X, k=k + 1)
        rows = np.repeat(np.arange(n), k)
        lengths = _tree_of_graph(rows, near[:, 1:].ravel(), distances[:, 1:].ravel(), n)
        powers = lengths[:, None] ** (d * (1.0 - alphas))  # weights of the edges, γ = d(1 - α)
        found[repeat] = powers.mean(axis=0) * n ** (1.0 - alphas)  # mean over the edges, for L/N^α
    return found


class MSTRenyiEntropy(EntropyEstimator):
    """Rényi entropy of order below 1 from the length of the minimum spanning tree.

    The tree adapts to the data without a parameter, and duplicates do no harm. Its bias is larger
    than that of nearest neighbours for the same N, and beyond three dimensions it costs all pairs.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, between 0 and 1.
    mult : bool, default=True
        Whether to remove the constant that depends on d and α alone. It is known up to d = 6.
    constant : float, default=None
        The constant; None looks it up. `mst_constant` computes it for any d.

    References
    ----------
    .. [1] Hero and Michel (1999). Asymptotic theory of greedy approximations to minimal k-point
       random graphs. IEEE Transactions on Information Theory 45.
    .. [2] Yukich (1998). Probability theory of classical Euclidean optimization problems. Springer.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import MSTRenyiEntropy
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))  # entropy 0 at every order
    >>> print(f"{MSTRenyiEntropy(alpha=0.5).estimate(X):.2f}")
    0.01
    """

    measure, method = "renyi", "mst"
    estimates = "R_α = log ∫p^α / (1 - α)"
    cost = "O(N log N) for d <= 3, else O(N² d)"
    assumptions = "a density with ∫p^α finite, 0 < α < 1"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "mult": ["boolean"],
        "constant": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, alpha=0.8, mult=True, constant=None):
        self.alpha = alpha
        self.mult = mult
        self.constant = constant

    def _estimate(self, X):
        n, d = X.shape
        check_order(self.alpha)
        lengths = mst_lengths(X)
        # L/N^α tends to β(d, α) ∫p^α
        log_power = logsumexp(d * (1.0 - self.alpha) * np.log(lengths)) - self.alpha * math.log(n)
        if self.mult and self.constant is None:
            log_power -= _log_mst_constant(d, self.alpha)
        elif self.mult:
            log_power -= math.log(self.constant)
        return renyi_from_power(float(log_power), self.alpha)


# --- Voronoi cells --------------------------------------------------------------------------------

# E log of the volume of a typical Poisson-Voronoi cell over its mean, by simulation of 1.2 and 0.3
# million cells; the standard errors are below 0.0003.
_LOG_CELL = {2: -0.1480, 3: -0.0938}


def _ridge_areas(vertices: Floats, ridges: list[list[int]]) -> Floats:
    """Return the lengths (2-D) or areas (3-D) of the walls between cells; all are bounded."""
    if vertices.shape[1] == 2:
        ends = np.array(ridges)
        return np.linalg.norm(vertices[ends[:, 0]] - vertices[ends[:, 1]], axis=1)
    sizes = np.array([len(ridge) for ridge in ridges])
    areas = np.empty(len(ridges))
    for size in np.unique(sizes):  # polygons of one number of corners at a time
        which = np.flatnonzero(sizes == size)
        corners = vertices[np.array([ridges[i] for i in which])]
        corners = corners - corners.mean(axis=1, keepdims=True)
        first = corners[:, 0] / np.linalg.norm(corners[:, 0], axis=1, keepdims=True)
        normal = np.cross(corners[:, 0], corners[:, 1])
        for other in range(2, size):  # the pair that spans the plane best
            candidate = np.cross(corners[:, 0], corners[:, other])
            better = (candidate**2).sum(axis=1) > (normal**2).sum(axis=1)
            normal[better] = candidate[better]
        second = np.cross(normal, first)
        second /= np.linalg.norm(second, axis=1, keepdims=True)
        x, y = np.einsum("nsc,nc->ns", corners, first), np.einsum("nsc,nc->ns", corners, second)
        order = np.argsort(np.arctan2(y, x), axis=1)
        x, y = np.take_along_axis(x, order, 1), np.take_along_axis(y, order, 1)
        areas[which] = 0.5 * np.abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(axis=1))
    return areas


def voronoi_volumes(X: Floats) -> Floats:
    """Return the volumes of the Voronoi cells that are bounded; inf for the others.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Distinct points in two or three dimensions.

    Returns
    -------
    volumes : ndarray of shape (N,)
        Each cell is the union of pyramids from its point to its walls.
    """
    n, d = X.shape
    X = X - X.mean(axis=0)  # far from the origin qhull takes all points for one
    cells = Voronoi(X)
    pairs = cells.ridge_points
    bounded = np.array([-1 not in ridge for ridge in cells.ridge_vertices])
    volumes = np.zeros(n)
    volumes[np.unique(pairs[~bounded])] = np.inf
    pairs = pairs[bounded]
    kept = [ridge for ridge, whole in zip(cells.ridge_vertices, bounded) if whole]
    heights = 0.5 * np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    pyramids = _ridge_areas(cells.vertices, kept) * heights / d  # base times height over d
    np.add.at(volumes, pairs[:, 0], pyramids)
    np.add.at(volumes, pairs[:, 1], pyramids)
    return volumes


class VoronoiEntropy(EntropyEstimator):
    """Shannon entropy in two or three dimensions from the volumes of Voronoi cells.

    Free of parameters, and adapts to the shape of the density. Cells at the rim of the sample have
    no meaningful volume; unbounded ones are left out, which costs accuracy when they are many: for
    small samples and heavy tails use `KnnShannonEntropy`.

    Parameters
    ----------
    mult : bool, default=True
        Whether to remove the constant by which random cells differ from equal ones, known from
        simulation.

    References
    ----------
    .. [1] Miller (2003). A new class of entropy estimators for multi-dimensional densities.
       ICASSP.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import VoronoiEntropy
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))  # entropy log 2πe = 2.838
    >>> print(f"{VoronoiEntropy().estimate(X):.1f}")
    2.8
    """

    measure, method = "shannon", "voronoi"
    estimates = "H = -∫ p log p"
    cost = "O(N log N), some hundred times N in 3-D"
    assumptions = "two or three variables with a density; no ties"
    density = True
    dimensions = (2, 3)
    _parameter_constraints: ClassVar[dict[str, Any]] = {"mult": ["boolean"]}

    def __init__(self, mult=True):
        self.mult = mult

    def _estimate(self, X):
        n, d = X.shape
        distinct = len(np.unique(X, axis=0))
        if distinct < n:
            raise ValueError(
                f"X has {n - distinct} duplicates ({n} rows, {distinct} of them distinct), which "
                "share a Voronoi cell. Remove them."
            )
        if n < d + 2:
            raise ValueError(f"Voronoi cells in {d} dimensions need {d + 2} rows, X has {n}.")
        volumes = voronoi_volumes(X)
        bounded = np.isfinite(volumes)
        if not bounded.any():
            raise ValueError(f"None of the {n} Voronoi cells is bounded: too few samples.")
        value = np.log(n * volumes[bounded]).mean()  # 1/(N volume) stands for p
        return float(value - _LOG_CELL[d]) if self.mult else float(value)


# --- k-d cells ------------------------------------------------------------------------------------


def loss_of_a_test(level: float) -> float:
    """Return ½ E[z²; |z| > level] of a standard normal z.

    A cell of n uniform points is split if its median lies z > level standard errors off the
    middle; the split then lowers the mean log volume of its points by z²/(2n).
    """
    # ∫ ½z² over both tails, by parts
    return level * math.exp(-0.5 * level**2) / math.sqrt(2.0 * math.pi) + float(ndtr(-level))


def kd_partition(
    X: Floats, min_depth: int, level: float, *, correct: bool = False
) -> list[tuple[int, float]]:
    """Return the cells of an adaptive partition of the bounding box.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points; the partition starts from their bounding box.
    min_depth : int
        Splits that are made in any case.
    level : float
        Beyond, a cell is split while its median lies so many standard errors off its middle.
    correct : bool, default=False
        Add to the log volumes what the randomness of the box and of the cuts takes on average: the
        left part of a cell of n uniform points, cut at the k-th, has the share
        exp(ψ(k) - ψ(n+1)) of the volume in the mean of logarithms, and not k/n.

    Returns
    -------
    cells : list of (int, float)
        Number of points and log volume. Cells are split at their medians, along one axis after
        another.
    """
    n_all, d = X.shape
    cells: list[tuple[int, float]] = []
    per_test = loss_of_a_test(level) if correct else 0.0
    # the box of the sample is too small
    start = d * (digamma(n_all + 1) - digamma(n_all - 1)) if correct and n_all > 1 else 0.0
    waiting = [(X, X.min(axis=0), X.max(axis=0), 0, float(start))]
    while waiting:
        points, low, high, depth, extra = waiting.pop()
        n, axis = len(points), depth % d
        values = points[:, axis]
        median = float(np.partition(values, (n - 1) // 2)[(n - 1) // 2])
        side = high[axis] - low[axis]
        # Median of n uniform points: mean the middle, standard deviation side / (2 √n).
        skew = math.sqrt(n) * abs(2.0 * median - low[axis] - high[axis]) / side
        left = values <= median
        k = int(left.sum())
        splits = 0 < k < n and low[axis] < median < high[axis]
        if splits and depth >= min_depth:
            extra += per_test / n
        if not splits or (depth >= min_depth and skew < level):
            cells.append((n, float(np.log(high - low).sum()) + extra))
            continue
        below = above = 0.0
        if correct and depth < min_depth:
            # log of a Beta share of the volume has the mean ψ(k) - ψ(n + 1), not log k/n.
            below = math.log(k / n) - float(digamma(k) - digamma(n + 1))
            above = math.log((n - k) / n) - float(digamma(n - k + 1) - digamma(n + 1))
        cut_high, cut_low = high.copy(), low.copy()
        cut_high[axis] = cut_low[axis] = median
        waiting.append((points[left], low, cut_high, depth + 1, extra + below))
        waiting.append((points[~left], cut_low, high, depth + 1, extra + above))
    return cells


class KDPartitionEntropy(EntropyEstimator):
    """Shannon entropy from an adaptive partition of space into boxes (Stowell and Plumbley).

    The fastest estimator here for large samples, with constant density assumed in each box. The
    bounding box stands for the support: unbounded densities come out too high by what their tails
    hold, and boxes are coarse in many dimensions.

    Medians of few points vary, which makes boxes too small in the mean of logarithms. Under a
    constant density in each box this is known and removed by default, so that the boxes may be
    finer: about N^0.6 of them instead of √N.

    Parameters
    ----------
    level : float, default=1.96
        A cell is split further while its median lies so many standard errors off its middle.
    correct : bool, default=True
        Mend the bias; False for the statistic as published, with √N boxes.

    References
    ----------
    .. [1] Stowell and Plumbley (2009). Fast multidimensional entropy estimation by k-d
       partitioning. IEEE Signal Processing Letters 16.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KDPartitionEntropy
    >>> X = np.random.default_rng(0).uniform(0, 2, size=(5000, 2))  # entropy log 4 = 1.386
    >>> print(f"{KDPartitionEntropy().estimate(X):.2f}")
    1.38
    """

    measure, method = "shannon", "kd_partition"
    estimates = "H = -∫ p log p"
    cost = "O(N log N)"
    assumptions = "a density on (nearly) the bounding box of the sample"
    density = True
    bounded_support = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "level": [Interval(Real, 0, None, closed="neither")],
        "correct": ["boolean"],
    }

    def __init__(self, level=1.96, correct=True):
        self.level = level
        self.correct = correct

    def _min_depth(self, n):
        return math.ceil((0.6 if self.correct else 0.5) * math.log2(n))

    def bias_order(self, n):
        """Return half the number of cells over n, a cell of m points being small by 1/(2m); or 0.

        Parameters
        ----------
        n : int
            The size of the sample.

        Returns
        -------
        order : float
            The order of the bias on a box; zero where it is mended.
        """
        return 0.0 if self.correct else 0.5 * 2 ** self._min_depth(n) / n

    def _estimate(self, X):
        n = X.shape[0]
        cells = kd_partition(X, self._min_depth(n), self.level, correct=self.correct)
        counts = np.array([count for count, _ in cells], dtype=np.float64)
        volumes = np.array([volume for _, volume in cells])
        # Σ (n_j/N) log(N vol_j / n_j)
        return float((counts / n * (np.log(n / counts) + volumes)).sum())


def _warmup() -> None:
    _prim_lengths(np.zeros((2, 2)), np.empty(1))
