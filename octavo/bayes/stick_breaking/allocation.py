"""Which atom a point uses: stick-breaking memberships, marginal (categorical) or stick by stick.

``log_yes``, ``log_no`` are the expected logs of σ(g_k) and 1 - σ(g_k) of each gate (n, K - 1), and
``scores`` (n, K) the expected log densities of the atoms.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp, xlogy

from octavo.engine.estimators.arrays import Floats

SMALLEST = 1e-12  # of a stick's probability, and of its complement


def later_mass(resp: Floats) -> Floats:
    """Return Σ_{l ≥ k} ξ_nl of shape (n, K)."""
    return np.asarray(np.cumsum(resp[:, ::-1], axis=1)[:, ::-1])


def sticks_of(resp: Floats) -> Floats:
    """Return the sticks ρ (n, K - 1) whose memberships are given: ξ_nk / Σ_{l ≥ k} ξ_nl."""
    mass = later_mass(resp)[:, :-1]
    share = np.divide(resp[:, :-1], mass, out=np.full_like(mass, 0.5), where=mass > 1e-300)
    return np.clip(share, SMALLEST, 1.0 - SMALLEST)


def memberships(sticks: Floats) -> Floats:
    """Return ξ_nk = ρ_nk ∏_{j<k} (1 - ρ_nj), the last atom taking what remains."""
    n = len(sticks)
    before = np.cumprod(1.0 - sticks, axis=1)
    ones = np.ones((n, 1))
    # σ(g_k) ∏_{j<k} (1 - σ(g_j)) of Section 2.1
    return np.hstack([sticks, ones]) * np.hstack([ones, before])


def log_weights(log_yes: Floats, log_no: Floats) -> Floats:
    """Return the expected log weights (n, K) of the atoms at each place."""
    zeros = np.zeros((len(log_yes), 1))
    # log σ(g_k) + Σ_{j<k} log(1 - σ(g_j)); nothing for the last atom
    return np.hstack([log_yes, zeros]) + np.hstack([zeros, np.cumsum(log_no, axis=1)])


def categorical_step(scores: Floats, log_yes: Floats, log_no: Floats) -> tuple[Floats, Floats]:
    """Return memberships and each point's part of the bound, with idle sticks summed out.

    Parameters
    ----------
    scores, log_yes, log_no : ndarray
        See the module.

    Returns
    -------
    resp : ndarray of shape (n, K)
        ξ ∝ exp(score + expected log weight).
    local : ndarray of shape (n,)
        The log of the sum.
    """
    logits = scores + log_weights(log_yes, log_no)
    # log Σ_k exp of the logits: the bound with q(c_n) at its best
    local = logsumexp(logits, axis=1)
    return np.exp(logits - local[:, None]), local


def bernoulli_step(
    scores: Floats, log_yes: Floats, log_no: Floats, sticks: Floats
) -> tuple[Floats, Floats]:
    """Return the sticks after one sequential pass, and each point's part of the bound (Appendix A).

    Parameters
    ----------
    scores, log_yes, log_no : ndarray
        See the module.
    sticks : ndarray of shape (n, K - 1)
        ρ before.

    Returns
    -------
    sticks : ndarray of shape (n, K - 1)
        ρ after: ρ_k = σ(g_k + ∏_{j<k}(1 - ρ_j) [L_k - what the later atoms give]).
    local : ndarray of shape (n,)
        Expected log density, sticks' log prior and their entropy.
    """
    n_gates = sticks.shape[1]
    later = np.empty_like(sticks)  # Σ_{k'>k} ρ_k' ∏_{k<j<k'} (1 - ρ_j) L_k'
    following = scores[:, -1]
    for k in range(n_gates - 1, -1, -1):
        later[:, k] = following
        # the mean score if stick k says no
        following = sticks[:, k] * scores[:, k] + (1.0 - sticks[:, k]) * following
    new = np.empty_like(sticks)
    before = np.ones(len(sticks))
    for k in range(n_gates):
        # <ρ_nk> of Appendix A: log_yes - log_no is <g>, by Eq. (9)
        logit = log_yes[:, k] - log_no[:, k] + before * (scores[:, k] - later[:, k])
        new[:, k] = np.clip(expit(logit), SMALLEST, 1.0 - SMALLEST)
        before = before * (1.0 - new[:, k])  # only points that no earlier stick took feel stick k
    rest = 1.0 - new
    # E log p(z | g) and the entropy of q(z)
    gates = new * log_yes + rest * log_no - xlogy(new, new) - xlogy(rest, rest)
    return new, (memberships(new) * scores).sum(axis=1) + gates.sum(axis=1)


def gate_probabilities(g: Floats) -> Floats:
    """Return π_k(s) = σ(g_k) ∏_{j<k} (1 - σ(g_j)) from gates (n, K - 1); rows sum to one."""
    log_yes, log_no = -np.logaddexp(0.0, -g), -np.logaddexp(0.0, g)
    weights = np.exp(log_weights(log_yes, log_no))
    # rounding alone keeps the sum from one
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
