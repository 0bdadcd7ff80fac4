"""MINLIP with few features: the 1-norm of the weights in place of their length (Section 3.5).

References: V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011), "Learning
Transformation Models for Ranking and Survival Analysis", JMLR 12, Eq. (10).
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.duals.threshold_program import threshold_lp
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.survival.targets import Intervals, as_intervals
from octavo.survival.minlip.estimators import pair_concordance, threshold_problem
from octavo.survival.minlip.pairs import MODES, threshold_terms
from octavo.survival.minlip.reconstruction import SurvivalCurveEstimator, TransformationFunction
from octavo.survival.minlip.times import TRANSFORMS, mapped_times, settled_scale

__all__ = ["MinlipL1"]


class MinlipL1(SoundEstimator):
    """A sparse linear utility whose map to times or outcomes is smoothest in the 1-norm.

    Minimises ‖w‖₁ + C Σ|e_i| under the constraints of `MinlipSurvival` or `MinlipRanker`
    (Eq. 10), a linear program.

    Parameters
    ----------
    C : float or None, default=1.0
        Weight of the errors: the smaller, the fewer features. None or infinity allows no errors.
    task : {"survival", "ranking"}, default="survival"
        Whether y holds censored times or plain outcomes.
    pairs : {"nearest", "next", "all"}, default="nearest"
        Which pairs of rows are compared, see `comparable_pairs`.
    time_scale : {"median"} or float or None, default="median"
        What times are divided by first; outcomes of a ranking are taken as they are.
    time_transform : {"log", "rank"} or None, default=None
        How times are mapped then.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights; positive ones prolong life.
    selected_ : ndarray of int
        The features whose weight is not zero (1e-8 of the largest or more).
    utility_train_ : ndarray of shape (n_samples,)
        Utilities of the training rows.
    curves_ : SurvivalCurveEstimator
        Survival as a function of the utility, for survival.
    transform_function_ : TransformationFunction
        h, for rankings.
    time_scale_ : float
        What times were divided by.
    objective_ : float
        ‖w‖₁ + C Σ|e|.
    duality_gap_ : float
        How far that is from the smallest possible, at most.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    Notes
    -----
    A program with n + d columns: thousands of rows or features are fine, a million are not (there
    is `MinlipSurvival` with ``loss="l2"``). Of features that tell the same one is kept, whichever.

    References
    ----------
    .. [1] V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011). "Learning
       Transformation Models for Ranking and Survival Analysis". Journal of Machine Learning
       Research 12:819-862.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import MinlipL1
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20))
    >>> model = MinlipL1(C=1.0, task="ranking").fit(X, X[:, 3] - X[:, 7])
    >>> model.selected_
    array([3, 7])
    """

    _parameter_constraints: dict[str, Any] = {
        "C": [Interval(Real, 0, np.inf, closed="right"), None],
        "task": [StrOptions({"survival", "ranking"})],
        "pairs": [StrOptions(set(MODES))],
        "time_scale": [
            StrOptions({"median"}),
            Interval(Real, 0, None, closed="neither"),
            None,
        ],
        "time_transform": [StrOptions(set(TRANSFORMS)), None],
    }

    def __init__(
        self,
        C: float | None = 1.0,
        task: str = "survival",
        *,
        pairs: str = "nearest",
        time_scale: float | str | None = "median",
        time_transform: str | None = None,
    ) -> None:
        self.C = C
        self.task = task
        self.pairs = pairs
        self.time_scale = time_scale
        self.time_transform = time_transform

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> MinlipL1:
        """Fit the weights, and the curves or the map to outcomes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, scaled alike.
        y : records, or array-like of shape (n_samples, 2) or (n_samples,)
            Events and times, or lower and upper ends; for rankings outcomes.

        Returns
        -------
        self : MinlipL1
            The fitted machine.
        """
        if self.task == "ranking":
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
            seen = ends = Intervals(y.astype(np.float64), y.astype(np.float64))
            self.time_scale_ = 1.0
        else:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            seen = as_intervals(y, len(X))
            self.time_scale_ = settled_scale(seen, self.time_scale)
            ends = mapped_times(seen, self.time_scale_, self.time_transform)
        check_squares(X)
        terms = threshold_terms(ends, self.pairs)
        if terms.n_thresholds == 0:
            raise ValueError(
                "No pair of rows is comparable: in none of them one ends before the other begins "
                f"({int(np.isfinite(ends.upper).sum())} of {len(X)} rows have an event)."
            )
        C = np.inf if self.C is None else float(self.C)
        try:
            w, found = threshold_lp(threshold_problem(X, ends, terms), C)  # Eq. (10)
        except ValueError as error:
            if np.isfinite(C):
                raise
            raise ValueError(
                "No linear utility orders all rows (the problem without errors has no solution): "
                "set C to a number, which allows for errors."
            ) from error
        self.coef_ = w
        self.selected_ = np.flatnonzero(np.abs(w) > 1e-8 * max(np.abs(w).max(initial=0.0), 1e-300))
        self.objective_, self.duality_gap_ = found.objective, max(found.duality_gap, 0.0)
        self.utility_train_ = X @ w
        if self.task == "ranking":
            self.transform_function_ = TransformationFunction().fit(self.utility_train_, y)
        else:
            self.curves_ = SurvivalCurveEstimator().fit(self.utility_train_, np.column_stack(seen))
        return self

    def predict_utility(self, X: Any) -> Floats:
        """Return the utility of each row: the larger, the later or the higher.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        utility : ndarray of shape (n_samples,)
            Only their order and differences mean something.
        """
        check_is_fitted(self, "coef_")
        return validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_

    def predict(self, X: Any) -> Floats:
        """Return risks (the larger, the sooner), or outcomes of a ranking.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        answer : ndarray of shape (n_samples,)
            The negative utility; for rankings h of the utility.
        """
        utility = self.predict_utility(X)
        if self.task == "ranking":
            return self.transform_function_.predict(utility)
        return -utility

    def predict_survival_function(self, X: Any, times: Any = None) -> Floats:
        """Return the chance of each row to be without the event at each time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        times : array-like of shape (n_times,), default=None
            When; ``curves_.times_`` by default.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            Between 0 and 1, non-increasing along rows.
        """
        utility = self.predict_utility(X)
        if self.task == "ranking":
            raise ValueError("A ranking has no survival curves; fit with task='survival'.")
        return self.curves_.predict(utility, times)

    def score(self, X: Any, y: Any) -> float:
        """Return the concordance index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : records or array-like
            What was observed, as for `fit`.

        Returns
        -------
        share : float
            The share of comparable pairs that are ordered right; ties count half.
        """
        utility = self.predict_utility(X)
        if self.task == "survival":
            return pair_concordance(as_intervals(y, len(utility)), utility)
        y = np.asarray(y, dtype=np.float64)
        return pair_concordance(Intervals(y, y), utility)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
