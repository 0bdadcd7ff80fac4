"""Cells for tables of values: fuzzy memberships in bins, and plain grids.

Reference: Moore et al. (2014), "Reinforcement learning for closed-loop propofol anesthesia: a study
in human volunteers", JMLR 15:655-696, sections 3.1.2 and 3.2.2, Figure 1. Simulation, not a medical
device.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["FuzzyBins", "TabularEncoder"]


class FuzzyBins(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator):
    """Memberships in "negative", "zero" and "positive" of each variable, cut into bins.

    Simulation, not a medical device.

    Parameters
    ----------
    widths : tuple of float, default=(20, 10)
        For each variable, the value at which "positive" is fully true.
    n_bins : int, default=10
        Bins of a membership.

    Attributes
    ----------
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of variables seen during fit.

    See Also
    --------
    TabularEncoder : Boxes of equal size.
    WatkinsQLambda : Learns a value for each cell.

    Notes
    -----
    Three memberships of two variables in ten bins are 10⁶ cells, of which 19 · 19 = 361 can be
    reached, because the memberships of a variable depend on one number; `encode` numbers those. A
    value exactly on an edge is filed with the cell beyond it. Fitting learns nothing: memberships,
    transform and encode work without it. Not for variables without a zero that means something:
    take `TabularEncoder` or scikit-learn's `KBinsDiscretizer`.

    References
    ----------
    .. [1] Moore et al. (2014). Reinforcement learning for closed-loop propofol anesthesia: a study
       in human volunteers. JMLR 15:655-696, Figure 1.

    Examples
    --------
    >>> from octavo.rl import FuzzyBins
    >>> bins = FuzzyBins()
    >>> bins.memberships([[5.0, -10.0]]).tolist()
    [[0.0, 0.75, 0.25, 1.0, 0.0, 0.0]]
    >>> bins.transform([[5.0, -10.0]]).tolist()
    [[0, 7, 2, 9, 0, 0]]
    """

    _parameter_constraints = {
        "widths": ["array-like"],
        "n_bins": [Interval(Integral, 2, 1000, closed="both")],
    }

    def __init__(self, widths=(20, 10), n_bins=10):
        self.widths = widths
        self.n_bins = n_bins

    def _widths(self) -> np.ndarray:
        self._validate_params()
        widths = np.asarray(self.widths, dtype=np.float64)
        if widths.ndim != 1 or not widths.size or not np.isfinite(widths).all() or min(widths) <= 0:
            raise ValueError(f"Parameter `widths` must hold numbers above 0; got {self.widths!r}.")
        return widths

    def _rows(self, X: Any, reset: bool = False) -> np.ndarray:
        widths = self._widths()
        if reset or hasattr(self, "n_features_in_"):
            X = validate_data(self, X, reset=reset, dtype=np.float64)
        else:
            X = check_array(X, dtype=np.float64)
        if X.shape[1] != len(widths):
            raise ValueError(
                f"X has {X.shape[1]} features, but FuzzyBins has {len(widths)} widths; give one "
                f"width for each."
            )
        return X

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check the rows; nothing is learnt.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows (error, change).
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.
        """
        self._rows(X, reset=True)
        return self

    @property
    def n_states(self) -> int:
        """Number of cells that can be reached."""
        return int((2 * self.n_bins - 1) ** len(self._widths()))

    def memberships(self, X):
        """Return the memberships.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows (error, change).

        Returns
        -------
        ndarray of shape (n_samples, 3 * n_features)
            N, Z and P of each variable, from 0 to 1; the three sum to 1.
        """
        share = self._rows(X) / self._widths()
        parts = np.stack(
            # μ_N, μ_Z, μ_P of Figure 1
            [np.clip(-share, 0, 1), np.maximum(0.0, 1.0 - np.abs(share)), np.clip(share, 0, 1)],
            axis=2,
        )
        return parts.reshape(len(share), -1)

    def transform(self, X):
        """Return the bins of the memberships.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows (error, change).

        Returns
        -------
        ndarray of int of shape (n_samples, 3 * n_features)
            Bins from 0 to n_bins - 1.
        """
        # ten bins of [0, 1] for each membership (Section 3.2.2)
        return np.minimum(self.n_bins - 1, np.floor(self.n_bins * self.memberships(X))).astype(int)

    def encode(self, X):
        """Return the numbers of the cells among those that can be reached.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows (error, change).

        Returns
        -------
        ndarray of int of shape (n_samples,)
            From 0 to n_states - 1, the first variable slowest.
        """
        bins = self.transform(X)
        code = np.zeros(len(bins), dtype=np.int64)
        for j in range(bins.shape[1] // 3):
            # μ_P and μ_N are never both positive, and μ_Z is what they leave: one number says all
            # three
            side = bins[:, 3 * j + 2] - bins[:, 3 * j]
            code = code * (2 * self.n_bins - 1) + side + self.n_bins - 1
        return code

    def places(self):
        """Return where the cells lie, for distances between them.

        Returns
        -------
        ndarray of shape (n_states, n_features)
            Steps from the middle, for each variable.
        """
        n, d = 2 * self.n_bins - 1, len(self._widths())
        grid = np.stack(np.meshgrid(*[np.arange(n)] * d, indexing="ij"), axis=-1).reshape(-1, d)
        return (grid - (self.n_bins - 1)).astype(np.float64)

    @property
    def _n_features_out(self):
        return 3 * self.n_features_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class TabularEncoder(OneToOneFeatureMixin, TransformerMixin, SoundEstimator):
    """Number the boxes of a grid over the range of the data.

    Simulation, not a medical device.

    Parameters
    ----------
    n_bins : int, default=10
        Boxes along each variable.
    low, high : float or array-like of shape (n_features,), default=None
        Ends of the grid; None for the range of the data. Values beyond go to the outermost boxes.

    Attributes
    ----------
    low_, high_ : ndarray of shape (`n_features_in_`,)
        Ends of the grid.
    n_states : int
        Number of boxes.
    n_features_in_ : int
        Number of variables seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of variables seen during fit.

    See Also
    --------
    FuzzyBins : Fine near zero, coarse beyond.
    sklearn.preprocessing.KBinsDiscretizer : Bins by quantiles too.

    Notes
    -----
    Boxes grow as n_bins to the number of variables: not for more than three or four.

    References
    ----------
    .. [1] Moore et al. (2014). Reinforcement learning for closed-loop propofol anesthesia: a study
       in human volunteers. JMLR 15:655-696, section 3.2.2.

    Examples
    --------
    >>> from octavo.rl import TabularEncoder
    >>> TabularEncoder(4, low=0.0, high=1.0).fit([[0.0, 0.0]]).encode([[0.3, 0.9]]).tolist()
    [7]
    """

    _parameter_constraints = {
        "n_bins": [Interval(Integral, 1, 10_000, closed="both")],
        "low": ["array-like", Real, None],
        "high": ["array-like", Real, None],
    }

    def __init__(self, n_bins=10, *, low=None, high=None):
        self.n_bins = n_bins
        self.low = low
        self.high = high

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Set the ends of the grid.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted encoder.
        """
        X = validate_data(self, X, dtype=np.float64)
        ends = []
        for name, given, seen in (("low", self.low, X.min(axis=0)), ("high", self.high, X.max(0))):
            bound = seen if given is None else np.asarray(given, dtype=np.float64)
            if bound.ndim > 1 or (bound.ndim == 1 and bound.size != X.shape[1]):
                raise ValueError(
                    f"Parameter `{name}` must be a number or {X.shape[1]} of them; got {given!r}."
                )
            ends.append(np.broadcast_to(bound, (X.shape[1],)).astype(np.float64))
        self.low_, high = ends
        if not (np.isfinite(self.low_).all() and np.isfinite(high).all()):
            raise ValueError("Ends of the grid must be finite; got NaN or infinity.")
        given = self.low is not None and self.high is not None
        if given and (high <= self.low_).any():
            raise ValueError(f"Every high must exceed its low; got {self.low!r} and {self.high!r}.")
        self.high_ = np.where(high > self.low_, high, self.low_ + 1.0)
        return self

    @property
    def n_states(self) -> int:
        """Number of boxes."""
        check_is_fitted(self, "low_")
        n = int(self.n_bins) ** len(self.low_)
        if n > 10**8:
            raise ValueError(
                f"A grid of {self.n_bins}^{len(self.low_)} boxes is too large for a table; use "
                f"fewer bins or variables."
            )
        return n

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def transform(self, X):
        """Return the boxes along each variable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.

        Returns
        -------
        ndarray of int of shape (n_samples, n_features)
            From 0 to n_bins - 1.
        """
        check_is_fitted(self, "low_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        with np.errstate(over="ignore"):
            share = (X - self.low_) / (self.high_ - self.low_)
        return np.clip(np.floor(np.clip(share, -1, 2) * self.n_bins), 0, self.n_bins - 1).astype(
            np.int64
        )

    def encode(self, X):
        """Return the numbers of the boxes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            From 0 to n_states - 1, the first variable slowest.
        """
        boxes = self.transform(X)
        code = np.zeros(len(boxes), dtype=np.int64)
        for column in boxes.T:
            code = code * self.n_bins + column
        return code

    def places(self):
        """Return where the boxes lie, for distances between them.

        Returns
        -------
        ndarray of shape (n_states, n_features)
            Boxes along each variable.
        """
        check_is_fitted(self, "low_")
        d = len(self.low_)
        grid = np.meshgrid(*[np.arange(self.n_bins)] * d, indexing="ij")
        return np.stack(grid, axis=-1).reshape(-1, d).astype(np.float64)
