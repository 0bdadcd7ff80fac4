"""Checks of environments that speak gymnasium's interface."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def check_env(env: Any) -> None:
    """Refuse what has no ``reset`` or ``step``."""
    for name in ("reset", "step"):
        if not callable(getattr(env, name, None)):
            raise ValueError(
                f"An environment must have reset and step, as gymnasium's; {type(env).__name__} "
                f"has no {name}."
            )


def check_episode_count(n_episodes: Any) -> int:
    """Return the number of episodes."""
    if not isinstance(n_episodes, Integral) or isinstance(n_episodes, bool) or n_episodes < 1:
        raise ValueError(f"n_episodes must be a whole number of at least 1; got {n_episodes!r}.")
    return int(n_episodes)


def count_actions(env: Any) -> int:
    """Return the number of finite actions of an environment."""
    space = getattr(env, "action_space", None)
    n = getattr(space, "n", None) if space is not None else getattr(env, "n_actions", None)
    if n is None or np.ndim(n) or int(n) < 2:
        raise ValueError(
            f"Finite actions are needed, at least two; {type(env).__name__} says it has {n!r}."
        )
    return int(n)


def first_state(env: Any, rng: Any) -> np.ndarray:
    """Start an episode and return its first state as a vector."""
    return np.atleast_1d(env.reset(seed=int(rng.randint(2**31 - 1)))[0]).astype(float)
