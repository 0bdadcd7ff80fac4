"""Combine experts online with weights that need no tuning.

`AdaHedge` sets the learning rate of exponential weights from the mixability gap that it
observes; `FlipFlop` alternates it with Follow-the-Leader so that it is never much worse than
either. Both need neither the horizon nor the range or sign of the losses, and their weights do
not change when the losses are scaled or shifted. The methods that they refine or that are
compared with them are here too.

Reference: S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014), "Follow the Leader
If You Can, Hedge If You Must", Journal of Machine Learning Research 15. Implemented: all
strategies of Sections 2, 3 and 5 (with the doubling AdaHedge of Section 2.2), the bounds (in
`octavo.online.experts.regret_bounds`), Corollary 16 and the curves of Figures 3-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.games.experts import (
    ADAHEDGE,
    DOUBLING,
    FLIPFLOP,
    HEDGE,
    NORMAL,
    SECOND_ORDER,
    VARIATION,
    Game,
    GameRule,
    Played,
    new_game,
    play,
)
from octavo.engine.games.trace import Bounds, GameTrace
from octavo.online.experts.regret_bounds import (
    adahedge_bounds,
    cbms_bounds,
    doubling_bounds,
    flipflop_bounds,
    hedge_bounds,
    largest_leader_variation,
    leader_bounds,
    variation_bounds,
)
from octavo.online.experts.strategy import ExpertStrategy, checked_losses

__all__ = [
    "CBMS",
    "AdaHedge",
    "DoublingAdaHedge",
    "FlipFlop",
    "FlipFlopParameters",
    "FollowTheLeader",
    "GameTrace",
    "Hedge",
    "NormalHedge",
    "VariationMW",
    "flipflop_parameters",
    "regret_of_fixed_eta",
    "safe_eta",
]

_POSITIVE = Interval(Real, 0, None, closed="neither")


@checked
def safe_eta(n_experts: int, n_rounds: int, loss_range: float = 1.0) -> float:
    """Return the learning rate that minimises the worst-case bound of Hedge (Eq. 7).

    Parameters
    ----------
    n_experts, n_rounds : int
        Size of the game.
    loss_range : float, default=1.0
        Largest range of the losses of a round.

    Returns
    -------
    eta : float
        √(8 ln K / (S² T)), which bounds the regret by S √(T ln K / 2).

    Examples
    --------
    >>> from octavo.online import safe_eta
    >>> round(safe_eta(2, 1000), 4)
    0.0745
    """
    if n_experts < 2 or n_rounds < 1 or not 0 < loss_range < math.inf:
        raise ValueError(
            "Needs n_experts >= 2, n_rounds >= 1 and a positive finite loss_range, got "
            f"{n_experts}, {n_rounds} and {loss_range}."
        )
    # Equates the two terms of Eq. (7)
    return math.sqrt(8.0 * math.log(n_experts) / (loss_range**2 * n_rounds))


@checked
def regret_of_fixed_eta(losses: ArrayLike, etas: ArrayLike) -> NDArray[np.float64]:
    """Return the final regret of Hedge for each of some learning rates.

    Parameters
    ----------
    losses : array-like of shape (n_rounds, n_experts)
        Losses of the experts.
    etas : array-like of shape (n_etas,)
        Learning rates, positive; infinity is Follow-the-Leader.

    Returns
    -------
    regret : ndarray of shape (n_etas,)
        Regret after the last round: the upper panels of Figures 3 to 6.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import regret_of_fixed_eta
    >>> regret_of_fixed_eta(make_expert_game(1), [0.0745, 1.0, np.inf]).round(2)
    array([  9.55, 122.59, 499.75])
    """
    matrix = checked_losses(losses, ndim=(2,), drop=False)
    rates = np.asarray(etas, dtype=float)
    if rates.ndim != 1 or not (rates > 0).all():
        raise ValueError(f"etas must be a vector of positive numbers, got {rates}.")
    log_k = math.log(matrix.shape[1])
    regret = np.empty(rates.size)
    for i, rate in enumerate(rates):
        rule = GameRule(HEDGE, log_k, float(rate))
        played = play(rule, new_game(rule, matrix.shape[1]), matrix, keep_weights=False)
        regret[i] = played.record[-1, 7]
    return regret


class FlipFlopParameters(NamedTuple):
    """The φ and α that minimise the larger leading factor of FlipFlop's two bounds, and it."""

    phi: float
    alpha: float
    factor: float


@checked
def flipflop_parameters() -> FlipFlopParameters:
    """Return the best parameters of FlipFlop (Corollary 16).

    Returns
    -------
    parameters : FlipFlopParameters
        φ, α and the leading factor φα/(φ-1) + 2α + 1 = φ/(φ-1) + φ/α + 2.

    Examples
    --------
    >>> from octavo.online import flipflop_parameters
    >>> [round(value, 4) for value in flipflop_parameters()]
    [2.3707, 1.2432, 5.6365]
    """
    from scipy.optimize import minimize_scalar

    def equalising_alpha(phi: float) -> float:
        # Proof of Corollary 16: the α at which both leading factors of Theorem 15 are equal.
        root = math.sqrt(12 * phi**3 - 16 * phi**2 + 4 * phi + 1)
        return (2 * phi - 1 + root) / (6 * phi - 4)

    def factor(phi: float) -> float:
        alpha = equalising_alpha(phi)
        return phi * alpha / (phi - 1) + 2 * alpha + 1  # f of Corollary 16's proof

    phi = float(minimize_scalar(factor, bounds=(1.01, 20), options={"xatol": 1e-10}).x)
    return FlipFlopParameters(phi, equalising_alpha(phi), factor(phi))


class Hedge(ExpertStrategy):
    """Exponential weights with a fixed learning rate.

    The weight of an expert is proportional to e^(-η L), where L is its cumulative loss.

    Parameters
    ----------
    eta : float
        Learning rate η; `safe_eta` returns the one with the best guarantee for a known horizon.
        Infinity is Follow-the-Leader.
    prior : array-like of shape (n_experts,), optional
        Weights of the first round; equal by default.
    drop_infinite : bool, default=False
        Whether an expert with an infinite loss leaves the game for good, as of that round,
        in place of an error.

    See Also
    --------
    AdaHedge : Tunes the learning rate by itself.

    Notes
    -----
    Do not use it when neither the horizon nor the range of the losses is known: the best rate
    depends on both. scikit-learn has no online aggregation; its `VotingRegressor` has fixed
    weights and `StackingRegressor` learns them from a batch.

    References
    ----------
    .. [1] Y. Freund and R. E. Schapire (1997). "A Decision-Theoretic Generalization of On-Line
       Learning and an Application to Boosting". Journal of Computer and System Sciences 55.

    Examples
    --------
    >>> from octavo.online import Hedge
    >>> strategy = Hedge(eta=0.5).reset(3)
    >>> strategy.update([0.0, 1.0, 1.0])
    0.666...
    >>> strategy.weights().round(3)
    array([0.452, 0.274, 0.274])
    """

    _parameter_constraints: dict[str, Any] = {
        **ExpertStrategy._parameter_constraints,
        "eta": [Interval(Real, 0, math.inf, closed="right")],
        "prior": ["array-like", None],
    }

    def __init__(
        self,
        eta: float,
        prior: ArrayLike | None = None,
        *,
        gains: bool = False,
        drop_infinite: bool = False,
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.eta = eta
        self.prior = prior

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(HEDGE, math.log(n_experts), float(self.eta), drop=self.drop_infinite)

    def _checked_prior(self, n_experts: int) -> NDArray[np.float64] | None:
        if self.prior is None:
            return None
        prior = np.asarray(self.prior, dtype=float)
        if prior.shape != (n_experts,):
            raise ValueError(f"prior must have shape ({n_experts},), got {prior.shape}.")
        if not (np.isfinite(prior).all() and (prior > 0).all()):
            raise ValueError(f"prior must be positive and finite, got {prior}.")
        if not math.isfinite(self.eta):
            raise ValueError("A prior has no effect with eta=inf; leave it out.")
        return prior / prior.sum()

    def _start(self, n_experts: int) -> Game:
        prior = self._checked_prior(n_experts)
        rule = self._rule(n_experts)
        if prior is None:
            return new_game(rule, n_experts)
        # w_1 of Eq. (9) as losses before round 1
        return new_game(rule, n_experts, handicap=-np.log(prior) / float(self.eta))

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        if math.isinf(self.eta):
            return leader_bounds
        return partial(hedge_bounds, eta=float(self.eta))

    def _trace(self, played: Played) -> GameTrace:
        n_experts = played.losses.shape[-1]
        prior = self._checked_prior(n_experts)
        return GameTrace(self._rule(n_experts), played, self._bounds(), prior_=prior)


class FollowTheLeader(ExpertStrategy):
    """Put all weight on the expert with the smallest cumulative loss; leaders share it.

    Parameters
    ----------
    tie_tol : float, default=0.0
        Cumulative losses that differ from the smallest by no more than this are tied with it.
        Sums of decimal fractions may need a little.

    Notes
    -----
    Its regret is at most the largest range of the losses times the number of rounds in which a
    leader falls behind (Lemma 10): small for independent losses. Do not use it against an
    adversary or alternating losses: the regret then grows by half a unit a round.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014). "Follow the Leader
       If You Can, Hedge If You Must". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import FollowTheLeader
    >>> FollowTheLeader().run(make_expert_game(1)).regret_[-1]
    np.float64(499.75)
    """

    _parameter_constraints: dict[str, Any] = {
        **ExpertStrategy._parameter_constraints,
        "tie_tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, tie_tol: float = 0.0, *, gains: bool = False, drop_infinite: bool = False
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.tie_tol = tie_tol

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(
            HEDGE, math.log(n_experts), tie_tol=float(self.tie_tol), drop=self.drop_infinite
        )

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        return leader_bounds


class AdaHedge(ExpertStrategy):
    """Exponential weights whose learning rate follows the observed mixability gap.

    η = ln K / Δ, where Δ is the sum of h - m over past rounds, the learner's loss less the mix
    loss (Eq. 8). There is nothing to set, and the weights do not change when all losses are
    multiplied by a positive number or a number is added to all losses of a round.

    See Also
    --------
    FlipFlop : Also never much worse than following the leader.
    octavo.online.ExpertEnsembleRegressor : Combines estimators with it.

    Notes
    -----
    Do not use it when one expert is known to be clearly best: `FollowTheLeader`, and so
    `FlipFlop`, then have less regret. scikit-learn has no online aggregation; its
    `VotingRegressor` has fixed weights and `StackingRegressor` learns them from a batch.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014). "Follow the Leader
       If You Can, Hedge If You Must". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import AdaHedge
    >>> trace = AdaHedge().run(make_expert_game(1))
    >>> trace.regret_[-1].round(3), trace.bounds()["theorem 8"][-1].round(2)
    (np.float64(13.17), np.float64(32.02))
    """

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(ADAHEDGE, math.log(n_experts), drop=self.drop_infinite)

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        return adahedge_bounds


class DoublingAdaHedge(ExpertStrategy):
    """The earlier AdaHedge, which halves its learning rate and begins again.

    A block ends when its cumulative mixability gap exceeds ln K / η.

    Parameters
    ----------
    eta : float, default=1.0
        Learning rate of the first block; about one over the range of the losses.

    Notes
    -----
    It is here for comparison: `AdaHedge` has better bounds, forgets nothing and needs no
    first rate. The regime of its trace is the number of the block.

    References
    ----------
    .. [1] T. van Erven, P. Grünwald, W. M. Koolen and S. de Rooij (2011). "Adaptive Hedge".
       Advances in Neural Information Processing Systems 24.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import DoublingAdaHedge
    >>> DoublingAdaHedge().run(make_expert_game(1)).regime_[-1]
    np.int8(4)
    """

    _parameter_constraints: dict[str, Any] = {
        **ExpertStrategy._parameter_constraints,
        "eta": [_POSITIVE],
    }

    def __init__(
        self, eta: float = 1.0, *, gains: bool = False, drop_infinite: bool = False
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.eta = eta

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(DOUBLING, math.log(n_experts), float(self.eta), drop=self.drop_infinite)

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        return doubling_bounds


class FlipFlop(ExpertStrategy):
    """Follow the leader while that goes well, AdaHedge while it does not.

    The mixability gaps of the two regimes are added up apart; the regime changes when its own
    sum has grown too large beside the other's (Definition 11). The regret is at most a
    constant factor above that of Follow-the-Leader and above the bound of AdaHedge.

    Parameters
    ----------
    phi : float, default=2.37
        φ > 1, by which the sums must grow between changes.
    alpha : float, default=1.243
        α > 0, the balance between the regimes. `flipflop_parameters` has more digits.

    Notes
    -----
    Do not use it against an adversary: `AdaHedge` alone then has less regret, by a constant
    factor. scikit-learn has no online aggregation.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014). "Follow the Leader
       If You Can, Hedge If You Must". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import FlipFlop
    >>> FlipFlop().run(make_expert_game(1)).regret_[-1].round(3)
    np.float64(31.673)
    >>> FlipFlop().run(make_expert_game(3)).regret_[-1].round(3)
    np.float64(0.5)
    """

    _parameter_constraints: dict[str, Any] = {
        **ExpertStrategy._parameter_constraints,
        "phi": [Interval(Real, 1, None, closed="neither")],
        "alpha": [_POSITIVE],
    }

    def __init__(
        self,
        phi: float = 2.37,
        alpha: float = 1.243,
        *,
        gains: bool = False,
        drop_infinite: bool = False,
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.phi = phi
        self.alpha = alpha

    def _rule(self, n_experts: int) -> GameRule:
        phi, alpha = float(self.phi), float(self.alpha)
        return GameRule(
            FLIPFLOP,
            math.log(n_experts),
            flip_limit=phi / alpha,  # `scale` of Figure 2
            flop_limit=alpha,
            drop=self.drop_infinite,
        )

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        return partial(flipflop_bounds, phi=float(self.phi), alpha=float(self.alpha))


class NormalHedge(ExpertStrategy):
    """Weights from the half-normal potential of each expert's regret; nothing to tune.

    With R the learner's regrets to the experts, c solves mean exp([R]₊² / 2c) = e and the
    weights are proportional to [R]₊ exp([R]₊² / 2c). Experts behind the learner get none.

    Notes
    -----
    It competes with the best fraction of many experts. It has no mix loss, and no bound here:
    where a proven bound matters, use `AdaHedge`. scikit-learn has no online aggregation.

    References
    ----------
    .. [1] K. Chaudhuri, Y. Freund and D. Hsu (2009). "A Parameter-Free Hedging Algorithm".
       Advances in Neural Information Processing Systems 22.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import NormalHedge
    >>> NormalHedge().run(make_expert_game(1)).regret_[-1].round(3)
    np.float64(27.595)
    """

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(NORMAL, math.log(n_experts), math.nan, drop=self.drop_infinite)


class CBMS(ExpertStrategy):
    """Exponential weights tuned by the variance of the losses under the weights.

    η = min(1/E, C √(ln K / V)), with V the cumulative variance, E the smallest power of two
    that no range of a round's losses has exceeded, and C² = 2(√2 - 1)/(e - 2).

    Notes
    -----
    `AdaHedge` refines it: it uses the mixability gap itself where this uses a bound on it. Its
    weights change when losses are scaled by anything but a power of two.

    References
    ----------
    .. [1] N. Cesa-Bianchi, Y. Mansour and G. Stoltz (2007). "Improved Second-Order Bounds for
       Prediction with Expert Advice". Machine Learning 66.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import CBMS
    >>> CBMS().run(make_expert_game(1)).regret_[-1].round(3)
    np.float64(14.176)
    """

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(SECOND_ORDER, math.log(n_experts), drop=self.drop_infinite)

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        return cbms_bounds


class VariationMW(ExpertStrategy):
    """Exponential weights with a second-order term, for experts whose losses vary little.

    A round adds ℓ + 4 η (ℓ - μ)² to an expert's score, μ being the mean of its losses up to
    and including that round; weights are proportional to e^(-η score).

    Parameters
    ----------
    eta : float, optional
        Learning rate. Without it, `run` takes min(√(ln K / 4Q), 1/10) with Q the largest
        variation of a best expert in the losses it is given: a rate known in hindsight only,
        with which the method can be compared but not used.

    Attributes
    ----------
    eta_ : float
        The learning rate played.

    Notes
    -----
    Its theorem is about losses in [0, 1]. Do not use it when nothing is known of the variation:
    `AdaHedge` needs no such knowledge. scikit-learn has no online aggregation.

    References
    ----------
    .. [1] E. Hazan and S. Kale (2008). "Extracting Certainty from Uncertainty: Regret Bounded by
       Variation in Costs". Conference on Learning Theory 21.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import VariationMW
    >>> VariationMW().run(make_expert_game(1)).regret_[-1].round(3)
    np.float64(3.54)
    """

    _parameter_constraints: dict[str, Any] = {
        **ExpertStrategy._parameter_constraints,
        "eta": [_POSITIVE, None],
    }

    def __init__(
        self, eta: float | None = None, *, gains: bool = False, drop_infinite: bool = False
    ) -> None:
        super().__init__(gains=gains, drop_infinite=drop_infinite)
        self.eta = eta

    def _rate(self) -> float:
        if self.eta is not None:
            return float(self.eta)
        if not hasattr(self, "eta_"):
            raise ValueError(
                "Without eta, VariationMW sets its learning rate in hindsight from the matrix "
                "that run is given; to play round by round, set eta."
            )
        return self.eta_

    def _tune(self, losses: NDArray[np.float64]) -> None:
        if self.eta is not None:
            self.eta_ = float(self.eta)
            return
        log_k = math.log(losses.shape[-1])
        variation = float(np.max(largest_leader_variation(losses)))
        # Hazan and Kale (2008), Theorem 4: η = min(√(ln K / 4 VAR), 1/10).
        self.eta_ = min(math.sqrt(log_k / (4.0 * variation)) if variation > 0 else 0.1, 0.1)

    def _rule(self, n_experts: int) -> GameRule:
        return GameRule(VARIATION, math.log(n_experts), self._rate(), drop=self.drop_infinite)

    def _bounds(self) -> Callable[[GameTrace], Bounds]:
        return partial(variation_bounds, eta=self._rate())
