"""Draws from the variational posterior of a mixed model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import invwishart

from octavo.bayes.mixed_models.ascent import Ascent
from octavo.bayes.mixed_models.designs import DenseSolution, MixedDesign
from octavo.bayes.mixed_models.families import Gaussian
from octavo.engine.estimators.arrays import Floats
from octavo.engine.variational.variance_components import VarianceComponent


def _normal(mean: Floats, cov: Floats, n: int, rng: np.random.RandomState) -> Floats:
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean + rng.normal(size=(n, len(mean))) @ root.T


def _covariances(component: VarianceComponent, n: int, rng: np.random.RandomState) -> Floats:
    q = component.size
    # q(σ²): inverse gamma, and inverse Wishart for correlated effects
    draws = invwishart(df=component.df, scale=component.scale).rvs(n, random_state=rng)
    return np.reshape(draws, (n, q, q))


def draw_coefficients(
    design: MixedDesign, solution: Any, n: int, rng: np.random.RandomState
) -> tuple[Floats, list[Floats]]:
    """Return draws of fixed effects (n, p) and of each term (n, K, q)."""
    p = design.x.shape[1]
    if isinstance(solution, DenseSolution):
        draws = _normal(solution.mean, solution.cov, n, rng)
        return draws[:, :p], [draws[:, p:, None]] if design.shapes else []
    border = _normal(solution.border_mean, solution.border_cov, n, rng)
    off = border - solution.border_mean
    shift = solution.link @ off[:, :p].T  # the conditional mean of the blocks moves with the border
    if solution.link_extra is not None:
        shift = shift + solution.link_extra @ off[:, p:].T
    k, q = design.shapes[design.inner]
    root = np.linalg.cholesky(solution.conditional_cov)
    noise = np.einsum("gab,ngb->nga", root, rng.normal(size=(n, k, q)))
    inner = solution.block_mean - shift.T.reshape(n, k, q) + noise
    terms = [inner] * len(design.shapes)
    for r in design.outer:
        first = p + design.offsets[r]
        levels, columns = design.shapes[r]
        terms[r] = border[:, first : first + levels * columns].reshape(n, levels, columns)
    return border[:, :p], terms


def draw_posterior(
    design: MixedDesign,
    run: Ascent,
    unturn: Callable[[Floats, np.random.RandomState], Floats],
    n: int,
    rng: np.random.RandomState,
) -> dict[str, Any]:
    """Return draws of everything; see `VariationalMixedModel.sample_posterior`."""
    state = run.state
    beta, ranef = draw_coefficients(design, state.coefficients.solution, n, rng)
    draws: dict[str, Any] = {
        "coef": unturn(beta, rng),
        "ranef": ranef,
        "sigma2": [_covariances(component, n, rng) for component in state.components],
    }
    if isinstance(state.family, Gaussian):
        draws["noise_variance"] = _covariances(state.family.component, n, rng)[:, 0, 0]
    return draws
