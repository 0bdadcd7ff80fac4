"""Smooth latents: functions of time (CSLIM) or of a parent (SNIM) with Gaussian-process priors.

Sections 3.4, 3.5 and A.3 of Henao and Winther (2011). The kernel exp(-υ (t - t')²) is written as
FF' by a Cholesky decomposition with pivots, to 1e-8 of its diagonal: smooth functions need few
columns, and a draw costs O(n r²) instead of O(n³). The length scale υ is proposed from its prior,
as in the paper, but accepted with the function integrated out, and both are drawn together: given
the function, almost no other length scale would be accepted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.metropolis import accepts

RATE_SHAPE, KAPPA_SHAPE, KAPPA_RATE = 2.0, 2.0, 0.02  # u_s, k_s, k_r of Eq. (9)
CLOSE = 1e-8


@njit(cache=True, error_model="numpy")
def pivoted_factor(t, rate, left, F, pivots):
    """Write columns of F with FF' = exp(-rate (t - t')²) to CLOSE; return their number."""
    n = t.size
    for i in range(n):
        left[i] = 1.0
    for r in range(F.shape[0]):
        best = 0
        for i in range(n):
            if left[i] > left[best]:
                best = i
        if left[best] <= CLOSE:
            return r
        pivots[r] = best
        root = math.sqrt(left[best])
        for i in range(n):
            gap = t[i] - t[best]
            value = math.exp(-rate * gap * gap)
            for k in range(r):
                value -= F[k, i] * F[k, best]
            F[r, i] = value / root
            left[i] -= F[r, i] * F[r, i]
        left[best] = 0.0
    return F.shape[0]


class SmoothFunction:
    """One function with its length scale, as a chain carries it.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Where it is evaluated.
    rate : float
        The inverse squared length scale υ.
    """

    def __init__(self, t: Floats, rate: float) -> None:
        self.t = np.ascontiguousarray(t, dtype=np.float64)
        n = self.t.size
        self._left, self._room = np.empty(n), np.empty((n, n))
        self._pivots = np.empty(n, dtype=np.int64)
        self.n_accepted = self.n_proposed = 0
        self.set_rate(rate)
        self.weights = np.zeros(len(self.F))

    def factor(self, rate: float) -> tuple[Floats, Any]:
        """Return F with FF' the kernel, columns as rows, and the pivots."""
        r = pivoted_factor(self.t, rate, self._left, self._room, self._pivots)
        return self._room[:r].copy(), self._pivots[:r].copy()

    def set_rate(self, rate: float) -> None:
        """Take a length scale."""
        self.rate = rate
        self.F, self.pivots = self.factor(rate)

    @property
    def values(self) -> Floats:
        """The function at t."""
        return self.weights @ self.F

    def draw_prior(self, rng: np.random.Generator) -> None:
        """Draw the function from its prior."""
        self.weights = rng.standard_normal(len(self.F))

    def draw(self, signal: Floats, own: float, kappa: float, rng: np.random.Generator) -> None:
        """Draw length scale and function; the data are C_j'Ψ⁻¹ε, with C_j'Ψ⁻¹C_j the same for all.

        Parameters
        ----------
        signal : ndarray of shape (n,)
            Σ_i c_ij ε_i / ψ_i, without this function.
        own : float
            Σ_i c_ij² / ψ_i.
        kappa : float
            Rate of the prior of υ.
        rng : Generator
            Source of randomness.
        """
        rate = rng.gamma(RATE_SHAPE, 1.0 / kappa)
        other, pivots = self.factor(rate)
        # log p(x | υ): the function is integrated out
        now, new = evidence(self.F, signal, own), evidence(other, signal, own)
        self.n_proposed += 1
        if accepts(new[0] - now[0], rng):
            self.n_accepted += 1
            self.rate, self.F, self.pivots, now = rate, other, pivots, new
        _, L, y = now
        noise = rng.standard_normal(len(L))
        # the draw given its data: L'w = y + noise
        self.weights = solve_triangular(L, y + noise, lower=True, trans=1, check_finite=False)

    def extend(self, t: Floats, rng: np.random.Generator) -> Floats:
        """Draw the function at further points, given its values at t."""
        found = np.zeros((len(self.F), t.size))
        for r, pivot in enumerate(self.pivots):
            value = np.exp(-self.rate * (t - self.t[pivot]) ** 2)
            value -= self.F[:r, pivot] @ found[:r]
            found[r] = value / self.F[r, pivot]
        left = np.sqrt(np.clip(1.0 - np.sum(found**2, axis=0), 0.0, 1.0))
        # what the columns leave of the kernel's diagonal
        return self.weights @ found + left * rng.standard_normal(t.size)


def evidence(F: Floats, signal: Floats, own: float) -> tuple[float, Floats, Floats]:
    """Return log p(signal | υ) up to a constant, with what a draw of the function needs."""
    # I + own FF', of the size of the rank
    L: Any = np.linalg.cholesky(np.eye(len(F)) + own * (F @ F.T))
    y = solve_triangular(L, F @ signal, lower=True, check_finite=False)
    return 0.5 * float(y @ y) - float(np.log(np.diag(L)).sum()), L, y


def draw_kappa(rates: Any, rng: np.random.Generator) -> float:
    """Draw κ given the length scales."""
    rates = np.asarray(rates)
    # Eq. (9): Gamma(k_s + m u_s, k_r + Σ υ)
    return rng.gamma(KAPPA_SHAPE + rates.size * RATE_SHAPE, 1.0 / (KAPPA_RATE + rates.sum()))


def _warmup() -> None:
    one = np.ones(1)
    pivoted_factor(one, 1.0, one.copy(), np.ones((1, 1)), np.zeros(1, dtype=np.int64))
