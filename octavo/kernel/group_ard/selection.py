"""The rate γ: its grid, its choice by validation, and paths of variances along it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_array, check_X_y

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.kernel.group_ard.designs import Design, LinearDesign
from octavo.kernel.group_ard.evidence import Evidence
from octavo.kernel.group_ard.grouping import as_groups
from octavo.kernel.group_ard.objectives import VarianceObjective
from octavo.kernel.group_ard.solvers import (
    Solution,
    Step,
    equal_variance,
    minimize_variances,
)

__all__ = ["VariancePath", "gamma_grid", "group_variance_path"]

_TOL = 1e-5  # of the solutions that are compared with each other


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
    grid = np.logspace(-2.0, 4.0, n_gammas) / kappa  # the grid of Section 4.2
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


class VariancePath(NamedTuple):
    """Variances (rates by groups) and norms of the groups' coefficients along rates that rise."""

    gammas: Floats
    lambdas: Floats
    norms: Floats


@checked
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "groups": ["array-like", None],
        "gammas": ["array-like", None],
        "sigma2": [Interval(Real, 0, None, closed="neither"), None],
        "method": [StrOptions({"pard", "group-lasso"})],
        "fit_intercept": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def group_variance_path(
    X, y, groups=None, *, gammas=None, sigma2=None, method="pard", fit_intercept=True
):
    """Return variances and coefficients' norms of all groups along the rate γ.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    groups : array-like of int of shape (n_features,) or list of array-like of int, default=None
        The group of each column, or the columns of each group; by default one each.
    gammas : array-like, default=None
        Positive rates; by default 60 from 10⁻² to 10⁴ over the best common variance.
    sigma2 : float, default=None
        Variance of the noise; that of the least squares residual by default.
    method : {"pard", "group-lasso"}, default="pard"
        What is minimised: Eq. (4), or Eq. (12).
    fit_intercept : bool, default=True
        Whether to centre X and y.

    Returns
    -------
    VariancePath
        ``gammas`` rising, with ``lambdas`` and ``norms`` of shape (n_gammas, n_groups).

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15.

    Examples
    --------
    >>> from octavo.kernel import group_variance_path, make_group_sparse
    >>> X, y, _, groups, _ = make_group_sparse(random_state=0)
    >>> path = group_variance_path(X, y, groups, gammas=[1e-5, 0.2, 1e5])
    >>> (path.lambdas > 0).sum(axis=1).tolist()
    [6, 4, 0]
    """
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
    y = np.asarray(y, dtype=np.float64)
    X = canonical_csr(X)
    columns = as_groups(groups, X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        design = LinearDesign(X, y, columns, fit_intercept)
    if not np.isfinite([design.evidence.energy, *design.evidence.sizes]).all():
        raise ValueError("X and y must not be so large that their squares overflow.")
    if design.evidence.energy == 0.0:
        raise ValueError("y must not be constant: no group can explain it.")
    noise = design.residual_variance() if sigma2 is None else float(sigma2)
    noise = max(noise, 1e-10 * design.evidence.energy / design.n)
    kappa = equal_variance(design.evidence, noise)
    rates = gamma_grid(kappa, 60) if gammas is None else _rates(gammas)
    path = variance_path(
        design.evidence, rates, noise, np.full(len(columns), kappa), logdet=method == "pard"
    )
    coefs = [design.coef(solution) for solution in path]
    norms = [[float(np.linalg.norm(coef[group])) for group in columns] for coef in coefs]
    return VariancePath(rates, np.array([solution.lam for solution in path]), np.array(norms))


def _rates(gammas: Any) -> Floats:
    rates = np.sort(
        check_array(gammas, ensure_2d=False, ensure_all_finite=True, dtype=np.float64).ravel()
    )
    if rates.min() <= 0.0:
        raise ValueError(f"gammas must be positive, got {rates.min():g}.")
    return rates


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
