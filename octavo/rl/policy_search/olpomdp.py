"""OLPOMDP: policy gradients on line, with a trace of scores.

Reference: Baxter, Bartlett and Weaver (2001), "Experiments with infinite-horizon, policy-gradient
estimation", JAIR 15:351-381.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.simulators.environments import check_env, check_episode_count, first_state

__all__ = ["OLPOMDP"]


class OLPOMDP(CallbackSupportMixin, SoundEstimator):
    """Follow the gradient of the mean reward, step by step.

    z ← βz + ∇ ln π(a|s), θ ← θ + learning_rate · r · z, with β the decay of the trace.

    Parameters
    ----------
    policy : object
        With ``n_params``, ``act(theta, state, rng)`` and ``score(theta, state, action)``, such as
        `SoftmaxLinearPolicy`.
    learning_rate : float, default=0.01
        Size of a step.
    lam : float, default=0.95
        Decay of the trace of scores, the paper's β: near 1 for delayed rewards, at the price of
        variance.
    bounds : tuple of float, default=None
        Box that the parameters are kept in.
    theta0 : array-like of shape (n_params,), default=None
        First parameters; zeros by default.
    random_state : int, RandomState instance or None, default=None
        Seeds actions and environment.

    Attributes
    ----------
    theta_ : ndarray of shape (n_params,)
        Parameters after the last episode.
    returns_ : ndarray of shape (n_episodes,)
        Sum of rewards of each episode.

    See Also
    --------
    TrajectoryBO : Dozens of episodes instead of thousands.

    Notes
    -----
    A baseline: it needs many episodes and a learning rate that fits the scale of rewards. Where
    every reward is the same until the goal, as in the mountain car, the gradient says nothing
    before the goal was reached.

    References
    ----------
    .. [1] Baxter, Bartlett and Weaver (2001). Experiments with infinite-horizon, policy-gradient
       estimation. JAIR 15:351-381.

    Examples
    --------
    >>> from octavo.rl import OLPOMDP, PlanarArm
    >>> arm = PlanarArm(horizon=50)
    >>> model = OLPOMDP(arm.make_policy(), random_state=0).fit(arm, 20)
    >>> model.theta_.shape, model.returns_.shape
    ((12,), (20,))
    """

    _parameter_constraints = {
        "policy": [object],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, 1, closed="both")],
        "bounds": [None, "array-like"],
        "theta0": [None, "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        policy,
        learning_rate=0.01,
        lam=0.95,
        *,
        bounds=None,
        theta0=None,
        random_state=None,
    ):
        self.policy = policy
        self.learning_rate = learning_rate
        self.lam = lam
        self.bounds = bounds
        self.theta0 = theta0
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, env, n_episodes=100):
        """Learn in an environment.

        Parameters
        ----------
        env : object
            Speaks gymnasium's ``reset`` and ``step``.
        n_episodes : int, default=100
            Episodes to learn from.

        Returns
        -------
        self : object
            Fitted policy.
        """
        check_env(env)
        n_episodes = check_episode_count(n_episodes)
        if not callable(getattr(self.policy, "score", None)):
            raise ValueError("policy must have score(theta, state, action) to follow its gradient.")
        rng = check_random_state(self.random_state)
        theta = np.zeros(self.policy.n_params)
        if self.theta0 is not None:
            theta = np.array(self.theta0, dtype=float)
            if theta.shape != (self.policy.n_params,) or not np.isfinite(theta).all():
                raise ValueError(f"theta0 must hold {self.policy.n_params} finite numbers.")
        low, high = (-np.inf, np.inf) if self.bounds is None else self.bounds
        self.returns_ = np.zeros(n_episodes)
        with FitProgress(self, n_episodes, step_name="episode") as progress:
            for k in range(n_episodes):
                theta, self.returns_[k] = self._episode(env, theta, low, high, rng)
                if progress.step():
                    self.returns_ = self.returns_[: k + 1]
                    break
        self.theta_ = theta
        return self

    def _episode(self, env, theta, low, high, rng):
        """Learn from one episode; return the parameters and its sum of rewards."""
        state, trace, total, done = first_state(env, rng), np.zeros_like(theta), 0.0, False
        while not done:
            action = self.policy.act(theta, state, rng)
            # z = λz + ∇ log π(a|s)
            trace = self.lam * trace + self.policy.score(theta, state, action)
            seen, reward, terminated, truncated, _ = env.step(action)
            theta = np.clip(theta + self.learning_rate * reward * trace, low, high)  # θ + α r z
            if not np.isfinite(theta).all():
                raise ValueError(
                    "The parameters have grown beyond all bounds: take a smaller learning_rate "
                    f"than {self.learning_rate:g}, or give bounds."
                )
            state, total = np.atleast_1d(seen).astype(float), total + float(reward)
            done = bool(terminated or truncated)
        return theta, total

    def act(self, state, rng=None):
        """Draw an action of the learnt policy.

        Parameters
        ----------
        state : array-like of shape (n_variables,)
            The state.
        rng : int, RandomState instance or None, default=None
            Source of the draw.

        Returns
        -------
        int or ndarray
            The action.
        """
        check_is_fitted(self, "theta_")
        return self.policy.act(self.theta_, state, check_random_state(rng))
