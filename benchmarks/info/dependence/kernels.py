"""HSIC beside scikit-learn's kernel matrices, whole and by incomplete Cholesky factors."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Contest
from benchmarks.info.dependence.distance import same
from octavo.info import HSIC, KernelGeneralizedVariance, LowRankHSIC


def pair(n=4000, d=1):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X) + rng.standard_normal((n, d))


def dense_hsic(data):
    """HSIC as one would write it with scikit-learn's kernels."""
    K, L = (rbf_kernel(Z, gamma=0.5) for Z in data)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    return float((K * L).sum()) / len(K) ** 2


def dense_kgv(data, kappa=2e-3):
    """KGV by whole eigendecompositions of the centred kernel matrices."""
    n = len(data[0])
    shrunk = []
    for Z in data:
        K = rbf_kernel(Z, gamma=0.5)
        K -= K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
        values, vectors = np.linalg.eigh(K)
        values = np.maximum(values, 0.0)
        shrunk.append(vectors * (values / (values + 0.5 * n * kappa)))
    correlations = np.linalg.svd(shrunk[0].T @ shrunk[1], compute_uv=False)
    return float(-0.5 * np.log1p(-(correlations**2)).sum())


def close(data, answers):
    values = list(answers.values())
    gap = max(abs(value - values[0]) for value in values) / abs(values[0])
    assert gap < 1e-3
    return f"The values differ by a relative {gap:.0e}; the factors miss 1e-6 of the trace."


CONTESTS = [
    Contest(
        name="hsic",
        problem="HSIC, Gaussian kernels, n = 4,000, 3 columns each, exact",
        setup=lambda: pair(4000, 3),
        solvers={
            "octavo": lambda data: HSIC(bandwidth=1.0).estimate(*data),
            "scikit-learn rbf_kernel": dense_hsic,
        },
        agree=same,
        target="faster than whole matrices, in a hundredth of the memory",
        limit="exponentials: two a pair of rows",
    ),
    Contest(
        name="low rank",
        problem="HSIC, Gaussian kernels, n = 4,000, 1 column each",
        setup=pair,
        solvers={
            "octavo, incomplete Cholesky": lambda data: LowRankHSIC(bandwidth=1.0).estimate(*data),
            "octavo, all pairs": lambda data: HSIC(bandwidth=1.0).estimate(*data),
            "scikit-learn rbf_kernel": dense_hsic,
        },
        agree=close,
        limit="exponentials: one a row and column of the factor",
    ),
    Contest(
        name="kgv",
        problem="kernel generalised variance, n = 1,000, 1 column each",
        setup=lambda: pair(1000),
        solvers={
            "octavo": lambda data: KernelGeneralizedVariance(bandwidth=1.0).estimate(*data),
            "scikit-learn rbf_kernel and eigh": dense_kgv,
        },
        agree=close,
        repeats=3,
        limit="LAPACK: decompositions of the factors' small matrices",
    ),
]
