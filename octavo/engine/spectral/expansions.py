"""Polynomials of several variables, and second moments of functions that arrive in blocks.

`Expansion` evaluates all products of one-dimensional polynomials up to a total degree; the four
bases span the same functions and differ in how well their moments are conditioned.
`StreamingMoments` adds up the covariance of rows and the second moments of their differences in
time, block after block, never across the border of an episode. Both take NumPy arrays or, under
scikit-learn's array API dispatch, arrays of any namespace and device.

References: Mason and Handscomb (2003), "Chebyshev polynomials", for the recurrences; Chan, Golub
and LeVeque (1983), "Algorithms for computing the sample variance", for the merging of moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb, sqrt
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.kernels.namespaces import namespace_of

BASES = ("chebyshev", "hermite", "legendre", "monomial")
# Numbers in the temporary arrays of one block of rows: few megabytes, which caches hold.
BLOCK = 1 << 18
CHUNK = 4096
MOST_ROWS = 8192  # of narrow blocks: larger ones go back to the system and are fetched page by page
NARROW = 32  # columns up to which a table is faster column by column


def n_functions(n_features: int, degree: int) -> int:
    """Return how many products of total degree 1 to `degree` there are, the constant left out."""
    return comb(n_features + degree, degree) - 1


def largest_degree(n_features: int, most: int, limit: int) -> int:
    """Return the largest degree up to `most` with at most `limit` functions; at least 1."""
    degree = 1
    while degree < most and n_functions(n_features, degree + 1) <= limit:
        degree += 1
    return degree


def one_dimensional(U: Any, degree: int, basis: str) -> list[Any]:
    """Return P_0(U), ..., P_degree(U), entry by entry, by the three-term recurrence.

    Parameters
    ----------
    U : array
        Points.
    degree : int
        The highest degree.
    basis : {"chebyshev", "hermite", "legendre", "monomial"}
        T_k; He_k / sqrt(k!); P_k; or powers.

    Returns
    -------
    values : list of array
        One array of the shape of U for each degree.
    """
    xp = namespace_of(U).xp
    values = [xp.ones_like(U), U]
    for k in range(1, degree):
        if basis == "chebyshev":
            following = 2.0 * U * values[k] - values[k - 1]
        elif basis == "legendre":
            following = ((2 * k + 1) * U * values[k] - k * values[k - 1]) / (k + 1)
        elif basis == "hermite":  # He_(k+1) = x He_k - k He_(k-1), each over the root of k!
            following = (U * values[k] - sqrt(k) * values[k - 1]) / sqrt(k + 1)
        else:
            following = U * values[k]
        values.append(following)
    return values[: degree + 1]


class Expansion(NamedTuple):
    """All products of one-dimensional polynomials of total degree 1 to `degree`.

    Function j is function ``parents[j]`` (the constant if -1) times the polynomial of degree
    ``powers[j]`` in the variable ``variables[j]``: one multiplication each.
    """

    basis: str
    degree: int
    n_features: int
    parents: Ints
    variables: Ints
    powers: Ints

    @property
    def exponents(self) -> Ints:
        """Degrees of every function in every variable, of shape (n_functions, n_features)."""
        table = np.zeros((len(self.parents), self.n_features), dtype=np.int64)
        for j, (parent, variable, power) in enumerate(
            zip(self.parents, self.variables, self.powers)
        ):
            if parent >= 0:
                table[j] = table[parent]
            table[j, variable] = power
        return table

    def __call__(self, U: Any) -> Any:
        """Return the functions at the rows of U, of shape (n_rows, n_functions)."""
        xp, device, is_numpy = namespace_of(U)
        U = np.asfortranarray(U) if is_numpy else U
        tables = one_dimensional(U, self.degree, self.basis)
        # Functions are rows of memory: each is written once, and neighbours in time are adjacent.
        out = xp.empty((len(self.parents), U.shape[0]), dtype=U.dtype, device=device)
        plan = zip(self.parents.tolist(), self.variables.tolist(), self.powers.tolist())
        for j, (parent, variable, power) in enumerate(plan):
            factor = tables[power][:, variable]
            out[j, :] = factor if parent < 0 else out[parent, :] * factor
        return out.T


def expansion(n_features: int, degree: int, basis: str = "chebyshev") -> Expansion:
    """Return the polynomials of total degree 1 to `degree` in some variables.

    Parameters
    ----------
    n_features : int
        Number of variables.
    degree : int
        The highest total degree.
    basis : {"chebyshev", "hermite", "legendre", "monomial"}, default="chebyshev"
        Polynomials of which products are taken. Chebyshev and Legendre want variables in
        [-1, 1], Hermite those of unit variance.

    Returns
    -------
    Expansion
        A function of rows, ordered by degree.
    """
    if basis not in BASES:
        raise ValueError(f"basis must be one of {BASES}, got {basis!r}.")
    # The last variable of a function never comes before that of its parent, so that every
    # product is made once; ``made`` holds (degree, parent, variable, power).
    made: list[tuple[int, int, int, int]] = []
    for total in range(1, degree + 1):
        for variable in range(n_features):
            made.append((total, -1, variable, total))
        for parent, (degree_of, _, last, _) in enumerate(list(made)):
            if degree_of < total:
                power = total - degree_of
                made.extend((total, parent, later, power) for later in range(last + 1, n_features))
    plan = np.array(made, dtype=np.int64).reshape(-1, 4)
    return Expansion(basis, degree, n_features, plan[:, 1], plan[:, 2], plan[:, 3])


def column_by_column(X: Floats) -> Floats:
    """Return a narrow table with columns in one piece of memory: all that follows runs along them.

    A wide table is returned as it is.
    """
    if X.shape[1] > NARROW or X.flags.f_contiguous:
        return X
    turned = np.empty(X.shape[::-1], dtype=X.dtype)
    for rows in _chunks(len(X)):
        turned[:, rows] = X[rows].T
    return turned.T


def _chunks(n: int) -> Iterator[slice]:
    """Yield rows of narrow tables that near caches hold: twice as fast as all at once."""
    return (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))


def _means(xp: Any, Z: Any) -> Any:
    """Return the mean of each column; of NumPy's rows by one product, several times as fast."""
    if isinstance(Z, np.ndarray) and not Z.flags.f_contiguous:
        return np.ones(len(Z), dtype=Z.dtype) @ Z / len(Z)
    return xp.mean(Z, axis=0)


class StreamingMoments:
    """Mean, scatter about the mean, and second moments of differences, added up block by block.

    Parameters
    ----------
    lag : int, default=1
        Differences are taken between rows that are so many steps apart.
    about_mean : bool, default=False
        Whether rows lie about the mean of the first block: their products are then taken as they
        stand, and the means put right afterwards.

    Attributes
    ----------
    count, n_steps : int
        Rows and differences so far.
    mean : array of shape (n_functions,)
        Mean of the rows.
    scatter, velocity : array of shape (n_functions, n_functions)
        Sums of the products of centred rows, and of differences.
    """

    def __init__(self, lag: int = 1, about_mean: bool = False) -> None:
        self.lag = lag
        self.about_mean = about_mean
        self.count = self.n_steps = 0
        self.mean: Any = None
        self.scatter: Any = None
        self.velocity: Any = None
        self._tail: Any = None
        self._episodes: Ints = np.empty(0, dtype=np.int64)

    def update(self, Z: Any, episodes: Ints | None = None, spent: bool = False) -> None:
        """Add a block of rows.

        Parameters
        ----------
        Z : array of shape (n_rows, n_functions)
            Rows, in the order of time.
        episodes : ndarray of int, optional
            To which episode each row belongs; None means the one under way. Differences are taken
            within episodes, also over the border of two blocks.
        spent : bool, default=False
            Whether nobody needs Z any more, so that it may be written over.
        """
        if episodes is None:
            last = self._episodes[-1] if self._episodes.size else 0
            episodes = np.full(Z.shape[0], last, dtype=np.int64)
        self.add_steps(Z, episodes)
        self.add_rows(Z, spent)

    def add_rows(self, Z: Any, spent: bool = False) -> None:
        """Add rows to the mean and the scatter alone; `spent` as in `update`."""
        xp = namespace_of(Z).xp
        n = Z.shape[0]
        mean = _means(xp, Z)
        if self.about_mean:
            scatter = Z.T @ Z - n * mean[:, None] * mean
        else:
            if spent:
                Z -= mean
            centred = Z if spent else Z - mean
            scatter = centred.T @ centred
        if self.count == 0:
            self.count, self.mean, self.scatter = n, mean, scatter
            return
        gap, total = mean - self.mean, self.count + n
        self.scatter = self.scatter + scatter + (self.count * n / total) * gap[:, None] * gap
        self.mean = self.mean + (n / total) * gap
        self.count = total

    def add_steps(self, Z: Any, episodes: Ints) -> None:
        """Add differences alone; rows are those of `add_rows`."""
        xp = namespace_of(Z).xp
        self._add_differences(Z, episodes)
        if self._tail is not None and self._episodes[-1] == episodes[0]:
            # over the border: the last rows with as many of the first, not with a whole block
            border = xp.concat([self._tail, Z[: self.lag, :]])
            around = np.concatenate([self._episodes, episodes[: self.lag]])
            self._add_differences(border, around)
            if Z.shape[0] < self.lag:
                Z, episodes = border, around
        # A copy: a view would keep the whole block alive.
        self._tail = xp.asarray(Z[-self.lag :, :], copy=True)
        self._episodes = episodes[-self.lag :].copy()

    def _add_differences(self, Z: Any, episodes: Ints) -> None:
        """Add the differences of these rows alone."""
        if Z.shape[0] <= self.lag:
            return
        steps = Z[self.lag :, :] - Z[: -self.lag, :]
        if episodes[0] != episodes[-1]:  # they rise
            steps = steps[np.flatnonzero(episodes[self.lag :] == episodes[: -self.lag]), :]
        velocity = steps.T @ steps
        self.velocity = velocity if self.velocity is None else self.velocity + velocity
        self.n_steps += steps.shape[0]

    def begin_episode(self) -> None:
        """Forget the last rows, so that the next block begins an episode."""
        self._tail = None

    @property
    def covariance(self) -> Any:
        """Covariance of the rows, with the number of rows as divisor."""
        return self.scatter / self.count

    @property
    def velocity_covariance(self) -> Any:
        """Mean product of differences."""
        return self.velocity / self.n_steps


def blocks_of(n_rows: int, width: int) -> Iterator[slice]:
    """Yield the rows, so many at once that `width` numbers a row stay few."""
    size = max(256, min(MOST_ROWS, BLOCK // max(width, 1)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def episodes_of(lengths: Ints, first: int = 0) -> Ints:
    """Return the number of the episode of every row."""
    return np.repeat(np.arange(first, first + len(lengths)), lengths)


def streamed(
    X: Any,
    lengths: Ints,
    expand: Callable[[Any], Any],
    width: int,
    *,
    lag: int = 1,
    into: StreamingMoments | None = None,
    first: int = 0,
    fresh: bool = False,
) -> StreamingMoments:
    """Return the moments of the functions of rows, never all of them in memory.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Rows of all episodes, one after the other.
    lengths : ndarray of int
        Rows of each episode.
    expand : callable
        Maps rows to functions.
    width : int
        How many functions; decides how many rows are taken at once.
    lag : int, default=1
        Steps between the rows of a difference.
    into : StreamingMoments, optional
        Moments to add to; new ones by default.
    first : int, default=0
        Number of the first episode.
    fresh : bool, default=False
        Whether `expand` makes an array of its own each time, which may be written over.

    Returns
    -------
    StreamingMoments
        Moments of all rows.
    """
    moments = StreamingMoments(lag) if into is None else into
    episodes = episodes_of(lengths, first)
    for rows in blocks_of(X.shape[0], width):
        moments.update(expand(X[rows, :]), episodes[rows], fresh)
    return moments


class Box(NamedTuple):
    """A shift and a scale of variables: ``(X - center) / scale``."""

    center: Floats
    scale: Floats

    def __call__(self, X: Any) -> Any:
        """Return rows in the units of the box."""
        moved = X - self.center
        if (self.scale != 1.0).any():
            moved /= self.scale
        return moved

    def turned(self, X: Floats) -> Floats:
        """Return rows in the units of the box, a new table column by column where it is narrow."""
        if X.shape[1] > NARROW or X.flags.f_contiguous:
            return self(X)
        moved, scaled = np.empty(X.shape[::-1]), (self.scale != 1.0).any()
        for rows in _chunks(len(X)):
            part = moved[:, rows]
            np.subtract(X[rows].T, self.center[:, None], out=part)
            if scaled:
                part /= self.scale[:, None]
        return moved.T


def _extremes(X: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each column."""
    if X.shape[1] > NARROW or X.flags.f_contiguous:
        return X.min(axis=0), X.max(axis=0)
    buffer, ends = np.empty((X.shape[1], CHUNK), dtype=X.dtype), []
    for rows in _chunks(len(X)):
        part = buffer[:, : rows.stop - rows.start]
        part[:] = X[rows].T
        ends.append((part.min(axis=1), part.max(axis=1)))
    low, high = np.array(ends).swapaxes(0, 1)
    return low.min(axis=0), high.max(axis=0)


def box_of(X: Floats, kind: str = "minmax") -> Box:
    """Return the box of the rows of X; columns that do not vary get scale zero.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Finite rows, of any size that doubles hold.
    kind : {"minmax", "standard"}, default="minmax"
        Centre and half-width of the range, so that values lie in [-1, 1]; or mean and deviation.

    Returns
    -------
    Box
        Centre and scale.
    """
    low, high = _extremes(X)
    half = 0.5 * high - 0.5 * low  # no overflow where the range is that of doubles
    center = low + half
    size = np.maximum(np.abs(low), np.abs(high))
    half = np.where(half <= 8.0 * np.finfo(np.float64).eps * size, 0.0, half)
    if kind == "minmax":
        return Box(center, half)
    safe = np.where(half > 0, half, 1.0)
    units = (X - center) / safe
    return Box(center + safe * units.mean(axis=0), half * units.std(axis=0))


def mean_box(X: Floats) -> Box:
    """Return a box about the mean of rows, in their own units where squares of those are doubles.

    Takes one product with X, a sixth of the time of `box_of`; a scale that is not one comes from
    rows here and there.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Finite rows.

    Returns
    -------
    Box
        Mean and scale, none of which is zero.
    """
    sample = X[:: max(len(X) // 1000, 1)]
    top = np.abs(sample).max(axis=0)
    if top.max() < 1e100:
        center = _means(np, X)
        scale = np.abs(sample - center).max(axis=0)
        if (np.abs(center) < 1e100).all() and (scale > 1e-100).all():
            return Box(center, np.ones_like(scale))
    box = box_of(X)
    return Box(box.center, np.where(box.scale > 0, box.scale, 1.0))


class Frame(NamedTuple):
    """Variables without correlation, in a box: ``((X - center) / scale @ rotation)`` in `box`.

    Polynomials of them are conditioned alike whatever invertible linear map the variables went
    through.
    """

    units: Box
    rotation: Floats
    box: Box

    def __call__(self, X: Any) -> Any:
        """Return rows in the units of the frame, column by column."""
        return self.box((self.rotation.T @ self.units(X).T).T)

    @property
    def loadings(self) -> Floats:
        """Return the map from coordinates back to variables, in their units, up to a constant."""
        return self.box.scale[:, None] * np.linalg.pinv(self.rotation)


def frame_of(X: Floats, kind: str = "minmax") -> Frame:
    """Return the frame of the rows of X.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Finite rows; columns that do not vary get a scale of one.
    kind : {"minmax", "standard"}, default="minmax"
        How uncorrelated variables are scaled; see `box_of`.

    Returns
    -------
    Frame
        As many coordinates as variables, less those that others determine. Where rows are too
        few to tell, variables stay as they are.
    """
    X = column_by_column(X)
    box = box_of(X, "standard")
    units = Box(box.center, np.where(box.scale > 0, box.scale, 1.0))
    n, d = X.shape
    rotation = np.eye(d)
    if n > 2 * d:
        inside = units(X)
        values, vectors = np.linalg.eigh(inside.T @ inside / n)
        keep = values > 1e-12 * d
        if keep.any():
            rotation = vectors[:, keep] / np.sqrt(values[keep])
    coordinates = box_of((rotation.T @ units(X).T).T, kind)
    scale = np.where(coordinates.scale > 0, coordinates.scale, 1.0)
    return Frame(units, rotation, Box(coordinates.center, scale))
