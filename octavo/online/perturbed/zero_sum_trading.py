"""Two opposite ways of trading one asset, and a learner who divides capital between them.

The first expert holds 2C (S_t - S_0) of the asset, which pays when a price trends; the second
holds the opposite, which pays when it keeps returning. Their gains are unbounded, so that the
learner is a natural use of `PROT`.

Reference: V. V. V'yugin (2011), "Online Learning in Case of Unbounded Losses Using Follow the
Perturbed Leader Algorithm", Journal of Machine Learning Research 12, Section 5.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.games.trace import GameTrace
from octavo.online.experts.strategy import ExpertStrategy
from octavo.online.perturbed.leaders import PROT

__all__ = ["TradingRun", "ZeroSumGame", "trade_zero_sum", "zero_sum_experts"]


class ZeroSumGame(NamedTuple):
    """Gains and positions of the two experts, and the volatilities that decide between them.

    Both arrays have shape (n_prices - 1, 2). `macro_volatility` is (S_T - S_0)² and
    `micro_volatility` Σ (ΔS)²: the first expert gains C times their difference in all.
    """

    gains: Floats
    positions: Floats
    macro_volatility: float
    micro_volatility: float


class TradingRun(NamedTuple):
    """A learner's trading: the trace of its game and, step by step, positions, gains and costs."""

    trace: GameTrace
    position: Floats
    gain: Floats
    cost: Floats

    @property
    def net(self) -> Floats:
        """Cumulative gain after costs."""
        return np.cumsum(self.gain - self.cost)


def checked_prices(prices: ArrayLike) -> Floats:
    """Return prices as a vector of at least two finite numbers."""
    path = np.asarray(prices)
    if path.ndim != 1 or path.size < 2 or path.dtype.kind not in "buif":
        raise ValueError(
            "prices must be a vector of at least two numbers, got shape "
            f"{path.shape} of dtype {path.dtype}."
        )
    path = path.astype(float)
    if not np.isfinite(path).all():
        raise ValueError(f"prices must be finite, got {path[~np.isfinite(path)][0]}.")
    return path


@checked
def zero_sum_experts(prices: ArrayLike, C: float = 1.0) -> ZeroSumGame:
    """Return the gains of the two opposite experts on a path of prices (Eq. 46-47).

    Parameters
    ----------
    prices : array-like of shape (n_prices,)
        Prices S_0, S_1, ..., S_T.
    C : float, default=1.0
        Size of the positions.

    Returns
    -------
    game : ZeroSumGame
        Gains ±2C (S_t - S_0)(S_{t+1} - S_t), positions and volatilities.

    Examples
    --------
    >>> from octavo.online import zero_sum_experts
    >>> game = zero_sum_experts([10.0, 11.0, 13.0])
    >>> game.gains[:, 0], game.macro_volatility - game.micro_volatility
    (array([0., 4.]), 4.0)
    """
    path = checked_prices(prices)
    if not 0 < C < math.inf:
        raise ValueError(f"C must be positive and finite, got {C}.")
    steps = np.diff(path)
    first = 2.0 * C * (path[:-1] - path[0])  # Eq. (46)
    positions = np.stack([first, -first], axis=1)  # Eq. (47)
    macro = float((path[-1] - path[0]) ** 2)
    # The two sums of Eq. (45)
    return ZeroSumGame(positions * steps[:, None], positions, macro, float(np.sum(steps**2)))


@checked
def trade_zero_sum(
    prices: ArrayLike,
    strategy: ExpertStrategy | None = None,
    C: float = 1.0,
    cost: float = 0.0,
) -> TradingRun:
    """Let a strategy divide capital between the two opposite experts.

    Parameters
    ----------
    prices : array-like of shape (n_prices,)
        Prices S_0, S_1, ..., S_T.
    strategy : ExpertStrategy, optional
        How the weights follow the gains; `PROT` with its defaults if none is given. A copy
        plays.
    C : float, default=1.0
        Size of the positions.
    cost : float, default=0.0
        Transaction cost as a fraction of the value traded. The position is closed at the end.

    Returns
    -------
    run : TradingRun
        GameTrace, positions, gains and costs, with an entry a step.

    Examples
    --------
    >>> from octavo.data import fbm
    >>> from octavo.online import PROT, trade_zero_sum
    >>> run = trade_zero_sum(100 + 10 * fbm(400, 0.8, random_state=0), PROT(a=20.0))
    >>> bool(run.net[-1] > 0)
    True
    """
    path = checked_prices(prices)
    if not 0 <= cost < 1:
        raise ValueError(f"cost must lie in [0, 1), got {cost}.")
    game = zero_sum_experts(path, C)
    player = clone(PROT() if strategy is None else strategy)
    trace = player.run(player._sign * -game.gains)  # losses are the gains, negated
    position = (trace.weights_ * game.positions).sum(axis=1)
    traded = np.abs(np.diff(position, prepend=0.0)) * np.abs(path[:-1])
    traded[-1] += abs(position[-1] * path[-1])
    return TradingRun(trace, position, position * np.diff(path), cost * traded)
