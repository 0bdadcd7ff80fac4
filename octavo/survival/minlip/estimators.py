"""MINLIP for ranking and survival: the utility whose map to outcomes is smoothest.

References: V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011), "Learning
Transformation Models for Ranking and Survival Analysis", JMLR 12, Sections 3 and 5.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.duals.threshold_qp import ThresholdProblem
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.survival.concordance import interval_pairs
from octavo.engine.survival.targets import Intervals, as_intervals
from octavo.survival.minlip.machine import KERNEL_CONSTRAINTS, UtilityMachine
from octavo.survival.minlip.pairs import MODES, Thresholds, threshold_terms
from octavo.survival.minlip.reconstruction import (
    SurvivalCurveEstimator,
    TransformationFunction,
)
from octavo.survival.minlip.times import TRANSFORMS, mapped_times, settled_scale

__all__ = ["MinlipRanker", "MinlipSurvival"]


def threshold_problem(features: Floats, ends: Intervals, terms: Thresholds) -> ThresholdProblem:
    """Return the terms of Eqs. (8) and (16): u + e above the threshold before, below the next."""
    rows = np.flatnonzero((terms.low >= 0) | (terms.high >= 0))
    low, high = terms.low[rows], terms.high[rows]
    return ThresholdProblem(
        features,
        rows,
        low,
        np.where(low >= 0, ends.lower[rows], 0.0),
        high,
        np.where(high >= 0, ends.upper[rows], 0.0),
        terms.n_thresholds,
        terms.chain,
    )


class OrderMachine(UtilityMachine):
    """A utility machine that is fitted to comparable pairs."""

    def _fit_pairs(self, X: Floats, y: Any, ends: Intervals, mode: str) -> None:
        terms = threshold_terms(ends, mode)
        if terms.n_thresholds == 0:
            raise ValueError(
                "No pair of rows is comparable: in none of them one ends before the other begins "
                f"(pairs={mode!r}, {int(np.isfinite(ends.upper).sum())} of {len(X)} rows have an "
                "event)."
            )
        features = self._feature_map(X)
        exact = ends.right_censored and mode != "next"
        soft = self.C is not None and np.isfinite(self.C)
        if self.solver == "admm" and soft:
            problem = threshold_problem(features, ends, terms)
            w, q = self._solve_by_splitting(X, y, problem, self.loss)
        elif self.solver == "auto" and self.loss == "l2" and exact and soft:
            w, q, _ = self._solve_squares(X, y, features, ends.lower, terms)
        else:
            # Eq. (8) or (16), with the thresholds as unknowns
            problem = threshold_problem(features, ends, terms)
            w, q, _ = self._solve(X, y, problem, self.loss)
        self._keep(X, w, q)
        self.utility_train_ = self._utilities(X)


def pair_concordance(ends: Intervals, utility: Floats) -> float:
    """Return the share of comparable pairs in the order of the utility; ties count half."""
    found = interval_pairs(ends.lower, ends.upper, utility)
    if not found.comparable:
        return 0.5
    return (found.concordant + 0.5 * found.tied) / found.comparable


class MinlipRanker(RegressorMixin, OrderMachine):
    """Ranks rows by a utility that reaches their outcomes through the smoothest increasing map.

    Minimises ½‖w‖² + C Σ|e_i| subject to u_i + e_i - u_j - e_j ≥ y_i - y_j wherever y_j comes
    right before y_i (Eq. 8). In place of all pairs of rows, as ranking machines compare them, only
    neighbours in the order of y are compared, whose differences ask for margins of their size.

    Parameters
    ----------
    C : float or None, default=1.0
        Weight of the errors, the paper's γ; None or infinity allows none (Eq. 5).
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed", a function of
        (X, Z), or for additive models a `ComponentwiseKernel` or its name,
        "componentwise_poly2" and the like.
    loss : {"l1", "l2"}, default="l1"
        |e|, or ½e² for many rows: the slack is then isotonic regression, and a step costs O(n).
    tol : float, default=1e-9
        Part of the objective to which the duality gap falls.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly" and "sigmoid", the paper's τ.
    n_components : int or None, default=None
        Landmarks of a Nyström map, for kernels on more than some thousand rows.
    solver : {"auto", "interior", "admm"}, default="auto"
        An interior point; for squared errors on exact times Newton's method on isotonic
        regression (auto). "admm" factorises one sparse matrix and then only solves with it.
    max_iter : int, default=200
        Steps of the solver at most; a hundred times as many for "admm", whose steps are cheap.

    Attributes
    ----------
    utility_train_ : ndarray of shape (n_samples,)
        Utilities of the training rows.
    transform_function_ : TransformationFunction
        h, by which `predict` maps utilities to outcomes.
    lipschitz_ : float
        ‖w‖, the Lipschitz constant that is minimised.
    objective_ : float
        ½‖w‖² + C Σ|e| (or C Σ½e²) at the solution.
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
    Scale the features first, and choose C in the units of y: doubling y, C and w is one model.
    Where outcomes and not their order are wanted, and noise is Gaussian, regress on them
    (`sklearn.linear_model.Ridge`).

    References
    ----------
    .. [1] V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011). "Learning
       Transformation Models for Ranking and Survival Analysis". Journal of Machine Learning
       Research 12:819-862.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import MinlipRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.exp(X @ [1.0, -1.0, 0.0])
    >>> round(MinlipRanker(C=10.0).fit(X, y).score(X, y), 2)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "loss": [StrOptions({"l1", "l2"})],
        "solver": [StrOptions({"auto", "interior", "admm"})],
    }

    def __init__(
        self,
        C: float | None = 1.0,
        kernel: Any = "linear",
        gamma: float | str | None = "scale",
        loss: str = "l1",
        tol: float = 1e-9,
        *,
        degree: float = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        solver: str = "auto",
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.loss = loss
        self.tol = tol
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> MinlipRanker:
        """Fit the utility and the map to outcomes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the Gram matrix for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Outcomes: numbers in the order to learn.

        Returns
        -------
        self : MinlipRanker
            The fitted machine.
        """
        X, y = self._check_rows(X, y=y, y_numeric=True, ensure_min_samples=2)
        y = y.astype(np.float64)
        if np.ptp(y) == 0:
            raise ValueError(
                f"No pair of rows is comparable: y is {y[0]:g} throughout. Two different outcomes "
                "or more are needed."
            )
        self._fit_pairs(X, y, Intervals(y, y), "nearest")
        # Section 3.4
        self.transform_function_ = TransformationFunction().fit(self.utility_train_, y)
        return self

    def predict(self, X: Any) -> Floats:
        """Return outcomes: the utilities, mapped by h.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Between the smallest and the largest outcome of training.
        """
        utility = self.predict_utility(X)
        return self.transform_function_.predict(utility)

    def rank(self, X: Any) -> Ints:
        """Return the place of each row when they are sorted by utility: 1 is the lowest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ranks : ndarray of int of shape (n_samples,)
            A permutation of 1, ..., n_samples; equal utilities keep their order.
        """
        order = np.argsort(self.predict_utility(X), kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(1, len(order) + 1)
        return ranks

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """Return the share of pairs with different outcomes that the utility orders right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Outcomes.
        sample_weight : None
            Not used; here for scikit-learn's sake.

        Returns
        -------
        share : float
            The concordance index; ties of the utility count half.
        """
        y = np.asarray(y, dtype=np.float64)
        return pair_concordance(Intervals(y, y), self.predict_utility(X))


class MinlipSurvival(OrderMachine):
    """Ranks patients by a utility that reaches their times through the smoothest increasing map.

    Minimises ½‖w‖² + C Σ|e_i| subject to u_i + e_i - u_j - e_j ≥ T_i - T_j for comparable pairs, i
    known to be later than j (Eq. 16). Right, left and interval censoring, mixed as they come: a
    pair is comparable when the interval of j ends before that of i begins, and the right-hand
    side is the distance of the two. Proportional hazards are not assumed.

    Parameters
    ----------
    C : float or None, default=1.0
        Weight of the errors, the paper's γ, for times on the model's clock (see `time_scale`);
        None or infinity allows none.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed", a function of
        (X, Z), or for additive models a `ComponentwiseKernel` or its name,
        "componentwise_poly2" and the like.
    pairs : {"nearest", "next", "all"}, default="nearest"
        Which pairs are compared, see `comparable_pairs`. ``"next"`` is the letter of the paper and
        loses most pairs when many rows are censored; ``"all"`` differs from ``"nearest"`` only
        where there are intervals.
    loss : {"l1", "l2"}, default="l1"
        |e|, or ½e² for many rows: the slack is then isotonic regression on a chain of events with
        censored leaves, and a step costs O(n log n).
    time_scale : {"median"} or float or None, default="median"
        What times are divided by first.
    time_transform : {"log", "rank"} or None, default=None
        How times are mapped then; a time of zero counts as half the smallest positive one for the
        logarithm, a rank is the share of all event times that have come. The model is the same,
        what is smooth is not.
    tol : float, default=1e-9
        Part of the objective to which the duality gap falls.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly" and "sigmoid", the paper's τ.
    n_components : int or None, default=None
        Landmarks of a Nyström map, for kernels on more than some thousand rows.
    n_times : int, default=60
        Times at which survival curves are fitted.
    solver : {"auto", "interior", "admm"}, default="auto"
        An interior point; for squared errors on exact times Newton's method on isotonic
        regression (auto). "admm" factorises one sparse matrix and then only solves with it.
    max_iter : int, default=200
        Steps of the solver at most; a hundred times as many for "admm", whose steps are cheap.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights w of a linear kernel: positive ones prolong life.
    utility_train_ : ndarray of shape (n_samples,)
        Utilities of the training rows.
    curves_ : SurvivalCurveEstimator
        Survival as a function of the utility.
    time_scale_ : float
        What times were divided by.
    lipschitz_ : float
        ‖w‖, the Lipschitz constant that is minimised.
    objective_ : float
        ½‖w‖² + C Σ|e| (or C Σ½e²) at the solution, on the model's clock.
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
    Scale the features first. Do not use it where hazard ratios with intervals are asked for: that
    is Cox's model (`CoxRegression`, lifelines). scikit-learn has nothing for censored times.

    References
    ----------
    .. [1] V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011). "Learning
       Transformation Models for Ranking and Survival Analysis". Journal of Machine Learning
       Research 12:819-862.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import MinlipSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> time, censored = rng.exponential(np.exp(X[:, 0])), rng.exponential(2.0, 80)
    >>> y = np.array(
    ...     list(zip(time <= censored, np.minimum(time, censored))),
    ...     dtype=[("event", bool), ("time", float)],
    ... )
    >>> model = MinlipSurvival(C=0.1, time_transform="log").fit(X, y)
    >>> round(model.score(X, y), 2), model.predict_survival_function(X[:1], [0.5, 1.0]).shape
    (0.77, (1, 2))
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "pairs": [StrOptions(set(MODES))],
        "loss": [StrOptions({"l1", "l2"})],
        "solver": [StrOptions({"auto", "interior", "admm"})],
        "time_scale": [
            StrOptions({"median"}),
            Interval(Real, 0, None, closed="neither"),
            None,
        ],
        "time_transform": [StrOptions(set(TRANSFORMS)), None],
        "n_times": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float | None = 1.0,
        kernel: Any = "linear",
        gamma: float | str | None = "scale",
        pairs: str = "nearest",
        loss: str = "l1",
        time_scale: float | str | None = "median",
        time_transform: str | None = None,
        tol: float = 1e-9,
        *,
        degree: float = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        n_times: int = 60,
        solver: str = "auto",
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.pairs = pairs
        self.loss = loss
        self.time_scale = time_scale
        self.time_transform = time_transform
        self.tol = tol
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.n_times = n_times
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> MinlipSurvival:
        """Fit the utility and the survival curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the Gram matrix for a precomputed kernel.
        y : records or array-like of shape (n_samples, 2)
            Records of event and time with any field names, or lower and upper ends: an infinite
            upper end is right-censored, a lower end of zero left-censored.

        Returns
        -------
        self : MinlipSurvival
            The fitted machine.
        """
        X = self._check_rows(X, ensure_min_samples=2)
        seen = as_intervals(y, len(X))
        self.time_scale_ = settled_scale(seen, self.time_scale)
        ends = mapped_times(seen, self.time_scale_, self.time_transform)
        self._fit_pairs(X, y, ends, self.pairs)
        self.curves_ = SurvivalCurveEstimator(self.n_times).fit(  # Section 5.5
            self.utility_train_, np.column_stack(seen)
        )
        return self

    def predict(self, X: Any) -> Floats:
        """Return risks: the larger, the sooner the event is expected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            The utility with the other sign.
        """
        return -self.predict_utility(X)  # Definition 4: who fails first has the lowest utility

    def predict_survival_function(self, X: Any, times: Any = None) -> Floats:
        """Return the chance of each row to be without the event at each time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        times : array-like of shape (n_times,), default=None
            When, in the unit of the training times; ``curves_.times_`` by default.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            Between 0 and 1, non-increasing along rows.
        """
        utility = self.predict_utility(X)
        return self.curves_.predict(utility, times)

    def predict_cumulative_hazard(self, X: Any, times: Any = None) -> Floats:
        """Return -log of the survival function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        times : array-like of shape (n_times,), default=None
            When; ``curves_.times_`` by default.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times)
            At most -log of 1e-12: a survival of zero would be infinite.
        """
        survival = self.predict_survival_function(X, times)
        return -np.log(np.maximum(survival, 1e-12))  # -log S

    def score(self, X: Any, y: Any) -> float:
        """Return the concordance index: the share of comparable pairs that are ordered right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : records or array-like of shape (n_samples, 2)
            What was observed.

        Returns
        -------
        share : float
            Ties of the utility count half; a half where no pair is comparable.
        """
        check_is_fitted(self, "lipschitz_")
        utility = self.predict_utility(X)
        return pair_concordance(as_intervals(y, len(utility)), utility)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
