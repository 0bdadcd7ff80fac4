"""The base measure in standard units: what the user gave, exactly transformed, or defaults.

Defaults are reasoned on standardised columns and response. A local regression's value at an average
row varies as much as y does: the constant has variance one, the slopes share another. Noise within
a y-cluster is expected to be half of what one straight line leaves. An x-cluster's variance is
expected to be a quarter of its column's, and with ``c_x=0.25`` the centres then spread as the data.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import gammaln, log_ndtr

from octavo.bayes.enriched_dp.columns import Plan, design_order, unit_map
from octavo.bayes.enriched_dp.state import COUNT, GAUSSIAN, NORMAL, POISSON, PROBIT, Base
from octavo.engine.conjugate.normal_inverse_gamma import StudentT, student_log_density
from octavo.engine.estimators.arrays import Floats

LEAST_NOISE = 1e-4  # of the variance of y, where a straight line leaves nothing
LATENT_SLOPES = 4.0  # variance that slopes share on the scale of a probit or logit


def residual_share(design: Floats, y: Floats) -> float:
    """Return which share of the variance of y one straight line leaves."""
    n, d = design.shape
    if n <= 2 * d:
        return 1.0
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.clip(rest @ rest / (n - d) / max(y.var(), 1e-300), LEAST_NOISE, 1.0))


def column_values(given: Any, name: str, n_columns: int, plan: Plan, *, least: float) -> Floats:
    """Return a number for each column in the order of the plan."""
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_columns, float(values))
    if values.shape != (n_columns,):
        raise ValueError(
            f"{name} must be a number or hold one for each of the {n_columns} columns; got shape "
            f"{values.shape}."
        )
    if not np.isfinite(values).all() or (values <= least).any():
        raise ValueError(f"{name} must hold finite numbers above {least:g}; got {given!r}.")
    return values[plan.order]


def precision_matrix(C: Any, plan: Plan) -> Floats:
    """Return C over the design's columns in raw units; refuse one that is not positive definite."""
    C = np.asarray(C, dtype=np.float64)
    d = plan.width
    if C.shape not in ((d,), (d, d)):
        raise ValueError(
            f"C must be a matrix of shape ({d}, {d}) or its diagonal of {d} numbers, over (1, x); "
            f"got shape {C.shape}."
        )
    C = np.diag(C) if C.ndim == 1 else C
    order = design_order(plan)
    placed = np.empty((d, d))
    placed[np.ix_(order, order)] = C
    if not np.isfinite(C).all() or not np.allclose(C, C.T, rtol=1e-10, atol=0.0):
        raise ValueError("C must be symmetric and finite.")
    try:
        np.linalg.cholesky(placed)
    except np.linalg.LinAlgError:
        raise ValueError(
            "C must be positive definite: it is the precision of the coefficients, which clusters "
            f"of fewer than {d} rows need; its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(placed)[0]:.3g}."
        ) from None
    return placed


def concentration(given: Any, name: str) -> tuple[float, float, float]:
    """Return (shape, rate, start); shape 0 keeps the start."""
    if isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
        if not given > 0 or not np.isfinite(given):
            raise ValueError(f"{name} must be positive and finite; got {given!r}.")
        return 0.0, 1.0, max(float(given), 1e-10)
    try:
        word, shape, rate = given
        good = word == "gamma" and 0 < float(shape) < np.inf and 0 < float(rate) < np.inf
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            f"{name} must be a positive number, which is kept, or ('gamma', shape, rate) with both "
            f"positive; got {given!r}."
        )
    return float(shape), float(rate), float(shape) / float(rate)


def regression_prior(
    options: Any, response: int, plan: Plan, design: Floats, y: Floats, units: Any
):
    """Return β0, C and (a_y, b_y) in standard units; `units` are centre and scale of y."""
    d, (center, scale) = plan.width, units
    slopes = max(d - 1, 1)
    A = unit_map(plan)
    a_y, expected = 2.0, 1.0
    b_y = 1.0
    if response == GAUSSIAN:
        a_y = float(options.a_y)
        if isinstance(options.b_y, str):
            expected = 0.5 * residual_share(design, y)
            b_y = expected * (a_y - 1.0)  # an inverse gamma's mean is b / (a - 1)
        else:
            b_y = float(options.b_y) / scale**2
            expected = b_y / (a_y - 1.0)
    if options.C is None:
        share = 1.0 if response in (GAUSSIAN, POISSON) else LATENT_SLOPES
        C = np.diag(np.r_[expected, np.full(d - 1, expected * slopes / share)])
    else:
        back = np.linalg.inv(A)
        # β' = A β, so that βᵀ C β stays the same
        C = back.T @ precision_matrix(options.C, plan) @ back
    if options.beta0 is None:
        beta0 = np.zeros(d)
        if response == POISSON:
            beta0[0] = np.log(max(float(y.mean()), 0.5 / len(y)))
    else:
        given = np.asarray(options.beta0, dtype=np.float64)
        if given.shape != (d,) or not np.isfinite(given).all():
            raise ValueError(
                f"beta0 must hold {d} finite numbers, over (1, x); got shape {given.shape}."
            )
        placed = np.empty(d)
        placed[design_order(plan)] = given
        beta0 = A @ placed
        if response == GAUSSIAN:
            beta0[0] -= center
            beta0 = beta0 / scale
    return beta0, C, np.array([a_y, b_y])


def make_base(
    options: Any, X: Floats, y: Floats, design: Floats, plan: Plan, modes: Any, units: Any
) -> Base:
    """Return the base measure in standard units; `options` has the parameters of the estimator."""
    p, gauss = X.shape[1], plan.kinds == NORMAL
    scale2 = plan.scale[gauss] ** 2
    c = column_values(options.c_x, "c_x", p, plan, least=0.0)[gauss]
    a = column_values(options.a_x, "a_x", p, plan, least=0.0)[gauss]
    mu0 = np.zeros(int(gauss.sum()))
    if not isinstance(options.mu0, str):
        given = column_values(options.mu0, "mu0", p, plan, least=-np.inf)[gauss]
        mu0 = (given - plan.center[gauss]) / plan.scale[gauss]
    if isinstance(options.b_x, str):
        b = 0.25 * np.maximum(a - 1.0, 0.5)
    else:
        b = column_values(options.b_x, "b_x", p, plan, least=0.0)[gauss] / scale2
        if b.size and (b.max() > 1e3 or b.min() < 1e-4):
            warnings.warn(
                "b_x is far from the variances of the columns (their ratios go from "
                f"{b.min():.3g} to {b.max():.3g}): scale the columns, or leave b_x='auto'.",
                stacklevel=4,
            )
    beta0, C, noise = regression_prior(options, modes[0], plan, design, y, units)
    theta = concentration(options.alpha_theta, "alpha_theta")
    psi = concentration(getattr(options, "alpha_psi", 1.0), "alpha_psi")
    return Base(
        prior=np.vstack([C, np.linalg.cholesky(C), beta0]),
        scalars=np.array([*noise, *theta[:2], *psi, theta[2]]),
        gauss=np.array([mu0, c, a, b]),
        others=other_columns(plan),
        units=np.column_stack([plan.design_columns, plan.center, plan.scale]).astype(np.float64),
        modes=np.asarray(modes, dtype=np.int64),
    )


def other_columns(plan: Plan) -> Floats | None:
    """Return what kernels know of columns that are not Gaussian, or None."""
    places = np.flatnonzero(plan.kinds != NORMAL)
    if not places.size:
        return None
    rows, start = [], 1  # entry 0 of a table of parameters is a constant
    for place in places:
        if plan.kinds[place] == COUNT:
            width, prior = 2, (1.0, 1.0 / max(float(plan.center[place]), 1e-3))
        else:
            width, prior = int(plan.levels[place]), (0.5, 0.0)
        rows.append((plan.kinds[place], start, width, *prior))
        start += width
    return np.array(rows, dtype=np.float64)


def log_prior_x(values: Floats, base: Base) -> Floats:
    """Return log h_x of rows, entries that are NaN integrated out; x! of counts is left out."""
    mu0, c, a, b = base.gauss
    n_gaussian = mu0.size
    scale = 2.0 * b * (c + 1.0) / c  # 2a times the squared scale b (c + 1) / (a c) of the t law h_x
    away = values[:, :n_gaussian] - mu0
    # h_x = t_{2a}(μ0, b (c + 1) / (a c)), one column each
    logs = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(np.pi * scale)
    logs = logs - (a + 0.5) * np.log1p(away * away / scale)
    total = np.where(np.isnan(away), 0.0, logs).sum(axis=1)
    for g, (kind, _, width, one, two) in enumerate(() if base.others is None else base.others):
        entry = values[:, n_gaussian + g]
        if kind == COUNT:
            # negative binomial: the Poisson rate integrated out over Γ(one, two)
            logs = gammaln(entry + one) - gammaln(one) + one * np.log(two / (two + 1.0))
            logs = logs - entry * np.log(two + 1.0)
        else:
            logs = np.full(len(entry), -np.log(width))
        total += np.where(np.isnan(entry), 0.0, logs)
    return total


def log_prior_y(y: Floats, design: Floats, base: Base) -> Floats:
    """Return log h_y(y | x) of each row by itself; 0 where it has no closed form."""
    d, response = design.shape[1], base.modes[0]
    white = np.linalg.solve(base.prior[d : 2 * d], design.T)
    # 1 + x C⁻¹ xᵀ, the inverse of the paper's W
    spread, location = 1.0 + (white**2).sum(axis=0), design @ base.prior[-1]
    if response == GAUSSIAN:  # t_{2a}(x β0, (b / a) (1 + x C⁻¹ xᵀ))
        a, b = base.scalars[:2]
        return student_log_density(StudentT(location, b / a * spread, 2.0 * a), y)
    if response == PROBIT:
        # Φ(±x β0 / √(1 + x C⁻¹ xᵀ))
        return log_ndtr(np.where(y > 0.5, 1.0, -1.0) * location / np.sqrt(spread))
    return np.zeros(len(y))
