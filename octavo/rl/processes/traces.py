"""Eligibility traces: how much credit the past gets, and how trustworthy that credit is.

Every method with traces is written in four numbers a transition (`TraceTerms`), which hold the
discount, λ, the importance ratios and the choice of how to weigh off-policy data; the methods
then need one recursion each, whatever the data.

References
----------
M. Geist and B. Scherrer (2014), "Off-policy Learning With Eligibility Traces: A Survey", Journal
of Machine Learning Research 15: Proposition 6 and Equation (15). C. Dann, G. Neumann and J. Peters
(2014), "Policy Evaluation with Temporal Differences: A Survey and Comparison", Journal of Machine
Learning Research 15: Section 2.4.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked
from octavo.engine.streams.passes import JIT, locked
from octavo.rl.processes.transitions import Transitions

__all__ = ["eligibility_traces", "trace_weights"]

OFF_POLICY = ("transition", "standard")


class TraceTerms(NamedTuple):
    """What the recursions need of a batch besides features, arrays of shape (n_transitions,).

    The temporal difference is δ_i = target_i - Δφ_iᵀθ with Δφ_i = own_i φ_i - ahead_i φ_{i+1}, and
    the trace is z_i = decay_i z_{i-1} + φ_i.
    """

    target: NDArray[np.float64]
    own: NDArray[np.float64]
    ahead: NDArray[np.float64]
    decay: NDArray[np.float64]


def trace_terms(
    batch: Transitions, gamma: float, lam: float, off_policy: str, carried: float = 0.0
) -> TraceTerms:
    """Return the terms of a batch.

    Standard weighting multiplies r and φ_{i+1} by ρ_i (Geist and Scherrer); transition weighting
    multiplies the whole temporal difference (Dann et al., Section 2.4.2). ``carried`` is the ratio
    of the transition before the batch, which the first trace continues.
    """
    own = np.array(batch.rho) if off_policy == "transition" else np.ones(len(batch))
    return TraceTerms(
        batch.rho * batch.r, own, gamma * batch.rho, trace_decay(batch, gamma, lam, carried)
    )


def trace_decay(
    batch: Transitions, gamma: float, lam: float, carried: float = 0.0
) -> NDArray[np.float64]:
    """Return e_i = γλρ_{i-1}, zero where an episode begins."""
    previous = batch.previous_rho
    if len(batch) and not batch.start[0]:
        previous[0] = carried
    return gamma * lam * previous


@checked
def eligibility_traces(transitions: Transitions, gamma: float, lam: float) -> NDArray[np.float64]:
    """Return the traces z_i = γλρ_{i-1} z_{i-1} + φ_i of a batch.

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma : float
        Discount.
    lam : float
        Decay of the traces.

    Returns
    -------
    traces : ndarray of shape (n_transitions, n_features)
        One row a transition.

    Examples
    --------
    >>> from octavo.rl import Transitions, eligibility_traces
    >>> walk = Transitions.from_trajectories([[[1, 0], [0, 1], [0, 1]]], [[1.0, 1.0]])
    >>> eligibility_traces(walk, gamma=0.5, lam=0.5)
    array([[1.  , 0.  ],
           [0.25, 1.  ]])
    """
    out = np.empty(transitions.X.shape)
    decay = trace_decay(transitions, gamma, lam)
    scan_traces(dense_rows(transitions.X), decay, np.zeros(out.shape[1]), out)
    return out


@checked
def trace_weights(transitions: Transitions, gamma: float, lam: float) -> NDArray[np.float64]:
    """Return the weight ρ_i (1 + γλρ_{i-1} (1 + ...)) that each temporal difference gets.

    They are the traces of a feature that is always 1. Their spread tells how much of the data
    decides the estimate: with a heavy tail, a few transitions do.

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma : float
        Discount.
    lam : float
        Decay of the traces.

    Returns
    -------
    weights : ndarray of shape (n_transitions,)
        The weights.

    Examples
    --------
    >>> from octavo.rl import Transitions, trace_weights
    >>> walk = Transitions([[1.0], [1.0]], [0, 0], [[1.0], [1.0]], rho=[2.0, 0.5])
    >>> trace_weights(walk, gamma=0.5, lam=1.0)
    array([2., 1.])
    """
    weights, _ = _credit(trace_decay(transitions, gamma, lam), transitions.rho, 0.0)
    return weights


class TraceDiagnostics:
    """Running effective sample size of the traces and their largest growth."""

    def __init__(self) -> None:
        self.total = self.squares = self.credit = 0.0
        self.ratio_squares = self.n = 0.0
        self.max_factor = 0.0

    def absorb(self, decay: NDArray[np.float64], rho: NDArray[np.float64], step: float) -> None:
        """Take in a batch; ``step`` is γλ."""
        weights, self.credit = _credit(decay, rho, self.credit)
        self.total += float(weights.sum())
        self.squares += float(weights @ weights)
        self.ratio_squares += float(rho @ rho)
        self.n += rho.size
        self.max_factor = max(self.max_factor, step * float(rho.max(initial=0.0)))

    @property
    def effective_size(self) -> float:
        """(Σ w)² / Σ w² of the weights of the temporal differences."""
        return self.total**2 / self.squares if self.squares > 0 else 0.0

    def growth(self, step: float) -> float:
        """Estimate (γλ)² E[ρ²]: from 1 on, the variance of the traces has no bound."""
        return step**2 * self.ratio_squares / max(self.n, 1.0)  # Σρ² / n, times (γλ)²


def dense_rows(X: Any) -> NDArray[np.float64]:
    """Return a C-ordered, read-only array of a dense or sparse block."""
    return locked(np.ascontiguousarray(X.toarray() if sp.issparse(X) else X))


@njit(**JIT)
def _credit(decay, rho, last):
    """Return ρ_i c_i with c_i = 1 + decay_i c_{i-1}, and the last c."""
    weights = np.empty(rho.size)
    for i in range(rho.size):
        last = 1.0 + decay[i] * last
        weights[i] = rho[i] * last
    return weights, last


@njit(**JIT)
def scan_traces(X, decay, z, out):
    """Write z_i = decay_i z_{i-1} + x_i and leave the last in ``z``."""
    for i in range(X.shape[0]):
        e = decay[i]
        for j in range(X.shape[1]):
            z[j] = e * z[j] + X[i, j]
            out[i, j] = z[j]


def _warmup() -> None:
    scan_traces(locked(np.ones((1, 1))), np.zeros(1), np.zeros(1), np.empty((1, 1)))
    _credit(np.zeros(1), locked(np.ones(1)), 0.0)
