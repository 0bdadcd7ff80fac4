"""Rewards that explain an expert who sees the state: the ancestors.

Reference: Ng and Russell (2000), "Algorithms for inverse reinforcement learning", ICML; Abbeel and
Ng (2004), "Apprenticeship learning via inverse reinforcement learning", ICML; Choi and Kim (2011),
section 3.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.inverse.apprenticeship import Plan, match_features, match_values
from octavo.rl.inverse.bases import read_basis
from octavo.rl.inverse.margin_program import MarginProgram, dense_margins
from octavo.rl.inverse.mdp_planning import solve_mdp
from octavo.rl.processes.finite import FiniteMDP

__all__ = ["MDPIRL"]


def deviation_rows(mdp: FiniteMDP, policy: np.ndarray) -> np.ndarray:
    """Return the rows of Eq. 9: Q(s, π(s)) − Q(s, a), linear in R(s, a), for every other action."""
    S, A = mdp.n_states, mdp.n_actions
    chosen = policy.argmax(axis=1)
    pick = np.zeros((S, S * A))
    pick[np.arange(S), np.arange(S) * A + chosen] = 1
    pick[mdp.terminal] = 0
    # Eq. (10): (I - γT)⁻¹ R^π, as a map of R
    V = np.linalg.solve(np.eye(S) - mdp.gamma * mdp.transition_matrix(policy), pick)
    alive = ~mdp.terminal
    rows = []
    for s in np.flatnonzero(alive):
        for a in range(A):
            if a != chosen[s]:
                # Eq. (9), a row for each state and action
                row = V[s] - mdp.gamma * (mdp.P[a, s] * alive) @ V
                row[s * A + a] -= 1.0
                rows.append(row)
    return np.array(rows).reshape(-1, S * A)


def _occupancy(mdp: FiniteMDP, policy: np.ndarray) -> np.ndarray:
    """Return the discounted number of visits to each state, from the start."""
    P = mdp.transition_matrix(policy)
    # (I - γT')⁻¹ of the start
    return np.linalg.solve(np.eye(mdp.n_states) - mdp.gamma * P.T, mdp.start)


def expected_features(mdp: FiniteMDP, policy: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Return μ(π) = Σ_t γ^t E φ(s_t, a_t)."""
    visits = (_occupancy(mdp, policy) * ~mdp.terminal)[:, None] * policy
    return phi.reshape(len(phi), -1) @ visits.ravel()


def logged_features(mdp: FiniteMDP, trajectories, phi: np.ndarray) -> np.ndarray:
    """Return the mean discounted features of logs (states, actions)."""
    total = np.zeros(len(phi))
    for m, pair in enumerate(trajectories):
        states, actions = (np.asarray(part) for part in pair)
        whole = states.dtype.kind in "iu" and actions.dtype.kind in "iu"
        if not whole or states.ndim != 1 or states.shape != actions.shape or not states.size:
            raise ValueError(f"Trajectory {m} must be states and actions: whole numbers, as many.")
        ends = (states, mdp.n_states, "states"), (actions, mdp.n_actions, "actions")
        for values, count, what in ends:
            if values.min() < 0 or values.max() >= count:
                raise ValueError(f"The {what} of trajectory {m} must lie in 0 to {count - 1}.")
        total += phi[:, states, actions] @ mdp.gamma ** np.arange(len(states))  # Σ γ^t φ(s_t, a_t)
    return total / len(trajectories)


class MDPIRL(CallbackSupportMixin, SoundEstimator):
    """Find a reward that explains a policy, or logs, where the state is seen.

    Parameters
    ----------
    method : {"lp", "max-margin", "projection"}, default="lp"
        The sum of margins over one-step deviations (Ng and Russell), or the margin between feature
        expectations, exactly or by projection (Abbeel and Ng). On logs "lp" is the margin between
        values at the start.
    alpha : float, default=0.0
        Weight of the sum of absolute rewards, the paper's λ, for "lp".
    r_max : float, default=1.0
        The largest absolute reward, for "lp".
    basis : {"state-action", "state", "compact"} or array-like, default="state-action"
        Features of the reward, of shape (n_features, n_states, n_actions); "lp" from a policy has
        one for each state and action.
    max_iter : int, default=50
        The most rewards to plan for.
    tol : float, default=1e-3
        Distance to the expert below which it ends.
    random_state : int, RandomState instance or None, default=None
        Draws the first reward.

    Attributes
    ----------
    reward_ : ndarray of shape (n_states, n_actions)
        The reward.
    policy_ : ndarray of int of shape (n_states,)
        What is optimal for it.
    coef_ : ndarray of shape (n_features,)
        Coefficients of the features.
    margin_ : float
        The smallest margin of the expert over a deviation, for "lp" from a policy, else NaN.
    unique_ : bool or None
        Whether that program has one optimum.
    history_ : list of dict
        One record per reward that was planned for.

    See Also
    --------
    FSCIRL, TrajectoryIRL : The expert sees part of the state.

    Notes
    -----
    A policy that mixes actions cannot be the only optimum of a reward: "lp" refuses it. Do not read
    the reward as the truth: many explain one behaviour.

    References
    ----------
    .. [1] Ng and Russell (2000). Algorithms for inverse reinforcement learning. ICML.
    .. [2] Abbeel and Ng (2004). Apprenticeship learning via inverse reinforcement learning. ICML.

    Examples
    --------
    >>> from octavo.rl import MDPIRL, FiniteMDP
    >>> mdp = FiniteMDP([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [0, 0], gamma=0.5)
    >>> model = MDPIRL().fit(mdp, [1, 0])  # go to the second state and stay
    >>> model.policy_.tolist(), float(model.margin_)
    ([1, 0], 2.0)
    """

    _parameter_constraints: dict = {
        "method": [StrOptions({"lp", "max-margin", "projection"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "r_max": [Interval(Real, 0, None, closed="neither")],
        "basis": [StrOptions({"state-action", "state", "compact"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method="lp",
        alpha=0.0,
        r_max=1.0,
        *,
        basis="state-action",
        max_iter=50,
        tol=1e-3,
        random_state=None,
    ):
        self.method = method
        self.alpha = alpha
        self.r_max = r_max
        self.basis = basis
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, mdp, policy):
        """Find the reward.

        Parameters
        ----------
        mdp : FiniteMDP
            The model; its own reward is used by the compact basis alone.
        policy : array-like of shape (n_states,) or (n_states, n_actions), or list of pairs
            The expert: an action for each state, or probabilities; or logs (states, actions).

        Returns
        -------
        self : MDPIRL
            The fitted estimator.
        """
        if not isinstance(mdp, FiniteMDP):
            raise ValueError(f"Expected a FiniteMDP, got {type(mdp).__name__}.")
        if mdp.gamma >= 1:
            raise ValueError("Inverse methods need a discount below 1, got gamma = 1.")
        logs = _is_logs(policy)
        table = None if logs else mdp.check_policy(_as_policy(policy))
        self.margin_, self.unique_ = np.nan, None
        if self.method == "lp" and not logs:
            with FitProgress(self, 1, step_name="program") as progress:
                self._fit_margins(mdp, table)
                progress.step()
        else:
            self._fit_features(mdp, table, policy)
        self.policy_ = solve_mdp(mdp, self.reward_)[1]
        return self

    def plan(self, mdp):
        """Return what is optimal for the learned reward, in this model or another of its size.

        Parameters
        ----------
        mdp : FiniteMDP
            The model; a reward that it has is not used.

        Returns
        -------
        ndarray of int of shape (n_states,)
            The policy.
        """
        check_is_fitted(self)
        return solve_mdp(mdp, self.reward_)[1]

    def _fit_margins(self, mdp, policy):
        """Solve Table 1."""
        if not (policy.max(axis=1) == 1.0).all():
            raise ValueError("Method 'lp' needs a policy with one action in each state.")
        G = deviation_rows(mdp, policy)
        # Table 1's objective: the sum of all margins
        program = MarginProgram(G.sum(axis=0), dense_margins(G), self.r_max)
        found = program.widest(self.alpha)
        self.coef_ = found.reward
        self.reward_ = found.reward.reshape(mdp.n_states, mdp.n_actions)
        self.margin_, self.history_ = found.margin, []
        self.unique_ = program.is_unique(self.alpha) if found.reward.any() else True
        if not found.reward.any():
            warnings.warn(
                "All-zero reward: every policy is optimal under it. Lower alpha from "
                f"{self.alpha:.4g}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_features(self, mdp, table, policy):
        """Run Algorithms 1 to 3."""
        phi = read_basis(self.basis, mdp)
        logged = table is None
        mu = logged_features(mdp, policy, phi) if logged else expected_features(mdp, table, phi)
        first = check_random_state(self.random_state).uniform(-1, 1, len(phi))

        def plan(coef):
            chosen = solve_mdp(mdp, np.einsum("f,fsa->sa", coef, phi))[1]
            return Plan(chosen, expected_features(mdp, mdp.check_policy(chosen), phi))

        def plan_values(coef):
            policy, mu_new = plan(coef)
            return policy, mu_new[None]

        with FitProgress(self, self.max_iter, step_name="reward") as progress:
            options = {"tol": self.tol, "max_iter": self.max_iter, "step": progress.step}
            if self.method == "lp":
                flat = phi.reshape(len(phi), -1)
                found = match_values(
                    plan_values, mu[None], first, flat, alpha=self.alpha, **options
                )
            else:
                project = self.method == "projection"
                found = match_features(plan, mu, first, project=project, **options)
        self.coef_, _, self.history_ = found
        self.reward_ = np.einsum("f,fsa->sa", self.coef_, phi)


def _is_logs(policy) -> bool:
    """Whether it is a list of pairs of lists, and not a table."""
    if not isinstance(policy, (list, tuple)) or not len(policy):
        return False
    return all(isinstance(p, (list, tuple)) and len(p) == 2 and np.ndim(p[0]) == 1 for p in policy)


def _as_policy(policy):
    if policy is None or isinstance(policy, (str, bytes)):
        raise ValueError(f"Expected a policy or logs, got {policy!r}.")
    try:
        table = np.asarray(policy)
    except ValueError:
        table = np.array(None)
    if table.dtype.kind not in "iuf":
        raise ValueError("Expected a policy: an action for each state, or probabilities.")
    return table
