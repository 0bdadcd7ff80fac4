"""What all strategies for prediction with expert advice share: rounds, games, state.

A strategy is told the losses of all experts after each round and answers with weights for the
next. `ExpertStrategy` checks the input, keeps the state of the game and hands the arithmetic
to `octavo.engine.games.experts`; a strategy itself is little more than a `GameRule`.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.games.experts import (
    JUMP,
    ROUNDS,
    Game,
    GameRule,
    Played,
    copy_game,
    new_game,
    next_weights,
    play,
    play_many,
)
from octavo.engine.games.trace import Bounds, GameTrace, no_bounds

_JUMP_WARNED = 1e6


def checked_losses(losses: ArrayLike, *, ndim: tuple[int, ...], drop: bool) -> NDArray[np.float64]:
    """Return losses as an array of doubles, or say what is wrong with them."""
    array = np.asarray(losses)
    if array.dtype.kind not in "buif":
        raise ValueError(f"losses must be real numbers, got an array of dtype {array.dtype}.")
    array = np.asarray(array, dtype=np.float64)
    if array.ndim not in ndim:
        named = {
            1: "(n_experts,)",
            2: "(n_rounds, n_experts)",
            3: "(n_games, n_rounds, n_experts)",
        }
        wanted = " or ".join(named[n] for n in ndim)
        raise ValueError(f"losses must have shape {wanted}, got {array.shape}.")
    if array.size == 0:
        raise ValueError(f"losses are empty: their shape is {array.shape}.")
    finite = np.isfinite(array)
    if not finite.all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        value = array[place]
        if np.isnan(array).any():
            place = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
            raise ValueError(f"losses contain NaN, the first at index {place}.")
        if not drop:
            raise ValueError(
                f"losses must be finite, got {value} at index {place}; with drop_infinite=True "
                "an expert with a loss of +inf is dropped."
            )
        if (array == -math.inf).any():
            raise ValueError("losses must not be -inf, even with drop_infinite=True.")
    return array


class ExpertStrategy(SoundEstimator, ABC):
    """Base of the strategies; see `AdaHedge` for their common interface.

    Parameters
    ----------
    drop_infinite : bool, default=False
        Whether an expert with an infinite loss leaves the game for good.
    gains : bool, default=False
        Whether gains are given in place of losses.

    Attributes
    ----------
    n_experts_, n_rounds_ : int
        Size of the game so far.
    """

    _parameter_constraints: dict[str, Any] = {
        "gains": ["boolean"],
        "drop_infinite": ["boolean"],
    }

    def __init__(self, *, gains: bool = False, drop_infinite: bool = False) -> None:
        self.gains = gains
        self.drop_infinite = drop_infinite

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    # --- what a strategy adds -----------------------------------------------------------------

    @abstractmethod
    def _rule(self, n_experts: int) -> GameRule:
        """Return the rule of the strategy for so many experts."""

    def _start(self, n_experts: int) -> Game:
        """Return the state before the first round."""
        return new_game(self._rule(n_experts), n_experts)

    def _scales(self, first: int, n_rounds: int) -> NDArray[np.float64] | None:
        """Return the schedule for some rounds, counted from zero, where there is one."""
        return None

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        """Return the function from traces to their bounds; it must not refer to this object."""
        return no_bounds

    def _trace(self, played: Played) -> GameTrace:
        return GameTrace(self._rule(played.losses.shape[-1]), played, self._bounds())

    # --- state --------------------------------------------------------------------------------

    def reset(self, n_experts: int | None = None) -> Self:
        """Forget the game and begin a new one.

        Parameters
        ----------
        n_experts : int, optional
            Number of experts of the new game. Without it the first round tells.

        Returns
        -------
        self : object
            The strategy.
        """
        self._validate_params()
        self._forget()
        if n_experts is not None:
            if n_experts < 1:
                raise ValueError(f"n_experts must be at least 1, got {n_experts}.")
            self._begin(int(n_experts))
        return self

    def _forget(self) -> None:
        for name in ("_game", "_warned"):
            if hasattr(self, name):
                delattr(self, name)

    def _begin(self, n_experts: int) -> None:
        self._game = self._start(n_experts)
        self._warned = False

    def _require_game(self, method: str) -> Game:
        if not hasattr(self, "_game"):
            raise NotFittedError(
                f"This {type(self).__name__} has not played yet: call run, update or "
                f"reset(n_experts) before {method}."
            )
        return self._game

    @property
    def n_experts_(self) -> int:
        """Number of experts in the game."""
        return self._require_game("n_experts_").excess.shape[0]

    @property
    def n_rounds_(self) -> int:
        """Number of rounds played."""
        return int(self._require_game("n_rounds_").memory[ROUNDS])

    def get_state(self) -> dict[str, Any]:
        """Return the state of the game, to be kept or moved elsewhere.

        Returns
        -------
        state : dict
            Arrays and numbers that `set_state` of an equal strategy takes.
        """
        game = copy_game(self._require_game("get_state"))
        return {**game._asdict(), **self._extra_state()}

    def _extra_state(self) -> dict[str, Any]:
        """Return what the strategy remembers beside the game."""
        return {"warned": self._warned}

    def _restore(self, state: dict[str, Any]) -> None:
        self._warned = bool(state["warned"])

    def set_state(self, state: dict[str, Any]) -> Self:
        """Go on from a state that `get_state` returned.

        Parameters
        ----------
        state : dict
            From a strategy with the same parameters.

        Returns
        -------
        self : object
            The strategy.
        """
        self._validate_params()
        missing = {*Game._fields, "warned"} - set(state)
        if missing:
            raise ValueError(f"The state lacks {sorted(missing)}; it must come from get_state.")
        game = copy_game(Game(*(np.asarray(state[name], dtype=float) for name in Game._fields)))
        fresh = self._start(game.excess.shape[0])
        if [a.shape for a in fresh] != [a.shape for a in game]:
            raise ValueError(f"The state is not one of a {type(self).__name__}.")
        self._game = game
        self._restore(state)
        return self

    # --- playing ------------------------------------------------------------------------------

    def _checked_awake(self, awake: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        mask = np.asarray(awake)
        if mask.dtype != bool or mask.shape != shape:
            raise ValueError(
                f"awake must be a boolean array of shape {shape}, got shape {mask.shape} of "
                f"dtype {mask.dtype}."
            )
        return np.require(mask, requirements=["C", "W"])

    def _check_somebody_plays(
        self, losses: NDArray[np.float64], awake: NDArray[np.bool_] | None, dropped: Any
    ) -> None:
        """Refuse rounds in which every expert sleeps or is dropped."""
        if awake is None and not self.drop_infinite:
            return
        out = np.broadcast_to(dropped, losses.shape)
        if self.drop_infinite:
            out = out | np.logical_or.accumulate(np.isinf(losses), axis=0)
        if awake is not None:
            out = out | ~awake
        idle = out.all(axis=1)
        if idle.any():
            raise ValueError(
                f"No expert is awake and in the game in round {int(np.argmax(idle))} of those "
                "given."
            )

    def _noise(self, n_rounds: int, n_experts: int) -> NDArray[np.float64] | None:
        """Return perturbations where the strategy plays at random."""
        return None

    def _advance(
        self,
        losses: NDArray[np.float64],
        awake: NDArray[np.bool_] | None,
        *,
        keep_weights: bool = True,
    ) -> Played:
        """Play checked rounds from the present state."""
        game = self._game
        first = int(game.memory[ROUNDS])
        played = play(
            self._rule(losses.shape[1]),
            game,
            losses,
            awake=awake,
            scales=self._scales(first, losses.shape[0]),
            noise=self._noise(*losses.shape),
            keep_weights=keep_weights,
        )
        if game.memory[JUMP] > _JUMP_WARNED and not self._warned:
            self._warned = True
            warnings.warn(
                f"One round raised the largest range of the losses {game.memory[JUMP]:.3g}-fold; "
                "every bound on the regret is proportional to that range.",
                UserWarning,
                stacklevel=3,
            )
        return played

    def update(self, losses: ArrayLike, awake: ArrayLike | None = None) -> float:
        """Learn the losses of one round and return the learner's own.

        Parameters
        ----------
        losses : array-like of shape (n_experts,)
            Loss of each expert (gain, with ``gains=True``); any finite real numbers.
        awake : array-like of bool of shape (n_experts,), optional
            Who took part. The weights are shared by those, and the others are charged the
            learner's own loss. This is not in the paper, and its bounds then hold for the
            losses so completed.

        Returns
        -------
        loss : float
            The learner's loss (gain) of the round.
        """
        rows = checked_losses(losses, ndim=(1,), drop=self.drop_infinite)[None, :]
        mask = None if awake is None else self._checked_awake(awake, rows.shape[1:])[None, :]
        return self._sign * float(self._play_on(rows, mask).record[0, 0])

    @property
    def _sign(self) -> float:
        return -1.0 if self.gains else 1.0

    def _play_on(self, rows: NDArray[np.float64], awake: NDArray[np.bool_] | None) -> Played:
        """Check rounds against the game so far, which may not have begun, and play them."""
        n_experts = rows.shape[1]
        begun = hasattr(self, "_game")
        if begun and n_experts != self.n_experts_:
            raise ValueError(f"The game has {self.n_experts_} experts, got losses of {n_experts}.")
        if not begun:
            self._validate_params()
        if self.gains:
            rows = -rows  # a gain is a negative loss
        self._check_rule(rows)
        self._check_somebody_plays(rows, awake, np.isinf(self._game.excess) if begun else False)
        if not begun:
            self._begin(n_experts)
        return self._advance(rows, awake)

    def _check_rule(self, losses: NDArray[np.float64]) -> None:
        """Refuse losses that this strategy cannot take, before any state changes."""

    def run(
        self, losses: ArrayLike, awake: ArrayLike | None = None, *, keep_weights: bool = True
    ) -> GameTrace:
        """Play a whole game from its beginning.

        The state is then that after the last round, so that `update` can play on.

        Parameters
        ----------
        losses : array-like of shape (n_rounds, n_experts) or (n_games, n_rounds, n_experts)
            Losses (gains, with ``gains=True``). Many games are played each from its
            beginning; the strategy itself is left before the first round.
        awake : array-like of bool of shape (n_rounds, n_experts), optional
            Who took part in which round; see `update`. Only for a single game.
        keep_weights : bool, default=True
            Whether the trace holds the weights of every round.

        Returns
        -------
        trace : GameTrace
            What happened in every round.
        """
        self._validate_params()
        array = checked_losses(losses, ndim=(2, 3), drop=self.drop_infinite)
        mask = None if awake is None else self._checked_awake(awake, array.shape)
        if self.gains:
            array = -array
        if array.ndim == 3:
            return self._run_many(array, mask, keep_weights)
        self._check_rule(array)
        self._check_somebody_plays(array, mask, False)
        self._tune(array)
        self._start(array.shape[1])  # raises, if it must, while the old game is still there
        self._forget()
        self._begin(array.shape[1])
        return self._trace(self._advance(array, mask, keep_weights=keep_weights))

    def _tune(self, losses: NDArray[np.float64]) -> None:
        """Set what must be known in hindsight."""

    def _run_many(
        self, losses: NDArray[np.float64], awake: NDArray[np.bool_] | None, keep_weights: bool
    ) -> GameTrace:
        if awake is not None or self.drop_infinite:
            raise ValueError("awake and drop_infinite are for a single game, got many.")
        self._check_rule(losses)
        self._tune(losses)
        self._start(losses.shape[2])
        self._forget()
        self._begin(losses.shape[2])
        scales = self._scales(0, losses.shape[1])
        rule = self._rule(losses.shape[2])
        played = play_many(rule, self._game, losses, scales=scales, keep_weights=keep_weights)
        return self._trace(played)

    # --- asking -------------------------------------------------------------------------------

    def weights(self, awake: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the weights of the coming round.

        Parameters
        ----------
        awake : array-like of bool of shape (n_experts,), optional
            Who will take part; everybody by default.

        Returns
        -------
        weights : ndarray of shape (n_experts,)
            Non-negative, adding to one.
        """
        game = self._require_game("weights")
        n_experts = game.excess.shape[0]
        mask = None if awake is None else self._checked_awake(awake, (n_experts,))
        if mask is not None and not (mask & np.isfinite(game.excess)).any():
            raise ValueError("No expert is awake and in the game.")
        scales = self._scales(int(game.memory[ROUNDS]), 1)
        scale = 0.0 if scales is None else float(scales[0])
        return next_weights(self._rule(n_experts), game, awake=mask, scale=scale)

    def predict(self, advice: ArrayLike) -> NDArray[np.float64] | float:
        """Return the weighted mean of what the experts say.

        Parameters
        ----------
        advice : array-like of shape (..., n_experts)
            What each expert predicts for the coming round.

        Returns
        -------
        prediction : float or ndarray of shape (...)
            The learner's prediction.
        """
        weights = self.weights()
        said = np.asarray(advice, dtype=float)
        if said.ndim == 0 or said.shape[-1] != weights.size:
            raise ValueError(
                f"advice must have {weights.size} entries along its last axis, got shape "
                f"{said.shape}."
            )
        return said @ weights
