"""Gaussians of unknown mean and precision: several Gaussian-Wishart posteriors at once.

Component k has Λ ~ Wishart(W, ν), μ | Λ ~ N(m, (β Λ)⁻¹); what is kept is W⁻¹. `GaussianWishart` has
full precision matrices, `GaussianGamma` one precision per column: the product of Gaussian-Wisharts
of one dimension, Λ_j ~ Ga(ν / 2, S_j / 2). A prior is a posterior with one component.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import digamma, gammaln, multigammaln

from octavo.engine.estimators.arrays import Floats

LOG_2, LOG_PI = np.log(2.0), np.log(np.pi)


class GaussianWishart(NamedTuple):
    """Means (K, d), precisions β (K,), degrees of freedom ν (K,), inverse scales (K, d, d)."""

    mean: Floats
    beta: Floats
    dof: Floats
    scatter: Floats

    def update(self, X: Floats, weights: Floats) -> GaussianWishart:
        """Return the posteriors given rows weighted by each column of weights (n, K)."""
        mass = weights.sum(axis=0)
        beta = self.beta + mass
        shifted = X - self.mean[0]  # sums about the prior mean lose no digits
        first = weights.T @ shifted
        move = first / beta[:, None]  # m moves by Σ w (x - m_0) / β
        scatter = np.empty((mass.size, X.shape[1], X.shape[1]))
        for k in range(mass.size):
            scatter[k] = (shifted * weights[:, k, None]).T @ shifted
        # Σ w (x - m_0)(x - m_0)ᵀ - β move moveᵀ is W⁻¹'s growth
        scatter -= beta[:, None, None] * move[:, :, None] * move[:, None, :]
        return GaussianWishart(
            self.mean + move, beta, self.dof + mass, self.scatter + _symmetric(scatter)
        )

    def expected_log_density(self, X: Floats) -> Floats:
        """Return E log N(x | μ_k, Λ_k⁻¹) of shape (n, K)."""
        d = X.shape[1]
        squares, log_dets = _distances(X, self.mean, self.scatter)
        trace = digamma((self.dof[:, None] - np.arange(d)) / 2).sum(axis=1)
        # E log |Λ| = Σ ψ((ν + 1 - i) / 2) + d log 2 + log |W|
        log_precision = trace + d * LOG_2 - log_dets
        # E (x - μ)ᵀ Λ (x - μ) = d / β + ν (x - m)ᵀ W (x - m)
        return 0.5 * (log_precision - d / self.beta - d * (LOG_2 + LOG_PI) - self.dof * squares)

    def predictive_log_density(self, X: Floats) -> Floats:
        """Return log densities (n, K) of a new row: Student's t."""
        d = X.shape[1]
        freedom = self.dof + 1.0 - d
        squares, log_dets = _distances(X, self.mean, self.scatter)
        scale = self.beta / (1.0 + self.beta)
        log_norm = (
            gammaln((self.dof + 1.0) / 2)
            - gammaln(freedom / 2)
            + 0.5 * d * (np.log(scale) - LOG_PI)
            - 0.5 * log_dets
        )
        # t with ν + 1 - d degrees of freedom
        return log_norm - 0.5 * (self.dof + 1.0) * np.log1p(scale * squares)

    def divergence(self, prior: GaussianWishart) -> Floats:
        """Return KL(posterior_k ‖ prior) for each component."""
        d = self.mean.shape[1]
        ratio = prior.beta / self.beta
        squares, log_dets = _distances(prior.mean, self.mean, self.scatter)
        # KL of the normal laws, Λ at its mean ν W
        mean_part = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + prior.beta * self.dof * squares[0])
        _, prior_log_det = _distances(prior.mean, prior.mean, prior.scatter)
        trace = np.array([np.trace(np.linalg.solve(S, prior.scatter[0])) for S in self.scatter])
        halves = digamma((self.dof[:, None] - np.arange(d)) / 2).sum(axis=1)
        wishart = (  # KL of the Wishart laws
            0.5 * prior.dof * (log_dets - prior_log_det)
            + 0.5 * self.dof * (trace - d)
            + np.array([multigammaln(v / 2, d) for v in np.broadcast_to(prior.dof, self.dof.shape)])
            - np.array([multigammaln(v / 2, d) for v in self.dof])
            + 0.5 * (self.dof - prior.dof) * halves
        )
        return np.asarray(mean_part + wishart)

    def covariances(self) -> Floats:
        """Return inverses of the expected precisions (K, d, d)."""
        return np.asarray(self.scatter / self.dof[:, None, None])


class GaussianGamma(NamedTuple):
    """As `GaussianWishart` with one precision per column: inverse scales are (K, d)."""

    mean: Floats
    beta: Floats
    dof: Floats
    scatter: Floats

    def update(self, X: Floats, weights: Floats) -> GaussianGamma:
        """Return the posteriors given rows weighted by each column of weights (n, K)."""
        mass = weights.sum(axis=0)
        beta = self.beta + mass
        shifted = X - self.mean[0]
        move = (weights.T @ shifted) / beta[:, None]
        scatter = weights.T @ shifted**2 - beta[:, None] * move**2
        scatter = self.scatter + np.maximum(scatter, 0.0)  # rounding must not take scatter away
        return GaussianGamma(self.mean + move, beta, self.dof + mass, scatter)

    def expected_log_density(self, X: Floats) -> Floats:
        """Return E log N(x | μ_k, Λ_k⁻¹) of shape (n, K)."""
        d = X.shape[1]
        log_precision = d * (digamma(self.dof / 2) + LOG_2) - np.log(self.scatter).sum(axis=1)
        squares = _diagonal_distances(X, self.mean, self.scatter)
        return 0.5 * (log_precision - d / self.beta - d * (LOG_2 + LOG_PI) - self.dof * squares)

    def predictive_log_density(self, X: Floats) -> Floats:
        """Return log densities (n, K) of a new row: Student's t in each column."""
        out = np.empty((len(X), len(self.mean)))
        for k, (mean, beta, dof, scatter) in enumerate(zip(*self, strict=True)):
            scale = beta / (1.0 + beta) / scatter
            out[:, k] = (
                gammaln((dof + 1) / 2) - gammaln(dof / 2) + 0.5 * (np.log(scale) - LOG_PI)
                - 0.5 * (dof + 1) * np.log1p(scale * (X - mean) ** 2)
            ).sum(axis=1)  # fmt: skip
        return out

    def divergence(self, prior: GaussianGamma) -> Floats:
        """Return KL(posterior_k ‖ prior) for each component."""
        d = self.mean.shape[1]
        ratio = prior.beta / self.beta
        squares = ((self.mean - prior.mean) ** 2 / self.scatter).sum(axis=1)
        mean_part = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + prior.beta * self.dof * squares)
        a, a0 = self.dof / 2, prior.dof / 2
        b, b0 = self.scatter, prior.scatter  # twice the rates, in a ratio
        gamma = (
            a0 * np.log(b / b0).sum(axis=1)
            + a * ((b0 / b).sum(axis=1) - d)
            + d * (gammaln(a0) - gammaln(a) + (a - a0) * digamma(a))
        )
        return np.asarray(mean_part + gamma)

    def covariances(self) -> Floats:
        """Return inverses of the expected precisions (K, d)."""
        return np.asarray(self.scatter / self.dof[:, None])


def _symmetric(S: Floats) -> Floats:
    return 0.5 * (S + S.transpose(0, 2, 1))


def _distances(X: Floats, means: Floats, scatter: Floats) -> tuple[Floats, Floats]:
    """Return (x - m_k)' S_k⁻¹ (x - m_k) of shape (n, K), and log-determinants of S_k."""
    squares = np.empty((len(X), len(means)))
    log_dets = np.empty(len(means))
    for k, (mean, S) in enumerate(zip(means, scatter, strict=True)):
        factor = np.linalg.cholesky(S)
        white = solve_triangular(factor, (X - mean).T, lower=True, check_finite=False)
        squares[:, k] = (white**2).sum(axis=0)
        log_dets[k] = 2.0 * np.log(np.diagonal(factor)).sum()
    return squares, log_dets


def _diagonal_distances(X: Floats, means: Floats, scatter: Floats) -> Floats:
    squares = np.empty((len(X), len(means)))
    for k, (mean, S) in enumerate(zip(means, scatter, strict=True)):
        squares[:, k] = ((X - mean) ** 2 / S).sum(axis=1)
    return squares
