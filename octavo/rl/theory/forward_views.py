"""Forward views: what the recursions of policy evaluation compute, straight from the definitions.

The λ-return of a transition looks ahead to the end of the data, so that each of these functions
needs the whole batch, and some of them time quadratic in its length. They are the reference that
the recursions are checked against, and a plain implementation for small data.

Reference: M. Geist and B. Scherrer (2014), "Off-policy Learning With Eligibility Traces: A
Survey", Journal of Machine Learning Research 15: Sections 2-4. Equation numbers are theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Numbers
from octavo.engine.estimators.checked import checked
from octavo.rl.processes.traces import TraceTerms, dense_rows, trace_terms
from octavo.rl.processes.transitions import Transitions

__all__ = [
    "forward_brm",
    "forward_fpkf",
    "forward_lspe",
    "forward_lstd",
    "forward_update",
    "lambda_successors",
    "lambda_td_errors",
]


def _parts(
    batch: Transitions, gamma: float, lam: float, off_policy: str
) -> tuple[Numbers, Numbers, TraceTerms, Numbers]:
    """Return φ, Δφ, the terms, and the factor γλρ_i that leads from i to i + 1."""
    terms = trace_terms(batch, gamma, lam, off_policy)
    phi = dense_rows(batch.X)
    delta = terms.own[:, None] * phi - terms.ahead[:, None] * dense_rows(batch.X_next)
    return phi, delta, terms, np.append(terms.decay[1:], 0.0)


def _look_ahead(values: Numbers, onward: Numbers) -> Numbers:
    """Return s_i = values_i + onward_i s_{i+1}."""
    sums = values.copy()
    for i in range(len(values) - 2, -1, -1):
        sums[i] += onward[i] * sums[i + 1]
    return sums


@checked
def lambda_td_errors(
    theta: ArrayLike,
    transitions: Transitions,
    gamma: float,
    lam: float,
    *,
    off_policy: str = "transition",
) -> Numbers:
    """Return the λ-temporal differences δ_i^λ = δ_i + γλρ_i δ_{i+1}^λ (Lemma 4).

    Parameters
    ----------
    theta : array-like of shape (n_features,)
        Coefficients of the value function.
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.
    off_policy : {"transition", "standard"}, default="transition"
        How importance ratios weigh a temporal difference.

    Returns
    -------
    errors : ndarray of shape (n_transitions,)
        With ``lam=1`` on complete episodes, the Monte-Carlo returns less the values.

    Examples
    --------
    >>> from octavo.rl import Transitions, lambda_td_errors
    >>> walk = Transitions.from_trajectories([[[1.0], [1.0], [0.0]]], [[1.0, 2.0]])
    >>> lambda_td_errors([0.0], walk, gamma=0.5, lam=1.0)
    array([2., 2.])
    """
    _, delta, terms, onward = _parts(transitions, gamma, lam, off_policy)
    return _look_ahead(terms.target - delta @ np.asarray(theta, dtype=float), onward)


@checked
def lambda_successors(transitions: Transitions, gamma: float, lam: float) -> Numbers:
    """Return g_i = γρ_i (1 - λ) φ_{i+1} + γλρ_i g_{i+1}, the gradients of the λ-returns (Lemma 7).

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.

    Returns
    -------
    successors : ndarray of shape (n_transitions, n_features)
        Discounted features that the λ-return of each transition bootstraps from.

    Examples
    --------
    >>> from octavo.rl import Transitions, lambda_successors
    >>> walk = Transitions([[1.0], [2.0]], [0, 0], [[2.0], [4.0]])
    >>> lambda_successors(walk, gamma=0.5, lam=0.5)
    array([[0.75],
           [1.  ]])
    """
    _, _, terms, onward = _parts(transitions, gamma, lam, "standard")
    ahead = (1.0 - lam) * terms.ahead[:, None] * dense_rows(transitions.X_next)  # Lemma 7
    return _look_ahead(ahead, onward)


@checked
def forward_update(
    method: str,
    theta: ArrayLike,
    transitions: Transitions,
    gamma: float,
    lam: float,
    *,
    w: ArrayLike | None = None,
) -> Numbers:
    """Return the direction in which a gradient method moves on a whole batch (standard weights).

    Parameters
    ----------
    method : {"td", "tdc", "gtd2", "residual"}
        TD(λ) (Eq. 17), TDC(λ) (Eq. 21), GTD2(λ), or gBRM(λ).
    theta : array-like of shape (n_features,)
        Coefficients of the value function.
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.
    w : array-like of shape (n_features,), default=None
        Second vector of TDC and GTD2.

    Returns
    -------
    direction : ndarray of shape (n_features,)
        Sum over the batch, with ``theta`` and ``w`` held fixed.

    Examples
    --------
    >>> from octavo.rl import Transitions, forward_update
    >>> walk = Transitions.from_trajectories([[[1.0], [1.0], [0.0]]], [[1.0, 2.0]])
    >>> forward_update("td", [0.0], walk, gamma=0.5, lam=1.0)
    array([4.])
    """
    phi = dense_rows(transitions.X)
    errors = lambda_td_errors(theta, transitions, gamma, lam, off_policy="standard")
    successors = lambda_successors(transitions, gamma, lam)
    if method == "td":
        return phi.T @ errors  # Eq. (17), summed
    if method == "residual":
        return (phi - successors).T @ errors
    if w is None:
        raise ValueError(f"method {method!r} needs w, the second vector.")
    weighed = phi @ np.asarray(w, dtype=float)
    if method == "tdc":
        return phi.T @ errors - successors.T @ weighed
    if method == "gtd2":
        return (phi - successors).T @ weighed
    raise ValueError(f"method must be 'td', 'tdc', 'gtd2' or 'residual', got {method!r}.")


@checked
def forward_lstd(
    transitions: Transitions,
    gamma: float,
    lam: float,
    *,
    eps: float | None = None,
    off_policy: str = "transition",
) -> Numbers:
    """Return θ with Σ φ_j δ_j^λ(θ) = θ/eps: LSTD(λ) by its definition (Eq. 9 with ξ = θ).

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.
    eps : float or None, default=None
        Inverse strength of the ridge; None for none.
    off_policy : {"transition", "standard"}, default="transition"
        How importance ratios weigh a temporal difference.

    Returns
    -------
    theta : ndarray of shape (n_features,)
        The coefficients.

    Examples
    --------
    >>> from octavo.rl import Transitions, forward_lstd
    >>> walk = Transitions.from_trajectories([[[1.0], [1.0], [0.0]]], [[1.0, 2.0]])
    >>> forward_lstd(walk, gamma=0.5, lam=1.0)
    array([2.])
    """
    phi, delta, terms, onward = _parts(transitions, gamma, lam, off_policy)
    A = phi.T @ _look_ahead(delta, onward) + _ridge(phi.shape[1], eps)  # Σ φ_j (Δφ_j)^λ
    return np.linalg.solve(A, phi.T @ _look_ahead(terms.target, onward))


@checked
def forward_brm(
    transitions: Transitions, gamma: float, lam: float, *, eps: float | None = None
) -> Numbers:
    """Return argmin Σ (δ_j^λ(θ))² + ‖θ‖²/eps: BRM(λ) by its definition (ξ = ω, standard weights).

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.
    eps : float or None, default=None
        Inverse strength of the ridge; None for none.

    Returns
    -------
    theta : ndarray of shape (n_features,)
        The coefficients.

    Examples
    --------
    >>> from octavo.rl import Transitions, forward_brm
    >>> walk = Transitions.from_trajectories([[[1.0], [1.0], [0.0]]], [[1.0, 2.0]])
    >>> forward_brm(walk, gamma=0.5, lam=1.0)
    array([2.])
    """
    phi, delta, terms, onward = _parts(transitions, gamma, lam, "standard")
    ahead, target = _look_ahead(delta, onward), _look_ahead(terms.target, onward)
    # the regression of Eq. (14)
    return np.linalg.solve(ahead.T @ ahead + _ridge(phi.shape[1], eps), ahead.T @ target)


@checked
def forward_lspe(
    transitions: Transitions,
    gamma: float,
    lam: float,
    *,
    eps: float = 1e3,
    learning_rate: float = 1.0,
    off_policy: str = "transition",
) -> Numbers:
    """Return the last iterate of LSPE(λ): regressions of λ-returns from the iterate before.

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.
    eps : float, default=1e3
        Inverse strength of the ridge on φφᵀ.
    learning_rate : float, default=1.0
        How far to move towards each regression.
    off_policy : {"transition", "standard"}, default="transition"
        How importance ratios weigh a temporal difference.

    Returns
    -------
    theta : ndarray of shape (n_features,)
        The coefficients after the last transition, starting from 0.

    Examples
    --------
    >>> from octavo.rl import Transitions, forward_lspe
    >>> walk = Transitions.from_trajectories([[[1.0], [1.0], [0.0]]], [[1.0, 2.0]])
    >>> forward_lspe(walk, gamma=0.5, lam=1.0).round(3)
    array([1.999])
    """
    phi, delta, terms, onward = _parts(transitions, gamma, lam, off_policy)
    theta = np.zeros(phi.shape[1])
    for i in range(1, len(phi) + 1):
        errors = _look_ahead(terms.target[:i] - delta[:i] @ theta, onward[:i])
        gram = phi[:i].T @ phi[:i] + _ridge(theta.size, eps)
        theta = theta + learning_rate * np.linalg.solve(gram, phi[:i].T @ errors)
    return theta


@checked
def forward_fpkf(
    transitions: Transitions,
    gamma: float,
    lam: float,
    *,
    eps: float = 1e3,
    off_policy: str = "transition",
) -> Numbers:
    """Return the last iterate of FPKF(λ): each λ-return looks ahead with the θ of its own time.

    Parameters
    ----------
    transitions : Transitions
        The batch.
    gamma, lam : float
        Discount and decay of the traces.
    eps : float, default=1e3
        Inverse strength of the ridge on φφᵀ.
    off_policy : {"transition", "standard"}, default="transition"
        How importance ratios weigh a temporal difference.

    Returns
    -------
    theta : ndarray of shape (n_features,)
        The coefficients after the last transition, starting from 0.

    Examples
    --------
    >>> from octavo.rl import Transitions, forward_fpkf
    >>> walk = Transitions.from_trajectories([[[1.0], [1.0], [0.0]]], [[1.0, 2.0]])
    >>> forward_fpkf(walk, gamma=0.5, lam=1.0).round(3)
    array([1.999])
    """
    phi, delta, terms, onward = _parts(transitions, gamma, lam, off_policy)
    past = [np.zeros(phi.shape[1])]
    for i in range(1, len(phi) + 1):
        returns = np.empty(i)
        for j in range(i):
            errors = terms.target[j:i] - delta[j:i] @ past[j]
            # V_θ(s_j) + δ_j^λ, both with the θ of time j - 1
            returns[j] = phi[j] @ past[j] + _look_ahead(errors, onward[j:i])[0]
        gram = phi[:i].T @ phi[:i] + _ridge(phi.shape[1], eps)
        past.append(np.linalg.solve(gram, phi[:i].T @ returns))
    return past[-1]


def _ridge(n_features: int, eps: float | None) -> Numbers:
    return np.zeros((n_features, n_features)) if eps is None else np.eye(n_features) / eps
