"""Roll-outs of many policies in lock step: one array operation for a step of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats

Act = Callable[[np.ndarray, Floats, int], np.ndarray]
Step = Callable[[Floats, np.ndarray], tuple[Floats, Floats, np.ndarray]]


class RollOuts(NamedTuple):
    """What roll-outs came to: sums of rewards, numbers of steps, last states; a row each.

    `states` (n_rows, n_steps + 1, n_variables), `actions` and `rewards` hold every step, with
    zeros after the end of a row, where they were asked for; otherwise None.
    """

    totals: Floats
    lengths: np.ndarray
    last: Floats
    states: Floats | None = None
    actions: np.ndarray | None = None
    rewards: Floats | None = None


def roll_out(
    step: Step, act: Act, starts: Floats, horizon: int, *, gamma: float = 1.0, record: bool = False
) -> RollOuts:
    """Roll rows out from their starts until each has ended or the horizon is reached.

    Parameters
    ----------
    step : callable
        ``step(states, actions)`` returns next states, rewards and which rows have ended.
    act : callable
        ``act(rows, states, t)`` returns actions of the rows that are still under way, by number.
    starts : ndarray of shape (n_rows, n_variables)
        First states.
    horizon : int
        Most steps.
    gamma : float, default=1.0
        Discount factor.
    record : bool, default=False
        Whether to keep every step.

    Returns
    -------
    RollOuts
        Sums and lengths, and the steps where asked for.
    """
    n, d = starts.shape
    states = np.array(starts, dtype=float)
    totals, lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
    rows = np.arange(n)
    kept = np.zeros((n, horizon + 1, d)) if record else None
    done: np.ndarray | None = None
    taken: np.ndarray | None = None
    if kept is not None:
        kept[:, 0], taken = states, np.zeros((n, horizon))
    for t in range(horizon):
        actions = np.asarray(act(rows, states[rows], t))
        following, rewards, ended = step(states[rows], actions)
        states[rows] = following
        totals[rows] += gamma**t * rewards  # Σ γ^t r_t
        lengths[rows] += 1
        if kept is not None and taken is not None:
            if done is None:
                done = np.zeros((n, horizon, *actions.shape[1:]), dtype=actions.dtype)
            kept[rows, t + 1], done[rows, t], taken[rows, t] = following, actions, rewards
        rows = rows[~ended]  # rows that have ended are not stepped again
        if not rows.size:
            break
    return RollOuts(totals, lengths, states, kept, done, taken)
