"""Cox's proportional hazards with a ridge penalty, Efron's ties and Breslow's curves.

References: D. R. Cox (1972), "Regression Models and Life-Tables"; B. Efron (1977), "The
Efficiency of Cox's Likelihood Function for Censored Data"; N. Breslow (1974), "Covariance
Analysis of Censored Survival Data".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares, real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.survival.concordance import concordance
from octavo.engine.survival.cox import breslow_hazard, constant_columns, newton_cox
from octavo.engine.survival.targets import event_and_time

__all__ = ["CoxRegression"]


class ProportionalHazards(CallbackSupportMixin, SoundEstimator):
    """What models with a log hazard and Breslow's baseline answer."""

    def _check_rows(self, X: Any, *, reset: bool = False) -> Floats:
        X = validate_data(self, X, dtype=np.float64, reset=reset)
        check_squares(X)
        return X

    def _margins(self, X: Floats) -> Floats:
        raise NotImplementedError

    def predict(self, X: Any) -> Floats:
        """Return log hazards relative to the average row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            The larger, the sooner.
        """
        check_is_fitted(self, "coef_")
        return self._margins(self._check_rows(X))

    def predict_cumulative_hazard(self, X: Any, times: Any = None) -> Floats:
        """Return Breslow's cumulative hazard of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        times : array-like of shape (n_times,), default=None
            When; the times of training by default.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times)
            Non-decreasing along rows.
        """
        risk = self.predict(X)
        times = self.baseline_.times if times is None else real_array(times, "times")
        times = np.atleast_1d(times)
        if times.ndim != 1:
            raise ValueError(f"times must be a vector of numbers; got the shape {times.shape}.")
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(risk)[:, None] * self.baseline_(times), 1e300)

    def predict_survival_function(self, X: Any, times: Any = None) -> Floats:
        """Return the chance of each row to be without the event at each time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        times : array-like of shape (n_times,), default=None
            When; the times of training by default.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            Between 0 and 1, non-increasing along rows.
        """
        return np.exp(-self.predict_cumulative_hazard(X, times))

    def score(self, X: Any, y: Any) -> float:
        """Return Harrell's concordance of the risks with what was observed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : records or array-like of shape (n_samples, 2)
            Events and times.

        Returns
        -------
        share : float
            Between 0 and 1; a half where no pair is comparable.
        """
        risk = self.predict(X)
        return concordance(*event_and_time(y, len(risk)), risk)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class CoxRegression(ProportionalHazards):
    """Cox's proportional hazards with a ridge penalty, ties by Efron, fitted by Newton's method.

    Minimises the negative partial log-likelihood plus ``alpha/2 ‖coef‖²``.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is Cox's own estimate.
    tol : float, default=1e-8
        The fit ends when no entry of the gradient exceeds this times the number of events, where
        features are in units of their standard deviations.
    max_iter : int, default=50
        Newton steps at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Log hazard ratios.
    covariance_ : ndarray of shape (n_features, n_features)
        Inverse of the Hessian at the end: for ``alpha=0`` the usual covariance of `coef_`.
    baseline_ : Steps
        Breslow's cumulative hazard of the average row.
    objective_ : float
        What was minimised.
    gradient_norm_ : float
        Largest entry of the gradient at the end, in those units.
    n_iter_ : int
        Newton steps taken.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    Notes
    -----
    A baseline and a tool. For strata, time-varying features or tests of proportionality use
    lifelines; scikit-learn has no model of censored times.

    References
    ----------
    .. [1] D. R. Cox (1972). "Regression Models and Life-Tables". Journal of the Royal
       Statistical Society B 34:187-220.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import CoxRegression
    >>> y = np.array([(True, 1.0), (True, 2.0), (False, 3.0)], [("event", bool), ("time", float)])
    >>> CoxRegression(alpha=0.1).fit([[3.0], [2.0], [1.0]], y).coef_.round(2)
    array([2.2])
    """

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, alpha: float = 1.0, tol: float = 1e-8, max_iter: int = 50) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> CoxRegression:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : records or array-like of shape (n_samples, 2)
            Events and times.

        Returns
        -------
        self : CoxRegression
            The fitted model.
        """
        X = self._check_rows(X, reset=True)
        event, time = event_and_time(y, len(X))
        need_event(event)
        self._center = X.mean(axis=0)
        centred = X - self._center
        centred[:, constant_columns(X)] = 0.0
        with FitProgress(self, self.max_iter, X, y) as progress:
            fit = newton_cox(
                centred,
                event,
                time,
                alpha=float(self.alpha),
                tol=max(self.tol, 1e-13),
                max_iter=self.max_iter,
                on_step=progress.step,
            )
        self.coef_, self.covariance_ = fit.coef, fit.covariance
        self.objective_, self.gradient_norm_ = fit.objective, fit.gradient_norm
        self.n_iter_ = fit.n_iter
        if not fit.converged:
            warnings.warn(
                f"Newton's method ended with a gradient of {self.gradient_norm_:.2g}; where a "
                "feature orders all events, the likelihood has no maximum: raise alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.baseline_ = breslow_hazard(event, time, self._margins(X))
        return self

    def _margins(self, X: Floats) -> Floats:
        return (X - self._center) @ self.coef_

    def hazard_ratios(self, level: float = 0.95) -> Floats:
        """Return hazard ratios with their intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the intervals, by the normal approximation.

        Returns
        -------
        ratios : ndarray of shape (n_features, 3)
            The ratio for one more unit of each feature, and the ends of its interval.
        """
        from scipy.special import ndtri

        check_is_fitted(self, "coef_")
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level}.")
        reach = ndtri(0.5 + 0.5 * level) * np.sqrt(np.diagonal(self.covariance_))  # Wald
        ends = np.column_stack([self.coef_, self.coef_ - reach, self.coef_ + reach])
        return np.exp(np.clip(ends, -700, 700))


def need_event(event: Any) -> None:
    """Refuse a target in which nothing happens."""
    if not event.any():
        raise ValueError("Cox's model needs at least one event; no event happened in y.")
