"""Variational inference for a mean and a log-variance that are both linear in penalised columns.

y_i ~ N((C nu)_i, exp((D gamma)_i)): the heteroscedastic additive model, Wand (2014), Eq. (12) to
(14), for which the paper refers to an unpublished manuscript; the updates here are Eq. (7) applied
to it. nu has a conjugate update given gamma; gamma has a non-conjugate one, and is damped in
natural parameters where the bound would fall. Every penalised block has a variance of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.bayes.mixed_models.designs import DenseSolution, dense_moments, solve_dense
from octavo.engine.estimators.arrays import Floats
from octavo.engine.variational.variance_components import (
    LOG_2PI,
    VarianceComponent,
    bound_terms,
    new_component,
    updated,
)

HALVINGS = 40
SLACK = 1e-11


class Columns(NamedTuple):
    """A design whose first ``n_free`` columns are free and whose blocks are penalised."""

    matrix: Floats
    n_free: int
    blocks: list[slice]


class Half(NamedTuple):
    """The posterior of one half (mean or log-variance): coefficients, row moments, variances.

    ``h``, ``t`` and ``prior`` are its natural parameters: C' diag(h) C + diag(prior) and C't.
    """

    solution: DenseSolution
    log_det: float
    m: Floats
    v: Floats
    components: list[VarianceComponent]
    h: Floats
    t: Floats
    prior: Floats


class Fit(NamedTuple):
    """Both halves, the trace of the bound, the number of steps and whether the last was small."""

    mean: Half
    log_variance: Half
    lower_bounds: Floats
    n_iter: int
    converged: bool


def prior_precision(
    columns: Columns, components: list[VarianceComponent], sigma_beta: float
) -> Floats:
    """Return the diagonal of M: the free columns' prior, then each block's E(1 / sigma^2)."""
    # Eq. (14): free coefficients ~ N(0, σ_β²)
    prior = np.full(columns.matrix.shape[1], sigma_beta**-2.0)
    for block, component in zip(columns.blocks, components):
        prior[block] = component.precision[0, 0]  # μ_{1/σ²} of the block's Half-Cauchy of Eq. (14)
    return prior


def _second_moments(columns: Columns, solution: DenseSolution) -> list[Floats]:
    variances = np.diagonal(solution.cov)
    return [
        np.array([[solution.mean[b] @ solution.mean[b] + variances[b].sum()]])
        for b in columns.blocks
    ]


def solved(
    columns: Columns, h: Floats, t: Floats, prior: Floats, components: list[VarianceComponent]
) -> Half | None:
    """Return a half after its Gaussian and its variances were updated."""
    found = solve_dense(columns.matrix, h, t, prior)
    if found is None:
        return None
    solution, log_det = found
    m, v = dense_moments(columns.matrix, solution)
    moments = _second_moments(columns, solution)
    components = [updated(c, moment) for c, moment in zip(components, moments)]
    return Half(solution, log_det, m, v, components, h, t, prior)


def half_bound(columns: Columns, half: Half, sigma_beta: float) -> float:
    """Return what priors and entropy of one half add to the bound."""
    mean, cov = half.solution
    p, d = columns.n_free, len(mean)
    total = -0.5 * p * (LOG_2PI + 2.0 * np.log(sigma_beta))
    total -= 0.5 * (mean[:p] @ mean[:p] + np.trace(cov[:p, :p])) / sigma_beta**2
    total += 0.5 * d * (1.0 + LOG_2PI) - 0.5 * half.log_det  # the Gaussian's entropy
    for component, moment in zip(half.components, _second_moments(columns, half.solution)):
        total += bound_terms(component, moment)
    return float(total)


def _precision(half: Half) -> Floats:
    """Return w = E exp(-(D gamma)_i), the expected precision of each response."""
    with np.errstate(over="ignore"):
        return np.exp(-half.m + 0.5 * half.v)  # E exp(-η) of η ~ N(m, v)


def _squares(y: Floats, half: Half) -> Floats:
    """Return r = E (y - C nu)^2."""
    return (y - half.m) ** 2 + half.v


def bound(y: Floats, C: Columns, D: Columns, mean: Half, spread: Half, sigma_beta: float) -> float:
    """Return the variational lower bound of ln p(y)."""
    # E log N(y; ν, exp(γ)) of Eq. (12)
    data = -0.5 * (LOG_2PI + spread.m + _squares(y, mean) * _precision(spread)).sum()
    return float(data) + half_bound(C, mean, sigma_beta) + half_bound(D, spread, sigma_beta)


def _start(y: Floats, C: Columns, D: Columns, sigma_beta: float, A: float) -> tuple[Half, Half]:
    """Return a smooth mean under a constant variance, and that constant."""
    components = [new_component(b.stop - b.start, 1, A, 1.0) for b in C.blocks]
    prior = prior_precision(C, components, sigma_beta)
    mean = solved(C, np.ones_like(y), y, prior, components)
    components = [new_component(b.stop - b.start, 1, A, 0.1) for b in D.blocks]
    prior = prior_precision(D, components, sigma_beta)
    # Half of a chi-squared log-likelihood's curvature; ln(variance) of the residuals as response.
    half = np.full_like(y, 0.5)
    assert mean is not None
    level = np.log(np.mean((y - mean.m) ** 2) + 1e-12)
    spread = solved(D, half, half * level, prior, components)
    assert spread is not None
    return mean, spread


def fit_mean_and_variance(
    y: Floats,
    C: Columns,
    D: Columns,
    *,
    sigma_beta: float,
    A: float,
    max_iter: int,
    tol: float,
    progress: Any = None,
) -> Fit:
    """Climb the bound until it hardly rises.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Responses.
    C, D : Columns
        Designs of the mean and of the log-variance.
    sigma_beta, A : float
        Prior standard deviation of free columns, scale of Half-Cauchy priors.
    max_iter, tol : int, float
        When to stop.
    progress : FitProgress, optional
        Stepped once an iteration.

    Returns
    -------
    fit : Fit
        Its bound never falls.
    """
    mean, spread = _start(y, C, D, sigma_beta, A)
    value = bound(y, C, D, mean, spread, sigma_beta)
    trace, converged = [value], False
    while len(trace) <= max_iter and not converged:
        w = _precision(spread)
        prior = prior_precision(C, mean.components, sigma_beta)
        # the conjugate half: Σ_ν = (Cᵀ diag(w) C + M)⁻¹, μ_ν = Σ_ν Cᵀ(w ∘ y)
        found = solved(C, w, w * y, prior, mean.components)
        mean = found if found is not None else mean
        # Eq. (7) for the log-variance, with w of the old q(γ) in both lines.
        w_r = _squares(y, mean) * w
        wanted = (
            0.5 * w_r,  # -E l''
            0.5 * (w_r - 1.0) + 0.5 * w_r * spread.m,  # E l' + h (D gamma)
            prior_precision(D, spread.components, sigma_beta),
        )
        length, accepted = 1.0, None
        for _ in range(HALVINGS):
            now = (spread.h, spread.t, spread.prior)
            # Natural parameters of both are linear in (h, t, M): so is a damped step.
            mixed = [(1.0 - length) * old + length * new for old, new in zip(now, wanted)]
            trial = solved(D, mixed[0], mixed[1], mixed[2], spread.components)
            if trial is not None:
                new_value = bound(y, C, D, mean, trial, sigma_beta)
                if new_value >= value - SLACK * max(1.0, abs(value)):
                    accepted = trial
                    break
            length *= 0.5
        if accepted is None:
            converged = True
            break
        rise, value, spread = new_value - value, new_value, accepted
        trace.append(max(value, trace[-1]))
        converged = rise <= tol * abs(value) * length
        if progress is not None and progress.step():
            break
    return Fit(mean, spread, np.array(trace), len(trace) - 1, converged)
