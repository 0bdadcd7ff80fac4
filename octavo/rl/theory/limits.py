"""Where eligibility-trace methods go: exact limits, and whether they get there.

From an endless trajectory of a behaviour policy, LSTD(λ), LSPE(λ), FPKF(λ), TD(λ), TDC(λ) and
GTD2(λ) aim at the fixed point of Π₀T^λ, and BRM(λ) at a biased Bellman residual. For a finite MDP
both are closed forms, and so is the condition under which the iterative ones converge.

Reference: Geist and Scherrer (2014), "Off-policy learning with eligibility traces: a survey",
JMLR 15:289-333, section 3 (equation (10), Theorem 3 with its vector corrected off-policy).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.rl.processes.objectives import solve_or_least_squares

__all__ = [
    "ApproximationBound",
    "Contraction",
    "TraceLimit",
    "best_approximation_bound",
    "brm_limit",
    "contraction",
    "lstd_limit",
]


class TraceLimit(NamedTuple):
    """The linear system Aθ = b that a method's statistics, divided by the steps, tend to.

    `max_trace_factor` is the largest γλρ(s, a) of a pair that the behaviour takes; where it is
    below one, traces are bounded. `trace_growth` is the spectral radius of (γλ)²P̃, which
    multiplies the second moment of a trace; at one and above its variance is infinite.
    """

    A: np.ndarray
    b: np.ndarray
    theta: np.ndarray
    max_trace_factor: float
    trace_growth: float


class Contraction(NamedTuple):
    """Whether the iterative methods converge to the fixed point of Π₀T^λ.

    `spectral_radius` and `norm` (in the norm weighted by the data) are those of the linear part of
    Π₀T^λ; `lspe` tells whether LSPE converges (radius below one), `fpkf` whether FPKF with
    decreasing steps does, and `td` whether TD with decreasing steps does.
    """

    spectral_radius: float
    norm: float
    lspe: bool
    fpkf: bool
    td: bool


class ApproximationBound(NamedTuple):
    """How far the fixed point of Π₀T^λ is from the truth, beside the best approximation.

    `best_error` is ||V − Π₀V||, `error` is ||V − V_θ||, both weighted by the data; `factor` is the
    largest ratio of the two over all rewards, and `on_policy_factor` the bound
    (1 − λγ) / (1 − γ) that is only valid on-policy.
    """

    best_error: float
    error: float
    factor: float
    on_policy_factor: float


class _Chain(NamedTuple):
    """The matrices that every limit is made of."""

    Phi: np.ndarray
    P: np.ndarray
    R: np.ndarray
    mu: np.ndarray
    P_tilde: np.ndarray  # P̃[s, t] = Σ_a π ρ P(t|s, a)
    paid: np.ndarray  # paid[s, t] = Σ_a π ρ P(t|s, a) r(s, a, t)
    goes_on: np.ndarray  # probability that a trace survives a step from a state: no cut
    trace_factor: float


def _chain(mdp, policy, behaviour, lam, features):
    if not 0 <= lam <= 1:
        raise ValueError(f"lam must lie in [0, 1], got {lam!r}.")
    policy = mdp.check_policy(policy)
    acting = policy if behaviour is None else mdp.check_policy(behaviour, "behaviour")
    rho = mdp.importance_ratios(policy, acting)
    lives = ~mdp.terminal
    P_tilde = np.einsum("sa,ast->st", policy * rho, mdp.P) * np.outer(lives, lives)
    paid = np.einsum("sa,ast,ast->st", policy * rho, mdp.P, mdp.R) * np.outer(lives, lives)
    return _Chain(
        mdp.features if features is None else mdp._as_features(features),
        mdp.transition_matrix(policy),
        mdp.expected_rewards(policy),
        mdp.state_distribution(acting),
        P_tilde,
        paid,
        (1.0 - mdp.restart)[:, None],
        float(lam * mdp.gamma * rho[(acting > 0) & lives[:, None]].max()),
    )


def _radius(matrix):
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _projected_system(chain, gamma, lam):
    # (I - λγP)⁻¹ is what traces sum up; a cut ends them with the episode.
    """Return Φ'D₀Φ, A and b of Π₀T^λ, equation (10)."""
    reach = np.eye(len(chain.P)) - lam * gamma * chain.goes_on * chain.P
    weighted = chain.Phi.T * chain.mu
    stay = np.eye(len(chain.P)) - gamma * chain.P
    A = weighted @ np.linalg.solve(reach, stay @ chain.Phi)
    return weighted @ chain.Phi, A, weighted @ np.linalg.solve(reach, chain.R)


@checked
def lstd_limit(mdp, policy=None, behaviour=None, lam=0.0, *, features=None):
    """Return where LSTD(λ) converges: the fixed point of Π₀T^λ.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    policy : array-like of shape (n_states, n_actions), default=None
        The target policy.
    behaviour : array-like of shape (n_states, n_actions), default=None
        The policy that acts; None stands for the target policy.
    lam : float, default=0.0
        Trace parameter λ.
    features : array-like of shape (n_states, n_features), default=None
        Features; None stands for those of the MDP.

    Returns
    -------
    TraceLimit
        A = Φ'D₀(I − γP)(I − λγP)⁻¹Φ, b = Φ'D₀(I − λγP)⁻¹R and θ = A⁻¹b.

    References
    ----------
    .. [1] Geist and Scherrer (2014). Off-policy learning with eligibility traces: a survey.
       JMLR 15:289-333.

    Examples
    --------
    >>> from octavo.rl import FiniteMDP, lstd_limit
    >>> mdp = FiniteMDP([[0.5, 0.5], [0.5, 0.5]], [-0.8, 1.2], gamma=0.8, features=[[1.0], [1.0]])
    >>> round(float(lstd_limit(mdp).theta[0]), 12)
    1.0
    """
    chain = _chain(mdp, policy, behaviour, lam, features)
    _, A, b = _projected_system(chain, mdp.gamma, lam)
    theta = solve_or_least_squares(A, b, "A, the matrix of Π₀T^λ,")
    growth = _radius((lam * mdp.gamma) ** 2 * chain.goes_on * chain.P_tilde)
    return TraceLimit(A, b, theta, chain.trace_factor, growth)


@checked
def brm_limit(mdp, policy=None, behaviour=None, lam=0.0, *, features=None, as_published=False):
    """Return where BRM(λ) converges.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    policy : array-like of shape (n_states, n_actions), default=None
        The target policy.
    behaviour : array-like of shape (n_states, n_actions), default=None
        The policy that acts; None stands for the target policy.
    lam : float, default=0.0
        Trace parameter λ.
    features : array-like of shape (n_states, n_features), default=None
        Features; None stands for those of the MDP.
    as_published : bool, default=False
        Whether to return the vector b as Theorem 3 prints it, which simulation contradicts
        off-policy.

    Returns
    -------
    TraceLimit
        The system of Theorem 3.

    Raises
    ------
    ValueError
        If the second moment of the traces is infinite, so that there is no limit.

    References
    ----------
    .. [1] Geist and Scherrer (2014). Off-policy learning with eligibility traces: a survey.
       JMLR 15:289-333, Theorem 3.

    Examples
    --------
    >>> from octavo.rl import brm_limit, lstd_limit, make_garnet
    >>> garnet = make_garnet(30, 2, 2, 8, random_state=0)
    >>> pi = garnet.random_policy(1)
    >>> gap = brm_limit(garnet, pi, lam=1.0).theta - lstd_limit(garnet, pi, lam=1.0).theta
    >>> bool(abs(gap).max() < 1e-9)
    True
    """
    chain = _chain(mdp, policy, behaviour, lam, features)
    gamma, decay = mdp.gamma, lam * mdp.gamma
    growth = _radius(decay**2 * chain.goes_on * chain.P_tilde)
    if growth >= 1:
        raise ValueError(
            f"BRM({lam:g}) has no limit here: the second moment of its traces grows by "
            f"{growth:.4g} >= 1 a step. Take a smaller lam or a behaviour nearer to the target."
        )
    P, Phi, eye = chain.P, chain.Phi, np.eye(len(chain.P))
    carried = chain.goes_on * chain.P_tilde
    seen = np.linalg.solve(eye - decay**2 * carried.T, chain.mu)  # D of Theorem 3
    D, D_next = np.diag(seen), np.diag(chain.P_tilde.T @ seen)  # D and D' of Theorem 3
    Q = np.linalg.inv(eye - decay * chain.goes_on * P)
    # S = λγ(DP - γD')Q
    S = decay * (D @ (chain.goes_on * P) - gamma * np.diag(carried.T @ seen)) @ Q
    stay = eye - gamma * P
    # Ã of Theorem 3, between Φ' and Φ
    middle = D - gamma * (D @ P + P.T @ D) + gamma**2 * D_next + S @ stay + (S @ stay).T
    if as_published:
        # b̃ of Theorem 3 as printed: right on-policy only
        vector = stay.T @ Q.T @ D @ chain.R + S @ chain.R
    else:
        # A reward and the ratio that weighs its successor are one draw: P̃'DR where the published
        # vector has P'DR, for a step and for the traces that pass through it.
        arrived, traced = seen @ chain.paid, seen @ (chain.goes_on * chain.paid)
        vector = seen * chain.R - gamma * arrived + decay * stay.T @ Q.T @ traced + S @ chain.R
    A, b = Phi.T @ middle @ Phi, Phi.T @ vector
    theta = solve_or_least_squares(A, b, "The matrix of BRM(λ)")
    return TraceLimit(A, b, theta, chain.trace_factor, growth)


@checked
def contraction(mdp, policy=None, behaviour=None, lam=0.0, *, features=None):
    """Tell whether LSPE(λ), FPKF(λ) and TD(λ) converge.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    policy : array-like of shape (n_states, n_actions), default=None
        The target policy.
    behaviour : array-like of shape (n_states, n_actions), default=None
        The policy that acts; None stands for the target policy.
    lam : float, default=0.0
        Trace parameter λ.
    features : array-like of shape (n_states, n_features), default=None
        Features; None stands for those of the MDP.

    Returns
    -------
    Contraction
        Spectral radius and norm of Π₀T^λ, and what follows.

    References
    ----------
    .. [1] Geist and Scherrer (2014). Off-policy learning with eligibility traces: a survey.
       JMLR 15:289-333, section 3.

    Examples
    --------
    Two states with features 1 and 2 that both lead to the second (Tsitsiklis and Van Roy):

    >>> from octavo.rl import FiniteMDP, contraction
    >>> P = [[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]]
    >>> mdp = FiniteMDP(P, [0.0, 0.0], gamma=0.9, features=[[1.0], [2.0]])
    >>> found = contraction(mdp, [[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]])
    >>> round(found.spectral_radius, 12), found.lspe
    (1.08, False)
    """
    chain = _chain(mdp, policy, behaviour, lam, features)
    gram, A, _ = _projected_system(chain, mdp.gamma, lam)
    pull = np.linalg.lstsq(gram, A, rcond=None)[0]  # (Φ'D₀Φ)⁻¹A
    shrunk = np.eye(len(gram)) - pull  # Π₀T^λ in the features
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * 1e-12
    root = np.sqrt(values[kept])
    # In the norm of the data, whose value is below 1 on-policy.
    inner = (root[:, None] * (vectors[:, kept].T @ shrunk @ vectors[:, kept])) / root
    radius = _radius(inner)
    return Contraction(
        radius,
        float(np.linalg.norm(inner, 2)),
        radius < 1,
        bool(np.linalg.eigvals(np.eye(kept.sum()) - inner).real.min() > 0),
        bool(np.linalg.eigvals(vectors[:, kept].T @ A @ vectors[:, kept]).real.min() > 0),
    )


@checked
def best_approximation_bound(mdp, policy=None, behaviour=None, lam=0.0, *, features=None):
    """Compare the fixed point of Π₀T^λ with the best approximation of the value.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    policy : array-like of shape (n_states, n_actions), default=None
        The target policy.
    behaviour : array-like of shape (n_states, n_actions), default=None
        The policy that acts; None stands for the target policy.
    lam : float, default=0.0
        Trace parameter λ.
    features : array-like of shape (n_states, n_features), default=None
        Features; None stands for those of the MDP.

    Returns
    -------
    ApproximationBound
        Both errors, and the largest factor between them.

    Notes
    -----
    V − V_θ = (I − Π₀L)⁻¹(V − Π₀V) with L = (1 − λ)γP(I − λγP)⁻¹, so that the factor is the norm of
    an oblique projection (Scherrer 2010). It is infinite where a state has no weight.

    References
    ----------
    .. [1] Tsitsiklis and Van Roy (1997). An analysis of temporal-difference learning with
       function approximation. IEEE Transactions on Automatic Control 42:674-690.
    .. [2] Scherrer (2010). Should one compute the temporal difference fix point or minimize the
       Bellman residual? The unified oblique projection view. ICML 27.

    Examples
    --------
    >>> from octavo.rl import best_approximation_bound, make_garnet
    >>> garnet = make_garnet(30, 2, 2, 8, random_state=0)
    >>> bound = best_approximation_bound(garnet, garnet.random_policy(1), lam=0.5)
    >>> bound.best_error < bound.error < bound.factor * bound.best_error
    True
    """
    chain = _chain(mdp, policy, behaviour, lam, features)
    gamma, V = mdp.gamma, mdp.value(policy)
    gram, A, b = _projected_system(chain, gamma, lam)
    theta = solve_or_least_squares(A, b, "A, the matrix of Π₀T^λ,")
    projection = chain.Phi @ np.linalg.lstsq(gram, chain.Phi.T * chain.mu, rcond=None)[0]
    root = np.sqrt(chain.mu)
    best = float(np.linalg.norm(root * (V - projection @ V)))
    error = float(np.linalg.norm(root * (V - chain.Phi @ theta)))
    factor = np.inf
    live = ~mdp.terminal
    if (chain.mu[live] > 0).all():
        reach = np.eye(len(chain.P)) - lam * gamma * chain.P
        L = (1 - lam) * gamma * np.linalg.solve(reach, chain.P)  # the λ-operator's part in V
        eye = np.eye(len(chain.P))
        # V - V_θ = (I - Π₀L)⁻¹ (I - Π₀) V
        oblique = np.linalg.solve(eye - projection @ L, eye - projection)
        inside = oblique[np.ix_(live, live)]
        factor = float(np.linalg.norm(root[live, None] * inside / root[live], 2))
    on_policy = (1 - lam * gamma) / (1 - gamma) if gamma < 1 else np.inf
    return ApproximationBound(best, error, factor, on_policy)
