"""0/1 columns from any table: thresholds of numbers, levels of categories, both ways round."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows

__all__ = ["ThresholdBinarizer"]


class ThresholdBinarizer(TransformerMixin, SoundEstimator):
    """Turn a table into 0/1 columns that say on which side of thresholds a number lies.

    Parameters
    ----------
    thresholds : {"quantile", "uniform"} or list of array-like, default="quantile"
        Where numbers are cut: at quantiles, at equal steps between the extremes, or at given
        numbers, an array a column (in the order of the columns that are not categorical).
    n_thresholds : int, default=3
        Most thresholds a column.
    polarity : {"auto", "both", "above"}, default="auto"
        Whether "at most t" gets a column beside "above t", and "other than c" one beside "equal
        to c". "auto" gives numbers both and categories "equal" alone; columns of two values get
        one column, for the larger, and columns of zeros in at least half of the rows one for
        what is not zero.
    categorical_features : array-like of int or bool, default=None
        Which columns are categories.

    Attributes
    ----------
    thresholds_ : list of ndarray
        The thresholds of each column; empty for categories and constants.
    categories_ : list of ndarray
        The levels of each column; empty for numbers.
    origin_ : ndarray of shape (n_columns_out,)
        The column of X behind each new one.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    RandomIntersectionTrees : What the columns are for.

    Notes
    -----
    Columns that are mostly zero, as in sparse rows, are only asked whether they are zero, so that
    sparse rows stay sparse (except with ``polarity="both"``). scikit-learn's `Binarizer` has one
    threshold for all columns, and `KBinsDiscretizer` makes one column an interval, so that
    "above t" is no column.

    References
    ----------
    R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
    Learning Research 15.

    Examples
    --------
    >>> from octavo.linear import ThresholdBinarizer
    >>> binary = ThresholdBinarizer(n_thresholds=1).fit([[1.0], [2.0], [3.0], [4.0]])
    >>> binary.transform([[0.0], [9.0]]).toarray().tolist(), binary.thresholds_[0].tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [2.5])
    """

    _parameter_constraints: dict[str, Any] = {
        "thresholds": [StrOptions({"quantile", "uniform"}), list, tuple],
        "n_thresholds": [Interval(Integral, 1, 10_000, closed="both")],
        "polarity": [StrOptions({"auto", "both", "above"})],
        "categorical_features": ["array-like", None],
    }

    def __init__(
        self,
        thresholds="quantile",
        n_thresholds=3,
        polarity="auto",
        categorical_features=None,
    ):
        self.thresholds = thresholds
        self.n_thresholds = n_thresholds
        self.polarity = polarity
        self.categorical_features = categorical_features

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Choose thresholds and levels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers, and categories of any type.
        y : None
            Ignored.

        Returns
        -------
        self : ThresholdBinarizer
            The fitted transformer.
        """
        X = self._validate(X, reset=True)
        d = X.shape[1]
        self.categories_: list[Any] = [np.empty(0)] * d
        self.thresholds_: list[Any] = [np.empty(0)] * d
        self._plain, self._two = np.zeros(d, bool), np.zeros(d, bool)
        self._fit_columns(X)
        self._lay_out()
        return self

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if self.categorical_features is None:
            return validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        return validate_data(self, X, dtype=None, reset=reset, ensure_all_finite=False)

    def _is_category(self, d: int) -> np.ndarray:
        if self.categorical_features is None:
            return np.zeros(d, bool)
        given = np.asarray(self.categorical_features)
        if given.dtype == bool and given.shape == (d,):
            return given
        chosen = np.zeros(d, bool)
        try:
            chosen[given.astype(np.int64)] = True
        except (IndexError, TypeError, ValueError):
            raise ValueError(
                f"categorical_features must be column numbers from 0 to {d - 1} or {d} booleans; "
                f"got {self.categorical_features!r}."
            ) from None
        return chosen

    def _numbers(self, X: Any, k: int) -> np.ndarray:
        column = X[:, [k]].toarray()[:, 0] if sp.issparse(X) else X[:, k]
        if column.dtype == np.float64:
            return column
        return check_array(column[:, None], dtype=np.float64, input_name="X")[:, 0]

    def _fit_columns(self, X: Any) -> None:
        is_category = self._is_category(X.shape[1])
        given = None if isinstance(self.thresholds, str) else list(self.thresholds)
        n_numbers = int((~is_category).sum())
        if given is not None and len(given) != n_numbers:
            raise ValueError(
                f"thresholds must have an array for each of the {n_numbers} columns of numbers, "
                f"got {len(given)}."
            )
        if given is None:
            self._plain = _mostly_zero(X, is_category)
        columns = sp.csc_array(X) if sp.issparse(X) else X
        for k in range(X.shape[1]):
            if self._plain[k]:
                self.thresholds_[k] = np.zeros(1)
                continue
            if is_category[k]:
                self.categories_[k] = np.unique(self._levels(X[:, k], k))
                continue
            column = self._numbers(columns, k)
            if given is not None:
                own = check_array(given.pop(0), ensure_2d=False, dtype=np.float64)
                self.thresholds_[k] = np.unique(own.ravel())
                continue
            low, high = column.min(), column.max()
            self._two[k] = low < high and bool(np.isin(column, (low, high)).all())
            self.thresholds_[k] = np.array([low]) if self._two[k] else self._cuts(column)

    def _levels(self, column: Any, k: int) -> np.ndarray:
        levels = np.asarray(column, dtype=object)
        lost = [v for v in levels if v is None or v != v]
        if lost:
            raise ValueError(f"Column {k} of X has missing categories (None or NaN): {lost[0]!r}.")
        return np.asarray([str(v) for v in levels])

    def _cuts(self, column: np.ndarray) -> np.ndarray:
        """Return thresholds with rows on both sides."""
        low, high = float(column.min()), float(column.max())
        # Inner quantiles alone
        steps = np.arange(1, self.n_thresholds + 1) / (self.n_thresholds + 1)
        if self.thresholds == "uniform":
            cuts = low * (1 - steps) + high * steps
        else:
            cuts = np.quantile(column, steps, method="averaged_inverted_cdf")
        cuts = np.unique(cuts)
        cuts = cuts[(cuts >= low) & (cuts < high)]  # "> cut" then has rows on both sides
        if not cuts.size and high > low:  # nearly constant: split off the rest
            cuts = np.array([low])
        return cuts

    def _lay_out(self) -> None:
        """Record column, threshold or level, and side (1 above or equal, 0 not) of what is made."""
        made: list[tuple[int, Any, int]] = []
        for k, (cuts, levels) in enumerate(zip(self.thresholds_, self.categories_)):
            both = self.polarity == "both" and not self._plain[k]
            if self.polarity == "auto":
                both = bool(cuts.size) and not self._plain[k] and not self._two[k]
            for value in (*cuts, *levels):
                made.append((k, value, 1))
                if both or (self.polarity == "both" and self._plain[k]):
                    made.append((k, value, 0))
        self._made = made
        self.origin_ = np.array([k for k, _, _ in made], np.int64)

    def transform(self, X):
        """Return the 0/1 columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the form of those of `fit`; categories that `fit` has not seen are none.

        Returns
        -------
        columns : csr_array of shape (n_samples, n_columns_out)
            Zeros and ones.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._transform_sparse(X) if sp.issparse(X) else self._transform_dense(X)

    def _side(self, X: Any, k: int, value: Any, side: int) -> np.ndarray:
        """Return one new column."""
        if isinstance(value, str):
            held = self._levels(X[:, k], k) == value
        elif self._plain[k]:
            held = self._numbers(X, k) != 0
        else:
            held = self._numbers(X, k) > value
        return held == bool(side)

    def _transform_dense(self, X: Any) -> sp.csr_array:
        blocks = np.empty((X.shape[0], len(self._made)))
        for at, (k, value, side) in enumerate(self._made):
            blocks[:, at] = self._side(X, k, value, side)
        return sp.csr_array(blocks)

    def _transform_sparse(self, X: Any) -> sp.csr_array:
        """Take what is stored of columns that are mostly zero; write others out one by one."""
        columns = sp.csc_array(X)
        stored = columns.astype(np.float64, copy=True)
        stored.data = (stored.data != 0).astype(np.float64)
        stored.eliminate_zeros()
        rare = np.array(
            [at for at, (k, _, s) in enumerate(self._made) if s and self._plain[k]], int
        )
        rest = np.setdiff1d(np.arange(len(self._made)), rare)
        parts = [stored[:, self.origin_[rare]]]
        for at in rest:
            held = self._side(columns, *self._made[at])
            parts.append(sp.csc_array(held.astype(np.float64)[:, None]))
        back = np.argsort(np.concatenate([rare, rest]), kind="stable")
        return sp.csr_array(sp.csc_array(sp.hstack(parts))[:, back])

    def get_feature_names_out(self, input_features=None):
        """Return what each column says, such as "age > 40".

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X.

        Returns
        -------
        names : ndarray of shape (n_columns_out,)
            Names.
        """
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        if input_features is None:
            input_features = [f"x{k}" for k in range(self.n_features_in_)]
        if len(input_features) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length {self.n_features_in_}, got "
                f"{len(input_features)}."
            )
        names = []
        for k, value, side in self._made:
            name = str(input_features[k])
            if isinstance(value, str):
                names.append(f"{name} {'=' if side else '!='} {value}")
            elif self._plain[k]:
                names.append(name if side else f"not {name}")
            else:
                names.append(f"{name} {'>' if side else '<='} {value:.6g}")
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.categorical_features is None
        tags.transformer_tags.preserves_dtype = []
        return tags


def _mostly_zero(X: Any, is_category: np.ndarray) -> np.ndarray:
    """Tell which columns hold zeros and ones alone, or zeros in at least half of the rows."""
    n, d = X.shape
    if sp.issparse(X):
        columns = sp.csc_array(X)
        at = np.repeat(np.arange(d), np.diff(columns.indptr))
        filled = np.bincount(at[columns.data != 0], minlength=d)
        other = np.bincount(at[(columns.data != 0) & (columns.data != 1)], minlength=d)
        return (other == 0) | (2 * filled <= n)
    found = np.zeros(d, bool)
    for k in np.flatnonzero(~is_category):
        column = np.asarray(X[:, k])
        zero = column == 0
        found[k] = bool((zero | (column == 1)).all() or 2 * zero.sum() >= n)
    return found
