"""Follow the perturbed leader: expert advice when losses are unbounded and of any sign.

The expert with the smallest cumulative loss after a random bonus is followed. `PROT` lets the
bonus grow with the volume of the game, the sum of the rounds' largest absolute losses, so that
its regret vanishes beside that volume even when the losses grow without bound. The
probabilities of being followed have a closed form, and are used as weights by default.

Reference: V. V. V'yugin (2011), "Online Learning in Case of Unbounded Losses Using Follow the
Perturbed Leader Algorithm", Journal of Machine Learning Research 12. Implemented: Figures 1 to
3, Proposition 1, the bounds of Theorem 2, Lemmas 3 and 4 and Corollary 8; the diagnostics and
functions γ are in `octavo.online.perturbed.game_volume`, the trading of Section 5 in
`octavo.online.perturbed.zero_sum_trading`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.games.experts import (
    PERTURBED,
    ROUNDS,
    VOLUME,
    Game,
    GameRule,
    Played,
    leader_probabilities,
    new_game,
)
from octavo.engine.games.trace import Bounds, GameTrace
from octavo.online.experts.strategy import ExpertStrategy, checked_losses
from octavo.online.perturbed.game_volume import gamma_values

__all__ = [
    "PROT",
    "AdversaryGame",
    "FollowPerturbedLeader",
    "PROTConstants",
    "adversary_prop1",
    "fpl_probabilities",
    "ifpl_losses",
    "polynomial_bound",
    "prot_bound",
    "prot_constants",
]

_POSITIVE = Interval(Real, 0, None, closed="neither")


@checked
def fpl_probabilities(cum_losses: ArrayLike, eps: ArrayLike) -> Floats:
    """Return the probability that each expert leads after exponential perturbation.

    P(i) = P(i minimises L_i - ξ_i / ε) = q_i ∫₀¹ Π_{j≠i} (1 - q_j z) dz, with independent
    ξ ~ Exp(1) and q_i = e^(-ε (L_i - min L)).

    Parameters
    ----------
    cum_losses : array-like of shape (n_experts,) or (n_rows, n_experts)
        Cumulative losses L.
    eps : float or array-like of shape (n_rows,)
        ε > 0, one over the scale of the perturbation; with infinity the leaders share.

    Returns
    -------
    probabilities : ndarray of the shape of cum_losses
        They add to one.

    Examples
    --------
    >>> from octavo.online import fpl_probabilities
    >>> fpl_probabilities([0.0, 1.0, 3.0], 0.5).round(4)
    array([0.6303, 0.2807, 0.089 ])
    """
    totals = np.asarray(cum_losses)
    if totals.ndim not in (1, 2) or totals.size == 0 or totals.dtype.kind not in "buif":
        raise ValueError(
            "cum_losses must be numbers of shape (n_experts,) or (n_rows, n_experts), got shape "
            f"{totals.shape} of dtype {totals.dtype!s}."
        )
    if not np.isfinite(totals).all():
        raise ValueError("cum_losses must be finite.")
    rows = np.atleast_2d(np.asarray(totals, dtype=float))
    rates = np.broadcast_to(np.asarray(eps, dtype=float), rows.shape[:1])
    if not (rates > 0).all():
        raise ValueError(f"eps must be positive, got {eps!r}.")
    return leader_probabilities(rows, rates).reshape(totals.shape)


class PROTConstants(NamedTuple):
    """The constants of `PROT`: K of its learning rate and bound, A below which γ must stay."""

    K: float
    A: float


@checked
def prot_constants(n_experts: int, a: float = 10.0, signed: bool = True) -> PROTConstants:
    """Return the constants K and A of `PROT` (Eq. 6).

    Parameters
    ----------
    n_experts : int
        Number N of experts.
    a : float, default=10.0
        The parameter a > 0. K falls towards 8 (2 for losses that are never negative) as a
        grows, but so does A.
    signed : bool, default=True
        Whether losses may be negative.

    Returns
    -------
    constants : PROTConstants
        K = 2a (e^(4/a) - 1), or a (e^(2/a) - 1); A = K / (a² (1 + ln N)).

    Examples
    --------
    >>> from octavo.online import prot_constants
    >>> [round(value, 3) for value in prot_constants(2, a=10)]
    [9.836, 0.058]
    """
    if n_experts < 1 or not 0 < a < math.inf:
        raise ValueError(f"Needs n_experts >= 1 and a > 0, got {n_experts} and {a}.")
    # Under the root of Eq. (37)
    k = 2.0 * a * math.expm1(4.0 / a) if signed else a * math.expm1(2.0 / a)
    # A of Section 3, above Eq. (7)
    return PROTConstants(k, k / (a * a * (1.0 + math.log(n_experts))))


def scale_factors(gamma: Floats, n_experts: int, a: float, signed: bool) -> Floats:
    """Return μ_t = √(K / (1 + ln N)) γ(t)^(1/2), Eq. (6)."""
    k = prot_constants(n_experts, a, signed).K
    return np.sqrt(k / (1.0 + math.log(n_experts)) * gamma)


def bounds_from_volume(
    sizes: Floats, volume: Floats, gamma: Floats, n_experts: int, a: float, signed: bool, v0: float
) -> Bounds:
    """Return the two bounds of `prot_bound` after each round (last axis)."""
    k, limit = prot_constants(n_experts, a, signed)
    cost = 1.0 + math.log(n_experts)
    fluctuation = np.divide(sizes, volume, out=np.zeros_like(sizes), where=volume > 0)
    mu = scale_factors(gamma, n_experts, a, signed)
    start = cost * mu[0] * v0  # what a positive v0 adds to the sum of Lemma 4
    # Eq. (37)
    theorem = 2.0 * np.sqrt(k * cost) * np.cumsum(np.sqrt(gamma) * sizes, axis=-1) + start
    proven = (fluctuation <= gamma) & (gamma <= limit)  # γ <= A is where Lemma 3 needs α <= 1
    theorem = np.where(np.logical_and.accumulate(proven, axis=-1), theorem, np.inf)
    ratio = (4.0 if signed else 2.0) * fluctuation / mu  # Eq. (26) before γ is put in
    spill = (2.0 if signed else 1.0) * np.expm1(np.minimum(ratio, math.log(2.0)))
    # Lemma 3's proof before α is put in, and Lemma 4's (1 + ln N) Σ μ_t Δv_t.
    lemmas = np.cumsum((cost * mu + spill) * sizes, axis=-1) + start
    return {"theorem 2": theorem, "lemmas 3 and 4": lemmas}


@checked
def prot_bound(
    losses: ArrayLike,
    gamma: Any = "t**-0.5",
    a: float = 10.0,
    signed: bool = True,
    v0: float = 0.0,
) -> Bounds:
    """Return the bounds on the expected regret of `PROT` in a game.

    Parameters
    ----------
    losses : array-like of shape (n_rounds, n_experts)
        Losses of the experts.
    gamma : str, float or callable, default="t**-0.5"
        The bound γ(t) on the scaled fluctuation that PROT is told.
    a : float, default=10.0
        Parameter of PROT.
    signed : bool, default=True
        Whether PROT was told that losses may be negative.
    v0 : float, default=0.0
        Volume before the first round.

    Returns
    -------
    bounds : dict of str to ndarray of shape (n_rounds,)
        "theorem 2" is 2 √(K (1 + ln N)) Σ γ^(1/2) Δv (Eq. 37), infinite where its assumptions
        fluc(t) <= γ(t) <= A have failed. "lemmas 3 and 4" adds (1 + ln N) μ Δv and what
        Eq. (26) gives for the fluctuation that was seen, which holds in every game.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.online import prot_bound
    >>> losses = np.random.default_rng(0).random((1000, 2))
    >>> bound = prot_bound(losses, signed=False)["lemmas 3 and 4"]
    >>> bool(bound[-1] < losses.max(axis=1).sum())
    True
    """
    matrix = checked_losses(losses, ndim=(2,), drop=False)
    values = gamma_values(gamma, 0, len(matrix))
    sizes = np.abs(matrix).max(axis=1)
    volume = v0 + np.cumsum(sizes)
    return bounds_from_volume(sizes, volume, values, matrix.shape[1], a, signed, v0)


def prot_trace_bounds(trace: GameTrace, a: float, signed: bool) -> Bounds:
    """Return the bounds of a trace of `PROT`; in expectation where it was played at random."""
    assert trace.gamma_ is not None
    n_experts = trace.losses_.shape[-1]
    return bounds_from_volume(
        trace.sizes_, trace.volume_, trace.gamma_, n_experts, a, signed, trace.start_volume
    )


@checked
def polynomial_bound(
    n_rounds: int,
    n_experts: int,
    growth: float,
    delta: float,
    a: float = 10.0,
    signed: bool = True,
) -> float:
    """Return the bound on the regret for losses of at most t^growth (Corollary 8).

    The volume must be at least t^(growth + delta), and γ(t) = t^-delta.

    Parameters
    ----------
    n_rounds, n_experts : int
        Size of the game.
    growth : float
        The power α >= 0 of t that bounds the losses.
    delta : float
        The power δ > 0 of γ.
    a : float, default=10.0
        Parameter of `PROT`.
    signed : bool, default=True
        Whether losses may be negative.

    Returns
    -------
    bound : float
        2 √(K (1 + ln N)) T^p / min(p, 1), with p = 1 - δ/2 + α; Eq. (43) lacks the division.

    Examples
    --------
    >>> from octavo.online import polynomial_bound
    >>> round(polynomial_bound(1000, 2, growth=0.1, delta=1.0), 1)
    858.3
    """
    if growth < 0 or delta <= 0 or n_rounds < 1:
        raise ValueError(
            f"Needs growth >= 0, delta > 0 and n_rounds >= 1, got {growth}, {delta}, {n_rounds}."
        )
    power = 1.0 - delta / 2.0 + growth
    if power <= 0:
        raise ValueError(f"Needs 1 - delta/2 + growth > 0, got {power}.")
    k = prot_constants(n_experts, a, signed).K
    factor = 2.0 * math.sqrt(k * (1.0 + math.log(n_experts)))  # Eq. (43)
    # Σ t^(p - 1) is at most T^p / p where p < 1; Eq. (43) forgets the division.
    return factor * n_rounds**power / min(power, 1.0)


@checked
def ifpl_losses(
    losses: ArrayLike,
    gamma: Any = "t**-0.5",
    a: float = 10.0,
    signed: bool = True,
    v0: float = 0.0,
) -> Floats:
    """Return the expected losses of the infeasible leader that sees the coming round.

    It plays as `PROT` does but knows the losses and the volume of the round itself (Figure 3);
    the analysis compares PROT with it.

    Parameters
    ----------
    losses : array-like of shape (n_rounds, n_experts)
        Losses of the experts.
    gamma : str, float or callable, default="t**-0.5"
        The bound γ(t) on the scaled fluctuation.
    a : float, default=10.0
        Parameter of PROT.
    signed : bool, default=True
        Whether losses may be negative.
    v0 : float, default=0.0
        Volume before the first round.

    Returns
    -------
    expected : ndarray of shape (n_rounds,)
        Expected loss r_t of each round.

    Examples
    --------
    >>> from octavo.online import ifpl_losses
    >>> ifpl_losses([[0, 1], [1, 0]], a=4.0).round(3)
    array([0.352, 0.5  ])
    """
    matrix = checked_losses(losses, ndim=(2,), drop=False)
    values = gamma_values(gamma, 0, len(matrix))
    volume = v0 + np.cumsum(np.abs(matrix).max(axis=1))
    width = scale_factors(values, matrix.shape[1], a, signed) * volume  # v_t, not v_t-1: Eq. (12)
    with np.errstate(divide="ignore", over="ignore"):
        rates = 1.0 / width  # Eq. (12)
    return (leader_probabilities(np.cumsum(matrix, axis=0), rates) * matrix).sum(axis=1)


class AdversaryGame(NamedTuple):
    """The game of an adversary against a strategy, and how badly it ended, round by round."""

    losses: Floats
    volume: Floats
    fluctuation: Floats
    normalized_regret: Floats


@checked
def adversary_prop1(strategy: ExpertStrategy, eps: float, T: int) -> AdversaryGame:
    """Play the adversary of Proposition 1, against which no strategy is consistent.

    Of two experts, the one that is trusted at least as much as the other is charged 4/ε times
    the volume so far, which begins at 1.

    Parameters
    ----------
    strategy : ExpertStrategy
        Any strategy; a copy of it plays.
    eps : float
        ε in (0, 1).
    T : int
        Number of rounds; the losses grow by the factor 1 + 4/ε in each.

    Returns
    -------
    game : AdversaryGame
        In every round the normalised regret is at least (1 - ε)/2 and the fluctuation at
        least 1 - ε.

    Examples
    --------
    >>> from octavo.online import AdaHedge, adversary_prop1
    >>> game = adversary_prop1(AdaHedge(), 0.1, 50)
    >>> bool(game.normalized_regret.min() >= 0.45)
    True
    """
    if not 0 < eps < 1:
        raise ValueError(f"eps must lie between 0 and 1, got {eps}.")
    if T < 1 or T * math.log(1.0 + 4.0 / eps) > 700:
        raise ValueError(
            f"T must lie between 1 and {int(700 / math.log(1 + 4 / eps))}, beyond which the "
            f"losses leave the range of doubles; got {T}."
        )
    player = clone(strategy).reset(2)
    losses, volume, own = np.zeros((T, 2)), np.empty(T), np.empty(T)
    before = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the jumps are the point
        for t in range(T):
            weights = player.weights()
            # M_t = 4 v_t-1 / ε, proof of Proposition 1
            losses[t, 0 if weights[0] >= 0.5 else 1] = 4.0 * before / eps
            own[t] = weights @ losses[t]
            player.update(player._sign * losses[t])
            volume[t] = before = before + losses[t].max()
    regret = np.cumsum(own) - np.cumsum(losses, axis=0).min(axis=1)
    return AdversaryGame(losses, volume, losses.max(axis=1) / volume, regret / volume)


class _PerturbedLeader(ExpertStrategy):
    """Common parts of the perturbed leaders: random or expected play."""

    _parameter_constraints: dict[str, Any] = {
        **ExpertStrategy._parameter_constraints,
        "derandomize": ["boolean"],
        "perturbation": [StrOptions({"fresh", "once"})],
        "random_state": ["random_state"],
    }
    derandomize: bool
    perturbation: str
    random_state: Any

    def _forget(self) -> None:
        super()._forget()
        for name in ("_generator", "_pending", "_once"):
            if hasattr(self, name):
                delattr(self, name)

    def _begin(self, n_experts: int) -> None:
        super()._begin(n_experts)
        self._generator = check_random_state(self.random_state)
        self._pending: Floats | None = None
        self._once: Floats | None = None
        if self.perturbation == "once":
            self._once = self._generator.standard_exponential(n_experts)

    def _next_perturbation(self) -> Floats:
        """Return the perturbation of the coming round, drawn once."""
        if self._once is not None:
            return self._once
        if self._pending is None:
            self._pending = self._generator.standard_exponential(self.n_experts_)
        return self._pending

    def _noise(self, n_rounds: int, n_experts: int) -> Floats | None:
        if self.derandomize:
            self._pending = None
            return None
        if self._once is not None:
            return np.tile(self._once, (n_rounds, 1))
        first = [] if self._pending is None else [self._pending[None, :]]
        self._pending = None
        rest = self._generator.standard_exponential((n_rounds - len(first), n_experts))
        return np.concatenate([*first, rest])

    def _run_many(self, losses: Any, awake: Any, keep_weights: bool) -> GameTrace:
        if not self.derandomize:
            raise ValueError("Many games at once need derandomize=True.")
        return super()._run_many(losses, awake, keep_weights)

    def _extra_state(self) -> dict[str, Any]:
        return {
            **super()._extra_state(),
            "generator": self._generator.get_state(),
            "pending": None if self._pending is None else self._pending.copy(),
            "once": None if self._once is None else self._once.copy(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._generator = np.random.RandomState()
        self._generator.set_state(state["generator"])
        self._pending, self._once = state["pending"], state["once"]

    def choose(self, awake: ArrayLike | None = None) -> int:
        """Draw the expert to follow in the coming round.

        Asked again before `update`, it gives the same answer. With ``derandomize=False`` the
        loss that `update` then returns is that of this expert, if the same are awake.

        Parameters
        ----------
        awake : array-like of bool of shape (n_experts,), optional
            Who will take part; everybody by default.

        Returns
        -------
        expert : int
            Place of the expert.
        """
        game = self._require_game("choose")
        score = game.excess.copy()
        if awake is not None:
            score[~self._checked_awake(awake, score.shape)] = math.inf
        if np.isinf(score).all():
            raise ValueError("No expert is awake and in the game.")
        width = float(self._scales(int(game.memory[ROUNDS]), 1)[0])
        if self._rule(score.size).by_volume:
            width *= float(game.memory[VOLUME])
        noise = self._next_perturbation()
        if width > 0.0:
            return int(np.argmin(score - noise * width))  # Figure 2
        return int(np.argmax(np.where(score == score.min(), noise, -math.inf)))

    def _scales(self, first: int, n_rounds: int) -> Floats:
        raise NotImplementedError


def fixed_leader_bounds(trace: GameTrace, epsilon: float | None) -> Bounds:
    """Return the bounds of `FollowPerturbedLeader` for losses in [0, 1].

    For a fixed ε the expected loss is at most e^ε that of the leader who sees the coming round,
    whose loss is at most L* + (H_N - 1)/ε, H_N = 1 + 1/2 + ... + 1/N. For ε_t = √(ln N / 2t)
    the two parts of the regret are each at most √(2 T ln N).
    """
    n_experts = trace.losses_.shape[-1]
    rounds = np.arange(1, trace.n_rounds + 1)
    lowest, highest = trace.played.record[..., 5], trace.played.record[..., 5] + trace.range_
    valid = np.logical_and.accumulate((lowest >= 0) & (highest <= 1 + 1e-15), axis=-1)
    if epsilon is None:
        bound = 2.0 * np.sqrt(2.0 * rounds * math.log(n_experts)) + np.zeros_like(lowest)
        return {"adaptive": np.where(valid, bound, np.inf)}
    spread = float(np.sum(1.0 / np.arange(2, n_experts + 1)))
    grown = math.exp(epsilon)
    # e^ε (L* + (H_N - 1)/ε) - L*
    bound = (grown - 1.0) * trace.best_loss_ + grown * spread / epsilon
    return {"fixed rate": np.where(valid, bound, np.inf)}


class FollowPerturbedLeader(_PerturbedLeader):
    """Follow the expert with the smallest cumulative loss after exponential perturbation.

    Parameters
    ----------
    epsilon : float or "adaptive"
        Learning rate ε: the perturbations are exponential with mean 1/ε. "adaptive" takes
        √(ln N / 2t) in round t, for losses in [0, 1] and any horizon.
    derandomize : bool, default=True
        Use the probabilities of being followed as weights, and suffer the expected loss. Else
        one expert is followed in each round.
    perturbation : {"fresh", "once"}, default="fresh"
        Whether perturbations are drawn anew each round or once for the whole game. Once gives
        the same expected loss, but an adversary that sees the choices can exploit it.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the perturbations.

    See Also
    --------
    PROT : For losses without bound.

    Notes
    -----
    Do not use it for losses outside [0, 1] or of unknown size; `PROT` and `AdaHedge` need no
    range. scikit-learn has no online aggregation.

    References
    ----------
    .. [1] A. Kalai and S. Vempala (2003). "Efficient Algorithms for Online Decision". Conference
       on Learning Theory 16.
    .. [2] M. Hutter and J. Poland (2005). "Adaptive Online Prediction by Following the Perturbed
       Leader". Journal of Machine Learning Research 6.

    Examples
    --------
    >>> from octavo.online import FollowPerturbedLeader
    >>> leader = FollowPerturbedLeader(0.5).reset(2)
    >>> leader.update([0.0, 1.0])
    0.5
    >>> leader.weights().round(4)
    array([0.6967, 0.3033])
    """

    _parameter_constraints: dict[str, Any] = {
        **_PerturbedLeader._parameter_constraints,
        "epsilon": [_POSITIVE, StrOptions({"adaptive"})],
    }

    def __init__(
        self,
        epsilon: float | str,
        *,
        derandomize: bool = True,
        perturbation: str = "fresh",
        random_state: Any = None,
        gains: bool = False,
        drop_infinite: bool = False,
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.epsilon = epsilon
        self.derandomize = derandomize
        self.perturbation = perturbation
        self.random_state = random_state

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(PERTURBED, math.log(n_experts), drop=self.drop_infinite)

    def _scales(self, first: int, n_rounds: int) -> Floats:
        if not isinstance(self.epsilon, str):
            return np.full(n_rounds, 1.0 / float(self.epsilon))
        log_n = math.log(self.n_experts_)
        rounds = np.arange(first + 1.0, first + n_rounds + 1.0)
        # 1/ε_t with ε_t = √(ln N / 2t)
        return np.sqrt(2.0 * rounds / log_n) if log_n > 0 else np.ones(n_rounds)

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        epsilon = None if isinstance(self.epsilon, str) else float(self.epsilon)
        return partial(fixed_leader_bounds, epsilon=epsilon)


class PROT(_PerturbedLeader):
    """Follow a leader whose perturbation grows with the volume of the game.

    The volume v is the sum of the rounds' largest absolute losses. The expert followed in
    round t minimises its cumulative loss less μ_t v_{t-1} ξ, with ξ exponential and
    μ_t = √(K γ(t) / (1 + ln N)). The expected regret is at most 2 √(K (1 + ln N)) Σ γ^(1/2) Δv if
    the scaled fluctuation Δv/v never exceeds γ(t), with K close to 8, or 2 for losses that are
    never negative.

    Parameters
    ----------
    gamma : str, float or callable, default="t**-0.5"
        Non-increasing bound γ(t) in (0, 1] on the scaled fluctuation: a power such as
        "t**-0.5" or "(t+10)**-0.5", a constant, or a function of t = 1, 2, ...
    a : float, default=10.0
        Larger values give a smaller constant K but admit only smaller γ; see
        `prot_constants`.
    signed : bool, default=True
        Whether losses may be negative. If not, the perturbation is half as large.
    v0 : float, default=0.0
        Volume before the first round. With zero the first fluctuation is one.
    derandomize : bool, default=True
        Use the probabilities of being followed as weights, and suffer the expected loss. Else
        one expert is followed in each round.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the perturbations.
    perturbation : {"fresh", "once"}, default="fresh"
        Whether perturbations are drawn anew each round, as consistency with probability one
        needs, or once for the whole game.

    Attributes
    ----------
    gamma_ok_ : bool
        Whether the fluctuation has stayed within γ so far; if not, the bound is void.

    See Also
    --------
    AdaHedge : Needs no γ, has better constants, and usually less regret.
    game_diagnostics : Volume and fluctuation of a game, to choose γ.

    Notes
    -----
    Do not use it unless single experts must be followed at random or the volume is the natural
    scale: `AdaHedge` usually has less regret. No strategy helps when single rounds are as large
    as all before them (`adversary_prop1`). scikit-learn has no online aggregation.

    References
    ----------
    .. [1] V. V. V'yugin (2011). "Online Learning in Case of Unbounded Losses Using Follow the
       Perturbed Leader Algorithm". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.online import PROT
    >>> t = np.arange(1, 2001)[:, None]
    >>> losses = t**0.25 * np.random.default_rng(0).normal([0.0, 0.2], 1.0, (2000, 2))
    >>> trace = PROT(a=20.0, v0=10.0).run(losses)
    >>> trace.gamma_ok_, trace.normalized_regret_[-1].round(3)
    (True, np.float64(0.059))
    """

    _parameter_constraints: dict[str, Any] = {
        **_PerturbedLeader._parameter_constraints,
        "gamma": [str, Interval(Real, 0, 1, closed="right"), callable],
        "a": [_POSITIVE],
        "signed": ["boolean"],
        "v0": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        gamma: str | float | Callable[[Any], Any] = "t**-0.5",
        a: float = 10.0,
        signed: bool = True,
        v0: float = 0.0,
        derandomize: bool = True,
        random_state: Any = None,
        *,
        perturbation: str = "fresh",
        gains: bool = False,
        drop_infinite: bool = False,
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.gamma = gamma
        self.a = a
        self.signed = signed
        self.v0 = v0
        self.derandomize = derandomize
        self.random_state = random_state
        self.perturbation = perturbation

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(PERTURBED, math.log(n_experts), by_volume=True, drop=self.drop_infinite)

    def _start(self, n_experts: int) -> Game:
        return new_game(self._rule(n_experts), n_experts, volume=float(self.v0))

    def _begin(self, n_experts: int) -> None:
        super()._begin(n_experts)
        self._last_gamma = math.inf
        self.gamma_ok_ = True

    def _tune(self, losses: Floats) -> None:
        gamma_values(self.gamma, 0, losses.shape[-2])  # refused while the old game is still there

    def _gamma(self, first: int, n_rounds: int) -> Floats:
        return gamma_values(self.gamma, first, n_rounds, self._last_gamma)

    def _scales(self, first: int, n_rounds: int) -> Floats:
        gamma = self._gamma(first, n_rounds)
        return scale_factors(gamma, self.n_experts_, float(self.a), self.signed)

    def _extra_state(self) -> dict[str, Any]:
        return {
            **super()._extra_state(),
            "last_gamma": self._last_gamma,
            "gamma_ok": self.gamma_ok_,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._last_gamma, self.gamma_ok_ = state["last_gamma"], state["gamma_ok"]

    def _check_rule(self, losses: Floats) -> None:
        if not self.signed and (losses < 0).any():
            raise ValueError(
                f"With signed=False losses must not be negative, got {losses.min():g}"
                + (" (gains count as negative losses)" if self.gains else "")
            )

    def _advance(self, losses: Floats, awake: Any, *, keep_weights: bool = True) -> Played:
        first, volume = int(self._game.memory[ROUNDS]), float(self._game.memory[VOLUME])
        gamma = self._gamma(first, len(losses))  # a bad γ is refused before any round is played
        played = super()._advance(losses, awake, keep_weights=keep_weights)
        self._last_gamma = float(gamma[-1])
        self._watch(self._view(played, gamma, volume))
        return played

    def _view(self, played: Played, gamma: Floats, volume: float) -> GameTrace:
        bounds = partial(prot_trace_bounds, a=float(self.a), signed=bool(self.signed))
        rule = self._rule(played.losses.shape[-1])
        return GameTrace(rule, played, bounds, start_volume=volume, gamma_=gamma)

    def _watch(self, trace: GameTrace) -> None:
        """Warn once when the fluctuation exceeds γ."""
        if self.gamma_ok_ and not trace.gamma_ok_:
            self.gamma_ok_ = False
            assert trace.gamma_ is not None
            place = tuple(np.argwhere(trace.fluctuation_ > trace.gamma_)[0])
            warnings.warn(
                f"The scaled fluctuation {trace.fluctuation_[place]:.3g} exceeds "
                f"gamma={trace.gamma_[place[-1]]:.3g}: the bound of Theorem 2 is void. Choose a "
                "larger gamma or v0; game_diagnostics shows the fluctuation.",
                UserWarning,
                stacklevel=5,
            )

    def _trace(self, played: Played) -> GameTrace:
        gamma = gamma_values(self.gamma, 0, played.record.shape[-2])
        trace = self._view(played, gamma, float(self.v0))
        self._watch(trace)  # many games at once did not pass through _advance
        return trace
