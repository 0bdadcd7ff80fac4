"""Ground metrics to start from: uniform, or the minimiser of a linear model of the criterion.

Reference: Cuturi and Avis (2014), Section 4.3 and Algorithm 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from octavo.engine.estimators.arrays import Floats
from octavo.engine.projections.metric_cone import project_metric_cone
from octavo.metric.ground.criterion import Comparisons, count_neighbors
from octavo.metric.ground.histograms import as_ground_metric, uniform_metric


def representative_tables(R: Floats, told: Comparisons, k: int, ties: Floats) -> Floats:
    """Return Ξ_k: independence tables r_i r_jᵀ of neighbours in total variation, weighted by ω."""
    i, j = told.pairs.T
    # Algorithm 3: the total variation but for a factor
    variation = squareform(pdist(R, "cityblock"), checks=False)[i, j]
    n_pairs, Xi = len(told.pairs), np.zeros((R.shape[1], R.shape[1]))
    for rows in (told.alike, told.unlike):
        both = np.concatenate([rows, rows + n_pairs])
        counts = count_neighbors(variation[rows], told.pairs[rows], k, ties[both])
        weights = counts * told.omega[rows]
        Xi += R[i[rows]].T @ (weights[:, None] * R[j[rows]])  # Algorithm 3: ω r_i r_jᵀ
    Xi = 0.5 * (Xi + Xi.T)
    np.fill_diagonal(Xi, 0.0)
    return Xi


def independence_metric(R: Floats, told: Comparisons, k: int, ties: Floats) -> Floats:
    """Return the projection of -Ξ onto the cone with sum one, Eq. (8); M₁ where that is zero."""
    Xi = representative_tables(R, told, k, ties)
    # Eq. (9) with H = -λ/2 Ξ, whose λ only scales
    M = project_metric_cone(-Xi, tol=1e-7, max_sweeps=1000).M
    top = float(M.max(initial=0.0))
    if not top > 1e-12 * float(np.abs(Xi).max(initial=0.0)):
        return uniform_metric(R.shape[1])
    M = M / top
    return M / M.sum()


def start_metric(
    init: Any, R: Floats, told: Comparisons, k: int, ties: Floats, blend: float
) -> Floats:
    """Return the metric that `init` names, with sum one, blended with M₁: λM₀ + (1 - λ)M₁."""
    d = R.shape[1]
    if isinstance(init, str):
        is_uniform = init == "uniform"
        M = uniform_metric(d) if is_uniform else independence_metric(R, told, k, ties)
    else:
        given = as_ground_metric(init, d, "init")
        top = float(given.max())
        if top == 0.0:
            raise ValueError("init must have a positive entry; it is all zero.")
        M = project_metric_cone(given / top, tol=1e-9).M
        M = M / M.sum()
    return blend * M + (1.0 - blend) * uniform_metric(d)  # Algorithm 3, the last line
