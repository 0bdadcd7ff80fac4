"""Small problems and dense references for the tests of this family."""

import numpy as np

from octavo.kernel.sparse_bayes.kernel_sources import FixedKernel, rbf_block
from octavo.kernel.sparse_bayes.sampler import JITTER, Priors, SparseModel


def small_kernel(n, seed=0, d=2, width=1.5):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, rbf_block(X, X, np.array([width]))


def dense_covariance(K, mask, g, eta, tau=1.0):
    """Return Q = I/τ + 11'/η + K_γ (g K_γγ)⁻¹ K_γ'."""
    n = len(K)
    Q = np.eye(n) / tau + np.ones((n, n)) / eta
    chosen = np.flatnonzero(mask)
    if chosen.size:
        gram = K[np.ix_(chosen, chosen)] + JITTER * np.diagonal(K).mean() * np.eye(chosen.size)
        Q += K[:, chosen] @ np.linalg.solve(g * gram, K[:, chosen].T)
    return Q


def sparse_model(K, S, k_max=None, chosen=(), **options):
    k_max = len(K) if k_max is None else k_max
    priors = options.pop("priors", Priors())
    chosen = np.asarray(chosen, dtype=np.intp)
    return SparseModel(FixedKernel(K), S, priors, k_max=k_max, chosen=chosen, **options)
