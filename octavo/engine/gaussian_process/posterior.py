"""The posterior of a Gaussian process from kernel values, with one more observation at a time.

Nothing here knows where kernel values come from: a matrix between observed points, rows between
queries and observed points, prior means. Kernel matrices that are estimated need not be positive
semidefinite; they are clipped, and factors get the smallest jitter that lets them exist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from octavo.engine.estimators.arrays import Floats
from octavo.engine.projections.positive_semidefinite import project_positive_semidefinite

# Jitters that are tried in turn, as shares of the mean of the diagonal.
LADDER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
SMALLEST_VARIANCE = 1e-10  # of a query, as a share of its prior variance


class Factor(NamedTuple):
    """A lower Cholesky factor, and the jitter on the diagonal that it needed."""

    lower: Floats
    jitter: float


def clipped_kernel(K: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix with the same diagonal.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel values, possibly estimated.

    Returns
    -------
    ndarray of shape (n, n)
        K itself, made symmetric, where no eigenvalue is negative.
    """
    symmetric = 0.5 * (K + K.T)
    clipped = project_positive_semidefinite(symmetric)
    wanted, got = np.diag(symmetric), np.diag(clipped)
    if np.array_equal(symmetric, clipped) or not (got > 0).all():
        return clipped
    scale = np.sqrt(wanted / got)  # prior variances must not change
    return clipped * np.outer(scale, scale)


def jittered_factor(K: Floats) -> Factor:
    """Return the Cholesky factor of K plus as little on its diagonal as it takes.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric.

    Returns
    -------
    Factor
        The factor, and what was added.
    """
    size = float(np.mean(np.diag(K))) if len(K) else 1.0
    for share in LADDER:
        try:
            lower: Floats = np.linalg.cholesky(K + share * size * np.eye(len(K))).astype(float)
        except np.linalg.LinAlgError:
            continue
        return Factor(lower, share * size)
    raise ValueError(
        f"The kernel matrix of {len(K)} points is not positive definite, even with "
        f"{LADDER[-1]:g} of its diagonal added: clip its eigenvalues or add noise."
    )


def appended_factor(factor: Factor, row: Floats, corner: float) -> Factor:
    """Return the factor of a matrix that has grown by one row and column, in O(n²).

    Parameters
    ----------
    factor : Factor
        Of the first n rows and columns.
    row : ndarray of shape (n,)
        Entries beside them.
    corner : float
        The new diagonal entry.

    Returns
    -------
    Factor
        The pivot is kept at `SMALLEST_VARIANCE` of the corner or more.
    """
    n = len(row)
    solved = solve_triangular(factor.lower, row, lower=True)
    pivot = corner + factor.jitter - solved @ solved  # the Schur complement of the new row
    lower = np.zeros((n + 1, n + 1))
    lower[:n, :n], lower[n, :n] = factor.lower, solved
    lower[n, n] = np.sqrt(max(pivot, SMALLEST_VARIANCE * corner))
    return Factor(lower, factor.jitter)


def solve_factor(factor: Factor, B: Floats) -> Floats:
    """Return the solution of K X = B."""
    half = solve_triangular(factor.lower, B, lower=True)
    return solve_triangular(factor.lower, half, lower=True, trans=1)


def posterior_moments(
    factor: Factor, residuals: Floats, rows: Floats, prior_variance: Floats
) -> tuple[Floats, Floats]:
    """Return the change of the mean at queries, and their standard deviations.

    Parameters
    ----------
    factor : Factor
        Of the kernel matrix of the observed points with the noise on its diagonal.
    residuals : ndarray of shape (n,)
        Observations less their prior mean.
    rows : ndarray of shape (n_queries, n)
        Kernel values between queries and observed points.
    prior_variance : ndarray of shape (n_queries,)
        Kernel values of the queries with themselves.

    Returns
    -------
    shift : ndarray of shape (n_queries,)
        kᵀK⁻¹(y − m).
    std : ndarray of shape (n_queries,)
        Roots of k(θ, θ) − kᵀK⁻¹k, which is kept positive: rows that are estimated can ask for
        a negative Schur complement.
    """
    half = solve_triangular(factor.lower, rows.T, lower=True)
    shift = half.T @ solve_triangular(factor.lower, residuals, lower=True)  # kᵀK⁻¹(y - m)
    variance = prior_variance - np.einsum("nq,nq->q", half, half)  # k(x, x) - kᵀK⁻¹k
    return shift, np.sqrt(np.maximum(variance, SMALLEST_VARIANCE * prior_variance))


def log_evidence(factor: Factor, residuals: Floats) -> float:
    """Return ln N(y; m, K) from the factor of K and y − m."""
    half = solve_triangular(factor.lower, residuals, lower=True)
    logdet = 2.0 * np.log(np.diag(factor.lower)).sum()
    return float(-0.5 * (half @ half + logdet + len(residuals) * np.log(2 * np.pi)))


class NoiseChoice(NamedTuple):
    """What the evidence prefers: variance of the process, of the noise, and the log evidence."""

    amplitude: float
    noise: float
    log_evidence: float


def profiled_evidence(K: Floats, residuals: Floats, ratios: Floats) -> NoiseChoice:
    """Choose amplitude and noise of y − m ~ N(0, a (K + ratio I)) among given ratios.

    The best amplitude for a ratio is known: a = rᵀ(K + ratio I)⁻¹r / n.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite kernel values.
    residuals : ndarray of shape (n,)
        Observations less their prior mean.
    ratios : array-like of shape (n_ratios,)
        Variances of the noise, as shares of the amplitude.

    Returns
    -------
    NoiseChoice
        The best of them.
    """
    values, vectors = np.linalg.eigh(K)
    turned, n = (vectors.T @ residuals) ** 2, len(K)
    best = NoiseChoice(1.0, 0.0, -np.inf)
    for ratio in np.asarray(ratios, dtype=float):
        spectrum = np.maximum(values, 0.0) + ratio + 1e-12
        # The maximum over a, for a given ratio
        amplitude = max(float((turned / spectrum).sum() / n), 1e-300)
        logdet = n * np.log(amplitude) + np.log(spectrum).sum()
        found = -0.5 * (n + logdet + n * np.log(2 * np.pi))
        if found > best.log_evidence:
            best = NoiseChoice(amplitude, float(ratio) * amplitude, float(found))
    return best
