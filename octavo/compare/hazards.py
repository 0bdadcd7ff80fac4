"""Baselines and scores for survival: Kaplan-Meier, ridge Cox, boosted hazards, concordance.

Targets are records with fields ``event`` and ``time``. A model's ``predict`` returns a risk: the
larger, the sooner the event is expected.

References: D. R. Cox (1972), "Regression Models and Life-Tables"; B. Efron (1977), "The
Efficiency of Cox's Likelihood Function for Censored Data" (ties); M. LeBlanc and J. Crowley
(1992), "Relative Risk Trees for Censored Survival Data" (hazards as Poisson rates); H. Uno and
others (2011), "On the C-statistics for evaluating overall adequacy of risk prediction
procedures with censored survival data".
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats

BLOCK = 2_000_000  # pairs compared at once


# --- curves --------------------------------------------------------------------------------------


class Steps(NamedTuple):
    """A step function: its value from each time on; ``before`` holds until the first."""

    times: Floats
    values: Floats
    before: float

    def __call__(self, t: Any, *, left: bool = False) -> Floats:
        """Return the values at times; ``left`` takes the limit from below."""
        place = np.searchsorted(self.times, t, side="left" if left else "right")
        return np.concatenate([[self.before], self.values])[place]


def _counts(event: NDArray[np.bool_], time: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct times, how many are at risk, and how many events there are at each."""
    times, place = np.unique(time, return_inverse=True)
    at_risk = len(time) - np.searchsorted(np.sort(time), times, side="left")
    events = np.bincount(place, event, len(times)).astype(np.float64)
    return times, at_risk.astype(np.float64), events


def kaplan_meier(event: NDArray[np.bool_], time: Floats) -> Steps:
    """Return the product-limit estimate of the survival function.

    Parameters
    ----------
    event : ndarray of bool
        Whether the event happened at `time`; otherwise the row is censored there.
    time : ndarray
        Times.

    Returns
    -------
    curve : Steps
        The share that is still without the event.
    """
    times, at_risk, events = _counts(event, time)
    return Steps(times, np.cumprod(1.0 - events / at_risk).astype(np.float64), 1.0)


def nelson_aalen(event: NDArray[np.bool_], time: Floats) -> Steps:
    """Return the cumulative hazard by the Nelson-Aalen estimate."""
    times, at_risk, events = _counts(event, time)
    return Steps(times, np.cumsum(events / at_risk), 0.0)


# --- scores --------------------------------------------------------------------------------------


def concordance(
    event: NDArray[np.bool_], time: Floats, risk: Floats, weight: Floats | None = None
) -> float:
    """Return the share of comparable pairs whose risks are ordered as their times.

    A pair is comparable when the earlier time is an event; of two equal times, when one is an
    event and the other censored. Equal risks count half.

    Parameters
    ----------
    event, time : ndarray
        What was observed.
    risk : ndarray
        What was predicted; larger is sooner.
    weight : ndarray, optional
        Weight of the pairs in which a row is the earlier one: none is Harrell's C.

    Returns
    -------
    share : float
        Between 0 and 1; a half where no pair is comparable.
    """
    first = np.flatnonzero(event)
    good = total = 0.0
    step = max(1, BLOCK // max(1, len(time)))
    for start in range(0, len(first), step):
        rows = first[start : start + step]
        later = (time[None] > time[rows, None]) | ((time[None] == time[rows, None]) & ~event[None])
        won = (risk[None] < risk[rows, None]) + 0.5 * (risk[None] == risk[rows, None])
        share = np.ones(len(rows)) if weight is None else weight[rows]
        total += float(share @ later.sum(axis=1))
        good += float(share @ (won * later).sum(axis=1))
    return good / total if total else 0.5


def concordance_ipcw(train: Any, test: Any, risk: Floats) -> float:
    """Return Uno's concordance: pairs weighted by the chance of not being censored before.

    Parameters
    ----------
    train, test : records with fields event and time
        Rows that the censoring distribution is estimated from, and rows that are scored.
    risk : ndarray
        Predicted for the test rows.

    Returns
    -------
    share : float
        Between 0 and 1.
    """
    censoring = kaplan_meier(~train["event"], train["time"])
    free = censoring(test["time"], left=True)
    weight = np.where(free > 0, 1 / np.maximum(free, 1e-12) ** 2, 0.0)
    return concordance(test["event"], test["time"], risk, weight)


# --- models --------------------------------------------------------------------------------------


class _Ties(NamedTuple):
    """Deaths in the order of time; Efron's share of the tied ones that a term leaves out."""

    first: NDArray[np.intp]  # where the risk set of a death's time begins
    group_start: NDArray[np.intp]  # of the deaths of the same time, the first
    group_size: NDArray[np.intp]
    share: Floats  # 0, 1/d, ..., (d-1)/d among d deaths of one time


def _ties(event: NDArray[np.bool_], time: Floats) -> tuple[NDArray[np.intp], _Ties]:
    """Return the order of the rows (by time, deaths first) and the ties among deaths."""
    order = np.lexsort((~event, time))
    death_times = time[order][event[order]]
    _, start, size = np.unique(death_times, return_index=True, return_counts=True)
    group_start, group_size = np.repeat(start, size), np.repeat(size, size)
    share = (np.arange(len(death_times)) - group_start) / group_size
    return order, _Ties(np.searchsorted(time[order], death_times), group_start, group_size, share)


def _tail_sums(values: Floats) -> Floats:
    return np.cumsum(values[::-1], axis=0)[::-1]


def _cox_terms(
    X: Floats, deaths: NDArray[np.intp], ties: _Ties, beta: Floats, hessian: bool = True
) -> tuple[float, Floats, Floats]:
    """Return Efron's negative log-likelihood with gradient and Hessian; rows are sorted."""
    margin = X @ beta
    top = margin.max()
    w = np.exp(margin - top)
    wx = w[:, None] * X
    start, end = ties.group_start, ties.group_start + ties.group_size

    def tied(values: Floats) -> Floats:
        total = np.concatenate(
            [np.zeros((1, *values.shape[1:])), np.cumsum(values[deaths], axis=0)]
        )
        return total[end] - total[start]

    s0 = _tail_sums(w)[ties.first] - ties.share * tied(w)
    s1 = _tail_sums(wx)[ties.first] - ties.share[:, None] * tied(wx)
    value = float((np.log(s0) + top - margin[deaths]).sum())
    mean = s1 / s0[:, None]
    gradient = (mean - X[deaths]).sum(axis=0)
    if not hessian:
        return value, gradient, np.empty((0, 0))
    # Row j enters the second moments with the sum of 1/s0 over the deaths that it survives to.
    n = len(w)
    weight = np.cumsum(np.bincount(ties.first, 1 / s0, n)[:n])
    out = np.concatenate([[0.0], np.cumsum(ties.share / s0)])
    weight[deaths] -= out[end] - out[start]
    H = X.T @ ((weight * w)[:, None] * X) - mean.T @ mean
    return value, gradient, H


class RidgeCox(BaseEstimator):
    """Cox's proportional hazards with a ridge penalty, ties by Efron, fitted by Newton's method.

    Minimises the negative partial log-likelihood plus ``alpha/2 ‖coef‖²``. It is the linear
    baseline of survival comparisons; for inference use a statistics package.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    tol : float, default=1e-8
        The fit ends when no entry of the gradient exceeds this times the number of events.
    max_iter : int, default=50
        Newton steps at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Log hazard ratios.
    gradient_norm_ : float
        Largest entry of the gradient at the end.
    n_iter_ : int
        Newton steps taken.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.compare import RidgeCox
    >>> y = np.array([(True, 1.0), (True, 2.0), (False, 3.0)], [("event", bool), ("time", float)])
    >>> RidgeCox(alpha=0.1).fit([[3.0], [2.0], [1.0]], y).coef_.round(2)
    array([2.2])
    """

    def __init__(self, alpha: float = 1.0, tol: float = 1e-8, max_iter: int = 50) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> RidgeCox:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : records with fields event and time
            What was observed.

        Returns
        -------
        self : RidgeCox
            The fitted model.
        """
        X = check_array(X, dtype=float)
        event, time = np.asarray(y["event"], bool), np.asarray(y["time"], float)
        if not event.any():
            raise ValueError("no event happened: Cox's model needs at least one")
        order, ties = _ties(event, time)
        deaths = np.flatnonzero(event[order])
        self._centre = X.mean(axis=0)
        Z = (X - self._centre)[order]
        beta = np.zeros(Z.shape[1])
        bound = self.tol * len(deaths)
        value, gradient, H = self._penalised(Z, deaths, ties, beta)
        for iteration in range(self.max_iter + 1):
            self.gradient_norm_ = float(np.abs(gradient).max())
            self.n_iter_ = iteration
            if self.gradient_norm_ <= bound or iteration == self.max_iter:
                break
            step = -cho_solve(cho_factor(H), gradient)
            size = 1.0
            while size > 1e-8:
                trial = self._penalised(Z, deaths, ties, beta + size * step)
                if trial[0] <= value + 1e-4 * size * float(gradient @ step) + 1e-12 * abs(value):
                    break
                size *= 0.5
            else:
                break
            beta = beta + size * step
            value, gradient, H = trial
        if self.gradient_norm_ > bound:
            warnings.warn(
                f"Newton's method ended with a gradient of {self.gradient_norm_:.2g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_ = beta
        return self

    def _penalised(
        self, Z: Floats, deaths: NDArray[np.intp], ties: _Ties, beta: Floats
    ) -> tuple[float, Floats, Floats]:
        value, gradient, H = _cox_terms(Z, deaths, ties, beta)
        H[np.diag_indices_from(H)] += self.alpha + 1e-10  # alpha 0 may leave H singular
        return value + 0.5 * self.alpha * float(beta @ beta), gradient + self.alpha * beta, H

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
        return (check_array(X, dtype=float) - self._centre) @ self.coef_


class KaplanMeierBaseline(BaseEstimator):
    """The same risk for all: what a model without features achieves.

    Attributes
    ----------
    curve_ : Steps
        The Kaplan-Meier curve of the training rows.
    """

    def fit(self, X: Any, y: Any) -> KaplanMeierBaseline:
        """Estimate the curve."""
        self.curve_ = kaplan_meier(np.asarray(y["event"], bool), np.asarray(y["time"], float))
        return self

    def predict(self, X: Any) -> Floats:
        """Return the same risk for every row."""
        check_is_fitted(self, "curve_")
        return np.zeros(X.shape[0])


class PoissonHazard(BaseEstimator):
    """Hazards relative to the average by any regressor with a Poisson loss.

    With the cumulative hazard of all rows as clock, an event is a Poisson count whose exposure is
    the clock's time (LeBlanc and Crowley 1992); the regressor learns the rate.

    Parameters
    ----------
    regressor : regressor, default=None
        With a Poisson loss and ``sample_weight``; None is scikit-learn's histogram boosting.

    Attributes
    ----------
    regressor_ : regressor
        The fitted one.
    """

    def __init__(self, regressor: Any = None) -> None:
        self.regressor = regressor

    def fit(self, X: Any, y: Any) -> PoissonHazard:
        """Fit the rates."""
        event, time = np.asarray(y["event"], bool), np.asarray(y["time"], float)
        clock = nelson_aalen(event, time)(time)
        exposure = np.maximum(clock, 1e-3 * max(float(clock.mean()), 1e-12))
        base = (
            HistGradientBoostingRegressor(loss="poisson")
            if self.regressor is None
            else self.regressor
        )
        self.regressor_ = clone(base).fit(X, event / exposure, sample_weight=exposure)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the predicted rate of each row."""
        check_is_fitted(self, "regressor_")
        return self.regressor_.predict(X)
