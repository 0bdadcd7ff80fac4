"""What a strategy did in a game of prediction with expert advice, round by round.

The names follow Table 1 of S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014),
"Follow the Leader If You Can, Hedge If You Must", Journal of Machine Learning Research 15: a
round's quantities, and their running totals after each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.games.experts import HEDGE, GameRule, Played, new_game, play, play_many

Bounds = dict[str, NDArray[np.float64]]


def no_bounds(trace: GameTrace) -> Bounds:
    return {}


@dataclass(frozen=True, eq=False, repr=False)
class GameTrace:
    """Weights, losses, mixability gaps, learning rates and regret of one game, or of many.

    Every attribute has an entry a round along its last axis (the last but one where there is
    also an entry an expert). If many games were played, they are along the first axis.

    Parameters
    ----------
    rule : GameRule
        The strategy that played.
    played : Played
        Its record, from `octavo.engine.games.experts`.
    bound_functions : callable
        Maps the trace to its regret bounds by name.
    start_volume : float, default=0.0
        Volume of the game before the first round.
    gamma_ : ndarray of shape (n_rounds,), optional
        The bound on the scaled fluctuation that a perturbed leader assumed.
    prior_ : ndarray of shape (n_experts,), optional
        Weights of the first round, where they were not equal.

    Attributes
    ----------
    losses_ : ndarray of shape (n_rounds, n_experts)
        The experts' losses: the matrix that was played, not a copy of it. An expert that slept
        is charged the learner's loss there; one that was dropped, an infinite one.
    weights_ : ndarray of shape (n_rounds, n_experts)
        Weights played; empty unless they were kept.
    loss_, mixloss_, gap_ : ndarray of shape (n_rounds,)
        The learner's loss h, the mix loss m and the mixability gap δ = h - m. The last two are
        NaN for strategies that are not exponential weights.
    eta_ : ndarray of shape (n_rounds,)
        Learning rate, infinite where the leader was followed; of a perturbed leader, one over
        the scale of the perturbation.
    regime_ : ndarray of shape (n_rounds,)
        FlipFlop: 0 in "flip" rounds, 1 in "flop" rounds; AdaHedge by doubling: the block.
    variance_, range_ : ndarray of shape (n_rounds,)
        Variance v of the losses under the weights, and range s of the losses.
    regret_ : ndarray of shape (n_rounds,)
        Cumulative loss less that of the best expert so far.
    gamma_, prior_ : ndarray or None
        As given.

    Examples
    --------
    >>> from octavo.online import AdaHedge
    >>> trace = AdaHedge().run([[0, 1], [0, 1], [1, 0], [0, 1]])
    >>> trace.regret_.round(3)
    array([0.5  , 0.7  , 0.615, 0.87 ])
    """

    rule: GameRule
    played: Played
    bound_functions: Callable[[GameTrace], Bounds] = no_bounds
    start_volume: float = 0.0
    gamma_: Floats | None = None
    prior_: Floats | None = None

    def __repr__(self) -> str:
        shape = " x ".join(str(n) for n in self.losses_.shape)
        final = np.atleast_1d(self.regret_[..., -1]) if self.n_rounds else np.zeros(1)
        return f"GameTrace({shape} losses, regret {np.mean(final):.6g})"

    # --- a round's quantities -----------------------------------------------------------------

    @property
    def losses_(self) -> Floats:
        """Losses of the experts."""
        return self.played.losses

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return self.played.record.shape[-2]

    @property
    def weights_(self) -> Floats:
        """Weights played."""
        return self.played.weights

    @property
    def loss_(self) -> Floats:
        """The learner's losses h."""
        return self.played.record[..., 0]

    @property
    def mixloss_(self) -> Floats:
        """Mix losses m."""
        return self.played.record[..., 1]

    @property
    def gap_(self) -> Floats:
        """Mixability gaps δ = h - m."""
        return self.played.record[..., 2]

    @property
    def eta_(self) -> Floats:
        """Learning rates η."""
        return self.played.record[..., 3]

    @property
    def variance_(self) -> Floats:
        """Variances v of the losses under the weights."""
        return self.played.record[..., 4]

    @property
    def range_(self) -> Floats:
        """Ranges s of the losses."""
        return self.played.record[..., 6]

    @property
    def regret_(self) -> Floats:
        """Regret R after each round."""
        return self.played.record[..., 7]

    @property
    def regime_(self) -> NDArray[np.int8]:
        """Regime of each round."""
        return self.played.flags[..., 0]

    @property
    def switches_(self) -> NDArray[np.int64]:
        """Rounds, counted from one, after which the regime changed (one game only)."""
        return np.flatnonzero(np.diff(self.regime_)) + 1

    # --- totals after each round --------------------------------------------------------------

    @cached_property
    def cumulative_losses_(self) -> Floats:
        """Cumulative losses L of the experts."""
        return np.cumsum(self.losses_, axis=-2)

    @cached_property
    def cumulative_loss_(self) -> Floats:
        """The learner's cumulative loss H."""
        return np.cumsum(self.loss_, axis=-1)

    @cached_property
    def cumulative_mixloss_(self) -> Floats:
        """Cumulative mix loss M."""
        return np.cumsum(self.mixloss_, axis=-1)

    @cached_property
    def cumulative_gap_(self) -> Floats:
        """Cumulative mixability gap Δ."""
        return np.cumsum(self.gap_, axis=-1)

    @cached_property
    def cumulative_variance_(self) -> Floats:
        """Cumulative variance V."""
        return np.cumsum(self.variance_, axis=-1)

    @cached_property
    def largest_range_(self) -> Floats:
        """Largest range S so far."""
        return np.maximum.accumulate(self.range_, axis=-1)

    @cached_property
    def lowest_loss_(self) -> Floats:
        """Sum L⁻ of each round's smallest loss."""
        return np.cumsum(self.played.record[..., 5], axis=-1)

    @cached_property
    def highest_loss_(self) -> Floats:
        """Sum L⁺ of each round's largest loss."""
        return self.lowest_loss_ + np.cumsum(self.range_, axis=-1)

    @cached_property
    def best_loss_(self) -> Floats:
        """Cumulative loss L* of the best expert so far."""
        # R = H - L*: the regret is the more exact of the two
        return self.cumulative_loss_ - self.regret_

    @cached_property
    def leader_changes_(self) -> NDArray[np.int64]:
        """Rounds so far in which some leader fell behind (Lemma 10)."""
        return np.cumsum(self.played.flags[..., 1], axis=-1, dtype=np.int64)

    # --- volume (V'yugin 2011) ----------------------------------------------------------------

    @cached_property
    def sizes_(self) -> Floats:
        """Largest absolute loss Δv of each round."""
        low = self.played.record[..., 5]
        # Δv_t of V'yugin, Section 2, the absolute value that Figure 2 omits
        return np.maximum(np.abs(low), np.abs(low + self.range_))

    @cached_property
    def volume_(self) -> Floats:
        """Volume v of the game: the sum of the rounds' largest absolute losses."""
        return self.start_volume + np.cumsum(self.sizes_, axis=-1)

    @cached_property
    def fluctuation_(self) -> Floats:
        """Scaled fluctuation Δv / v, zero where both are."""
        return np.divide(
            self.sizes_, self.volume_, out=np.zeros_like(self.sizes_), where=self.volume_ > 0
        )

    @property
    def normalized_regret_(self) -> Floats:
        """Regret over volume, zero where both are."""
        return np.divide(
            self.regret_, self.volume_, out=np.zeros_like(self.regret_), where=self.volume_ > 0
        )

    @property
    def gamma_ok_(self) -> bool:
        """Whether the fluctuation never exceeded the γ that a perturbed leader assumed."""
        return self.gamma_ is None or bool((self.fluctuation_ <= self.gamma_).all())

    # --- bounds -------------------------------------------------------------------------------

    @cached_property
    def leader_regret_(self) -> Floats:
        """Regret that Follow-the-Leader has on the same losses."""
        n_experts = self.losses_.shape[-1]
        rule = GameRule(HEDGE, math.log(n_experts), drop=self.rule.drop)
        runner = play_many if self.losses_.ndim == 3 else play
        return runner(rule, new_game(rule, n_experts), self.losses_, keep_weights=False).record[
            ..., 7
        ]

    def bounds(self) -> Bounds:
        """Return every bound on the regret that is proven for the strategy.

        Returns
        -------
        bounds : dict of str to ndarray
            By name, the bound after each round, of the shape of `regret_`. Where the
            assumptions of a bound do not hold, it is infinite.
        """
        return self.bound_functions(self)
