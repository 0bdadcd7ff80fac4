"""Answers given features, and features given answers, with weights that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from octavo.bayes.buffet.chain import bits_of, codes_of
from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.softmax_laplace import curvature, fit_column

MOST_LISTED = 13  # features up to which all their combinations are listed


def grouped(Z: Any, x: Floats, n_levels: int) -> tuple[Floats, Floats]:
    """Return the distinct rows of Z with a bias before them, and their counts of levels."""
    codes, where = np.unique(codes_of(Z), return_inverse=True)
    patterns = np.c_[np.ones(codes.size), bits_of(codes, Z.shape[1])]
    here = x >= 0
    counts = np.zeros((codes.size, n_levels))
    np.add.at(counts, (where.reshape(-1)[here], x[here].astype(np.int64)), 1.0)
    return patterns, counts


def fit_weights(Z: Any, X: Floats, levels: Any, sigma2_b: float, sigma2_x: float) -> Any:
    """Return weights, their covariances and the log evidence of each column, given features."""
    weights, covs, logs = [], [], []
    for d, R in enumerate(levels):
        if R > 0:
            patterns, counts = grouped(Z, X[:, d], R)
            found = fit_column(patterns, counts, sigma2_b)
            weights.append(found.weights)
            logs.append(found.log_evidence)
            # minus the inverse of the Hessian of Eq. (5): the text leaves the inverse out
            covs.append(np.linalg.inv(curvature(patterns, counts, found.weights, sigma2_b)))
        else:
            here = ~np.isnan(X[:, d])
            design, x = np.c_[np.ones(here.sum()), Z[here]], X[here, d]
            H = design.T @ design / sigma2_x + np.eye(design.shape[1]) / sigma2_b
            cov = np.linalg.inv(H)
            mean = cov @ design.T @ x / sigma2_x
            value = -0.5 * (x.size * np.log(2 * np.pi * sigma2_x) + x @ x / sigma2_x)
            # Gaussian evidence: the exponent at the mode, less ½ log|H σ_b²|
            value += 0.5 * (mean @ H @ mean - np.linalg.slogdet(H * sigma2_b)[1])
            weights.append(mean[:, None])
            covs.append(cov)
            logs.append(float(value))
    return weights, covs, logs


def listed(K: int, seen: Any) -> Any:
    """Return combinations of features: all of them, or those seen and their neighbours."""
    if K <= MOST_LISTED:
        return bits_of(np.arange(1 << K), K)
    codes = np.unique(codes_of(seen))
    # each pattern that was seen, with one feature changed
    near = (codes[:, None] ^ (np.int64(1) << np.arange(K, dtype=np.int64))).ravel()
    return bits_of(np.unique(np.r_[0, codes, near]), K)


def column_log_probs(Z: Any, weights: Floats, covs: Any = None) -> Floats:
    """Return log-probabilities of levels at each pattern; with a covariance, averaged over weights.

    The average is Laplace's for one more row: Eq. 6 with the row and without it, to second order.
    """
    design = np.c_[np.ones(len(Z)), Z]
    logs = log_softmax(design @ weights, axis=1)
    if covs is None:
        return logs
    R, K1 = weights.shape[1], weights.shape[0]
    first = covs.reshape(R, K1, R, K1).transpose(1, 0, 2, 3).reshape(K1, -1)
    S = ((design @ first).reshape(len(Z), R * R, K1) @ design[:, :, None]).reshape(-1, R, R)
    pi, one = np.exp(logs), np.eye(R)
    # diag(π) - π πᵀ: the curvature that one more row brings
    W = pi[:, :, None] * (one - pi[:, None, :])
    system = one + W @ S
    shrink = np.linalg.slogdet(system)[1]  # ½ log|I + W S| of Eq. (6)
    residual = one - pi[:, None, :]  # level x entries
    inner = S @ np.linalg.solve(system, np.swapaxes(residual, 1, 2))
    # ½ gᵀ S (I + W S)⁻¹ g, the gain of one Newton step
    rise = 0.5 * (residual * np.swapaxes(inner, 1, 2)).sum(axis=2)
    found = logs + rise - 0.5 * shrink[:, None]
    return found - logsumexp(found, axis=1, keepdims=True)


def pattern_laws(Z: Any, levels: Any, weights: Any, covs: Any, sigma2_x: float) -> list[Any]:
    """Return what each column's answers are like at each pattern, averaged over weights if asked.

    For answers, the log-probabilities of levels; for numbers, their mean and variance.
    """
    laws: list[Any] = []
    design = np.c_[np.ones(len(Z)), Z]
    for d, R in enumerate(levels):
        cov = None if covs is None else covs[d]
        if R > 0:
            laws.append(column_log_probs(Z, weights[d], cov))
        else:
            spread = np.full(len(Z), sigma2_x)
            if cov is not None:  # variance of an answer given the weights
                spread += ((design @ cov) * design).sum(axis=1)
            laws.append((design @ weights[d][:, 0], spread))
    return laws


def log_likelihoods(laws: list[Any], X: Floats, levels: Any) -> Floats:
    """Return the log-likelihood of each row at each pattern; missing answers count for nothing."""
    answered = [d for d, R in enumerate(levels) if R > 0]
    sizes = [int(levels[d]) for d in answered]
    rows, hot, at = np.arange(len(X)), np.zeros((len(X), sum(sizes))), 0
    for d, R in zip(answered, sizes):
        here = X[:, d] >= 0
        hot[rows[here], at + X[here, d].astype(np.int64)] = 1.0
        at += R
    n_patterns = len(laws[0][0]) if levels[0] == 0 else len(laws[0])
    total = np.zeros((len(X), n_patterns))
    if answered:
        # one-hot answers pick their log-probabilities in one product, Eq. (3)
        total = hot @ np.hstack([laws[d] for d in answered]).T
    for d, R in enumerate(levels):
        if R == 0:
            mean, spread = laws[d]
            here = ~np.isnan(X[:, d])
            gap = (X[here, d, None] - mean) ** 2 / spread
            total[here] -= 0.5 * (gap + np.log(2 * np.pi * spread))
    return total


def log_priors(Z: Any, shares: Floats) -> Floats:
    """Return the log-probability of each pattern, features independent."""
    with np.errstate(divide="ignore"):
        return Z @ np.log(shares) + (1 - Z) @ np.log1p(-shares)
