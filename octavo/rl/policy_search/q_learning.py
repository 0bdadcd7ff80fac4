"""Q-learning over tiles, with and without a learnt model to think with.

Reference: Sutton and Barto (1998), "Reinforcement learning: an introduction", sections 6.5, 8.3 and
9.2; Wilson, Fern and Tadepalli (2014), JMLR 15:253-282, section 5.1, for the changes to Dyna-Q.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.features.grids import TileCoding, tile_columns
from octavo.rl.policy_search.world_model import LinearWorldModel
from octavo.rl.simulators.environments import (
    check_env,
    check_episode_count,
    count_actions,
    first_state,
)
from octavo.rl.simulators.episodes import Episode

__all__ = ["DynaQ", "QLearningCMAC"]


@njit(cache=True)
def _values(weights, tiles, out):
    """Fill Q(s, ·) of a state from the weights of its tiles."""
    for a in range(weights.shape[0]):
        out[a] = 0.0
        for i in range(tiles.shape[0]):
            out[a] += weights[a, tiles[i]]


@njit(cache=True)
def _update(weights, tiles, following, actions, rewards, ended, gamma, rate):
    """Take a step of Q-learning for each transition, in order."""
    values = np.empty(weights.shape[0])
    n_tiles = tiles.shape[1]
    for i in range(tiles.shape[0]):
        target = rewards[i]
        if not ended[i]:
            _values(weights, following[i], values)
            best = values[0]
            for a in range(1, values.shape[0]):
                best = max(best, values[a])
            target += gamma * best
        _values(weights, tiles[i], values)
        # the rate of Q itself: n_tiles weights move at once
        step = rate / n_tiles * (target - values[actions[i]])
        for j in range(n_tiles):
            weights[actions[i], tiles[i, j]] += step


class _TiledQ(CallbackSupportMixin, SoundEstimator):
    """What both learners share: tiles, greedy actions and the loop over episodes."""

    _parameter_constraints = {
        "low": ["array-like", None],
        "high": ["array-like", None],
        "n_tilings": [Interval(Integral, 1, None, closed="left")],
        "n_tiles": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "decay": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def _tiles(self, states: np.ndarray) -> np.ndarray:
        tiling = self.tiling_
        low, high = tiling.low_, tiling.high_
        tiles = tile_columns(states, low, high, self.n_tilings, self.n_tiles)
        return tiles.astype(np.int64, copy=False)

    def _start(self, env: Any) -> int:
        check_env(env)
        n_actions = count_actions(env)
        low = getattr(env, "low", None) if self.low is None else self.low
        high = getattr(env, "high", None) if self.high is None else self.high
        if low is None or high is None:
            raise ValueError("Give low and high, the range of the states that is tiled.")
        corners = np.array([low, high], dtype=float)
        self.tiling_ = TileCoding(
            self.n_tilings, self.n_tiles, low=corners[0], high=corners[1]
        ).fit(corners)
        self.weights_ = np.zeros((n_actions, self.tiling_.n_features_out_))
        self._is_vector = n_actions == 8 and getattr(env, "n_variables", 0) == 5
        return n_actions

    def _decode(self, action: int) -> Any:
        """Return what the environment takes; the planar arm wants three bits."""
        return (
            np.array([action >> 2 & 1, action >> 1 & 1, action & 1]) if self._is_vector else action
        )

    def _episode(self, env, n_actions, epsilon, rng):
        """Act and learn until the end; return the episode, how it ended, and ε."""
        state, done = first_state(env, rng), False
        states, actions, rewards, terminated = [state], [], [], False
        tiles, values = self._tiles(state[None]), np.empty(n_actions)
        while not done:
            _values(self.weights_, tiles[0], values)
            best = np.flatnonzero(values == values.max())
            greedy = best[rng.randint(len(best))]
            action = int(rng.randint(n_actions) if rng.random_sample() < epsilon else greedy)
            seen, reward, terminated, truncated, _ = env.step(self._decode(action))
            state = np.atleast_1d(seen).astype(float)
            following = self._tiles(state[None])
            _update(
                self.weights_, tiles, following, np.array([action]), np.array([float(reward)]),
                np.array([bool(terminated)]), float(self.gamma), float(self.learning_rate),
            )  # fmt: skip
            tiles, epsilon = following, epsilon * self.decay
            states.append(state)
            actions.append(action)
            rewards.append(float(reward))
            done = bool(terminated or truncated)
        return Episode(np.array(states), np.array(actions), rewards), bool(terminated), epsilon

    def _learn(self, env, n_episodes, after):
        """Run episodes; `after` is called with each and how it ended."""
        n_actions = self._start(env)
        rng = check_random_state(self.random_state)
        epsilon, self.returns_ = float(self.epsilon), np.zeros(n_episodes)
        with FitProgress(self, n_episodes, step_name="episode") as progress:
            for k in range(n_episodes):
                episode, ended, epsilon = self._episode(env, n_actions, epsilon, rng)
                self.returns_[k] = episode.total
                after(episode, ended, rng)
                if progress.step():
                    self.returns_ = self.returns_[: k + 1]
                    break
        return self

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
        check_is_fitted(self, "weights_")
        states = np.asarray(states, dtype=float)
        if states.ndim != 2 or states.shape[1] != len(self.tiling_.low_):
            raise ValueError(
                f"States must have {len(self.tiling_.low_)} columns; got shape {states.shape}."
            )
        if not np.isfinite(states).all():
            raise ValueError("States must be finite; got NaN or infinity.")
        tiles = self._tiles(states)
        return self.weights_[:, tiles].sum(axis=2).T

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


class QLearningCMAC(_TiledQ):
    """Q-learning with tile coding (CMAC) and ε-greedy actions.

    Parameters
    ----------
    low, high : array-like of shape (n_variables,), default=None
        Range of the states that is tiled; None for the environment's ``low`` and ``high``.
    n_tilings, n_tiles : int, default=8, 8
        Shifted grids, and tiles along each variable.
    gamma : float, default=0.99
        Discount factor.
    learning_rate : float, default=0.5
        Step size, shared by the tiles of a state.
    epsilon : float, default=0.1
        First probability of a random action.
    decay : float, default=0.9999
        Factor on epsilon after each step.
    random_state : int, RandomState instance or None, default=None
        Seeds actions and environment.

    Attributes
    ----------
    weights_ : ndarray of shape (n_actions, n_tiles_total)
        Weights of the tiles.
    returns_ : ndarray of shape (n_episodes,)
        Sum of rewards of each episode.
    tiling_ : TileCoding
        The tiles.

    See Also
    --------
    DynaQ : Thinks between episodes.
    TileCoding : The features.

    Notes
    -----
    A baseline. Not for many variables: tiles grow as n_tiles to their number.

    References
    ----------
    .. [1] Sutton and Barto (1998). Reinforcement learning: an introduction. MIT Press, section 8.3.

    Examples
    --------
    >>> from octavo.rl import MountainCar, QLearningCMAC
    >>> model = QLearningCMAC(random_state=0).fit(MountainCar(), 30)
    >>> print(model.returns_[-5:].mean() > -400)
    True
    """

    _parameter_constraints = dict(_TiledQ._parameter_constraints)

    def __init__(
        self,
        low=None,
        high=None,
        *,
        n_tilings=8,
        n_tiles=8,
        gamma=0.99,
        learning_rate=0.5,
        epsilon=0.1,
        decay=0.9999,
        random_state=None,
    ):
        self.low = low
        self.high = high
        self.n_tilings = n_tilings
        self.n_tiles = n_tiles
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.decay = decay
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
        return self._learn(env, check_episode_count(n_episodes), lambda *_: None)


class DynaQ(_TiledQ):
    """Q-learning over tiles that replays imagined steps of a linear model after each episode.

    Parameters
    ----------
    model : LinearWorldModel, default=None
        The model to learn; None for the environment's own features where it has some.
    low, high : array-like of shape (n_variables,), default=None
        Range of the states that is tiled; None for the environment's ``low`` and ``high``.
    n_planning : int, default=20000
        Imagined steps after each episode, from states that were visited. The paper has 200,000.
    n_tilings, n_tiles : int, default=8, 8
        Shifted grids, and tiles along each variable.
    gamma : float, default=0.99
        Discount factor.
    learning_rate : float, default=0.5
        Step size, shared by the tiles of a state.
    epsilon : float, default=0.1
        First probability of a random action.
    decay : float, default=0.9999
        Factor on epsilon after each step.
    random_state : int, RandomState instance or None, default=None
        Seeds actions, environment and imagination.

    Attributes
    ----------
    weights_ : ndarray of shape (n_actions, n_tiles_total)
        Weights of the tiles.
    returns_ : ndarray of shape (n_episodes,)
        Sum of rewards of each episode.
    model_ : LinearWorldModel
        The fitted model.
    tiling_ : TileCoding
        The tiles.

    See Also
    --------
    TrajectoryBO : Weighs its model by the evidence, and so survives a bad one.

    Notes
    -----
    A baseline: systematic errors of the model go into the values, and nothing corrects them.

    References
    ----------
    .. [1] Sutton and Barto (1998). Reinforcement learning: an introduction. MIT Press, section 9.2.
    .. [2] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.1.

    Examples
    --------
    >>> from octavo.rl import DynaQ, MountainCar
    >>> model = DynaQ(n_planning=2000, random_state=0).fit(MountainCar(), 5)
    >>> model.returns_.shape
    (5,)
    """

    _parameter_constraints = dict(
        _TiledQ._parameter_constraints,
        model=[LinearWorldModel, None],
        n_planning=[Interval(Integral, 0, None, closed="left")],
    )

    def __init__(
        self,
        model=None,
        low=None,
        high=None,
        *,
        n_planning=20_000,
        n_tilings=8,
        n_tiles=8,
        gamma=0.99,
        learning_rate=0.5,
        epsilon=0.1,
        decay=0.9999,
        random_state=None,
    ):
        self.model = model
        self.low = low
        self.high = high
        self.n_planning = n_planning
        self.n_tilings = n_tilings
        self.n_tiles = n_tiles
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.decay = decay
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
        if self.model is not None:
            self.model_ = clone(self.model)
        elif hasattr(env, "transition_features"):
            self.model_ = LinearWorldModel(
                env.transition_features, env.reward_features, terminal=env.is_terminal
            )
        else:
            self.model_ = LinearWorldModel()
        seen: list[Episode] = []

        def think(episode: Episode, ended: bool, rng: Any) -> None:
            seen.append(episode)
            self._imagine(seen, rng)

        return self._learn(env, check_episode_count(n_episodes), think)

    def _imagine(self, episodes, rng):
        """Update the values by steps that the model makes up, from states that were visited."""
        if not self.n_planning:
            return
        self.model_.fit(
            [
                Episode(e.states_with_last(), self._as_vectors(e.actions), e.rewards)
                for e in episodes
            ]
        )
        visited = np.vstack([e.states for e in episodes])
        states = visited[rng.randint(len(visited), size=self.n_planning)]
        actions = rng.randint(len(self.weights_), size=self.n_planning)
        following, rewards, ended = self.model_.step(states, self._as_vectors(actions))
        _update(
            self.weights_, self._tiles(states), self._tiles(following), actions, rewards, ended,
            float(self.gamma), float(self.learning_rate),
        )  # fmt: skip

    def _as_vectors(self, actions):
        return np.array([self._decode(int(a)) for a in actions]) if self._is_vector else actions


def _warmup() -> None:
    """Compile every kernel of this module."""
    weights, tiles = np.zeros((2, 1)), np.zeros((1, 1), dtype=np.int64)
    _values(weights, tiles[0], np.zeros(2))
    _update(
        weights, tiles, tiles, np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1, dtype=bool),
        1.0, 1.0,
    )  # fmt: skip
