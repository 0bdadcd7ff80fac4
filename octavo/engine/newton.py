"""Regularised linear fits to near machine precision by Newton's method.

Minimises over f in R^d

    (1/n) Σ_i w_i ℓ(x_i·f; y_i) + (alpha/2) ‖f‖² + linear·f

with exact Hessians, Cholesky factors and a backtracking line search. For d of a few thousand at
most: a step costs O(n d² + d³). The objective is strongly convex, so the gradient bounds the
distance to the optimum: ‖f - f*‖ ≤ ‖∇‖/alpha.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.losses import CustomLoss, SmoothLoss

Array = NDArray[np.float64]


class NewtonResult(NamedTuple):
    """The minimiser with its certificate."""

    coef: Array
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


def _hessian(X: Any, curvature: Array, alpha: float) -> Array:
    if sp.issparse(X):
        H = (X.T @ (sp.diags_array(curvature) @ X)).toarray()
    else:
        # Xᵀ diag(c) X as one symmetric product when the curvatures allow a square root.
        root = np.sqrt(curvature)[:, None] * X
        H = root.T @ root
    H /= X.shape[0]
    H[np.diag_indices_from(H)] += alpha
    return H


def newton_linear(
    X: Any,
    y: Array,
    loss: SmoothLoss | CustomLoss,
    alpha: float,
    *,
    weight: Array | None = None,
    linear: Array | None = None,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> NewtonResult:
    """Minimise to ‖∇‖₂ ≤ tol; see the module for the objective."""
    n, d = X.shape
    coef = np.zeros(d) if start is None else start.astype(float)
    tilt = np.zeros(d) if linear is None else linear

    def objective(f: Array, margins: Array) -> float:
        return loss.evaluate(margins, y, weight, order=0)[0] / n + 0.5 * alpha * f @ f + tilt @ f

    margins = X @ coef
    value = objective(coef, margins)
    gradient_norm = np.inf
    for iteration in range(max_iter + 1):
        _, slope, curvature = loss.evaluate(margins, y, weight)
        gradient = X.T @ slope / n + alpha * coef + tilt
        gradient_norm = float(np.linalg.norm(gradient))
        if gradient_norm <= tol or iteration == max_iter:
            break
        step = -cho_solve(cho_factor(_hessian(X, curvature, alpha)), gradient)
        change, fall = X @ step, float(gradient @ step)
        size = 1.0
        while size > 1e-10:
            trial, trial_margins = coef + size * step, margins + size * change
            trial_value = objective(trial, trial_margins)
            # Near the optimum the fall is below rounding; there a full Newton step is right.
            if trial_value <= value + 1e-4 * size * fall + 1e-15 * abs(value):
                break
            size *= 0.5
        else:
            break
        coef, margins, value = trial, X @ trial, trial_value
    return NewtonResult(coef, value, gradient_norm, iteration, gradient_norm <= tol)
