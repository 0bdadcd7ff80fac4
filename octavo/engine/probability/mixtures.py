"""Mixtures in log space: who explains what, without underflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def safe_log(values: Floats) -> Floats:
    """Return logarithms, -inf at zero without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def log_sum(values: Floats) -> Floats:
    """Return log Σ exp over the last axis; -inf where all are."""
    top = values.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return safe_log(np.exp(values - top).sum(axis=-1)) + top[..., 0]


def responsibilities(weights: Floats, logliks: Floats) -> tuple[Floats, Floats]:
    """Return the probability of each component for each of n things, and their log-likelihoods.

    Parameters
    ----------
    weights : ndarray of shape (K,)
        Mixture weights.
    logliks : ndarray of shape (n, K)
        Log-likelihoods under the components.

    Returns
    -------
    share : ndarray of shape (n, K)
        Proportional to weights · exp(logliks); the weights where nothing explains a row.
    total : ndarray of shape (n,)
        log Σ_k weights_k exp(logliks_k).
    """
    joint = safe_log(weights) + logliks
    total = log_sum(joint)
    possible = np.isfinite(total)
    share = np.exp(joint - np.where(possible, total, 0.0)[:, None])
    share[~possible] = weights  # nothing explains it: what is known before seeing it
    return share, total
