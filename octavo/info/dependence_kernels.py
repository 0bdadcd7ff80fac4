"""Dependence by kernels: generalised variance, KCCA, KGV, HSIC, three-way interaction.

All compare the joint distribution of groups of variables with the product of its margins
through covariances of features: a few (generalised variance), or those of a reproducing
kernel (the others), where kernel matrices are replaced by incomplete Cholesky factors.

References: Bach and Jordan (2002), "Kernel independent component analysis", JMLR 3:1-48,
sections 3.2 and 3.4; Gretton, Bousquet, Smola and Schoelkopf (2005), "Measuring statistical
dependence with Hilbert-Schmidt norms", ALT; Song, Smola, Gretton, Bedo and Borgwardt (2012),
"Feature selection via dependence maximization", JMLR 13:1393-1434, equation (5); Pfister,
Buehlmann, Schoelkopf and Peters (2018), "Kernel-based tests for joint independence", JRSS B
80:5-31; Sejdinovic, Gretton and Bergsma (2013), "A kernel test for three-variable
interactions", NeurIPS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import eigvalsh

from octavo.engine.incomplete_cholesky import incomplete_cholesky
from octavo.engine.pair_sums import (
    PairKernel,
    centred_inner,
    centred_product_sum,
    pair_moments,
    unbiased_inner,
)

Features = Callable[[np.ndarray], np.ndarray]


def cosine_features(Z: np.ndarray) -> np.ndarray:
    """Return z, cos z and cos 2z of standardised columns: enough to see even dependences."""
    return np.hstack([Z, np.cos(Z), np.cos(2.0 * Z)])


def gaussian_information(groups: Sequence[np.ndarray]) -> float:
    """Return −½ log(det R / ∏ det R_m), the mutual information if the columns were Gaussian.

    R is the correlation matrix of all columns and R_m its block of group m.
    """
    stacked = np.hstack(groups)
    R = np.atleast_2d(np.corrcoef(stacked.T))
    edges = np.cumsum([0, *(group.shape[1] for group in groups)])
    own = [R[a:b, a:b] for a, b in zip(edges[:-1], edges[1:])]
    logs = []
    for name, matrix in [*((f"of group {m}", block) for m, block in enumerate(own)), ("of all", R)]:
        values = eigvalsh(matrix)
        if values[0] <= 1e-12 * values[-1]:
            raise ValueError(
                f"The correlation matrix {name} is singular (eigenvalues from {values[0]:.3g} to "
                f"{values[-1]:.3g}): some columns are linear combinations of others, and the "
                "generalised variance is infinite or undefined."
            )
        logs.append(np.log(values).sum())
    return float(0.5 * (sum(logs[:-1]) - logs[-1]))


def spectral_factor(
    kernel: PairKernel, X: np.ndarray, tol: float, max_rank: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positive eigenvalues and eigenvectors of the centred kernel matrix HKH.

    They are those of the centred incomplete Cholesky factor, which is as thin as its rank.
    """
    factor = incomplete_cholesky(kernel, X, tol=tol, max_rank=max_rank).factor
    vectors, roots, _ = np.linalg.svd(factor - factor.mean(axis=0), full_matrices=False)
    kept = roots > 1e-8 * max(roots[0], 1e-300) if len(roots) else np.zeros(0, dtype=bool)
    return roots[kept] ** 2, vectors[:, kept]


def kernel_correlations(
    kernels: Sequence[PairKernel],
    samples: Sequence[np.ndarray],
    kappa: float,
    tol: float,
    max_rank: int | None = None,
) -> np.ndarray:
    """Return the normalised block matrix of KCCA and KGV: identity, correlations off it.

    With HK_mH = U_m Λ_m U_m' the blocks are R_m U_m'U_l R_l, R = Λ / (Λ + nκ/2) (section 3.4).
    """
    n = len(samples[0])
    shrunk = []
    for kernel, X in zip(kernels, samples):
        values, vectors = spectral_factor(kernel, X, tol, max_rank)
        shrunk.append(vectors * (values / (values + 0.5 * n * kappa)))
    stacked = np.hstack(shrunk)
    matrix = stacked.T @ stacked
    edges = np.cumsum([0, *(part.shape[1] for part in shrunk)])
    for a, b in zip(edges[:-1], edges[1:]):
        matrix[a:b, a:b] = np.eye(b - a)
    return matrix


def kernel_canonical_information(matrix: np.ndarray) -> float:
    """Return −½ log of the smallest eigenvalue of the normalised block matrix (KCCA)."""
    return float(-0.5 * np.log(min(1.0, eigvalsh(matrix)[0]))) if len(matrix) else 0.0


def kernel_generalised_information(matrix: np.ndarray) -> float:
    """Return −½ log det of the normalised block matrix (KGV)."""
    return float(-0.5 * np.log(eigvalsh(matrix)).sum()) if len(matrix) else 0.0


def hilbert_schmidt(
    kernels: Sequence[PairKernel], samples: Sequence[np.ndarray], *, unbiased: bool = False
) -> float:
    """Return HSIC = tr(KHLH)/n² of two samples, or the joint criterion (dHSIC) of several.

    Parameters
    ----------
    kernels : sequence of PairKernel
        A kernel a sample.
    samples : sequence of ndarray of shape (n_samples, n_features)
        The groups of variables.
    unbiased : bool, default=False
        Return the U-statistic, for two samples only; it may be negative.

    Returns
    -------
    float
        The criterion.
    """
    moments = pair_moments(kernels, samples)
    return unbiased_inner(moments) if unbiased else centred_inner(moments)


def hilbert_schmidt_low_rank(
    kernels: Sequence[PairKernel],
    samples: Sequence[np.ndarray],
    tol: float,
    max_rank: int | None = None,
) -> float:
    """Return ‖G'HF‖²/n² for the incomplete Cholesky factors G and F of two samples."""
    factors = [
        incomplete_cholesky(kernel, X, tol=tol, max_rank=max_rank).factor
        for kernel, X in zip(kernels, samples)
    ]
    cross = (factors[0] - factors[0].mean(axis=0)).T @ factors[1]
    return float((cross**2).sum() / len(samples[0]) ** 2)


def lancaster_interaction(
    kernels: Sequence[PairKernel], samples: Sequence[np.ndarray]
) -> float:
    """Return (1/n²) Σᵢⱼ (K̃ ∘ L̃ ∘ M̃)ᵢⱼ, zero when any variable is independent of the other two."""
    moments = pair_moments(kernels, samples)
    return centred_product_sum(kernels, samples, moments.rows) / moments.n**2
