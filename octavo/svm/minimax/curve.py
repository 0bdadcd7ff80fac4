"""Every best pair of guarantees that one hyperplane can give two classes, in closed form.

A hyperplane w·x = b whose class means lie κ₁ and κ₀ standard deviations behind it guarantees
ω_j = κ_j²/(1 + κ_j²) of each class, whatever the distributions. The pairs (κ₁, κ₀) that cannot
both be raised form a curve. In coordinates that make Σ₁ + Σ₀ the identity and Σ₁ diagonal (λ),
the hyperplane that touches the curve with slope t/(1 - t) is v = u/(tλ + (1 - t)(1 - λ)), with
u the difference of the means, and κ₁ = t|v|_λ, κ₀ = (1 - t)|v|_{1-λ}: κ₁ rises and κ₀ falls
with t. The minimax machine is where the two meet, the biased machine where κ₀ is what was asked
for, and the machine of minimum error the best of a weighted sum; each is a search over one
number at O(d) a step, after one eigendecomposition.

References: G. R. G. Lanckriet, L. El Ghaoui, C. Bhattacharyya and M. I. Jordan (2003), "A robust
minimax approach to classification", JMLR 3; K. Huang, H. Yang, I. King, M. R. Lyu and L. Chan
(2004), "The minimum error minimax probability machine", JMLR 5; S. Cousins, thesis on moments
and multi-label learning (University College London), Eq. (3.7)-(3.9) and (3.17).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.optimize import brentq

from octavo.engine.estimators.arrays import Floats
from octavo.svm.minimax.moment_space import ClassMoments

__all__ = ["Hyperplane"]

EDGE = 1e-13  # t stays this far from 0 and 1, where a singular covariance divides by zero


class Hyperplane(NamedTuple):
    """Where two classes part: class 1 is predicted where ``coef`` · x >= ``threshold``.

    ``kappas`` are the guarantees for classes 0 and 1, ``gap`` is a bound on how much larger
    both could be, and ``n_iter`` counts the steps that found it.
    """

    coef: Floats
    threshold: float
    kappas: tuple[float, float]
    gap: float
    n_iter: int


def mean_difference(zero: ClassMoments, one: ClassMoments) -> Floats:
    """Return the difference of the means, which must not be rounding."""
    difference = one.mean - zero.mean
    scale = max(
        np.abs(one.mean).max(), np.abs(zero.mean).max(), np.sqrt(np.trace(one.cov + zero.cov))
    )
    if not np.linalg.norm(difference) > 1e-12 * scale:
        raise ValueError(
            "Classes have identical means: the minimax problem is degenerate (Theorem 6); the "
            f"means differ by {np.linalg.norm(difference):.3g}."
        )
    return difference


def average_variance(zero: ClassMoments, one: ClassMoments) -> float:
    """Return the mean variance of a coordinate over both classes."""
    return float(np.trace(zero.cov) + np.trace(one.cov)) / (2 * len(zero.mean))


def _triangular_root(total: Floats) -> Floats:
    """Return the Cholesky factor of Σ₀ + Σ₁, which must not be singular."""
    try:
        root = cholesky(total, lower=True)
        # The share of a coordinate's variance that the ones before it leave unexplained.
        left = (np.diagonal(root) ** 2 / np.diagonal(total)).min()
    except LinAlgError:
        left = 0.0
    if left <= 8 * len(total) * np.finfo(float).eps:
        raise ValueError(
            "The covariances of the two classes are singular in a common direction: no "
            "guarantee is the largest. Regularise (alpha > 0), or give more rows."
        )
    return root


class GuaranteeCurve:
    """The curve of best guarantees of two classes.

    Parameters
    ----------
    zero, one : ClassMoments
        Moments of the classes.
    alpha : tuple of float
        Added to the diagonals of the covariances of class 0 and class 1.
    """

    def __init__(
        self, zero: ClassMoments, one: ClassMoments, alpha: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.difference = mean_difference(zero, one)
        self.means = zero.mean, one.mean
        eye = np.eye(len(self.difference))
        self.covs = zero.cov + alpha[0] * eye, one.cov + alpha[1] * eye
        root = _triangular_root(self.covs[0] + self.covs[1])
        whitened = solve_triangular(root, self.covs[1], lower=True)
        share, vectors = eigh(solve_triangular(root, whitened.T, lower=True))
        self.basis = solve_triangular(root, vectors, lower=True, trans="T")
        # λ; where a class has no spread, rounding must not give it one.
        rounding = 4 * len(share) * np.finfo(float).eps
        share = np.where(share < rounding, 0.0, np.where(share > 1.0 - rounding, 1.0, share))
        self.share = share
        self.shift = self.basis.T @ self.difference  # u

    def kappas(self, t: Floats | float) -> tuple[Floats, Floats]:
        """Return κ₀ and κ₁ at one or many places of the curve."""
        t = np.asarray(t, dtype=np.float64)[..., None]
        # w = (tΣ₁ + (1-t)Σ₀)⁻¹Δ in the basis where Σ₁ is λ and Σ₀ is 1 - λ.
        squares = (self.shift / (t * self.share + (1.0 - t) * (1.0 - self.share))) ** 2
        # κ₀ = (1 − t)|w|₀ on the curve, |w|₀ = (wᵀΣ₀w)^½
        zero = (1.0 - t[..., 0]) * np.sqrt(squares @ (1.0 - self.share))
        return zero, t[..., 0] * np.sqrt(squares @ self.share)  # and κ₁ = t|w|₁

    @property
    def reach(self) -> tuple[float, float]:
        """The largest κ₀ and κ₁ there are: the classes' Mahalanobis distances of the means."""
        return float(self.kappas(EDGE)[0]), float(self.kappas(1.0 - EDGE)[1])

    def meet(self) -> tuple[float, int]:
        """Return t where κ₁ = κ₀, and the steps it took."""
        return self._root(lambda t: float(np.subtract(*self.kappas(t)[::-1])))

    def where_zero_is(self, kappa: float) -> tuple[float, int]:
        """Return t where κ₀ is given, and the steps it took."""
        return self._root(lambda t: kappa - float(self.kappas(t)[0]))

    def _root(self, rising: Callable[[float], float]) -> tuple[float, int]:
        low, high = EDGE, 1.0 - EDGE
        if rising(low) >= 0.0:
            return low, 1
        if rising(high) <= 0.0:  # a class without spread: every t gives the same direction
            return high, 1
        t, report = brentq(rising, low, high, xtol=1e-15, rtol=1e-14, full_output=True)
        return float(t), int(report.iterations)

    def direction(self, t: float) -> Floats:
        """Return the weights at a place of the curve, scaled to length one along the means."""
        v = self.shift / (t * self.share + (1.0 - t) * (1.0 - self.share))
        w = self.basis @ v
        return w / float(w @ self.difference)  # the constraint of Eq. (3.7)

    def hyperplane(self, w: Floats, zero_kappa: float | None, n_iter: int) -> Hyperplane:
        """Return the best hyperplane of a direction with w·difference = 1, and its certificate.

        κ₀ is as given; None makes κ₀ = κ₁, as in Eq. (3.7) and (3.8).
        """
        spread0, spread1 = (math.sqrt(max(float(w @ cov @ w), 0.0)) for cov in self.covs)
        if zero_kappa is None:
            zero_kappa = one_kappa = 1.0 / (spread0 + spread1)  # Eq. (3.7)
        else:
            # what is left of w·Δ = 1
            one_kappa = (1.0 - zero_kappa * spread0) / spread1 if spread1 > 0.0 else np.inf
        threshold = float(w @ self.means[0]) + zero_kappa * spread0  # Eq. (3.8)
        gap = self._gap(w, (spread0, spread1), (zero_kappa, one_kappa))
        return Hyperplane(w, threshold, (zero_kappa, one_kappa), gap, n_iter)

    def _gap(self, w: Floats, spreads: tuple[float, float], kappas: tuple[float, float]) -> float:
        """Return η such that no hyperplane guarantees κ₀ + η and κ₁ + η together.

        For every v, v·difference ≤ κ₀|v|₀ + κ₁|v|₁ + e·v with e what is left of the optimality
        condition at w, and e·v ≤ η(|v|₀ + |v|₁) with η the norm of e under (Σ₀ + Σ₁)⁻¹.
        """
        left = self.difference.copy()
        for cov, spread, kappa in zip(self.covs, spreads, kappas):
            if spread > 0.0:
                left -= kappa / spread * (cov @ w)
        return float(np.linalg.norm(self.basis.T @ left))
