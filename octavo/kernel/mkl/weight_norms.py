"""Norms on kernel weights: the best weights for given solutions, and the norms' duals.

A machine on the kernel Σ θ_m K_m with dual variables a has blocks of norm ||w_m|| = θ_m √s_m,
where s_m = a'K_m a (Eq. 21). A norm on the weights decides how θ answers:

- `LpNorm`: ||θ||_p ≤ 1, p ≥ 1. Sparse at p = 1, the plain sum of kernels at p = ∞.
- `MahalanobisNorm`: θ'E⁻¹θ ≤ 1, which ties kernels that E says to be alike (Section 3.5).
- `BlockNorm`: the penalty ½ (Σ ||w_m||^q)^(2/q), q > 2, more uniform than the sum (Section 4.5).

Every norm bounds the optimum from both sides. With any dual feasible a and its L(a),

    dual(s) = ½ × dual norm of s:              L(a) − dual(s) ≤ optimum ≤ loss + primal(θ, s).

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Sections 3 and 4.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["lp_kernel_weights"]

_BARRIER = 1e-12  # of the squared norm of a block, relative to the largest
_NEWTON_STEPS = 100
_LEAST_INVERSE = 1e-7  # of 1/θ, relative to the largest: more would spoil the sum of kernels
NO_SIGNAL = (
    "No kernel has signal: the solution is zero in every one of them. C is too small, or no kernel "
    "tells the samples apart."
)
FLOOR = 1e-12  # of a weight, relative to the largest: a weight of zero could never come back


class WeightNorm(Protocol):
    """What a solver asks of a norm on the weights."""

    def start(self, n_kernels: int) -> Floats:
        """Return weights that favour no kernel."""

    def answer(self, theta: Floats, s: Floats) -> Floats:
        """Return the weights that are best for the solution with a'K_m a = s at theta."""

    def primal(self, theta: Floats, s: Floats) -> float:
        """Return the penalty of the blocks w_m that theta and s imply, at its best weights."""

    def dual(self, s: Floats) -> float:
        """Return what the dual objective loses by a'K_m a = s."""


def conjugate_exponent(p: float) -> float:
    """Return p* with 1/p + 1/p* = 1."""
    if p == 1.0:
        return np.inf
    return 1.0 if p == np.inf else p / (p - 1.0)


def power_norm(values: Floats, p: float) -> float:
    """Return (Σ v^p)^(1/p) of non-negative values, without overflow; also for p below 1."""
    top = float(values.max(initial=0.0))
    if top <= 0.0:
        return 0.0
    if p == np.inf:
        return top
    return top * float(((values / top) ** p).sum()) ** (1.0 / p)


def _least_ratio(u: Floats, p: float) -> Floats:
    """Return the minimiser of Σ u_m/θ_m subject to ||θ||_p ≤ 1 (Eq. 16)."""
    if p == np.inf:
        return np.ones_like(u)
    top = float(u.max(initial=0.0))
    if top <= 0.0:
        raise ValueError(NO_SIGNAL)
    shape = (np.maximum(u, 0.0) / top) ** (1.0 / (p + 1.0))
    return shape / power_norm(shape, p)


def _lifted(theta: Floats, s: Floats) -> Floats:
    """Keep weights of kernels with any signal off zero, from which they could not return."""
    return np.where(s > 0.0, np.maximum(theta, FLOOR * theta.max()), theta)


class LpNorm:
    """||θ / importance||_p ≤ 1; the plain lp norm unless some kernels are more important.

    It is the plain norm of θ' = θ / importance on kernels that are scaled by their importance.

    Parameters
    ----------
    p : float
        At least 1, infinity included.
    importance : ndarray of shape (n_kernels,) or float, default=1.0
        Positive: how large a weight may be before it costs.
    """

    def __init__(self, p: float, importance: Floats | float = 1.0) -> None:
        self.p = float(p)
        self.importance = importance

    def start(self, n_kernels: int) -> Floats:
        """Return M^(-1/p) for every kernel, times its importance."""
        return self.importance * np.full(n_kernels, float(n_kernels) ** (-1.0 / self.p))

    def size(self, theta: Floats) -> float:
        """Return the norm of the weights."""
        return power_norm(np.maximum(theta / self.importance, 0.0), self.p)

    def answer(self, theta: Floats, s: Floats) -> Floats:
        """Return Eq. (16) for ||w_m||² = θ_m² s_m."""
        # Σ u/θ with θ = importance θ': u/importance takes the place of u.
        return _lifted(self.importance * _least_ratio(theta**2 * s / self.importance, self.p), s)

    def primal(self, theta: Floats, s: Floats) -> float:
        """Return ½ (Σ ||w_m||^q)^(2/q), q = 2p/(p+1): the penalty at the best weights."""
        u = np.maximum(theta**2 * s / self.importance, 0.0)
        return 0.5 * power_norm(u, self.p / (self.p + 1.0) if self.p < np.inf else 1.0)

    def dual(self, s: Floats) -> float:
        """Return ½ ||s||_p*."""
        return 0.5 * power_norm(np.maximum(self.importance * s, 0.0), conjugate_exponent(self.p))

    def best_response(self, s: Floats) -> Floats:
        """Return the maximiser of θ's: the weights under which s costs most."""
        dual_p = conjugate_exponent(self.p)
        s = np.maximum(self.importance * s, 0.0)
        if dual_p == np.inf:
            at_top = s >= s.max()
            return self.importance * at_top / at_top.sum()
        shape = (s / s.max()) ** (dual_p - 1.0) if s.max() > 0 else np.ones_like(s)
        return self.importance * shape / power_norm(shape, self.p)


class MahalanobisNorm:
    """θ'E⁻¹θ ≤ 1 (Section 3.5).

    Parameters
    ----------
    E : ndarray of shape (n_kernels, n_kernels)
        Positive definite: how alike the kernels are thought to be.
    """

    def __init__(self, E: Floats) -> None:
        self.E = E
        self.inverse = np.linalg.inv(E)
        self.root = np.linalg.cholesky(E)

    def _scaled(self, theta: Floats) -> Floats:
        return theta / np.sqrt(float(theta @ self.inverse @ theta))

    def start(self, n_kernels: int) -> Floats:
        """Return equal weights on the boundary."""
        return self._scaled(np.ones(n_kernels))

    def answer(self, theta: Floats, s: Floats) -> Floats:
        """Minimise Σ ||w_m||²/θ_m + ½ θ'E⁻¹θ by Newton's method and scale to the boundary.

        The sum has its minimum in the same direction as the constrained problem. With θ = Ev no
        inverse of E is needed, which may be close to singular.
        """
        u = np.maximum(theta**2 * s, 0.0)
        top = float(u.max())
        if top <= 0.0:
            _least_ratio(u, 2.0)  # says what is wrong
        u = np.maximum(u / top, _BARRIER)  # keeps every weight off its bound
        v: Floats = (self.inverse @ np.maximum(theta, FLOOR)).astype(np.float64)
        weights: Floats = (self.E @ v).astype(np.float64)
        if not (weights > 0.0).all():
            weights = theta + FLOOR
            v = (self.inverse @ weights).astype(np.float64)
        value = self._value(u, weights, v)
        for _ in range(_NEWTON_STEPS):
            slope = v - u / weights**2
            bend = 2.0 * u / weights**3
            # (E⁻¹ + B)⁻¹ g = E y with (I + BE) y = g
            system = np.eye(len(u)) + bend[:, None] * self.E
            change: Floats = -np.linalg.solve(system, slope).astype(np.float64)
            move = self.E @ change
            fall = -float(slope @ move)
            if fall <= 1e-14 * value:
                break
            step = 1.0
            while True:
                try_weights, try_v = weights + step * move, v + step * change
                trial = self._value(u, try_weights, try_v)
                if trial <= value - 1e-4 * step * fall or step < 1e-12:
                    break
                step *= 0.5
            weights, v, value = try_weights, try_v, trial
        return weights / np.sqrt(float(weights @ v))

    @staticmethod
    def _value(u: Floats, weights: Floats, v: Floats) -> float:
        if not (weights > 0.0).all():
            return np.inf
        return float((u / weights).sum()) + 0.5 * float(weights @ v)

    def primal(self, theta: Floats, s: Floats) -> float:
        """Return ½ θ's: θ is feasible."""
        return 0.5 * float(theta @ s)

    def dual(self, s: Floats) -> float:
        """Return ½ min ||s + γ||_E over γ ≥ 0, which is ½ max θ's over the feasible weights."""
        target = self.root.T @ np.maximum(s, 0.0)
        return 0.5 * float(nnls(self.root.T, -target)[1])


class BlockNorm:
    """The penalty ½ (Σ ||w_m||^q)^(2/q) with 2 < q ≤ ∞ (Section 4.5).

    Here θ_m = 1/θ'_m, where θ' maximises the dual jointly with a: coordinate ascent. (Alternating
    the update (26), which the paper suggests, need not converge.)

    Parameters
    ----------
    q : float
        Above 2, infinity included.
    """

    def __init__(self, q: float) -> None:
        self.q = float(q)
        self.r = 1.0 if q == np.inf else self.q / (self.q - 2.0)

    def start(self, n_kernels: int) -> Floats:
        """Return M^(1/r) for every kernel."""
        return np.full(n_kernels, float(n_kernels) ** (1.0 / self.r))

    def answer(self, theta: Floats, s: Floats) -> Floats:
        """Return 1/θ' with θ' the minimiser of Σ s_m/θ'_m subject to ||θ'||_r ≤ 1."""
        inverse = _least_ratio(s, self.r)
        return 1.0 / np.maximum(inverse, _LEAST_INVERSE * inverse.max())

    def primal(self, theta: Floats, s: Floats) -> float:
        """Return ½ (Σ ||w_m||^q)^(2/q)."""
        return 0.5 * power_norm(np.maximum(theta**2 * s, 0.0), self.q / 2.0)

    def dual(self, s: Floats) -> float:
        """Return ½ min Σ s_m/θ'_m = ½ (Σ s^(r/(r+1)))^((r+1)/r)."""
        return 0.5 * power_norm(np.maximum(s, 0.0), self.r / (self.r + 1.0))


def weight_norm(
    regularizer: str, p: float, q: float | None, E: Any, importance: Any, n_kernels: int
) -> WeightNorm:
    """Return the norm that an estimator's parameters name, checked.

    Parameters
    ----------
    regularizer : {"lp", "block", "mahalanobis"}
        Kind of norm.
    p : float
        Of ``"lp"``.
    q : float or None
        Of ``"block"``: from 1 to 2 it is the lp norm with p = q/(2-q) (Proposition 5).
    E : array-like of shape (n_kernels, n_kernels)
        Of ``"mahalanobis"``.
    importance : array-like of shape (n_kernels,) or None
        Of ``"lp"``: weights are divided by it before their norm is taken.
    n_kernels : int
        Number of kernels.

    Returns
    -------
    WeightNorm
        The norm.
    """
    if importance is not None and regularizer != "lp":
        raise ValueError(f"importance is for regularizer='lp', not for {regularizer!r}.")
    if regularizer == "lp":
        if not p >= 1.0:
            raise ValueError(f"p must be at least 1, got {p!r}: the problem is not convex below.")
        return LpNorm(p, 1.0 if importance is None else _importance(importance, n_kernels))
    if regularizer == "block":
        if q is None or not q >= 1.0:
            raise ValueError(f"regularizer='block' needs q >= 1, got q={q!r}.")
        if q > 2.0:
            return BlockNorm(q)
        return LpNorm(np.inf if q == 2.0 else q / (2.0 - q))
    E = np.asarray(E, dtype=np.float64)
    if E.shape != (n_kernels, n_kernels):
        raise ValueError(
            f"E must have one row and column per kernel, shape ({n_kernels}, {n_kernels}); got "
            f"shape {E.shape}."
        )
    if not np.isfinite(E).all() or not np.allclose(E, E.T, rtol=1e-8, atol=1e-12):
        raise ValueError("E must be finite and symmetric.")
    lowest = float(np.linalg.eigvalsh(E)[0])
    if lowest <= 1e-12 * np.abs(E).max():
        raise ValueError(
            f"E must be positive definite; its smallest eigenvalue is {lowest:.3g}. Kernels that "
            "are copies of each other make an alignment matrix singular: add to its diagonal."
        )
    return MahalanobisNorm((E + E.T) / 2.0)


def _importance(importance: Any, n_kernels: int) -> Floats:
    values = np.asarray(importance, dtype=np.float64)
    if values.shape != (n_kernels,) or not ((values > 0) & np.isfinite(values)).all():
        raise ValueError(
            f"importance must be {n_kernels} positive numbers, one per kernel; got {importance!r}."
        )
    return values


@checked
def lp_kernel_weights(norms: ArrayLike, p: float) -> Floats:
    """Return the kernel weights that are best for given norms of the blocks (Eq. 16).

    They minimise Σ ||w_m||²/θ_m subject to ||θ||_p ≤ 1.

    Parameters
    ----------
    norms : array-like of shape (n_kernels,)
        ||w_m||, such as ``kernel_norms_`` of a fitted `LpMKLClassifier`.
    p : float
        Norm of the weights, from 1 to infinity.

    Returns
    -------
    ndarray of shape (n_kernels,)
        The weights θ.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Proposition 2.

    Examples
    --------
    >>> from octavo.kernel import lp_kernel_weights
    >>> lp_kernel_weights([3.0, 1.0, 0.0], p=1)
    array([0.75, 0.25, 0.  ])
    """
    norms = np.asarray(norms, dtype=np.float64)
    if norms.ndim != 1 or not (norms >= 0.0).all() or not np.isfinite(norms).all():
        raise ValueError("norms must be a vector of finite, non-negative numbers.")
    if not p >= 1.0:
        raise ValueError(f"p must be at least 1, got {p!r}.")
    return _least_ratio(norms**2, float(p))
