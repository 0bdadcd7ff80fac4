"""Games of prediction with expert advice: one compiled engine for every strategy.

In each round a learner puts weights on K experts, the losses of all experts are revealed, and
the learner suffers their weighted mean. `play` runs a strategy, given as a `GameRule`, through a
matrix of losses. A game's state is a handful of arrays (`Game`), so that playing one round at a
time gives bit for bit what playing all of them at once gives.

Cumulative losses are kept as excesses over the best expert's, and each round's losses are
taken relative to the smallest of them, so that neither the size of the totals nor a constant
added to a round costs a digit of the weights, the mixability gap or the regret.

References: S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014), "Follow the
Leader If You Can, Hedge If You Must", Journal of Machine Learning Research 15; V. V. V'yugin
(2011), "Online Learning in Case of Unbounded Losses Using Follow the Perturbed Leader
Algorithm", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.kernels.exponential import exp_nonpositive

# How a strategy finds its weights. The first five are exponential weights and differ in the
# learning rate; Follow-the-Leader is HEDGE with an infinite one.
HEDGE, ADAHEDGE, DOUBLING, FLIPFLOP, SECOND_ORDER, VARIATION, NORMAL, PERTURBED = range(8)
FLIP, FLOP = 0, 1
# Places in a game's memory.
(
    ROUNDS,
    REGRET,
    GAP,  # cumulative mixability gap; for FlipFlop that of the "flop" regime
    FLIP_GAP,
    REGIME,
    VARIANCE,
    RANGE,  # largest range of a round's losses so far
    JUMP,  # largest factor by which one round raised RANGE
    VOLUME,
    RATE,  # learning rate of the present block of DOUBLING
    BLOCK_GAP,
    POTENTIAL,  # last root of NormalHedge's equation, where the next search begins
    N_MEMORY,
) = range(13)
# Cesa-Bianchi, Mansour and Stoltz (2007), Section 4.2: minimises 2/C + (e - 2)(√2 + 1) C.
SECOND_ORDER_FACTOR = math.sqrt(2.0 * (math.sqrt(2.0) - 1.0) / (math.e - 2.0))
_MAX_NODES = 48
# Sums and minima may be taken in any order, and no score or loss is NaN: nothing else is relaxed.
# A loop that is so compiled must not both add up and fill another array: whether it is then
# vectorised would depend on where the arrays lie in memory, and with it the last bits of the sum.
_REGROUP = {"reassoc", "nsz"}
_REGROUP_FINITE = {"reassoc", "nsz", "nnan"}


class GameRule(NamedTuple):
    """A strategy as scalars: its kind and its parameters."""

    kind: int
    log_k: float
    rate: float = math.inf
    flip_limit: float = math.inf  # FlipFlop leaves "flip" when its gap exceeds this times the other
    flop_limit: float = math.inf
    tie_tol: float = 0.0
    by_volume: bool = False  # the perturbation grows with the volume of the game
    drop: bool = False  # an expert with an infinite loss is out of the game


class Game(NamedTuple):
    """The state of one game: scalars, and one number an expert in each array."""

    memory: NDArray[np.float64]
    excess: NDArray[np.float64]  # cumulative loss less the best expert's; infinite when dropped
    handicap: NDArray[np.float64]  # added to the excess before weighing; empty when zero
    means: NDArray[np.float64]  # mean loss of each expert; empty unless it is needed


def new_game(
    rule: GameRule,
    n_experts: int,
    *,
    handicap: NDArray[np.float64] | None = None,
    volume: float = 0.0,
) -> Game:
    """Return the state before the first round."""
    memory = np.zeros(N_MEMORY)
    memory[VOLUME] = volume
    memory[JUMP] = 1.0
    memory[RATE] = rule.rate
    if handicap is None:
        needed = n_experts if rule.kind in (DOUBLING, VARIATION) else 0
        handicap = np.zeros(needed)
    means = np.zeros(n_experts if rule.kind == VARIATION else 0)
    return Game(memory, np.zeros(n_experts), handicap, means)


def copy_game(game: Game) -> Game:
    """Return a state that shares no memory with this one."""
    return Game(*(array.copy() for array in game))


# --- weights ----------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _power_of_two_above(x):
    """Return the smallest power of two that is at least x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


@njit(cache=True, error_model="numpy")
def _balanced_rate(log_k, gap, spread):
    """Return ln K / Δ (Eq. 8), infinite while the gap is nothing beside the losses."""
    return math.inf if gap <= 1e-300 * spread else log_k / gap


@njit(cache=True, error_model="numpy")
def _rate(rule, memory, scale):
    """Return the learning rate of the coming round; ``scale`` is for perturbed leaders."""
    if rule.kind == PERTURBED:
        # Eq. (7) of V'yugin: 1/ε = μ_t v_t-1
        width = scale * memory[VOLUME] if rule.by_volume else scale
        return 1.0 / width if width > 0.0 else math.inf
    if rule.kind == ADAHEDGE or (rule.kind == FLIPFLOP and memory[REGIME] == FLOP):
        # Eq. (8); in the flop regime Eq. (16)
        return _balanced_rate(rule.log_k, memory[GAP], memory[RANGE])
    if rule.kind == FLIPFLOP:
        return math.inf  # Eq. (16), flip
    if rule.kind == DOUBLING:
        return memory[RATE]  # Section 2.2: half of the last block's
    if rule.kind == SECOND_ORDER:
        if memory[RANGE] == 0.0:
            return math.inf
        # 1/E of Cesa-Bianchi et al. (2007), Section 4.2
        rate = 1.0 / _power_of_two_above(memory[RANGE])
        if memory[VARIANCE] > 0.0:
            rate = min(rate, SECOND_ORDER_FACTOR * math.sqrt(rule.log_k / memory[VARIANCE]))
        return rate
    return rule.rate


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _exponentials(rate, low, score, weights, i):
    """Fill row i with e^(-rate (score - low)) and return its sum."""
    for k in range(score.shape[0]):
        weights[i, k] = exp_nonpositive(rate * (low - score[k]))  # Eq. (9), shifted as in Figure 1
    total = 0.0
    for k in range(score.shape[0]):
        total += weights[i, k]
    return total


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _sum_exponentials(rate, low, score):
    total = 0.0
    for k in range(score.shape[0]):
        total += exp_nonpositive(rate * (low - score[k]))
    return total


@njit(cache=True, error_model="numpy", fastmath=_REGROUP_FINITE)
def _lowest(score):
    low = math.inf
    for k in range(score.shape[0]):
        low = min(low, score[k])
    return low


@njit(cache=True, error_model="numpy")
def _leaders(tie_tol, low, score, weights, i):
    """Mark in row i the experts whose score is the lowest and return their number."""
    total = 0.0
    for k in range(score.shape[0]):
        leads = 1.0 if score[k] - low <= tie_tol else 0.0  # Figure 1, eta == Inf
        weights[i, k] = leads
        total += leads
    return total


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _normal_root(memory, regret, top, score):
    """Return u = top² / c, where c solves mean exp([R]₊² / 2c) = e for NormalHedge.

    The logarithm of the mean is convex and rising in u, so that Newton's steps from beyond the
    root approach it monotonically; from before it, the first step leads beyond.
    """
    n_experts = score.shape[0]
    end = 2.0 * (1.0 + math.log(n_experts))  # here the largest term alone gives e
    u = min(memory[POTENTIAL], end) if memory[POTENTIAL] > 0.0 else end
    for _ in range(100):
        total, slope = 0.0, 0.0
        for k in range(n_experts):
            y = max((regret - score[k]) / top, 0.0)  # [R]₊ over the largest of them
            p = exp_nonpositive(0.5 * u * (y * y - 1.0))
            total += p
            slope += p * (0.5 * y * y)
        step = (0.5 * u + math.log(total / n_experts) - 1.0) * total / slope
        new = min(u - step, end)
        if abs(new - u) <= 4e-16 * u:
            break
        u = new
    memory[POTENTIAL] = u
    return u


@njit(cache=True, error_model="numpy")
def _normal_weights(memory, low, score, weights, i):
    """Fill NormalHedge's weights, not yet divided by their sum, and return the sum.

    An expert that does not play (an infinite score) counts as one without regret.
    """
    regret, n_experts = memory[REGRET], score.shape[0]
    top, total = regret - low, 0.0
    if top > 0.0:
        u = _normal_root(memory, regret, top, score)
        for k in range(n_experts):
            y = max((regret - score[k]) / top, 0.0)
            weights[i, k] = y * exp_nonpositive(0.5 * u * (y * y - 1.0))
            total += weights[i, k]
        return total
    for k in range(n_experts):  # nobody is ahead of the learner: uniform
        weights[i, k] = 1.0 if score[k] < math.inf else 0.0
        total += weights[i, k]
    return total


@njit(cache=True, error_model="numpy")
def _leader_probabilities(rate, low, score, nodes, node_weights, weights, i):
    """Fill P(k minimises score - ξ/rate), ξ exponential: q_k ∫₀¹ Π_{j≠k} (1 - q_j z) dz.

    q_k = e^(-rate (score_k - low)). The integrand is a polynomial, which Gauss-Legendre
    quadrature integrates exactly; with more experts than nodes for it, the interval is cut
    where the product has fallen below e^-40.
    """
    total = _exponentials(rate, low, score, weights, i)
    n_experts, n_nodes = score.shape[0], nodes.shape[0]
    end = min(1.0, 40.0 / total) if n_experts > 2 * n_nodes else 1.0
    product = np.ones(n_nodes)
    for k in range(n_experts):
        for m in range(n_nodes):
            product[m] *= 1.0 - weights[i, k] * end * nodes[m]
    for m in range(n_nodes):
        product[m] *= end * node_weights[m]
    total = 0.0
    for k in range(n_experts):
        q, integral = weights[i, k], 0.0
        for m in range(n_nodes):
            integral += product[m] / (1.0 - q * end * nodes[m])
        weights[i, k] = q * integral
        total += weights[i, k]
    return total


@njit(cache=True, error_model="numpy")
def _leader_rows(scores, rates, nodes, node_weights, out):
    """Fill each row with the probabilities that its perturbed scores lead."""
    for t in range(scores.shape[0]):
        score = scores[t]
        low = _lowest(score)
        if rates[t] == math.inf:
            total = _leaders(0.0, low, score, out, t)
        else:
            total = _leader_probabilities(rates[t], low, score, nodes, node_weights, out, t)
        for k in range(out.shape[1]):
            out[t, k] /= total


@njit(cache=True, error_model="numpy")
def _perturbed_leader(rate, low, score, noise, t, weights, i):
    """Put all weight on the expert that leads after its score is lowered by noise / rate."""
    best, best_value = -1, math.inf
    for k in range(score.shape[0]):
        weights[i, k] = 0.0
        if rate == math.inf:  # the limit of ever smaller perturbations
            value = -noise[t, k] if score[k] == low else math.inf
        else:
            value = score[k] - noise[t, k] / rate  # Figure 2 of V'yugin
        if value < best_value:
            best, best_value = k, value
    weights[i, best] = 1.0
    return 1.0


@njit(cache=True, error_model="numpy")
def _weigh(rule, memory, rate, low, score, normal, noise, t, nodes, node_weights, weights, i):
    """Fill row i with the weights of round t, not yet divided by their sum; return the sum.

    ``normal``, ``noise`` and ``nodes`` are None where the rule has no use for them, so that what
    they ask for is not compiled.
    """
    if noise is not None:
        return _perturbed_leader(rate, low, score, noise, t, weights, i)
    if normal is not None:
        return _normal_weights(memory, low, score, weights, i)
    if rate == math.inf:
        return _leaders(rule.tie_tol, low, score, weights, i)
    if nodes is not None:
        return _leader_probabilities(rate, low, score, nodes, node_weights, weights, i)
    return _exponentials(rate, low, score, weights, i)


# --- one round --------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _fill_scores(excess, handicap, awake, t, score):
    """Fill what the weights depend on; infinite for the experts that sleep or are dropped."""
    for k in range(excess.shape[0]):
        value = excess[k]
        if handicap.shape[0] > 0:
            value += handicap[k]
        if awake is not None and not awake[t, k]:
            value = math.inf
        score[k] = value


@njit(cache=True, error_model="numpy", fastmath=_REGROUP_FINITE)
def _relative_losses(losses, t, relative):
    """Fill the losses less the smallest; return the smallest and the range."""
    low, high = math.inf, -math.inf
    for k in range(losses.shape[1]):
        low = min(low, losses[t, k])
        high = max(high, losses[t, k])
    for k in range(losses.shape[1]):
        relative[k] = losses[t, k] - low  # Theorem 17: a shift changes no weight
    return low, high - low


@njit(cache=True, error_model="numpy")
def _relative_losses_of_some(losses, t, score, relative):
    """Do the same for those that play: an infinite score says that an expert does not."""
    low, high = math.inf, -math.inf
    for k in range(losses.shape[1]):
        if score[k] < math.inf:
            low = min(low, losses[t, k])
            high = max(high, losses[t, k])
    for k in range(losses.shape[1]):
        relative[k] = losses[t, k] - low if score[k] < math.inf else 0.0
    return low, high - low


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _divide_and_average(weights, i, total, relative):
    """Divide the weights by their sum and return the mean loss under them."""
    inverse = 1.0 / total
    for k in range(relative.shape[0]):
        weights[i, k] *= inverse
    mean = 0.0
    for k in range(relative.shape[0]):
        mean += weights[i, k] * relative[k]
    return mean


@njit(cache=True, error_model="numpy", fastmath=_REGROUP_FINITE)
def _add_losses(weights, i, relative, mean, excess):
    """Add a round to the excesses.

    Return the variance of the losses under the weights, how much the best total rose, and
    whether a leader fell behind; the rise is still to be taken off.
    """
    variance = 0.0
    for k in range(excess.shape[0]):
        # v of Section 2.2, about h itself: no small difference of large squares
        variance += weights[i, k] * (relative[k] - mean) * (relative[k] - mean)
    low, fallen = math.inf, -math.inf
    for k in range(excess.shape[0]):
        new = excess[k] + relative[k]
        low = min(low, new)
        # Lemma 10: a leader with another loss than the best
        fallen = max(fallen, new if excess[k] == 0.0 else -math.inf)
        excess[k] = new
    return variance, low, fallen > low


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _lower(excess, rise):
    for k in range(excess.shape[0]):
        excess[k] -= rise


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _lower_and_sum(excess, rise, rate):
    """Take the rise off the excesses and return the sum of their exponentials."""
    total = 0.0
    for k in range(excess.shape[0]):
        new = excess[k] - rise
        excess[k] = new
        total += exp_nonpositive(-rate * new)
    return total


@njit(cache=True, error_model="numpy", fastmath=_REGROUP)
def _gap_of_leaders(weights, i, relative, rise):
    """Return Σ w (ℓ - m) for an infinite rate: exactly zero while the leaders stay ahead."""
    gap = 0.0
    for k in range(relative.shape[0]):
        gap += weights[i, k] * (relative[k] - rise)  # Lemma 10's proof: m = L*_t - L*_t-1
    return max(gap, 0.0)


@njit(cache=True, error_model="numpy")
def _second_order_step(rate, rounds, losses, t, handicap, means):
    """Add 4 η (ℓ - μ)² to the handicaps, μ the mean of each expert's losses so far."""
    for k in range(losses.shape[1]):
        means[k] += (losses[t, k] - means[k]) / rounds
        handicap[k] += 4.0 * rate * (losses[t, k] - means[k]) ** 2


@njit(cache=True, error_model="numpy")
def _adapt(rule, memory, gap, variance, spread, size, excess, handicap):
    """Learn from a round: regimes, blocks and the sums that set the next learning rate."""
    memory[ROUNDS] += 1.0
    memory[VARIANCE] += variance
    memory[VOLUME] += size
    if spread > memory[RANGE]:
        if memory[RANGE] > 0.0:
            memory[JUMP] = max(memory[JUMP], spread / memory[RANGE])
        memory[RANGE] = spread
    if rule.kind == FLIPFLOP and memory[REGIME] == FLIP:
        memory[FLIP_GAP] += gap
        if memory[FLIP_GAP] > rule.flip_limit * memory[GAP]:  # Definition 11
            memory[REGIME] = FLOP
    elif rule.kind == FLIPFLOP:
        memory[GAP] += gap
        if memory[GAP] > rule.flop_limit * memory[FLIP_GAP]:  # Definition 11, the way back
            memory[REGIME] = FLIP
    elif rule.kind <= SECOND_ORDER:
        memory[GAP] += gap
        memory[BLOCK_GAP] += gap
    # Section 2.2: the block ends when Δ exceeds ln K / η.
    if rule.kind == DOUBLING and memory[BLOCK_GAP] * memory[RATE] > rule.log_k:
        memory[RATE] *= 0.5
        memory[BLOCK_GAP] = 0.0
        memory[REGIME] += 1.0
        for k in range(excess.shape[0]):  # begin again: scores are zero
            handicap[k] = -excess[k] if excess[k] < math.inf else 0.0


@njit(cache=True, error_model="numpy")
def _rest(losses, t, relative, awake, low, mean, excess):
    """Charge the learner's own loss to those asleep, and an infinite one to those dropped."""
    for k in range(losses.shape[1]):
        if excess[k] == math.inf:
            losses[t, k] = math.inf
        elif awake is not None and not awake[t, k]:
            relative[k] = mean
            losses[t, k] = low + mean


@njit(cache=True, error_model="numpy", nogil=True)
def _play(
    rule, game, losses, guarded, scored, awake, scales, normal, noise, nodes, node_weights,
    weights, out, flags,
):  # fmt: skip
    """Play every row of ``losses`` and fill what happened, as `Played` describes it.

    ``guarded`` says that experts may sleep or be dropped, ``scored`` that scores are not simply
    the excesses; they, ``awake``, ``normal``, ``noise`` and ``nodes`` are None where the game has
    none of it, and what they ask for is not compiled.
    """
    memory, excess, handicap, means = game
    n_rounds, n_experts = losses.shape
    relative = np.empty(n_experts)
    score = excess
    if scored is not None:
        score = np.empty(n_experts)
    keep = weights.shape[0] == n_rounds
    mixes = rule.kind <= SECOND_ORDER
    for t in range(n_rounds):
        i = t if keep else 0
        if guarded is not None and rule.drop:
            for k in range(n_experts):
                if losses[t, k] == math.inf:
                    excess[k] = math.inf
        rate = _rate(rule, memory, scales[t] if scales.shape[0] > 0 else 0.0)
        low_score = 0.0
        if scored is not None:
            _fill_scores(excess, handicap, awake, t, score)
            low_score = _lowest(score)
        total = _weigh(
            rule, memory, rate, low_score, score, normal, noise, t, nodes, node_weights, weights, i
        )
        if guarded is not None:
            low, spread = _relative_losses_of_some(losses, t, score, relative)
        else:
            low, spread = _relative_losses(losses, t, relative)
        mean = _divide_and_average(weights, i, total, relative)  # h = w·ℓ, less the smallest loss
        if guarded is not None:
            _rest(losses, t, relative, awake, low, mean, excess)
            _fill_scores(excess, handicap, None, t, score)
            low_score = _lowest(score)
            if mixes and rate < math.inf:
                total = _sum_exponentials(rate, low_score, score)
        variance, rise, fell = _add_losses(weights, i, relative, mean, excess)
        gap, mix = math.nan, math.nan
        if mixes and rate < math.inf:
            if scored is None:
                new_total = _lower_and_sum(excess, rise, rate)
                step = rise
            else:
                _lower(excess, rise)
                _fill_scores(excess, handicap, None, t, score)
                new_low = _lowest(score)
                new_total = _sum_exponentials(rate, new_low, score)
                step = rise + (new_low - low_score)
            # M(η, L_t) - M(η, L_t-1) of Figure 1; Eq. (4)
            mix = step - math.log(new_total / total) / rate
            gap = max(mean - mix, 0.0)  # rounding may break Jensen's inequality
        else:
            _lower(excess, rise)
            if mixes:  # the rate is infinite: the mix loss is the rise of the best total
                mix = rise - low_score  # which is positive if the leader has just been dropped
                gap = _gap_of_leaders(weights, i, relative, mix)
        if rule.kind == VARIATION:
            _second_order_step(rate, memory[ROUNDS] + 1.0, losses, t, handicap, means)
        # H - L*, round by round: the totals themselves would lose its digits
        memory[REGRET] += mean - rise
        flags[t, 0] = np.int8(memory[REGIME])
        flags[t, 1] = np.int8(fell)
        size = max(abs(low), abs(low + spread))
        _adapt(rule, memory, gap, variance, spread, size, excess, handicap)
        out[t, 0] = low + mean
        out[t, 1] = low + mix
        out[t, 2] = gap
        out[t, 3] = rate
        out[t, 4] = variance
        out[t, 5] = low
        out[t, 6] = spread
        out[t, 7] = memory[REGRET]


@njit(cache=True, error_model="numpy", nogil=True)
def _play_many(
    rule, start, losses, guarded, scored, scales, normal, nodes, node_weights, weights, out, flags
):
    """Play one game after the other, each from the same start."""
    for g in range(losses.shape[0]):
        game = Game(start[0].copy(), start[1].copy(), start[2].copy(), start[3].copy())
        row = weights[g if weights.shape[0] == losses.shape[0] else 0]
        _play(
            rule, game, losses[g], guarded, scored, None, scales, normal, None, nodes,
            node_weights, row, out[g], flags[g],
        )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _next_weights(rule, game, awake, scale, normal, nodes, node_weights, weights):
    """Fill the weights of the coming round."""
    memory, excess, handicap, _ = game
    memory = memory.copy()  # the search for NormalHedge's root leaves a trace there
    score = np.empty(excess.shape[0])
    _fill_scores(excess, handicap, awake, 0, score)
    rate = _rate(rule, memory, scale)
    low = _lowest(score)
    total = _weigh(rule, memory, rate, low, score, normal, None, 0, nodes, node_weights, weights, 0)
    _divide_and_average(weights, 0, total, np.zeros(score.shape[0]))


# --- whole games ------------------------------------------------------------------------------


class Played(NamedTuple):
    """What happened in some rounds.

    ``record`` has the columns loss, mix loss, mixability gap, learning rate, variance of the
    losses under the weights, smallest loss, range of the losses, regret so far; ``flags`` the
    regime and whether a leader fell back. ``weights`` is empty unless it was asked for.
    """

    losses: NDArray[np.float64]
    weights: NDArray[np.float64]
    record: NDArray[np.float64]
    flags: NDArray[np.int8]


_NO_TABLE = np.empty((0, 0))
_NO_ROW = np.empty(0)


def _plain(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array of the one kind for which the kernels are compiled, copied if need be."""
    return np.require(array, requirements=("C", "W"))


@lru_cache(maxsize=64)
def quadrature(n_experts: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights on [0, 1] for the probabilities of perturbed leaders.

    They are exact for polynomials of degree n_experts - 1 up to 94 experts.
    """
    # n nodes are exact to degree 2n - 1; the integrand has K - 1
    n_nodes = min(-(-n_experts // 2) + 1, _MAX_NODES)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _needs(
    rule: GameRule, game: Game, asleep: bool
) -> tuple[bool | None, bool | None, bool | None, tuple[Any, Any]]:
    """Return what the kernels ask of a game: guarded, scored, normal, and nodes with weights.

    None stands for "no": the compiler then leaves out what depends on it.
    """
    guarded = True if asleep or rule.drop else None
    scored = True if guarded or game.handicap.shape[0] > 0 else None
    normal = True if rule.kind == NORMAL else None
    nodes = quadrature(game.excess.shape[0]) if rule.kind == PERTURBED else (None, None)
    return guarded, scored, normal, nodes


def play(
    rule: GameRule,
    game: Game,
    losses: NDArray[np.float64],
    *,
    awake: NDArray[np.bool_] | None = None,
    scales: NDArray[np.float64] | None = None,
    noise: NDArray[np.float64] | None = None,
    keep_weights: bool = True,
) -> Played:
    """Play on with the rows of ``losses``, which are finite, and bring ``game`` up to date.

    ``awake`` says who plays in which round; the others are charged the learner's own loss.
    ``scales`` is the schedule of perturbed leaders, ``noise`` their perturbations: without it
    their exact probabilities are the weights. With ``rule.drop`` a loss may be +infinity.
    """
    n_rounds, n_experts = losses.shape
    guarded, scored, normal, nodes = _needs(rule, game, awake is not None)
    losses = losses.copy(order="C") if guarded else _plain(losses)
    weights = np.empty((n_rounds if keep_weights else 1, n_experts))
    record, flags = np.empty((n_rounds, 8)), np.empty((n_rounds, 2), dtype=np.int8)
    _play(
        rule,
        game,
        losses,
        guarded,
        scored,
        awake,
        _NO_ROW if scales is None else scales,
        normal,
        noise,
        *nodes,
        weights,
        record,
        flags,
    )
    return Played(losses, weights if keep_weights else _NO_TABLE, record, flags)


def play_many(
    rule: GameRule,
    start: Game,
    losses: NDArray[np.float64],
    *,
    scales: NDArray[np.float64] | None = None,
    keep_weights: bool = True,
) -> Played:
    """Play many games, an array of shape (n_games, n_rounds, n_experts), from one start."""
    n_games, n_rounds, n_experts = losses.shape
    losses = _plain(losses)
    guarded, scored, normal, nodes = _needs(rule, start, False)
    weights = np.empty((n_games, n_rounds, n_experts) if keep_weights else (1, 1, n_experts))
    record = np.empty((n_games, n_rounds, 8))
    flags = np.empty((n_games, n_rounds, 2), dtype=np.int8)
    _play_many(
        rule,
        start,
        losses,
        guarded,
        scored,
        _NO_ROW if scales is None else scales,
        normal,
        *nodes,
        weights,
        record,
        flags,
    )
    return Played(losses, weights if keep_weights else np.empty((0, 0, 0)), record, flags)


def leader_probabilities(
    scores: NDArray[np.float64], rates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return P(k minimises scores[t] - ξ / rates[t]) for every row t, ξ exponential."""
    out = np.empty(scores.shape)
    _leader_rows(_plain(scores), _plain(rates), *quadrature(scores.shape[1]), out)
    return out


def next_weights(
    rule: GameRule,
    game: Game,
    *,
    awake: NDArray[np.bool_] | None = None,
    scale: float = 0.0,
) -> NDArray[np.float64]:
    """Return the weights that the rule would play in the coming round."""
    n_experts = game.excess.shape[0]
    weights = np.empty((1, n_experts))
    mask = None if awake is None else awake.reshape(1, n_experts)
    *_, normal, nodes = _needs(rule, game, awake is not None)
    _next_weights(rule, game, mask, scale, normal, *nodes, weights)
    return weights[0]


def _warmup() -> None:
    """Compile the engine."""
    losses = np.array([[0.0, 1.0], [1.0, 0.0]])
    rule = GameRule(ADAHEDGE, math.log(2.0))
    play(rule, new_game(rule, 2), losses)
    play_many(rule, new_game(rule, 2), losses[None])
    next_weights(rule, new_game(rule, 2))
    leader_probabilities(losses, np.ones(2))
