"""What the simulators share: gymnasium's interface around one step of arrays.

A subclass writes ``transition(states, actions, draws)``, which steps any number of rows at once;
``reset`` and ``step`` are one row of it. gymnasium is not needed.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.dynamic_programs.rollouts import RollOuts, roll_out
from octavo.rl.simulators.episodes import Episode


def quadratic_expansion(columns: np.ndarray) -> np.ndarray:
    """Return a constant, the columns, and all products of two of them."""
    n, d = columns.shape
    i, j = np.triu_indices(d)
    return np.hstack([np.ones((n, 1)), columns, columns[:, i] * columns[:, j]])


def action_columns(states: np.ndarray, actions: Any) -> np.ndarray:
    """Return states with their actions as further columns."""
    return np.hstack([states, np.asarray(actions, dtype=float).reshape(len(states), -1)])


class Simulator:
    """A control problem with gymnasium's interface, and steps for many rows at once."""

    n_variables: int
    n_actions: int
    gamma = 1.0

    def __init__(self, horizon: Any) -> None:
        if not isinstance(horizon, Integral) or isinstance(horizon, bool) or horizon < 1:
            raise ValueError(f"horizon must be a whole number of at least 1; got {horizon!r}.")
        self.horizon = int(horizon)
        self.state: np.ndarray | None = None
        self.n_steps = 0
        self._rng = check_random_state(None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(horizon={self.horizon})"

    # -- what a subclass writes ----------------------------------------------------------------

    def starts(self, n: int, rng: Any) -> np.ndarray:
        """Draw first states, one row each."""
        raise NotImplementedError

    def transition(
        self, states: np.ndarray, actions: np.ndarray, draws: np.ndarray, t: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return next states, rewards, and which rows have ended."""
        raise NotImplementedError

    def draws(self, n: int, rng: Any) -> np.ndarray:
        """Draw the chance of one step of n rows; nothing by default."""
        return np.zeros((n, 0))

    def check_action(self, action: Any) -> np.ndarray:
        """Return an action as a row; whole numbers from 0 by default."""
        value = np.asarray(action)
        if (
            value.size != 1
            or value.dtype.kind not in "biuf"
            or value.ravel()[0] not in range(self.n_actions)
        ):
            raise ValueError(f"An action must be one of 0..{self.n_actions - 1}; got {action!r}.")
        return value.reshape(1).astype(np.int64)

    # -- gymnasium's interface -----------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        """Start an episode; return its first state and an empty dict."""
        if seed is not None:
            self._rng = check_random_state(seed)
        self.state, self.n_steps = self.starts(1, self._rng)[0], 0
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Take an action; return state, reward, terminated, truncated and an empty dict."""
        if self.state is None:
            raise ValueError("Call reset before step: no episode has begun.")
        rows = self.check_action(action)
        draws = self.draws(1, self._rng)
        states, rewards, ended = self.transition(self.state[None], rows, draws, self.n_steps)
        self.state = states[0]
        self.n_steps += 1
        done = bool(ended[0])
        return self.state.copy(), float(rewards[0]), done, self.n_steps >= self.horizon, {}

    # -- many policies at once -----------------------------------------------------------------

    def roll_outs(
        self,
        policy: Any,
        thetas: Any,
        n_episodes: int = 1,
        *,
        random_state: Any = None,
        **options: Any,
    ) -> RollOuts:
        """Roll out every row of thetas so many times, all in lock step.

        Row i * n_episodes + e of what comes back is episode e of policy i.
        """
        thetas = np.repeat(np.atleast_2d(np.asarray(thetas, dtype=float)), n_episodes, axis=0)
        rng = check_random_state(random_state)
        clock = [0]

        def act(rows: np.ndarray, states: np.ndarray, t: int) -> np.ndarray:
            clock[0] = t
            return policy.choose(thetas[rows], states, policy.noise(rng, (len(rows),)))

        def step(states: np.ndarray, actions: np.ndarray) -> tuple:
            return self.transition(states, actions, self.draws(len(states), rng), clock[0])

        return roll_out(step, act, self.starts(len(thetas), rng), self.horizon, **options)

    def episodes(
        self, policy: Any, thetas: Any, n_episodes: int = 1, *, random_state: Any = None
    ) -> list[list[Episode]]:
        """Return a list of recorded episodes for every row of thetas."""
        found = self.roll_outs(policy, thetas, n_episodes, random_state=random_state, record=True)
        assert found.states is not None
        assert found.actions is not None
        assert found.rewards is not None
        flat = [
            Episode(found.states[i, : n + 1], found.actions[i, :n], found.rewards[i, :n])
            for i, n in enumerate(found.lengths)
        ]
        return [flat[i : i + n_episodes] for i in range(0, len(flat), n_episodes)]
