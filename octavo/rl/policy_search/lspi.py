"""Least-squares policy iteration.

Reference: Lagoudakis and Parr (2003), "Least-squares policy iteration", JMLR 4:1107-1149.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.simulators.environments import (
    check_env,
    check_episode_count,
    count_actions,
    first_state,
)
from octavo.rl.simulators.episodes import Episode

__all__ = ["LSPI"]


def fitted_values(X, X_next, actions, rewards, ended, n_actions, gamma, alpha, max_iter, tol):
    """Return the coefficients (n_actions, p) of Q at the end of policy iteration, and the rounds.

    Each round solves A w = b, A = Σ φ(s, a)(φ(s, a) − γ φ(s', π(s')))ᵀ, b = Σ φ(s, a) r, with φ the
    features in the block of the action (LSTDQ), and π greedy for the last w.
    """
    p = X.shape[1]
    w = np.zeros((n_actions, p))
    rows = [actions == a for a in range(n_actions)]
    size = float(np.mean(X**2)) * len(X)
    b = np.concatenate([X[r].T @ rewards[r] for r in rows])  # Σ φ(s, a) r
    base = alpha * max(size, 1e-300) * np.eye(n_actions * p)
    for a, r in enumerate(rows):
        # Σ φ(s, a) φ(s, a)', block by block
        base[a * p : (a + 1) * p, a * p : (a + 1) * p] += X[r].T @ X[r]
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        greedy = (X_next @ w.T).argmax(axis=1)
        A = base.copy()
        for a, r in enumerate(rows):
            for c in range(n_actions):
                both = r & (greedy == c) & ~ended
                block = gamma * X[both].T @ X_next[both]
                A[a * p : (a + 1) * p, c * p : (c + 1) * p] -= block  # -γ Σ φ(s, a) φ(s', greedy)'
        new = np.linalg.lstsq(A, b, rcond=None)[0].reshape(n_actions, p)
        change = np.abs(new - w).max()
        w = new
        if change <= tol * max(1.0, np.abs(w).max()):
            break
    return w, n_iter


class LSPI(CallbackSupportMixin, SoundEstimator):
    """Least-squares policy iteration on a growing batch of episodes.

    Parameters
    ----------
    features : callable, default=None
        Function from states (n, n_variables) to features (n, p); None for the environment's
        ``policy_features``, or the states with a constant.
    gamma : float, default=0.99
        Discount factor.
    alpha : float, default=1e-6
        Ridge penalty, in mean squared features of the batch.
    max_iter : int, default=20
        Rounds of policy iteration on a batch.
    tol : float, default=1e-6
        Relative change of the coefficients below which it ends.
    epsilon : float, default=0.2
        Probability of a random action in episodes; the first batch is all random.
    batch : int, default=10
        Episodes between two solutions.
    random_state : int, RandomState instance or None, default=None
        Seeds actions and environment.

    Attributes
    ----------
    coef_ : ndarray of shape (n_actions, n_features)
        Coefficients of Q.
    returns_ : ndarray of shape (n_episodes,)
        Sum of rewards of each episode.
    n_iter_ : int
        Rounds of the last solution.

    See Also
    --------
    LSTD : Evaluates one policy.

    Notes
    -----
    A baseline. The features decide: with features that cannot represent Q of good policies it
    goes in circles, and no noise in the actions helps.

    References
    ----------
    .. [1] Lagoudakis and Parr (2003). Least-squares policy iteration. JMLR 4:1107-1149.

    Examples
    --------
    >>> from octavo.rl import LSPI, Bicycle
    >>> model = LSPI(random_state=0).fit(Bicycle(horizon=200), 20)
    >>> model.coef_.shape
    (5, 20)
    """

    _parameter_constraints = {
        "features": [callable, None],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "batch": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        features=None,
        *,
        gamma=0.99,
        alpha=1e-6,
        max_iter=20,
        tol=1e-6,
        epsilon=0.2,
        batch=10,
        random_state=None,
    ):
        self.features = features
        self.gamma = gamma
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.epsilon = epsilon
        self.batch = batch
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, env, n_episodes=100):
        """Learn in an environment.

        Parameters
        ----------
        env : object
            Speaks gymnasium's ``reset`` and ``step``, with finite actions.
        n_episodes : int, default=100
            Episodes to learn from.

        Returns
        -------
        self : object
            Fitted values.
        """
        check_env(env)
        n_episodes, n_actions = check_episode_count(n_episodes), count_actions(env)
        self._features = self.features or getattr(env, "policy_features", None)
        rng = check_random_state(self.random_state)
        self.returns_ = np.zeros(n_episodes)
        log: list[tuple[Episode, bool]] = []
        with FitProgress(self, n_episodes, step_name="episode") as progress:
            for k in range(n_episodes):
                log.append(
                    self._episode(env, n_actions, 1.0 if k < self.batch else self.epsilon, rng)
                )
                self.returns_[k] = log[-1][0].total
                stop = progress.step()
                if (k + 1) % self.batch == 0 or k + 1 == n_episodes or stop:
                    self._solve(log, n_actions)
                if stop:
                    self.returns_ = self.returns_[: k + 1]
                    break
        return self

    def _describe(self, states: Any) -> np.ndarray:
        states = np.atleast_2d(np.asarray(states, dtype=float))
        if self._features is None:
            return np.hstack([states, np.ones((len(states), 1))])
        return np.asarray(self._features(states), dtype=float)

    def _solve(self, log, n_actions):
        """Fit Q to all transitions so far."""
        parts = [episode.transitions() for episode, _ in log]
        states, actions, rewards, following = (np.concatenate(c) for c in zip(*parts))
        last = np.cumsum([len(part[0]) for part in parts]) - 1
        ended = np.zeros(len(states), dtype=bool)
        ended[last] = [terminated for _, terminated in log]
        self.coef_, self.n_iter_ = fitted_values(
            self._describe(states), self._describe(following), actions, rewards, ended,
            n_actions, self.gamma, self.alpha, self.max_iter, self.tol,
        )  # fmt: skip

    def _episode(self, env, n_actions, epsilon, rng):
        """Run one episode with actions that are greedy but for ε."""
        state, done, terminated = first_state(env, rng), False, False
        states, actions, rewards = [state], [], []
        while not done:
            if rng.random_sample() < epsilon:
                action = int(rng.randint(n_actions))
            else:
                action = int((self._describe(state) @ self.coef_.T)[0].argmax())
            seen, reward, terminated, truncated, _ = env.step(action)
            state = np.atleast_1d(seen).astype(float)
            states.append(state)
            actions.append(action)
            rewards.append(float(reward))
            done = bool(terminated or truncated)
        return Episode(np.array(states), np.array(actions), rewards), bool(terminated)

    def decision_function(self, states):
        """Return Q of every action.

        Parameters
        ----------
        states : array-like of shape (n, n_variables)
            States.

        Returns
        -------
        ndarray of shape (n, n_actions)
            Values.
        """
        check_is_fitted(self, "coef_")
        return self._describe(states) @ self.coef_.T

    def predict(self, states):
        """Return greedy actions.

        Parameters
        ----------
        states : array-like of shape (n, n_variables)
            States.

        Returns
        -------
        ndarray of shape (n,)
            Actions.
        """
        return self.decision_function(states).argmax(axis=1)
