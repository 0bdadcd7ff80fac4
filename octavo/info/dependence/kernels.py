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

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigvalsh

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.kernels.incomplete_cholesky import incomplete_cholesky
from octavo.engine.kernels.pair_sums import (
    PairKernel,
    centred_inner,
    centred_product_sum,
    pair_moments,
    unbiased_inner,
)
from octavo.info.estimators import MutualInformationEstimator
from octavo.info.point_kernels import (
    KERNEL_CONSTRAINTS,
    LOW_RANK_CONSTRAINTS,
    exactly_two,
    make_kernels,
)

__all__ = [
    "HSIC",
    "GeneralizedVariance",
    "KernelCanonicalCorrelation",
    "KernelGeneralizedVariance",
    "LancasterInteraction",
    "LowRankHSIC",
]


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
    own = [R[a:b, a:b] for a, b in pairwise(edges)]
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
    return float(0.5 * (sum(logs[:-1]) - logs[-1]))  # -½ log(det R / ∏ det R_m)


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
        # (K + ½nκ)⁻¹K, Bach and Jordan (2002), in the eigenvectors of K.
        shrunk.append(vectors * (values / (values + 0.5 * n * kappa)))
    stacked = np.hstack(shrunk)
    matrix = stacked.T @ stacked
    edges = np.cumsum([0, *(part.shape[1] for part in shrunk)])
    for a, b in pairwise(edges):
        matrix[a:b, a:b] = np.eye(b - a)  # off the diagonal r_i r_j; on it the identity
    return matrix


def kernel_canonical_information(matrix: np.ndarray) -> float:
    """Return −½ log of the smallest eigenvalue of the normalised block matrix (KCCA)."""
    # 1 - the first kernel canonical correlation
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
    cross = (factors[0] - factors[0].mean(axis=0)).T @ factors[1]  # tr(KHLH) = ‖G'HF‖², H² = H
    return float((cross**2).sum() / len(samples[0]) ** 2)


def lancaster_interaction(kernels: Sequence[PairKernel], samples: Sequence[np.ndarray]) -> float:
    """Return (1/n²) Σᵢⱼ (K̃ ∘ L̃ ∘ M̃)ᵢⱼ, zero when any variable is independent of the other two."""
    moments = pair_moments(kernels, samples)
    return centred_product_sum(kernels, samples, moments.rows) / moments.n**2


KAPPA = [Interval(Real, 0, None, closed="neither")]


class GeneralizedVariance(MutualInformationEstimator):
    """Mutual information of features taken as Gaussian: −½ log(det R / ∏ det R_m).

    R is the correlation matrix of features of all groups, R_m that of group m. With linear
    features it is the mutual information of Gaussian variables, at the price of one matrix
    product. It does not see dependence beyond the correlations of the features: use `HSIC`, or
    `KSGMutualInformation` for a value in nats, where that matters.

    Parameters
    ----------
    features : {"linear", "cosine"} or callable, default="linear"
        The variables z themselves; z, cos z and cos 2z of the standardised variables; or a
        function from an array (N, d_m) to features (N, e).

    References
    ----------
    .. [1] Szabó and Lőrincz (2006). Real and complex independent subspace analysis by
       generalized variance. ICA Research Network Workshop.
    .. [2] Bach and Jordan (2002). Kernel independent component analysis. JMLR 3:1-48, section
       3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import GeneralizedVariance
    >>> cov = [[1, 0.9], [0.9, 1]]  # mutual information 0.830
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{GeneralizedVariance().estimate(X):.2f}")
    0.84
    """

    measure, method = "generalized_variance", "features"
    estimates = "-½ log(det R / ∏ det R_m), R correlations of features"
    cost = "O(N d²)"
    assumptions = "dependence shows in correlations of the features; more samples than features"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "features": [StrOptions({"linear", "cosine"}), callable]
    }

    def __init__(self, features="linear"):
        self.features = features

    def _estimate(self, blocks):
        if self.features == "cosine":
            blocks = [cosine_features((X - X.mean(axis=0)) / X.std(axis=0)) for X in blocks]
        elif self.features != "linear":
            blocks = [np.asarray(self.features(X), dtype=np.float64) for X in blocks]
        wide = sum(block.shape[1] for block in blocks)
        if len(blocks[0]) <= wide:
            raise ValueError(
                f"GeneralizedVariance needs more samples than features, got {len(blocks[0])} "
                f"samples and {wide} features."
            )
        return gaussian_information(blocks)


class KernelCanonicalCorrelation(MutualInformationEstimator):
    """Dependence by the largest correlation of smooth functions of the groups (KCCA).

    −½ log λ, where λ is the least eigenvalue of the correlations between regularised kernel
    features; for two groups λ = 1 − ρ with ρ the largest regularised correlation of functions
    f(x) and g(y). A contrast to compare and to optimise, not a value in nats; it needs
    the regularisation, and its size depends on it.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix. It
        must be positive definite.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of the group.
    kappa : float, default=2e-3
        Regularisation: Nκ/2 is added to the eigenvalues of the centred kernel matrices.
    tol : float, default=1e-6
        The share of the trace of a kernel matrix that its low-rank factor may miss.
    max_rank : int, default=None
        The largest rank of a factor; None for no limit.

    References
    ----------
    .. [1] Bach and Jordan (2002). Kernel independent component analysis. JMLR 3:1-48, section
       3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KernelCanonicalCorrelation
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> estimate = KernelCanonicalCorrelation().estimate
    >>> print(f"{estimate(x, x**2):.2f} {estimate(x, noise):.2f}")
    2.07 0.08
    """

    measure, method = "kcca", "cholesky"
    estimates = "-½ log(1 - max corr(f(x), g(y))), f and g regularised"
    cost = "O(N r²), r the rank of the factors"
    assumptions = "i.i.d.; comparable between samples of one size and kappa"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        **LOW_RANK_CONSTRAINTS,
        "kappa": KAPPA,
    }

    def __init__(self, kernel="gaussian", bandwidth="median", kappa=2e-3, tol=1e-6, max_rank=None):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kappa = kappa
        self.tol = tol
        self.max_rank = max_rank

    def _estimate(self, blocks):
        kernels = make_kernels(self.kernel, self.bandwidth, blocks)
        return kernel_canonical_information(
            kernel_correlations(kernels, blocks, self.kappa, self.tol, self.max_rank)
        )


class KernelGeneralizedVariance(MutualInformationEstimator):
    """Dependence by all correlations of smooth functions of the groups (KGV).

    −½ log det of the correlations between regularised kernel features: the mutual
    information of the features if they were Gaussian. Like KCCA it is a contrast, whose size
    depends on the regularisation; it uses all correlations instead of the largest.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix. It
        must be positive definite.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of the group.
    kappa : float, default=2e-3
        Regularisation: Nκ/2 is added to the eigenvalues of the centred kernel matrices.
    tol : float, default=1e-6
        The share of the trace of a kernel matrix that its low-rank factor may miss.
    max_rank : int, default=None
        The largest rank of a factor; None for no limit.

    References
    ----------
    .. [1] Bach and Jordan (2002). Kernel independent component analysis. JMLR 3:1-48, section
       3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KernelGeneralizedVariance
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> estimate = KernelGeneralizedVariance().estimate
    >>> print(f"{estimate(x, x**2):.2f} {estimate(x, noise):.2f}")
    3.29 0.02
    """

    measure, method = "kgv", "cholesky"
    estimates = "-½ log det of the correlations of regularised kernel features"
    cost = "O(N r²), r the rank of the factors"
    assumptions = "i.i.d.; comparable between samples of one size and kappa"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        **LOW_RANK_CONSTRAINTS,
        "kappa": KAPPA,
    }

    def __init__(self, kernel="gaussian", bandwidth="median", kappa=2e-3, tol=1e-6, max_rank=None):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kappa = kappa
        self.tol = tol
        self.max_rank = max_rank

    def _estimate(self, blocks):
        kernels = make_kernels(self.kernel, self.bandwidth, blocks)
        return kernel_generalised_information(
            kernel_correlations(kernels, blocks, self.kappa, self.tol, self.max_rank)
        )


class HSIC(MutualInformationEstimator):
    """Hilbert-Schmidt independence criterion: tr(KHLH)/N², or its joint form for more groups.

    The squared distance between the kernel embeddings of the joint distribution and of the
    product of its margins: zero exactly for independent groups if the kernel is characteristic
    (all but the linear). In time O(N²), without the kernel matrices in memory. Not in nats,
    and not comparable across kernels; `DistanceCorrelation` is a scale-free relative.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of the group.
    unbiased : bool, default=False
        Use the unbiased statistic, which may be negative; for two groups.

    References
    ----------
    .. [1] Gretton, Bousquet, Smola and Schölkopf (2005). Measuring statistical dependence with
       Hilbert-Schmidt norms. ALT.
    .. [2] Song, Smola, Gretton, Bedo and Borgwardt (2012). Feature selection via dependence
       maximization. JMLR 13:1393-1434, equation (5), for the unbiased statistic.
    .. [3] Pfister, Bühlmann, Schölkopf and Peters (2018). Kernel-based tests for joint
       independence. JRSS B 80:5-31, for more than two groups.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import HSIC
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> print(f"{HSIC().estimate(x, x**2):.4f} {HSIC().estimate(x, noise):.4f}")
    0.0290 0.0003
    """

    measure, method = "hsic", "full"
    estimates = "‖μ(p) - μ(∏ p_m)‖², mean embeddings of a kernel"
    cost = "O(N²)"
    assumptions = "i.i.d.; a characteristic kernel for zero to mean independence"
    preferred = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "unbiased": ["boolean"],
    }

    def __init__(self, kernel="gaussian", bandwidth="median", unbiased=False):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.unbiased = unbiased

    def _estimate(self, blocks):
        if self.unbiased:
            exactly_two(blocks, "The unbiased HSIC")
            if len(blocks[0]) < 4:
                raise ValueError(
                    f"The unbiased HSIC needs at least 4 samples, got {len(blocks[0])}."
                )
        kernels = make_kernels(self.kernel, self.bandwidth, blocks)
        return hilbert_schmidt(kernels, blocks, unbiased=self.unbiased)


class LowRankHSIC(MutualInformationEstimator):
    """Hilbert-Schmidt independence criterion of incomplete Cholesky factors of two groups.

    Linear in the number of samples; the error is at most twice the share `tol` of the trace. For
    rough kernels (a small bandwidth, many columns) ranks grow towards N, and `HSIC` is
    faster.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix. It
        must be positive definite.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of the group.
    tol : float, default=1e-6
        The share of the trace of a kernel matrix that its low-rank factor may miss.
    max_rank : int, default=None
        The largest rank of a factor; None for no limit.

    References
    ----------
    .. [1] Gretton, Bousquet, Smola and Schölkopf (2005). Measuring statistical dependence with
       Hilbert-Schmidt norms. ALT, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import LowRankHSIC
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> print(f"{LowRankHSIC().estimate(x, x**2):.4f} {LowRankHSIC().estimate(x, noise):.4f}")
    0.0290 0.0003
    """

    measure, method = "hsic", "cholesky"
    estimates = "‖μ(p) - μ(p_1 p_2)‖², mean embeddings of a kernel"
    cost = "O(N r²), r the rank of the factors"
    assumptions = "i.i.d.; two groups; a smooth positive definite kernel"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        **LOW_RANK_CONSTRAINTS,
    }

    def __init__(self, kernel="gaussian", bandwidth="median", tol=1e-6, max_rank=None):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.tol = tol
        self.max_rank = max_rank

    def _estimate(self, blocks):
        exactly_two(blocks, "LowRankHSIC")
        kernels = make_kernels(self.kernel, self.bandwidth, blocks)
        return hilbert_schmidt_low_rank(kernels, blocks, self.tol, self.max_rank)


class LancasterInteraction(MutualInformationEstimator):
    """Three-way interaction: the norm of the kernel embedding of Lancaster's measure.

    Zero when one of three variables is independent of the two others together, so it sees
    dependences that no pair shows (x, y, x·y of random signs). The converse does not hold:
    zero does not prove independence; `HSIC` of three groups does for characteristic kernels.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of the group.

    References
    ----------
    .. [1] Sejdinovic, Gretton and Bergsma (2013). A kernel test for three-variable
       interactions. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import LancasterInteraction
    >>> rng = np.random.default_rng(0)
    >>> x, y, noise = rng.normal(size=(3, 500))
    >>> estimate = LancasterInteraction().estimate
    >>> pairs = np.column_stack([x, y, np.sign(x * y)]), np.column_stack([x, y, noise])
    >>> print(" ".join(f"{estimate(Z):.4f}" for Z in pairs))
    0.0078 0.0001
    """

    measure, method = "lancaster", "full"
    estimates = "‖embedding of p - p_12 p_3 - p_13 p_2 - p_23 p_1 + 2 p_1 p_2 p_3‖²"
    cost = "O(N²)"
    assumptions = "i.i.d.; three groups"
    _parameter_constraints: ClassVar[dict[str, Any]] = KERNEL_CONSTRAINTS

    def __init__(self, kernel="gaussian", bandwidth="median"):
        self.kernel = kernel
        self.bandwidth = bandwidth

    def _estimate(self, blocks):
        if len(blocks) != 3:
            raise ValueError(
                f"LancasterInteraction is for three groups of variables, got {len(blocks)}."
            )
        return lancaster_interaction(make_kernels(self.kernel, self.bandwidth, blocks), blocks)
