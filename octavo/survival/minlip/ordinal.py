"""Ordinal regression: MINLIP with thresholds (Section 4), and two support vector machines.

References: V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011), "Learning
Transformation Models for Ranking and Survival Analysis", JMLR 12, Section 4; W. Chu and S. S.
Keerthi (2005), "New approaches to support vector ordinal regression".
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.duals.threshold_qp import ThresholdProblem
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.classes import encode_classes, need_two_classes
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context
from octavo.engine.survival.targets import Intervals
from octavo.survival.minlip.estimators import pair_concordance, threshold_problem
from octavo.survival.minlip.machine import KERNEL_CONSTRAINTS, UtilityMachine
from octavo.survival.minlip.pairs import threshold_terms

__all__ = ["MinlipOrdinal", "OrdinalSVM"]


def neighbour_terms(
    features: Floats, codes: Indices, below: Floats, above: Floats
) -> ThresholdProblem:
    """Return the terms of Eq. (11): each row against the thresholds of its own level.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Of the rows.
    codes : ndarray of int of shape (n,)
        Levels 0, ..., k - 1.
    below, above : ndarray of shape (k,)
        By how much a row lies above the threshold below its level (Y - QB), and above the next
        (Y - Q*B, negative): the margins.

    Returns
    -------
    ThresholdProblem
        With an error of its own for each side.
    """
    k = len(below)
    up, down = np.flatnonzero(codes > 0), np.flatnonzero(codes < k - 1)
    none = np.full
    return ThresholdProblem(
        features,
        np.concatenate([up, down]),
        np.concatenate([codes[up] - 1, none(len(down), -1)]),  # Q of Eq. (11): rows with k_i >= 2
        np.concatenate([below[codes[up]], np.zeros(len(down))]),
        np.concatenate([none(len(up), -1), codes[down]]),  # Q*: rows with k_i <= k - 1
        np.concatenate([np.zeros(len(up)), above[codes[down]]]),
        k - 1,
        True,
    )


def every_threshold_terms(features: Floats, codes: Indices, n_levels: int) -> ThresholdProblem:
    """Return the terms of IMC: each row at a margin of one from every threshold."""
    n, k = len(codes), n_levels
    rows = np.repeat(np.arange(n), k - 1)
    threshold = np.tile(np.arange(k - 1), n)
    over = codes[rows] > threshold  # every row against every threshold: IMC of Section 4.3
    zero = np.zeros(len(rows))
    return ThresholdProblem(
        features,
        rows,
        np.where(over, threshold, -1),
        np.where(over, 1.0, zero),
        np.where(over, -1, threshold),
        np.where(over, zero, -1.0),
        k - 1,
        False,
    )


def ordered_levels(y: Any, owner: Any) -> tuple[NDArray[Any], Indices]:
    """Return the sorted levels of y and their codes; a level may be any number.

    A target in which most rows have a value of their own is refused as continuous.
    """
    values = np.unique(np.asarray(y))
    if values.dtype.kind == "f" and np.isfinite(values).all() and 2 * len(values) <= len(y):
        need_two_classes(values, owner)
        return values, np.searchsorted(values, y)
    return encode_classes(y, owner=owner)


class OrdinalMachine(ClassifierMixin, UtilityMachine):
    """A utility with thresholds between levels."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the level between whose thresholds the utility lies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        level : ndarray of shape (n_samples,)
            One of `classes_`.
        """
        check_is_fitted(self, "thresholds_")
        # Section 4.2
        return self.classes_[np.searchsorted(self.thresholds_, self.predict_utility(X))]

    def concordance(self, X: Any, y: Any) -> float:
        """Return the share of pairs of different levels that the utility orders right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Levels.

        Returns
        -------
        share : float
            Ties of the utility count half.
        """
        utility = self.predict_utility(X)
        codes = np.searchsorted(self.classes_, np.asarray(y)).astype(np.float64)
        return pair_concordance(Intervals(codes, codes), utility)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # classes that are in no order cannot be told
        return tags


class MinlipOrdinal(OrdinalMachine):
    """Ordinal levels by a utility with thresholds, whose margins are the distances of the levels.

    Minimises ½‖w‖² + C Σ(e + e*) where a row of level Y lies above the threshold below it by
    Y - B, B halfway between the two levels, and below the next likewise (Eq. 11).

    Parameters
    ----------
    C : float or None, default=1.0
        Weight of the errors, the paper's γ, in the units of the levels; None or infinity allows
        none.
    levels : array-like of shape (n_levels,), default=None
        All levels in their order, numbers or names, where y may lack one; numbers are distances,
        names count 0, 1, 2, ... None takes those of y, sorted.
    tol : float, default=1e-12
        Part of the objective to which the duality gap falls.
    thresholds : {"explicit", "implicit"}, default="explicit"
        Free thresholds in their order (Eq. 11), or dummy rows between the levels with a penalty on
        them too (Eq. 8 on the extended matrices of Section 4.1).
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed", a function of
        (X, Z), or a `ComponentwiseKernel`.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly" and "sigmoid".
    n_components : int or None, default=None
        Landmarks of a Nyström map.
    max_iter : int, default=200
        Steps of the solver at most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_levels,)
        The levels.
    thresholds_ : ndarray of shape (n_levels - 1,)
        v, between the utilities of neighbouring levels.
    dual_coef_ : ndarray of shape (n_samples,)
        α - β: u(x) = Σ dual_coef_i K(x_i, x).
    utility_train_ : ndarray of shape (n_samples,)
        Utilities of the training rows.
    lipschitz_ : float
        ‖w‖.
    objective_ : float
        ½‖w‖² + C Σ(e + e*) at the solution.
    duality_gap_ : float
        How far that is from the smallest possible, at most.
    n_iter_ : int
        Steps of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    Notes
    -----
    For classes without an order use `sklearn.svm.SVC`; with two levels it is the same machine.

    References
    ----------
    .. [1] V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011). "Learning
       Transformation Models for Ranking and Survival Analysis". Journal of Machine Learning
       Research 12:819-862.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import MinlipOrdinal
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [8.0], [9.0]])
    >>> model = MinlipOrdinal(C=100.0).fit(X, [1, 1, 2, 2, 8, 8])
    >>> model.predict([[0.5], [2.6], [7.0]]), model.thresholds_.round(2)
    (array([1, 2, 8]), array([1.8, 6.6]))
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "levels": ["array-like", None],
        "thresholds": [StrOptions({"explicit", "implicit"})],
    }

    def __init__(
        self,
        C: float | None = 1.0,
        levels: Any = None,
        tol: float = 1e-12,
        *,
        thresholds: str = "explicit",
        kernel: Any = "linear",
        gamma: float | str | None = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.levels = levels
        self.tol = tol
        self.thresholds = thresholds
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> MinlipOrdinal:
        """Fit the utility and the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the Gram matrix for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Levels.

        Returns
        -------
        self : MinlipOrdinal
            The fitted machine.
        """
        X, y = self._check_rows(X, y=y)
        self.classes_, codes = self._known_levels(y)
        value = _distances(self.classes_)
        seen, codes = np.unique(codes, return_inverse=True)
        need_two_classes(self.classes_[seen], self)
        level = value[seen]
        middle = 0.5 * (level[1:] + level[:-1])  # B of Section 4.1
        features = self._feature_map(X, offset_free=self.thresholds == "explicit")
        if self.thresholds == "explicit":
            below = np.r_[0.0, level[1:] - middle]  # Y - QB
            above = np.r_[level[:-1] - middle, 0.0]  # Y - Q*B
            problem = neighbour_terms(features, codes.ravel(), below, above)
            w, q, fit = self._solve(X, y, problem, "l1")
            v = fit.v
        else:
            w, q, v = self._fit_dummies(X, y, features, level[codes.ravel()], middle)
        self._keep(X, w, q)
        self.utility_train_ = self._utilities(X)
        shift = float(np.mean(self.utility_train_ - features @ w))  # features were centred
        self.thresholds_ = self._all_thresholds(value, seen, middle, v + shift)
        return self

    def _fit_dummies(
        self, X: Floats, y: Any, features: Floats, outcome: Floats, middle: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Solve Eq. (8) with a dummy row, and a feature of its own for it, between two levels."""
        n, d, k = len(X), features.shape[1], len(middle)
        extended = np.zeros((n + k, d + k))
        extended[:n, :d] = features
        extended[n:, d:] = np.eye(k)
        both = np.concatenate([outcome, middle])
        ends = Intervals(both, both)
        problem = threshold_problem(extended, ends, threshold_terms(ends, "nearest"))
        w, q, _ = self._solve(extended, y, problem, "l1")
        return w[:d], q[:n], np.maximum.accumulate(w[d:])  # v: the dummies' own features

    def _known_levels(self, y: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
        if self.levels is None:
            return ordered_levels(y, self)
        levels = np.asarray(self.levels)
        if levels.ndim != 1 or len(levels) < 2 or len(np.unique(levels)) < len(levels):
            raise ValueError(
                "levels must name two levels or more, each once, in their order; got "
                f"{self.levels!r}."
            )
        if levels.dtype.kind in "fiu" and not (np.diff(levels) > 0).all():
            raise ValueError(f"levels must rise; got {levels.tolist()}.")
        place = {level: i for i, level in enumerate(levels.tolist())}
        unseen = [label for label in np.unique(y).tolist() if label not in place]
        if unseen:
            raise ValueError(
                f"y holds a level that is not in levels={levels.tolist()}: {unseen[0]!r}."
            )
        return levels, np.array([place[label] for label in y.tolist()])

    def _all_thresholds(self, value: Floats, seen: Indices, middle: Floats, v: Floats) -> Floats:
        """Return thresholds of all levels; those next to a level without rows are interpolated."""
        if len(seen) == len(value):
            return v
        missing = np.delete(self.classes_, seen).tolist()
        warnings.warn(
            f"No row has the level {missing[0]!r} ({len(missing)} such levels): the thresholds "
            "around it are interpolated.",
            UserWarning,
            stacklevel=4,
        )
        between = 0.5 * (value[1:] + value[:-1])
        # h rises by one level for one unit of utility: the margin that is asked for.
        nearest = np.abs(between[:, None] - middle).argmin(axis=1)
        return v[nearest] + between - middle[nearest]


def _distances(levels: NDArray[Any]) -> Floats:
    """Return levels as numbers; names count 0, 1, 2, ..."""
    if levels.dtype.kind in "fiub":
        return levels.astype(np.float64)
    return np.arange(len(levels), dtype=np.float64)


class OrdinalSVM(OrdinalMachine):
    """Support vector ordinal regression: one utility, thresholds, and a margin of one at each.

    Minimises ½‖w‖² + C Σ errors. With explicit thresholds (EXC of Chu and Keerthi) a row is
    compared with the two thresholds of its level, which are held in their order; with implicit ones
    (IMC) with all of them, which orders them by itself.

    Parameters
    ----------
    C : float or None, default=1.0
        Weight of the errors; None or infinity allows none.
    thresholds : {"explicit", "implicit"}, default="explicit"
        EXC or IMC.
    tol : float, default=1e-12
        Part of the objective to which the duality gap falls.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed", a function of
        (X, Z), or a `ComponentwiseKernel`.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly" and "sigmoid".
    n_components : int or None, default=None
        Landmarks of a Nyström map.
    max_iter : int, default=200
        Steps of the solver at most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_levels,)
        The levels.
    thresholds_ : ndarray of shape (n_levels - 1,)
        Between the utilities of neighbouring levels.
    utility_train_ : ndarray of shape (n_samples,)
        Utilities of the training rows.
    lipschitz_ : float
        ‖w‖, the inverse of half the margin.
    objective_ : float
        ½‖w‖² + C Σ errors at the solution.
    duality_gap_ : float
        How far that is from the smallest possible, at most.
    n_iter_ : int
        Steps of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    Notes
    -----
    Where levels are not equally far apart, `MinlipOrdinal` uses their distances. With two levels
    both are `sklearn.svm.SVC`.

    References
    ----------
    .. [1] W. Chu and S. S. Keerthi (2005). "New approaches to support vector ordinal regression".
       Proceedings of the 22nd International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import OrdinalSVM
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [8.0], [9.0]])
    >>> OrdinalSVM(C=100.0).fit(X, [1, 1, 2, 2, 8, 8]).predict([[0.5], [2.6], [7.0]])
    array([1, 2, 8])
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "thresholds": [StrOptions({"explicit", "implicit"})],
    }

    def __init__(
        self,
        C: float | None = 1.0,
        thresholds: str = "explicit",
        tol: float = 1e-12,
        *,
        kernel: Any = "linear",
        gamma: float | str | None = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.thresholds = thresholds
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> OrdinalSVM:
        """Fit the utility and the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the Gram matrix for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Levels, in the order in which they sort.

        Returns
        -------
        self : OrdinalSVM
            The fitted machine.
        """
        X, y = self._check_rows(X, y=y)
        self.classes_, codes = ordered_levels(y, self)
        k = len(self.classes_)
        features = self._feature_map(X)
        if self.thresholds == "explicit":
            # EXC: margins of one for all levels
            problem = neighbour_terms(features, codes, np.ones(k), -np.ones(k))
        else:
            problem = every_threshold_terms(features, codes, k)
        w, q, fit = self._solve(X, y, problem, "l1")
        self._keep(X, w, q)
        self.utility_train_ = self._utilities(X)
        shift = float(np.mean(self.utility_train_ - features @ w))
        self.thresholds_ = np.maximum.accumulate(fit.v + shift)
        return self
