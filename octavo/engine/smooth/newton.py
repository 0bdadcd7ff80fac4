"""Regularised linear fits to near machine precision by Newton's method.

Minimises over f in R^d

    (1/n) Σ_i w_i ℓ(x_i·f; y_i) + (alpha/2) ‖f‖² + linear·f

with exact Hessians and a backtracking line search. Up to `DENSE_LIMIT` features a step factors
the Hessian, at O(n d² + d³), or Σ_i nnz_i² + d³ for sparse rows, unless the last step was so good
that its factor will do once more; beyond, it is found by conjugate gradients and the Hessian is
never formed. The objective is strongly convex, so the
gradient bounds the distance to the optimum: ‖f - f*‖ ≤ ‖∇‖/alpha.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.smooth.losses import CustomLoss, SmoothLoss

DENSE_LIMIT = 2000  # features up to which the Hessian is formed and factored
GOOD = 0.1  # a step that leaves at most this share of the gradient: its factor serves again


class NewtonResult(NamedTuple):
    """The minimiser with its certificate."""

    coef: Floats
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


@njit(cache=True, nogil=True)
def _csr_gram(indptr, indices, data, curvature, out):
    """Add the lower triangle of Xᵀ diag(curvature) X to `out`; column indices are sorted."""
    for i in range(indptr.shape[0] - 1):
        if curvature[i] == 0.0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            row, scaled = out[indices[a]], curvature[i] * data[a]
            for b in range(indptr[i], a + 1):
                row[np.uint32(indices[b])] += scaled * data[b]  # unsigned: no test for < 0


def linear_hessian(X: Any, curvature: Floats, alpha: float) -> Floats:
    """Return Xᵀ diag(curvature) X / n + alpha I; of a sparse X only its lower triangle."""
    if sp.issparse(X):
        H = np.zeros((X.shape[1], X.shape[1]))
        _csr_gram(X.indptr, X.indices, X.data, curvature, H)
    else:
        # Xᵀ diag(c) X as one symmetric product when the curvatures allow a square root.
        root = np.sqrt(curvature)[:, None] * X
        H = root.T @ root
    H /= X.shape[0]
    H[np.diag_indices_from(H)] += alpha
    return H


def _conjugate_gradients(X: Any, curvature: Floats, alpha: float, gradient: Floats) -> Floats:
    """Solve H s = -gradient, the more exactly the smaller the gradient is."""
    n = X.shape[0]
    squares = X.multiply(X) if sp.issparse(X) else X * X
    diagonal = squares.T @ curvature / n + alpha  # the Hessian's diagonal, as preconditioner
    step, residual = np.zeros_like(gradient), -gradient
    norm = float(np.linalg.norm(gradient))
    target = min(0.1, np.sqrt(norm)) * norm  # superlinear convergence of the outer iteration
    direction = residual / diagonal
    fit = float(residual @ direction)
    for _ in range(10 * gradient.shape[0]):
        image = X.T @ (curvature * (X @ direction)) / n + alpha * direction
        length = fit / float(direction @ image)
        step += length * direction
        residual -= length * image
        if np.linalg.norm(residual) <= target:
            break
        scaled = residual / diagonal
        fit, old = float(residual @ scaled), fit
        direction = scaled + fit / old * direction
    return step


def newton_linear(
    X: Any,
    y: Floats,
    loss: SmoothLoss | CustomLoss,
    alpha: float,
    *,
    weight: Floats | None = None,
    linear: Floats | None = None,
    start: Floats | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> NewtonResult:
    """Minimise to ‖∇‖₂ ≤ tol; see the module for the objective."""
    X = canonical_csr(X)  # the Hessian's kernel trusts that columns rise within rows
    n, d = X.shape
    coef = np.zeros(d) if start is None else start.astype(float)
    tilt = np.zeros(d) if linear is None else linear

    def evaluate(f: Floats) -> tuple[float, float, Floats, Floats]:
        """Return the value, how large its rounding error may be, slopes and curvatures."""
        total, slope, curvature = loss.evaluate(X @ f, y, weight)
        data, tilted = total / n + 0.5 * alpha * float(f @ f), float(tilt @ f)
        return data + tilted, 1e-14 * (abs(data) + abs(tilted)), slope, curvature

    value, rounding, slope, curvature = evaluate(coef)
    gradient_norm, factor = np.inf, None
    for iteration in range(max_iter + 1):
        gradient = X.T @ slope / n + alpha * coef + tilt
        before, gradient_norm = gradient_norm, float(np.linalg.norm(gradient))
        if gradient_norm <= tol or iteration == max_iter:
            break
        if d > DENSE_LIMIT:
            step = _conjugate_gradients(X, curvature, alpha, gradient)
        else:
            if factor is None or not gradient_norm <= GOOD * before:
                factor = cho_factor(linear_hessian(X, curvature, alpha), lower=True)
            step = -cho_solve(factor, gradient)
        fall, size = float(gradient @ step), 1.0
        while size > 1e-10:
            trial = coef + size * step
            found = evaluate(trial)
            # Near the optimum the fall is below rounding; there a full Newton step is right.
            if found[0] <= value + 1e-4 * size * fall + rounding:
                break
            size *= 0.5
        else:
            break
        coef, (value, rounding, slope, curvature) = trial, found
    return NewtonResult(coef, value, gradient_norm, iteration, gradient_norm <= tol)


def _warmup() -> None:
    for kind in (np.int32, np.int64):
        row = np.zeros(1, kind)
        _csr_gram(np.arange(2, dtype=kind), row, np.ones(1), np.ones(1), np.zeros((1, 1)))
