"""The group lasso over coefficients: ‖y - Gθ‖²/(2σ²) + Σ_i w_i ‖θ_i‖, Eq. (9), by FISTA.

With w_i = √(2 c_i) its minimum is that of (12) over variances, and λ_i = ‖θ_i‖ / w_i.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.proximal.groups import column_norms, shrink_columns
from octavo.kernel.group_ard.evidence import GramEvidence, WideEvidence
from octavo.kernel.group_ard.objectives import VarianceObjective


class _Blocks:
    """Coefficients laid out with a column per group, padded by zeros, as proximal maps want."""

    def __init__(self, widths: Indices) -> None:
        self.shape = (int(widths.max()), len(widths))
        self.row = np.concatenate([np.arange(w) for w in widths])
        self.column = np.repeat(np.arange(len(widths)), widths)

    def laid_out(self, theta: Floats) -> Floats:
        table = np.zeros(self.shape)
        table[self.row, self.column] = theta
        return table

    def shrunk(self, theta: Floats, thresholds: Floats) -> Floats:
        """Return the proximal map of Σ t_i ‖θ_i‖."""
        return shrink_columns(self.laid_out(theta), thresholds, 2)[self.row, self.column]

    def norms(self, theta: Floats) -> Floats:
        return column_norms(self.laid_out(theta), 2)


def _quadratic(evidence: GramEvidence | WideEvidence) -> tuple[Callable, Floats, float]:
    """Return θ → GᵀGθ, Gᵀy and the largest eigenvalue of GᵀG."""
    if isinstance(evidence, GramEvidence):
        gram = evidence.gram
        return lambda v: gram @ v, evidence.moments, float(np.linalg.eigvalsh(gram)[-1])
    G = evidence.G
    return lambda v: G.T @ (G @ v), G.T @ evidence.y, float(np.linalg.eigvalsh(G @ G.T)[-1])


def primal_group_lasso(
    objective: VarianceObjective,
    x: Floats,
    max_iter: int,
    step: Callable[[], bool],
    tol: float = 1e-5,
) -> tuple[Floats, list[float]]:
    """Minimise Eq. (9) by accelerated proximal gradients, restarted where they turn back.

    Parameters
    ----------
    objective : VarianceObjective
        Eq. (12) of a linear model; its costs give the weights.
    x : ndarray of shape (n_groups,)
        Variances at the start; they scale the first coefficients.
    max_iter : int
        Most steps.
    step : callable
        Called after each step; returns whether to stop.
    tol : float
        Stop when a step changes the coefficients by less than this part of them.

    Returns
    -------
    lam, values
        λ_i = ‖θ_i‖ / w_i, and the objective of (9) at every step.
    """
    evidence = objective.evidence
    assert isinstance(evidence, (GramEvidence, WideEvidence))
    apply, moments, largest = _quadratic(evidence)
    blocks, sigma2 = _Blocks(evidence.columns.widths), objective.sigma2
    weights = np.sqrt(2.0 * objective.costs)  # γ_GL = √(2γ), Proposition 3
    length = sigma2 / largest

    def value(theta: Floats, image: Floats) -> float:
        fit = evidence.energy - 2.0 * float(moments @ theta) + float(theta @ image)
        return 0.5 * fit / sigma2 + float(weights @ blocks.norms(theta))

    theta = np.zeros(len(moments))
    image, ahead, momentum = apply(theta), theta, 1.0
    values = [value(theta, image)]
    for _ in range(max_iter):
        gradient = (apply(ahead) - moments) / sigma2
        new = blocks.shrunk(ahead - length * gradient, length * weights)
        if float((ahead - new) @ (new - theta)) > 0.0:  # momentum points uphill
            momentum = 1.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        moved = new - theta
        ahead = new + (momentum - 1.0) / grown * moved
        theta, momentum = new, grown
        values.append(value(theta, apply(theta)))
        if step() or np.linalg.norm(moved) <= tol * np.linalg.norm(theta):
            break
    return blocks.norms(theta) / weights, values  # λ_i = ‖θ_i‖/√(2γ)
