"""The rate γ: its grid, its choice by validation, and paths of variances along it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params
from octavo.kernel.group_ard.designs import Design
from octavo.kernel.group_ard.evidence import Evidence
from octavo.kernel.group_ard.objectives import VarianceObjective
from octavo.kernel.group_ard.solvers import Solution, Step, minimize_variances

__all__ = ["gamma_grid"]

_TOL = 1e-6  # of the solutions that are compared with each other


class Choice(NamedTuple):
    """The rate with the least squared error, the grid, and the mean errors on it."""

    gamma: float
    gammas: Floats
    errors: Floats


@checked
@validate_params(
    {
        "kappa": [Interval(Real, 0, None, closed="neither")],
        "n_gammas": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def gamma_grid(kappa, n_gammas=30):
    """Return rates from 10⁻²/κ to 10⁴/κ, evenly spaced in their logarithms.

    Parameters
    ----------
    kappa : float
        The best variance that all groups could share; rates are in units of its inverse.
    n_gammas : int, default=30
        How many.

    Returns
    -------
    ndarray of shape (n_gammas,)
        The rates, rising.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Section 4.2.

    Examples
    --------
    >>> from octavo.kernel import gamma_grid
    >>> gamma_grid(2.0, 4).tolist()
    [0.005, 0.5, 50.0, 5000.0]
    """
    grid = np.logspace(-2.0, 4.0, n_gammas) / kappa
    if not np.isfinite(grid).all():
        raise ValueError(f"kappa is too small: 10⁴/kappa is not a number, got {kappa!r}.")
    return grid


def folds(cv: Any, n: int) -> list[tuple[Indices, Indices]]:
    """Return training and test rows: a random half (seed 0), folds, or what a splitter says."""
    if isinstance(cv, str):
        order = np.random.RandomState(0).permutation(n)
        return [(np.sort(order[: n - n // 2]), np.sort(order[n - n // 2 :]))]
    return list(check_cv(cv).split(np.zeros((n, 1)), np.zeros(n)))


def variance_path(
    evidence: Evidence,
    gammas: Iterable[float],
    sigma2: float,
    start: Floats,
    *,
    logdet: bool,
    tol: float = _TOL,
    on_step: Step | None = None,
) -> list[Solution]:
    """Return the solutions along rising rates, each started from the one before.

    Parameters
    ----------
    evidence : Evidence
        The model.
    gammas : iterable of float
        Rates, rising.
    sigma2 : float
        Variance of the noise.
    start : ndarray of shape (n_groups,)
        Where the first of them starts.
    logdet : bool
        PARD, or the group lasso without.
    tol : float
        Relative violation of the conditions of optimality.
    on_step : callable, optional
        Called after each rate; returns whether to stop.

    Returns
    -------
    list of Solution
        One per rate, fewer if `on_step` said so.
    """
    path: list[Solution] = []
    lam = start
    for gamma in gammas:
        objective = VarianceObjective(evidence, float(gamma), sigma2, logdet=logdet)
        path.append(minimize_variances(objective, lam, sigma2, solver="newton", tol=tol))
        lam = path[-1].lam
        if on_step is not None and on_step():
            break
    return path


def choose_gamma(
    design: Design,
    gammas: Floats,
    sigma2: float,
    kappa: float,
    cv: Any,
    *,
    logdet: bool,
    on_step: Step | None = None,
) -> Choice:
    """Choose the rate whose models predict rows that were left out best.

    Parameters
    ----------
    design : Design
        All training data.
    gammas : ndarray
        Rates, rising.
    sigma2, kappa : float
        Variance of the noise, and of all groups at the start, of all training data.
    cv : "half", int, splitter or iterable
        How rows are left out.
    logdet : bool
        PARD, or the group lasso without.
    on_step : callable, optional
        Called after each fit; returns whether to stop.

    Returns
    -------
    Choice
        The first of the best rates, with all errors.
    """
    total, rows = np.zeros(len(gammas)), 0
    for train, test in folds(cv, design.n):
        part, queries, target = design.split(np.asarray(train), np.asarray(test))
        start = np.full(part.evidence.n_groups, kappa)
        path = variance_path(part.evidence, gammas, sigma2, start, logdet=logdet, on_step=on_step)
        for i, solution in enumerate(path):
            total[i] += float(((part.predict(queries, solution) - target) ** 2).sum())
        total[len(path) :] = np.inf  # a callback ended it
        rows += len(target)
    errors = total / max(rows, 1)
    return Choice(float(gammas[int(np.argmin(errors))]), gammas, errors)
