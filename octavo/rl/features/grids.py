"""Feature maps on grids: Gaussian bumps and tiles, for states of a few continuous variables.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, sections 3.1.6 and 3.1.8; Sutton and Barto (1998), chapter 8.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.rl.features.transformers import StateFeatures

__all__ = ["RBFGridFeatures", "TileCoding"]

_MOST_CENTRES = 1_000_000


@njit(cache=True)
def _products(left, right, bias):
    """Return all products of a row's entries of two arrays, and a constant if there is a bias."""
    n, a, b = left.shape[0], left.shape[1], right.shape[1]
    out = np.empty((n, a * b + bias))
    for i in range(n):
        for k in range(a):
            for m in range(b):
                out[i, k * b + m] = left[i, k] * right[i, m]
        if bias:
            out[i, a * b] = 1.0
    return out


class RBFGridFeatures(StateFeatures):
    """Gaussian bumps on a grid, normalised to sum to one in every state, and a constant.

    Parameters
    ----------
    n_centres : int or array-like of shape (n_features,), default=3
        Number of centres along each variable.
    low, high : float or array-like of shape (n_features,), default=None
        Corners of the grid; None stands for the range of the data.
    width : float, default=1.0
        Standard deviation of a bump, in distances between centres.
    normalize : bool, default=True
        Whether the bumps are divided by their sum.
    bias : bool, default=True
        Whether to add a constant feature, the last.
    min_activation : float, default=0.0
        Bumps whose summed activation over the states seen during fit is not above this are left
        out, so that corners of the state space that are never visited cost nothing.

    Attributes
    ----------
    centres_ : ndarray of shape (n_kept, `n_features_in_`)
        The centres.
    low_, high_ : ndarray of shape (`n_features_in_`,)
        Corners of the grid.
    scale_ : ndarray of shape (`n_features_in_`,)
        Standard deviations.
    n_features_out_ : int
        Number of features made.
    n_features_in_ : int
        Number of variables seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of variables seen during fit.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : Random features, for many variables.

    Notes
    -----
    A grid has n_centres ** n_features bumps: not for more than a handful of variables.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, sections 3.1.6 and 3.1.8.

    Examples
    --------
    >>> from octavo.rl import RBFGridFeatures
    >>> features = RBFGridFeatures(3, low=0.0, high=1.0).fit_transform([[0.5, 0.5]])
    >>> features.shape, round(float(features.sum()), 12)
    ((1, 10), 2.0)
    """

    _parameter_constraints = {
        "n_centres": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "low": [None, Real, "array-like"],
        "high": [None, Real, "array-like"],
        "width": [Interval(Real, 0, None, closed="neither")],
        "normalize": ["boolean"],
        "bias": ["boolean"],
        "min_activation": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_centres=3,
        *,
        low=None,
        high=None,
        width=1.0,
        normalize=True,
        bias=True,
        min_activation=0.0,
    ):
        self.n_centres = n_centres
        self.low = low
        self.high = high
        self.width = width
        self.normalize = normalize
        self.bias = bias
        self.min_activation = min_activation

    def _grid(self, n_variables):
        """Return the centres and the scale of a bump along each variable."""
        counts = np.broadcast_to(np.asarray(self.n_centres, dtype=np.int64), (n_variables,))
        total = np.prod(counts.astype(float))
        if counts.min() < 1 or total > _MOST_CENTRES:
            raise ValueError(
                f"The grid would have {total:.3g} centres, expected 1 to {_MOST_CENTRES}: choose "
                f"n_centres for the {n_variables} variables accordingly."
            )
        axes = [
            np.linspace(a, b, k) if k > 1 else np.array([(a + b) / 2])
            for a, b, k in zip(self.low_, self.high_, counts)
        ]
        scale = self.width * (self.high_ - self.low_) / np.maximum(counts - 1, 1)
        return axes, scale

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Lay out the grid, and keep the bumps that the data reach.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        X = self._states(X, reset=True)
        self._set_range(X)
        self._axes, self.scale_ = self._grid(X.shape[1])
        grid = np.meshgrid(*self._axes, indexing="ij")
        self.centres_ = np.stack([axis.ravel() for axis in grid], axis=1)
        if self.min_activation > 0:
            used = self._bumps(X).sum(axis=0) > self.min_activation
            if not used.any():
                raise ValueError(
                    f"No bump has an activation above min_activation={self.min_activation:g} on "
                    f"the {len(X)} states seen."
                )
            self.centres_ = self.centres_[used]
        self.n_features_out_ = len(self.centres_) + self.bias
        return self

    def _is_whole(self):
        return len(self.centres_) == math.prod(axis.size for axis in self._axes)

    def _bumps(self, X):
        if self._is_whole():
            return self._whole_grid(X, 0)
        X, centres = X / self.scale_, self.centres_ / self.scale_
        squared = (X**2).sum(axis=1)[:, None] - 2.0 * X @ centres.T + (centres**2).sum(axis=1)
        if not self.normalize:  # |x - c|² of all pairs, by products
            return np.exp(-0.5 * np.maximum(squared, 0.0))
        # The nearest bump is taken out before the exponential, so that far states do not yield 0/0.
        made = np.exp(-0.5 * (squared - squared.min(axis=1, keepdims=True)))
        return made / made.sum(axis=1, keepdims=True)

    def _whole_grid(self, X, bias):
        """Return the bumps of a whole grid: products of bumps along the variables, as are sums."""
        made = np.ones((len(X), 1))
        for j, (axis, scale) in enumerate(zip(self._axes, self.scale_)):
            squared = ((X[:, j, None] - axis) / scale) ** 2
            if self.normalize:
                squared -= squared.min(axis=1, keepdims=True)
            # a product of exponentials over a product of sums: no loop over the grid
            along = np.exp(-0.5 * squared)
            if self.normalize:
                along /= along.sum(axis=1, keepdims=True)
            last = j == len(self._axes) - 1
            made = _products(made, along, bias if last else 0)
        return made

    def transform(self, X):
        """Return the heights of the bumps, and the constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Features.
        """
        X = self._states(X)
        if self._is_whole():
            return self._whole_grid(X, int(self.bias))
        made = self._bumps(X)
        return np.column_stack([made, np.ones(len(X))]) if self.bias else made


def tile_columns(X, low, high, n_tilings, n_tiles):
    """Return the number of the tile that each state falls in, one column a tiling."""
    d = X.shape[1]
    unit = np.clip((X - low) / (high - low), 0.0, 1.0) * n_tiles
    unit = np.minimum(unit, n_tiles * (1 - 1e-12))
    # Odd multiples of the shift differ between variables, so that the diagonals of the
    # tilings do not align (Miller and Glanz 1996).
    shift = np.outer(np.arange(n_tilings), 2 * np.arange(d) + 1) / n_tilings % 1.0
    tiles = (n_tiles + 1) ** d
    small = n_tilings * tiles < 2**31  # as scipy numbers the columns of sparse matrices
    columns = np.empty((len(X), n_tilings), dtype=np.int32 if small else np.int64)
    _fill_tiles(unit, shift, n_tiles + 1, tiles, columns)
    return columns


@njit(cache=True)
def _fill_tiles(unit, shift, stride, tiles, columns):
    """Number the tile of every state and tiling; places are not negative and cut to be floored."""
    for i in range(unit.shape[0]):
        for t in range(shift.shape[0]):
            tile = 0
            for j in range(unit.shape[1]):
                tile = tile * stride + np.int64(unit[i, j] + shift[t, j])
            columns[i, t] = t * tiles + tile


class TileCoding(StateFeatures):
    """Indicators of the tiles that a state falls in, for several grids shifted against each other.

    Parameters
    ----------
    n_tilings : int, default=8
        Number of grids, each shifted by a further fraction of a tile.
    n_tiles : int, default=8
        Tiles along each variable.
    low, high : float or array-like of shape (n_features,), default=None
        Range that is tiled; None stands for that of the data. States outside count as on its edge.
    sparse_output : bool, default=True
        Whether to return a CSR matrix, with n_tilings ones a row.

    Attributes
    ----------
    low_, high_ : ndarray of shape (`n_features_in_`,)
        The range.
    n_features_out_ : int
        Number of features made.
    n_features_in_ : int
        Number of variables seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of variables seen during fit.

    See Also
    --------
    sklearn.preprocessing.KBinsDiscretizer : One tiling, variable by variable.

    Notes
    -----
    A tiling has (n_tiles + 1) ** n_features tiles. For more than about four variables, tile groups
    of them, or hash.

    References
    ----------
    .. [1] Sutton and Barto (1998). Reinforcement learning: an introduction. MIT Press, chapter 8.

    Examples
    --------
    >>> from octavo.rl import TileCoding
    >>> features = TileCoding(2, 2, low=0.0, high=1.0).fit_transform([[0.1], [0.6]])
    >>> features.toarray().astype(int).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]]
    """

    _parameter_constraints = {
        "n_tilings": [Interval(Integral, 1, None, closed="left")],
        "n_tiles": [Interval(Integral, 1, None, closed="left")],
        "low": [None, Real, "array-like"],
        "high": [None, Real, "array-like"],
        "sparse_output": ["boolean"],
    }

    def __init__(self, n_tilings=8, n_tiles=8, *, low=None, high=None, sparse_output=True):
        self.n_tilings = n_tilings
        self.n_tiles = n_tiles
        self.low = low
        self.high = high
        self.sparse_output = sparse_output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        X = self._states(X, reset=True)
        self._set_range(X)
        total = self.n_tilings * float(self.n_tiles + 1) ** X.shape[1]
        if total > 2**53:
            raise ValueError(
                f"{self.n_tilings} tilings of {X.shape[1]} variables have {total:.3g} tiles, more "
                "than can be numbered: take fewer tiles, or tile groups of variables."
            )
        self.n_features_out_ = self.n_tilings * (self.n_tiles + 1) ** X.shape[1]
        return self

    def transform(self, X):
        """Return the indicators of tiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, n_features_out)
            Features.
        """
        X = self._states(X)
        n = len(X)
        columns = tile_columns(X, self.low_, self.high_, self.n_tilings, self.n_tiles)
        ends = np.arange(0, columns.size + 1, self.n_tilings)
        shape = (n, self.n_features_out_)
        made = sp.csr_matrix((np.ones(columns.size), columns.ravel(), ends), shape=shape)
        return made if self.sparse_output else made.toarray()


def _warmup():
    """Compile the kernels."""
    _products(np.ones((1, 1)), np.ones((1, 1)), 1)
    for kind in (np.int32, np.int64):
        _fill_tiles(np.ones((1, 1)), np.ones((1, 1)), 2, 2, np.empty((1, 1), kind))
