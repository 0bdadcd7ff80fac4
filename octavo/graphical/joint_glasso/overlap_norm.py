"""The row-column overlap norm (RCON): how few rows and columns carry symmetric matrices.

Ω_q(Θ^1, …, Θ^K) is the least Σ_j ‖(V^1_j; …; V^K_j)‖_q over all V with Θ^k = V^k + (V^k)ᵀ: the
matrices are taken apart into columns and the rows that mirror them. By Lemma 11 it is also the
largest Σ_k ⟨Λ^k, Θ^k⟩ over Λ whose stacked columns (Λ + Λᵀ)_j have dual norm at most one;
`rcon_norm` returns both sides.

Reference: Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple Gaussian
graphical models", JMLR 15:445-488, section 3.2 and appendix A.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.engine.estimators.checked import checked
from octavo.engine.glasso.penalties import transposed
from octavo.engine.proximal.groups import (
    NORMS,
    column_norms,
    dual_exponent,
    scale_into_balls,
    shrink_columns,
)

__all__ = ["RconNorm", "rcon_norm"]


class RconNorm(NamedTuple):
    """Value of Ω_q, the V that attains it, the Λ that proves it, the gap, and iterations."""

    value: float
    V: np.ndarray
    dual: np.ndarray
    duality_gap: float
    n_iter: int


def _halves(Theta, V):
    """Return the V nearest to the one given with V + Vᵀ = Θ."""
    return V + (Theta - V - transposed(V)) / 2.0


@checked
def rcon_norm(Thetas, q=2, *, tol=1e-8, max_iter=10_000):
    """Compute the row-column overlap norm of symmetric matrices, with its certificate.

    Parameters
    ----------
    Thetas : array-like of shape (n_matrices, n, n) or (n, n)
        Symmetric matrices; their columns are stacked.
    q : {1, 2, inf}, default=2
        Norm of a stacked column.
    tol : float, default=1e-8
        Duality gap, relative to the value, at which to stop.
    max_iter : int, default=10000
        Most iterations.

    Returns
    -------
    RconNorm
        `value`; `V` of shape (n_matrices, n, n) with V + Vᵀ exactly Θ and column norms that sum to
        `value`; `dual`, symmetric and feasible in Lemma 11; and `duality_gap`, the
        most by which `value` can exceed the norm.

    Notes
    -----
    For q = 1 the norm is half the sum of absolute values, and V = Θ/2. For one matrix and
    few rows use it as a measure; as a penalty it is part of `PerturbedNodeJointGraphicalLasso`.

    References
    ----------
    .. [1] Mohan, London, Fazel, Witten and Lee (2014). Node-based learning of multiple Gaussian
       graphical models. JMLR 15:445-488.

    Examples
    --------
    One row and its column are one group; a diagonal is as many groups as it is long:

    >>> import numpy as np
    >>> from octavo.graphical import rcon_norm
    >>> star = np.zeros((5, 5))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> round(rcon_norm(star).value, 6), round(rcon_norm(np.eye(5)).value, 6)
    (2.0, 2.5)
    """
    Theta = check_array(np.asarray(Thetas), dtype=np.float64, allow_nd=True, ensure_2d=False)
    Theta = Theta[None] if Theta.ndim == 2 else Theta
    if Theta.ndim != 3 or Theta.shape[1] != Theta.shape[2]:
        raise ValueError(f"Thetas must be square matrices, got shape {np.shape(Thetas)}.")
    size = float(np.abs(Theta).max())
    if not np.allclose(Theta, transposed(Theta), rtol=1e-10, atol=1e-12 * size):
        raise ValueError("Thetas must be symmetric.")
    if q not in NORMS:
        raise ValueError(f"q must be 1, 2 or inf, got {q!r}.")
    if not tol > 0:
        raise ValueError(f"tol must be > 0, got {tol!r}.")
    Theta = (Theta + transposed(Theta)) / 2.0
    if size == 0.0:
        return RconNorm(0.0, np.zeros_like(Theta), np.zeros_like(Theta), 0.0, 0)
    if q == 1:
        value = float(np.abs(Theta).sum()) / 2.0  # Section 3.2: half the l1 norm
        return RconNorm(value, Theta / 2.0, np.sign(Theta) / 2.0, 0.0, 0)
    return _by_multipliers(Theta / size, size, q, tol, max_iter)


def _by_multipliers(Theta, size, q, tol, max_iter):
    """Alternate T_q with the projection on V + Vᵀ = Θ; bound from both sides as it goes."""
    shape, s, rho = Theta.shape, dual_exponent(q), 4.0 / np.sqrt(Theta.shape[-1])
    U, u = Theta / 2.0, np.zeros(shape)
    best = RconNorm(np.inf, U, u, np.inf, 0)
    lower, dual = -np.inf, u
    for iteration in range(1, max_iter + 1):
        # T_q, column by column
        V = shrink_columns((U - u).reshape(-1, shape[-1]), 1.0 / rho, q).reshape(shape)
        C = 1.6 * V - 0.6 * U + u
        U = Theta / 2.0 + (C - transposed(C)) / 2.0
        u = C - U  # symmetric: U takes the skew part of C as it is
        if iteration % 10 and iteration < max_iter:
            continue
        point = _halves(Theta, V)
        value = float(column_norms(point.reshape(-1, shape[-1]), q).sum())
        feasible = scale_into_balls(-rho * u, 1.0, s) / 2.0  # ‖(Λ + Λᵀ)_j‖_s ≤ 1
        bound = float((feasible * Theta).sum())  # Lemma 11: a lower bound
        if bound > lower:
            lower, dual = bound, feasible
        if value < best.value:
            best = best._replace(value=value, V=point)
        if best.value - lower <= tol * best.value:
            break
    gap = best.value - lower
    if gap > tol * best.value:
        warnings.warn(
            f"rcon_norm stopped after {max_iter} iterations with a duality gap of "
            f"{gap * size:.3g} at a value of {best.value * size:.6g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return RconNorm(best.value * size, best.V * size, dual, gap * size, iteration)
