"""Cox's partial likelihood with Efron's ties, minimised by Newton's method; Breslow's hazard.

References: D. R. Cox (1972), "Regression Models and Life-Tables"; B. Efron (1977), "The
Efficiency of Cox's Likelihood Function for Censored Data"; N. Breslow (1974), "Covariance
Analysis of Censored Survival Data".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.estimators.arrays import Floats
from octavo.engine.survival.curves import Steps

JITTER = 1e-10  # a penalty of zero may leave the Hessian singular


class EfronTies(NamedTuple):
    """Deaths in the order of time; Efron's share of the tied ones that a term leaves out."""

    first: NDArray[np.intp]  # where the risk set of a death's time begins
    group_start: NDArray[np.intp]  # of the deaths of the same time, the first
    group_size: NDArray[np.intp]
    share: Floats  # 0, 1/d, ..., (d-1)/d among d deaths of one time


class CoxFit(NamedTuple):
    """Coefficients, their covariance (inverse Hessian), and how Newton's method ended."""

    coef: Floats
    covariance: Floats
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


def efron_ties(event: NDArray[np.bool_], time: Floats) -> tuple[NDArray[np.intp], EfronTies]:
    """Return the order of the rows (by time, deaths first) and the ties among deaths."""
    order = np.lexsort((~event, time))
    death_times = time[order][event[order]]
    _, start, size = np.unique(death_times, return_index=True, return_counts=True)
    group_start, group_size = np.repeat(start, size), np.repeat(size, size)
    share = (np.arange(len(death_times)) - group_start) / group_size
    first = np.searchsorted(time[order], death_times)
    return order, EfronTies(first, group_start, group_size, share)


def _tail_sums(values: Floats) -> Floats:
    return np.cumsum(values[::-1], axis=0)[::-1]


def efron_terms(
    X: Floats, deaths: NDArray[np.intp], ties: EfronTies, beta: Floats, hessian: bool = True
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

    # Efron: a term leaves out 0, 1/d, ... of its tied deaths
    s0 = _tail_sums(w)[ties.first] - ties.share * tied(w)
    s1 = _tail_sums(wx)[ties.first] - ties.share[:, None] * tied(wx)
    value = float((np.log(s0) + top - margin[deaths]).sum())  # Σ log(risk set) - x'β
    mean = s1 / s0[:, None]  # weighted mean of the rows at risk
    gradient = (mean - X[deaths]).sum(axis=0)
    if not hessian:
        return value, gradient, np.empty((0, 0))
    # Row j enters the second moments with the sum of 1/s0 over the deaths that it survives to.
    n = len(w)
    weight = np.cumsum(np.bincount(ties.first, 1 / s0, n)[:n])
    out = np.concatenate([[0.0], np.cumsum(ties.share / s0)])
    weight[deaths] -= out[end] - out[start]
    H = X.T @ ((weight * w)[:, None] * X) - mean.T @ mean  # Σ E[x xᵀ] - E[x] E[x]ᵀ over the deaths
    return value, gradient, H


def constant_columns(X: Floats) -> NDArray[np.bool_]:
    """Tell which columns vary by no more than rounding: the mean of equal numbers may be off."""
    return X.std(axis=0) <= 1e-13 * np.abs(X).max(axis=0, initial=0.0)


def newton_cox(
    X: Floats,
    event: NDArray[np.bool_],
    time: Floats,
    *,
    alpha: float = 0.0,
    tol: float = 1e-8,
    max_iter: int = 50,
    on_step: Any = None,
) -> CoxFit:
    """Minimise the negative partial log-likelihood plus alpha/2 ‖coef‖².

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, centred for the sake of rounding.
    event, time : ndarray of shape (n_samples,)
        What was observed.
    alpha : float, default=0
        Strength of the ridge penalty.
    tol : float, default=1e-8
        The fit ends when no entry of the gradient exceeds this times the number of events, where
        features are in units of their standard deviations.
    max_iter : int, default=50
        Newton steps at most.
    on_step : callable, optional
        Called after each step; returns whether to stop.

    Returns
    -------
    CoxFit
        With the inverse Hessian at the end.
    """
    order, ties = efron_ties(event, time)
    deaths = np.flatnonzero(event[order])
    spread = X.std(axis=0)
    spread[~(spread > 0.0)] = 1.0
    # Coefficients of Z are spread times those of X
    Z, ridge = X[order] / spread, alpha / spread**2  # or the end would hang on the features' units

    def penalized(beta: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, H = efron_terms(Z, deaths, ties, beta)
        H[np.diag_indices_from(H)] += ridge + JITTER
        return value + 0.5 * float(ridge @ beta**2), gradient + ridge * beta, H

    beta = np.zeros(Z.shape[1])
    bound = tol * len(deaths)
    value, gradient, H = penalized(beta)
    norm, n_iter = float(np.abs(gradient).max(initial=0.0)), 0
    while norm > bound and n_iter < max_iter:
        step = -cho_solve(cho_factor(H), gradient)
        size = 1.0
        while size > 1e-8:
            trial = penalized(beta + size * step)
            if trial[0] <= value + 1e-4 * size * float(gradient @ step) + 1e-12 * abs(value):
                break
            size *= 0.5
        else:
            break
        beta = beta + size * step
        value, gradient, H = trial
        norm = float(np.abs(gradient).max(initial=0.0))
        n_iter += 1
        if on_step is not None and on_step():
            break
    covariance = cho_solve(cho_factor(H), np.eye(len(beta))) / np.outer(spread, spread)
    return CoxFit(beta / spread, covariance, value, norm, n_iter, norm <= bound)


def breslow_hazard(event: NDArray[np.bool_], time: Floats, risk: Floats) -> Steps:
    """Return the cumulative baseline hazard: deaths over the summed exp(risk) of those at risk."""
    times, place = np.unique(time, return_inverse=True)
    top = float(np.max(risk))
    weights: Any = np.bincount(place, np.exp(risk - top), len(times))
    deaths = np.bincount(place, event, len(times))
    at_risk = _tail_sums(weights)
    return Steps(times, np.cumsum(deaths / at_risk) * np.exp(-top), 0.0)
