"""Rewards that explain logs of actions and observations.

Reference: Choi and Kim (2011), section 6.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.inverse.apprenticeship import Plan, match_features, match_values
from octavo.rl.inverse.bases import read_basis
from octavo.rl.inverse.belief_logs import read_trajectories
from octavo.rl.partial_observation.planning import PBPISolver

__all__ = ["TrajectoryIRL"]


class TrajectoryIRL(CallbackSupportMixin, SoundEstimator):
    """Find a reward that explains logs of an expert who sees only part of the state.

    Parameters
    ----------
    method : {"mmfe", "prj", "mmv"}, default="mmfe"
        The margin between feature expectations, its projection method, or the margin between
        values.
    basis : {"state-action", "state", "compact"} or array-like, default="state-action"
        Features of the reward, of shape (n_features, n_states, n_actions). "compact" has one for
        each value of the model's own reward.
    max_iter : int, default=50
        The most rewards to plan for.
    tol : float, default=1e-3
        Distance to the expert below which it ends.
    alpha : float, default=0.0
        Weight of the sum of absolute rewards, for "mmv".
    solver : object, default=None
        With ``solve(pomdp, R)``, which returns an `FSCPolicy`; None for `PBPISolver`.
    random_state : int, RandomState instance or None, default=None
        Draws the first reward.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the features.
    reward_ : ndarray of shape (n_states, n_actions)
        The reward.
    policy_ : FSCPolicy
        What is optimal for it, found by the solver.
    feature_expectation_ : ndarray of shape (n_features,)
        That of the logs.
    history_ : list of dict
        One record per iteration: ``distance`` of the policy to the expert, and the margin ``t``.
    n_iter_ : int
        Rewards that were planned for.

    See Also
    --------
    FSCIRL : From the controller itself.

    Notes
    -----
    Trajectories must begin at the model's start. Cut after few steps they look like those of an
    expert who earns less: see `trajectory_horizon`. The best of the rewards on the way is returned,
    not a mixture of policies. Nearly all time goes into planning; for models beyond some hundred
    states bring a solver of your own.

    References
    ----------
    .. [1] Choi and Kim (2011). Inverse reinforcement learning in partially observable
       environments. JMLR 12:691-730.

    Examples
    --------
    >>> from octavo.rl import PBPISolver, TrajectoryIRL, make_maze1d
    >>> maze = make_maze1d()
    >>> expert = PBPISolver().solve(maze)
    >>> logs = maze.sample(expert, 200, 20, random_state=0)
    >>> model = TrajectoryIRL(random_state=0).fit(maze, logs)
    >>> print(round(model.policy_.value(maze), 4))
    1.0207
    """

    _parameter_constraints: dict = {
        "method": [StrOptions({"mmfe", "prj", "mmv"})],
        "basis": [StrOptions({"state-action", "state", "compact"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": "no_validation",
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method="mmfe",
        basis="state-action",
        max_iter=50,
        tol=1e-3,
        *,
        alpha=0.0,
        solver=None,
        random_state=None,
    ):
        self.method = method
        self.basis = basis
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.solver = solver
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, pomdp, trajectories):
        """Find the reward.

        Parameters
        ----------
        pomdp : POMDP
            The model; its own reward is used by the compact basis alone.
        trajectories : list of (actions, observations)
            Pairs of integer arrays of one length; observation t follows action t.

        Returns
        -------
        self : TrajectoryIRL
            The fitted estimator.
        """
        if not hasattr(pomdp, "n_observations"):
            raise ValueError(f"Expected a POMDP, got {type(pomdp).__name__}.")
        phi = read_basis(self.basis, pomdp)
        logs = read_trajectories(pomdp, trajectories)
        mu, earned = logs.earned(phi, pomdp.gamma)
        rng = check_random_state(self.random_state)
        first = rng.uniform(-1, 1, len(phi))
        solver = PBPISolver() if self.solver is None else self.solver
        with FitProgress(self, self.max_iter, step_name="reward") as progress:
            options = {"tol": self.tol, "max_iter": self.max_iter, "step": progress.step}
            if self.method == "mmv":
                plan = self._value_planner(pomdp, phi, solver, logs.beliefs)
                found = match_values(
                    plan, earned, first, phi.reshape(len(phi), -1), alpha=self.alpha, **options
                )
            else:
                project = self.method == "prj"
                plan = self._feature_planner(pomdp, phi, solver)
                found = match_features(plan, mu, first, project=project, **options)
        self.coef_, self.policy_, self.history_ = found
        self.reward_ = np.einsum("f,fsa->sa", self.coef_, phi)
        self.feature_expectation_, self.n_iter_ = mu, len(found.history)
        return self

    def plan(self, pomdp):
        """Return what is optimal for the learned reward, in this model or another of its size.

        Parameters
        ----------
        pomdp : POMDP
            The model; a reward that it has is not used.

        Returns
        -------
        FSCPolicy
            The policy.
        """
        check_is_fitted(self)
        solver = PBPISolver() if self.solver is None else self.solver
        return solver.solve(pomdp, self.reward_)

    def _feature_planner(self, pomdp, phi, solver):
        def plan(coef):
            policy = solver.solve(pomdp, np.einsum("f,fsa->sa", coef, phi))
            return Plan(policy, policy.feature_expectation(pomdp, phi))

        return plan

    def _value_planner(self, pomdp, phi, solver, beliefs):
        def plan(coef):
            policy = solver.solve(pomdp, np.einsum("f,fsa->sa", coef, phi))
            maps = policy.value_maps(pomdp, phi)  # node, state, feature
            nodes = (beliefs @ (maps @ coef).T).argmax(axis=1)  # Eq. 20
            # V^π(b) at that node, linear in α
            return policy, np.einsum("ks,ksf->kf", beliefs, maps[nodes])

        return plan
