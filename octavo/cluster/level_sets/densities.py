"""Densities at the rows of a table, and at new points as if they had been rows.

A Gaussian kernel density is summed over all pairs, over a grid (up to three columns, many rows) or
over a random part of the rows (more columns, very many rows). A row counts among its own
neighbours; a new point is given that same share, so that both are held against one level.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, pi
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d, map_coordinates
from scipy.spatial import cKDTree
from sklearn.neighbors import KernelDensity

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.pair_sums import squared_distances
from octavo.engine.probability.neighbours import neighbour_distances

GRID_ROWS = 2000  # rows from which a grid is faster than all pairs
GRID_COLUMNS = 3
GRID_CELLS = 8_000_000
CELLS_PER_BANDWIDTH = 6.0
REACH = 6.0  # bandwidths beyond which a Gaussian is nothing
DIRECT_ROWS = 10_000  # rows up to which all pairs are summed
CENTRES = 5000  # rows that stand for all where there are more, in more than three columns
LARGEST_LOG = 690.0  # of a double, with room
CV_ROWS = 1000
CV_FACTORS = np.geomspace(0.1, 2.0, 14)

Density = Callable[[Floats], Floats]


def spread_of(X: Floats) -> float:
    """Return the root of the mean variance of the columns."""
    return float(np.sqrt(X.var(axis=0).mean()))


def resolve_bandwidth(X: Floats, bandwidth: str | float) -> float:
    """Return the bandwidth of a Gaussian kernel density in the units of X.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    bandwidth : float or {"scott", "silverman", "cv"}
        A number is itself. The rules are n^(-1/(d + 4)) and (n (d + 2)/4)^(-1/(d + 4)) times the
        root of the columns' mean variance; "cv" has the largest leave-one-out likelihood among
        multiples of Scott's, on at most a thousand rows.

    Returns
    -------
    float
        Positive; 1 where all rows are equal.
    """
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    n, d = X.shape
    scale = spread_of(X)
    if scale == 0.0:
        return 1.0
    power = -1.0 / (d + 4)
    if bandwidth == "silverman":
        # (4/(n(d + 2)))^(1/(d + 4)) times the spread
        return float(scale * (n * (d + 2) / 4.0) ** power)
    scott = scale * n**power
    if bandwidth == "scott" or n < 3:
        return float(scott)
    rows = X[np.random.default_rng(0).permutation(n)[:CV_ROWS]]
    squares = squared_distances(rows, rows)
    np.fill_diagonal(squares, np.inf)
    tried = CV_FACTORS * scale * len(rows) ** power
    scores = []
    for b in tried:
        sums = np.exp(-0.5 * squares / b**2).sum(axis=1)
        # leave-one-out likelihood: the diagonal counts nothing
        scores.append(np.log(np.maximum(sums, 1e-300)).mean() - d * log(b))
    best = float(tried[int(np.argmax(scores))])
    return best * float((n / len(rows)) ** power)  # the best bandwidth falls with the rows


def kernel_height(d: int, bandwidth: float) -> float:
    """Return the Gaussian kernel at zero, 1 where doubles cannot hold it."""
    logarithm = -0.5 * d * log(2.0 * pi) - d * log(bandwidth)
    return float(np.exp(logarithm)) if abs(logarithm) < LARGEST_LOG else 1.0


class KernelDensities:
    """A Gaussian kernel density of rows X: `rows` at themselves, called at new points.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    bandwidth : float
        In the units of X.
    rng : RandomState
        Chooses the rows that stand for all where there are too many.
    """

    def __init__(self, X: Floats, bandwidth: float, rng: np.random.RandomState) -> None:
        self.X, self.bandwidth = X, bandwidth
        n, d = X.shape
        self.height = kernel_height(d, bandwidth)
        self.grid = self.forest = None
        self.centres = X
        if n > GRID_ROWS and d <= GRID_COLUMNS:
            self.grid = _grid_of(X, bandwidth)
            if self.grid is None:  # far outliers: a tree
                model = KernelDensity(bandwidth=bandwidth, rtol=1e-4)
                self.forest = model.fit(X)
        elif n > DIRECT_ROWS:
            self.chosen = rng.permutation(n)[:CENTRES]
            self.centres = X[self.chosen]

    def rows(self) -> Floats:
        """Return the density at each row, itself counted."""
        n, m = len(self.X), len(self.centres)
        sums = self._sums(self.X)
        if m < n:
            own = np.zeros(n)
            own[self.chosen] = 1.0  # a centre's own share is taken out, and given to all alike
            sums = 1.0 + (n - 1) * (sums - own) / (m - own)
        return sums / n * self.height

    def __call__(self, points: Floats) -> Floats:
        """Return the density at points, each counted once as if it were a row."""
        n, m = len(self.X), len(self.centres)
        sums = self._sums(points)
        is_row = cKDTree(self.X).query(points)[0] == 0.0 if m == n else None
        if is_row is not None:
            return (sums + ~is_row) / n * self.height
        own = (cKDTree(self.centres).query(points)[0] == 0.0).astype(float)
        return (1.0 + (n - 1) * (sums - own) / (m - own)) / n * self.height

    def _sums(self, points: Floats) -> Floats:
        """Return Σ exp(-|x - c|²/2b²) over the centres c."""
        if self.grid is not None:
            return self.grid(points)
        if self.forest is not None:
            log_height = -0.5 * self.X.shape[1] * log(2.0 * pi * self.bandwidth**2)
            return np.exp(self.forest.score_samples(points) - log_height) * len(self.X)
        sums = np.empty(len(points))
        at_once = max(1, (1 << 21) // len(self.centres))
        for start in range(0, len(points), at_once):
            rows = slice(start, start + at_once)
            squares = squared_distances(points[rows], self.centres)
            squares *= -0.5 / self.bandwidth**2
            sums[rows] = np.exp(squares, out=squares).sum(axis=1)
        return sums


class _Grid:
    """Kernel sums on a grid, read by linear interpolation."""

    def __init__(self, low: Floats, step: float, values: Floats) -> None:
        self.low, self.step, self.values = low, step, values

    def __call__(self, points: Floats) -> Floats:
        places = ((points - self.low) / self.step).T
        return map_coordinates(self.values, places, order=1, mode="constant", cval=0.0)


def _grid_of(X: Floats, bandwidth: float) -> _Grid | None:
    """Return the sums on a grid, or None where it would be too large."""
    step = bandwidth / CELLS_PER_BANDWIDTH
    low = X.min(axis=0) - REACH * bandwidth
    extent = (X.max(axis=0) + REACH * bandwidth - low) / step
    if not np.isfinite(extent).all() or np.prod(extent + 2.0) > GRID_CELLS:
        return None
    shape = tuple(int(e) + 2 for e in extent)
    values = _linear_bins((X - low) / step, shape)
    # linear bins and linear reading widen the kernel by a sixth of a cell's square each
    sigma = np.sqrt(CELLS_PER_BANDWIDTH**2 - 1.0 / 3.0)
    for axis in range(X.shape[1]):
        values = gaussian_filter1d(values, sigma, axis=axis, mode="constant", truncate=REACH)
    height = (2.0 * pi * CELLS_PER_BANDWIDTH**2) ** (X.shape[1] / 2)  # its peak is 1
    return _Grid(low, step, values * height)


def _linear_bins(places: Floats, shape: tuple[int, ...]) -> Floats:
    """Return counts on a grid, each point shared among the corners of its cell."""
    base = np.floor(places).astype(np.intp)
    part = places - base
    d = places.shape[1]
    values = np.zeros(int(np.prod(shape)))
    for corner in np.ndindex(*(2,) * d):
        weight = np.prod(np.where(corner, part, 1.0 - part), axis=1)
        cells = np.ravel_multi_index(tuple((base + corner).T), shape)
        values += np.bincount(cells, weight, minlength=len(values))
    return values.reshape(shape)


class NeighbourDensities:
    """A density from the distance to the k-th neighbour: k / (n V r_k^d), k = ⌈√n⌉."""

    def __init__(self, X: Floats, workers: int = 1) -> None:
        self.X, self.workers = X, workers
        self.k = min(len(X) - 1, int(np.ceil(np.sqrt(len(X)))))
        radii = neighbour_distances(X, self.k, workers=workers)[:, -1]
        positive = radii[radii > 0.0]
        self.least = float(positive.min()) if positive.size else 1.0
        self.radii = radii

    def rows(self) -> Floats:
        """Return the density at each row, itself not counted."""
        return self._from(self.radii)

    def __call__(self, points: Floats) -> Floats:
        """Return the density at points; one that is a row is not its own neighbour."""
        k = min(self.k + 1, len(self.X))
        found = neighbour_distances(points, k, Y=self.X, workers=self.workers)
        is_row = found[:, 0] == 0.0
        return self._from(np.where(is_row, found[:, k - 1], found[:, self.k - 1]))

    def _from(self, radii: Floats) -> Floats:
        n, d = self.X.shape
        log_ball = 0.5 * d * log(pi) - lgamma(0.5 * d + 1.0)
        logs = log(self.k / n) - log_ball - d * np.log(np.maximum(radii, self.least))  # k/(n V r^d)
        return np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG))


class GivenDensities:
    """A user's function of points, checked."""

    def __init__(self, X: Floats, function: Callable[[Any], Any]) -> None:
        self.X, self.function = X, function

    def rows(self) -> Floats:
        """Return the density at each row."""
        return self(self.X)

    def __call__(self, points: Floats) -> Floats:
        """Return the density at points."""
        values = np.asarray(self.function(points), dtype=np.float64)
        if values.shape != (points.shape[0],):
            raise ValueError(
                f"density must return one number for each of {points.shape[0]} points; its answer "
                f"has the shape {values.shape}."
            )
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError("density must return finite numbers that are not negative.")
        return values
