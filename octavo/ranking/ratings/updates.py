"""Updates and predictions of rating models, on arrays.

`OnlineRanker` is built on these functions. A game is a slice of flat arrays (`GameLog`),
ratings are two numbers a player (`RatingState`), and what an update depends on besides is
in `RatingRules`.

Reference: R. C. Weng and C.-J. Lin (2011), "A Bayesian Approximation Method for Online
Ranking", Journal of Machine Learning Research 12. Equation and algorithm numbers are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_ndtr, logsumexp, ndtr

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked
from octavo.engine.probability.normal import (
    above_threshold,
    in_window,
    log_add_exp,
    normal_cdf,
    sigmoid,
)
from octavo.ranking.ratings.game_log import GameLog

__all__ = ["posterior_moments_by_derivatives"]

MODELS = {"bradley_terry": 0, "thurstone_mosteller": 1, "plackett_luce": 2, "glicko": 3, "elo": 4}
BT, TM, PL, GLICKO, ELO = range(5)
SIGMA_OVER_C, INVERSE_K, CONSTANT, TABLE = range(4)

GLICKO_Q = math.log(10.0) / 400.0  # q of Algorithm 5


class RatingRules(NamedTuple):
    """Everything that a game's update depends on besides the ratings."""

    model: int
    full: bool
    beta2: float
    margin: float
    kappa: float
    gamma: int
    gamma_value: float
    tau2: float
    inactivity2: float
    prior_variance: float
    k_factor: float
    normal_link: bool


class Switches(NamedTuple):
    """What a model needs compiled: None for what it does not, so that numba leaves it out."""

    margin: float | None  # Thurstone-Mosteller: its draw margin
    luce: bool | None  # Plackett-Luce among several teams
    duel: bool | None  # Glicko and Elo, which know one player against another only


def switches(rules: RatingRules) -> Switches:
    """Return what the kernels have to know of the model besides its rules."""
    return Switches(
        rules.margin if rules.model == TM else None,
        True if rules.model == PL else None,
        True if rules.model in (GLICKO, ELO) else None,
    )


# --- one game, in arrays ----------------------------------------------------------------------


@njit(cache=True, inline="always")
def _gamma(rules, sigma_i, inverse_c, k, i, q, table):
    """Return γ_q, which slows the shrinking of team i's variance (Section 3.5)."""
    if rules.gamma == SIGMA_OVER_C:
        return sigma_i * inverse_c  # Algorithm 1 with σ_i/c_iq
    if rules.gamma == INVERSE_K:
        return 1.0 / k
    if rules.gamma == CONSTANT:
        return rules.gamma_value
    return table[i, q]


@njit(cache=True, forceinline=True)
def _pair_terms(margin, x, inverse_c, outcome):
    """Return c δ_q/σ_i² and c² η_q/(γ_q σ_i²): Eq. (49)-(50) for BT, Algorithm 3 for TM.

    ``x`` is (μ_i - μ_q)/c; ``outcome`` is 1 when team i is ahead of q, 0 when it is behind, 1/2
    for a tie.
    """
    if margin is not None:
        t = margin * inverse_c
        if outcome == 0.5:
            return in_window(x, t)  # Ṽ, W̃ of Eq. (68)-(69)
        if outcome == 1.0:
            # V, W of Eq. (67)
            return above_threshold(x - t)  # V, W of Eq. (67)
        v, w = above_threshold(-x - t)
        return -v, w
    p = sigmoid(x)  # p of Eq. (49)
    return outcome - p, p * (1.0 - p)  # s - p, p (1 - p) of Eq. (50)


@njit(cache=True)
def _pair_moves(rules, margin, mean, variance, ranks, order, table, omega, delta):
    """Fill Ω and Δ by sums over pairs: all of them, or neighbours in rank order (Eq. 61)."""
    k = mean.shape[0]
    sigma = np.empty(k)
    for i in range(k):
        sigma[i] = math.sqrt(variance[i])
    for a in range(k):
        i = order[a]
        for b in range(a + 1, k if rules.full else min(a + 2, k)):
            q = order[b]
            inverse_c = 1.0 / math.sqrt(variance[i] + variance[q] + 2.0 * rules.beta2)  # c_iq
            outcome = 0.5 if ranks[i] == ranks[q] else 1.0
            # What i gains q loses, in units of the team's own variance.
            x = (mean[i] - mean[q]) * inverse_c
            shift, shrink = _pair_terms(margin, x, inverse_c, outcome)
            si, sq = variance[i] * inverse_c, variance[q] * inverse_c
            omega[i] += si * shift  # δ_q of Eq. (49)
            omega[q] -= sq * shift
            shrink *= inverse_c
            # η_q of Eq. (50): γ (σ_i/c)² p (1 - p)
            delta[i] += _gamma(rules, sigma[i], inverse_c, k, i, q, table) * si * shrink
            delta[q] += _gamma(rules, sigma[q], inverse_c, k, q, i, table) * sq * shrink


@njit(cache=True)
def _plackett_luce_moves(rules, mean, variance, ranks, order, table, omega, delta):
    """Fill Ω and Δ of Algorithm 4 in O(k) after sorting.

    The A_q tied teams of a rank share C_q and are each weighted 1/A_q, so a whole rank
    contributes p_i,C and p_i,C(1 - p_i,C) once. Sums of p over ranks are kept as logarithms
    of Σ 1/S and Σ 1/S², where S is the sum of e^(μ/c) over C.
    """
    k = mean.shape[0]
    total_variance = 0.0
    for i in range(k):
        total_variance += variance[i]
    c = math.sqrt(total_variance + k * rules.beta2)  # c of Algorithm 4, step 3
    log_s = np.empty(k)
    total = -math.inf
    for a in range(k - 1, -1, -1):
        # Log Σ_{s ∈ C_q} e^(μ_s/c): step 3, with μ where print has θ
        total = log_add_exp(total, mean[order[a]] / c)
        log_s[a] = total
    inverse, inverse2 = -math.inf, -math.inf
    a = 0
    while a < k:
        b = a
        while b < k and ranks[order[b]] == ranks[order[a]]:
            b += 1
        inverse = log_add_exp(inverse, -log_s[a])  # log Σ_q 1/Σ_s over the ranks so far
        inverse2 = log_add_exp(inverse2, -2.0 * log_s[a])  # the same of the squares
        for m in range(a, b):
            i = order[m]
            p = math.exp(mean[i] / c + inverse)
            p2 = math.exp(2.0 * mean[i] / c + inverse2)
            gamma = _gamma(rules, math.sqrt(variance[i]), 1.0 / c, k, i, i, table)
            omega[i] = variance[i] / c * (1.0 / (b - a) - p)  # Ω: 1/A - Σ_q p_i,Cq
            delta[i] = gamma * variance[i] / (c * c) * max(p - p2, 0.0)  # Δ: Σ_q p (1 - p)
        a = b


@njit(cache=True)
def _glicko_move(mu, variance, other_mu, other_variance, score):
    """Return the new mean and variance after one game (Algorithm 5)."""
    q = GLICKO_Q
    g = 1.0 / math.sqrt(1.0 + 3.0 * q * q * other_variance / (math.pi * math.pi))  # Eq. (74)
    p = sigmoid(q * g * (mu - other_mu))  # p* of Algorithm 5, step 3
    new_variance = 1.0 / (1.0 / variance + q * q * g * g * p * (1.0 - p))  # 1/(1/σ² + 1/δ²)
    return mu + new_variance * q * g * (score - p), new_variance


@njit(cache=True)
def _elo_move(rules, mu, other_mu, score):
    """Return the new rating of Eq. (6), with the link of Eq. (5) or its logistic form."""
    if rules.normal_link:
        p = normal_cdf((mu - other_mu) / math.sqrt(2.0 * rules.beta2))
    else:
        p = sigmoid(GLICKO_Q * (mu - other_mu))
    return mu + rules.k_factor * (score - p)


@njit(cache=True, forceinline=True)
def _duel(rules, margin, duel, mi, vi, mj, vj, score, table):
    """Return both players' means and variances after one game of one against the other."""
    if duel is not None:
        if rules.model == GLICKO:
            return (
                *_glicko_move(mi, vi, mj, vj, score),
                *_glicko_move(mj, vj, mi, vi, 1.0 - score),
            )
        return _elo_move(rules, mi, mj, score), vi, _elo_move(rules, mj, mi, 1.0 - score), vj
    # Two teams: full pairs, partial pairs and Plackett-Luce are one and the same.
    # c_iq
    inverse_c = 1.0 / math.sqrt(vi + vj + 2.0 * rules.beta2)  # the one division but the link's
    shift, shrink = _pair_terms(margin, (mi - mj) * inverse_c, inverse_c, score)
    gi = _gamma(rules, math.sqrt(vi), inverse_c, 2, 0, 1, table)
    gj = _gamma(rules, math.sqrt(vj), inverse_c, 2, 1, 0, table)
    si, sj = vi * inverse_c, vj * inverse_c
    shrink *= inverse_c
    ki = max(1.0 - gi * si * shrink, rules.kappa)  # Eq. (44) with a team of one
    kj = max(1.0 - gj * sj * shrink, rules.kappa)
    return mi + si * shift, vi * ki, mj - sj * shift, vj * kj  # Eq. (43)


@njit(cache=True)
def _stable_order(ranks):
    """Return the teams from first to last, ties in the order given (bottom-up merge sort)."""
    k = ranks.shape[0]
    order, merged = np.empty(k, np.int64), np.empty(k, np.int64)
    for t in range(k):
        order[t] = t
    width = 1
    while width < k:
        for start in range(0, k, 2 * width):
            middle, stop = min(start + width, k), min(start + 2 * width, k)
            a, b = start, middle
            for out in range(start, stop):
                if a < middle and (b >= stop or ranks[order[a]] <= ranks[order[b]]):
                    merged[out] = order[a]
                    a += 1
                else:
                    merged[out] = order[b]
                    b += 1
        order, merged = merged, order
        width *= 2
    return order


@njit(cache=True)
def team_sums(first, last, team_ptr, players, weights, mu, variance, mean_out, variance_out):
    """Fill each team's mean Σ w μ and variance Σ w² σ²."""
    for t in range(first, last):
        m, v = 0.0, 0.0
        for slot in range(team_ptr[t], team_ptr[t + 1]):
            w = weights[slot] if weights.shape[0] else 1.0
            m += w * mu[players[slot]]  # Eq. (42), where w = 1
            v += w * w * variance[players[slot]]
        mean_out[t - first] = m
        variance_out[t - first] = v


@njit(cache=True, forceinline=True)
def rate_game(
    rules, margin, luce, duel, first, last, team_ptr, players, weights, ranks, mu, variance, table
):
    """Play one game between the teams first..last-1, in place, from pre-game values.

    ``margin``, ``luce`` and ``duel`` are the model's `Switches`.
    """
    k = last - first
    p0, p1 = team_ptr[first], team_ptr[first + 1]
    if k == 2 and p1 - p0 == 1 and team_ptr[last] - p1 == 1 and weights.shape[0] == 0:
        r0, r1 = ranks[first], ranks[first + 1]
        score = 0.5 if r0 == r1 else (1.0 if r0 < r1 else 0.0)
        i, j = players[p0], players[p1]
        mu[i], variance[i], mu[j], variance[j] = _duel(
            rules, margin, duel, mu[i], variance[i], mu[j], variance[j], score, table
        )
        return
    mean, team_variance = np.empty(k), np.empty(k)
    omega, delta = np.empty(k), np.empty(k)
    for t in range(k):
        omega[t] = delta[t] = 0.0
    team_sums(first, last, team_ptr, players, weights, mu, variance, mean, team_variance)
    game_ranks = ranks[first:last]
    order = _stable_order(game_ranks)
    if luce is not None:
        _plackett_luce_moves(rules, mean, team_variance, game_ranks, order, table, omega, delta)
    else:
        _pair_moves(rules, margin, mean, team_variance, game_ranks, order, table, omega, delta)
    for t in range(k):
        if team_variance[t] <= 0.0:
            continue
        for slot in range(team_ptr[first + t], team_ptr[first + t + 1]):
            j = players[slot]
            w = weights[slot] if weights.shape[0] else 1.0
            # The σ_ij²/σ_i² of Eq. (43)-(44), for a team's skill Σ w θ_ij.
            share = w * variance[j] / team_variance[t]
            mu[j] += share * omega[t]  # Eq. (43)
            variance[j] *= max(1.0 - w * share * delta[t], rules.kappa)  # Eq. (44)


# --- a whole log of games ---------------------------------------------------------------------


class RatingState(NamedTuple):
    """Ratings: two numbers a player, and when each played last."""

    mu: NDArray[np.float64]
    variance: NDArray[np.float64]
    last_time: NDArray[np.float64]  # NaN before the first game; kept up only under drift


@njit(cache=True)
def replay_duels(rules, margin, duel, players, ranks, mu, variance):
    """Play a log in which every game is one player against another.

    A player's two numbers lie side by side meanwhile, so that each is one line of the cache.
    """
    beliefs = np.empty((mu.shape[0], 2))
    for i in range(mu.shape[0]):
        beliefs[i, 0], beliefs[i, 1] = mu[i], variance[i]
    no_table = np.empty((0, 0))
    for g in range(players.shape[0] // 2):
        i, j = players[2 * g], players[2 * g + 1]
        r0, r1 = ranks[2 * g], ranks[2 * g + 1]
        score = 0.5 if r0 == r1 else (1.0 if r0 < r1 else 0.0)
        vi, vj = beliefs[i, 1] + rules.tau2, beliefs[j, 1] + rules.tau2
        beliefs[i, 0], beliefs[i, 1], beliefs[j, 0], beliefs[j, 1] = _duel(
            rules, margin, duel, beliefs[i, 0], vi, beliefs[j, 0], vj, score, no_table
        )
    for i in range(mu.shape[0]):
        mu[i], variance[i] = beliefs[i, 0], beliefs[i, 1]


@njit(cache=True)
def add_drift(rules, players, now, variance, last_time):
    """Let the skills of a game's players drift since each one's last game."""
    for j in players:
        if rules.inactivity2 > 0.0 and now > last_time[j]:  # false while last_time is NaN
            grown = variance[j] + rules.inactivity2 * (now - last_time[j])
            variance[j] = min(grown, max(variance[j], rules.prior_variance))
        variance[j] += rules.tau2
        last_time[j] = now


@njit(cache=True)
def replay_games(rules, margin, luce, duel, log, state, clock, before_mean, before_variance, after):
    """Play every game of a log in order.

    ``before_mean`` and ``before_variance`` receive each team's sums before its game, ``after``
    the mean and variance of each slot's player after it; empty arrays ask for neither.
    """
    watch, keep = before_mean.shape[0] > 0, after.shape[0] > 0
    drift = rules.tau2 > 0.0 or rules.inactivity2 > 0.0
    mu, variance = state.mu, state.variance
    no_table = np.empty((0, 0))
    teams, players, weights = log.team_ptr, log.players, log.weights
    for g in range(log.game_ptr.shape[0] - 1):
        first, last = log.game_ptr[g], log.game_ptr[g + 1]
        if drift:
            now = log.times[g] if log.times.shape[0] else clock + g
            add_drift(rules, players[teams[first] : teams[last]], now, variance, state.last_time)
        if watch:
            mean_out, variance_out = before_mean[first:last], before_variance[first:last]
            team_sums(first, last, teams, players, weights, mu, variance, mean_out, variance_out)
        rate_game(
            rules, margin, luce, duel, first, last, teams, players, weights, log.ranks, mu,
            variance, no_table,
        )  # fmt: skip
        if keep:
            for slot in range(teams[first], teams[last]):
                after[slot, 0] = mu[players[slot]]
                after[slot, 1] = variance[players[slot]]


def as_numbers(rules: RatingRules) -> NDArray[np.float64]:
    """Return rules as an array: handing a tuple to a compiled function takes longer than a game."""
    return np.array(rules, dtype=np.float64)


@njit(cache=True)
def play_game(numbers, margin, luce, duel, k, game, weights, now, mu, variance, last_time):
    """Play one game of k teams by rules `as_numbers`.

    ``game`` holds the ranks of the teams, their pointer and their players, one after the other.
    """
    rules = RatingRules(
        int(numbers[0]), numbers[1] != 0.0, numbers[2], numbers[3], numbers[4], int(numbers[5]),
        numbers[6], numbers[7], numbers[8], numbers[9], numbers[10], numbers[11] != 0.0,
    )  # fmt: skip
    places = np.empty(game.shape[0] - k, np.int64)
    for i in range(places.shape[0]):
        places[i] = int(game[k + i])
    teams, players = places[: k + 1], places[k + 1 :]
    if rules.tau2 > 0.0 or rules.inactivity2 > 0.0:
        add_drift(rules, players, now, variance, last_time)
    rate_game(
        rules, margin, luce, duel, 0, k, teams, players, weights, game[:k], mu, variance,
        np.empty((0, 0)),
    )  # fmt: skip


@njit(cache=True)
def glicko_period(rules, one, other, score, state):
    """Play a rating period: every game against the ratings at its start (Eq. 81-88)."""
    q = GLICKO_Q
    n = state.mu.shape[0]
    information, pull = np.zeros(n), np.zeros(n)
    mu, variance = state.mu, state.variance.copy()
    playing = np.zeros(n, dtype=np.bool_)
    for a, b in zip(one, other):
        playing[a] = True
        playing[b] = True
    for j in range(n):
        if playing[j]:
            variance[j] += rules.tau2
    for k in range(one.shape[0]):
        for side in range(2):
            i, j = (one[k], other[k]) if side == 0 else (other[k], one[k])
            s = score[k] if side == 0 else 1.0 - score[k]
            # g(σ_j²) of Eq. (74)
            g = 1.0 / math.sqrt(1.0 + 3.0 * q * q * variance[j] / (math.pi * math.pi))
            p = sigmoid(q * g * (mu[i] - mu[j]))
            information[i] += q * q * g * g * p * (1.0 - p)  # 1/δ² adds up over a period's games
            pull[i] += g * (s - p)
    for j in range(n):
        if playing[j]:
            state.variance[j] = 1.0 / (1.0 / variance[j] + information[j])
            # Against the ratings at the period's start
            state.mu[j] += q * state.variance[j] * pull[j]


def tabulated_gamma(
    rules: RatingRules,
    gamma: Callable[[float, float, int], float],
    variance: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return γ of a user's function for every ordered pair of a game's teams."""
    k = variance.size
    if rules.model == PL:
        c = np.full((k, k), math.sqrt(variance.sum() + k * rules.beta2))
    else:
        c = np.sqrt(variance[:, None] + variance[None, :] + 2.0 * rules.beta2)
    sigma = np.sqrt(variance)
    table = np.array([[float(gamma(sigma[i], c[i, q], k)) for q in range(k)] for i in range(k)])
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError(f"gamma must return finite numbers >= 0, got {table.tolist()}.")
    return table


# --- predictions, in arrays -------------------------------------------------------------------


def win_matrix(
    rules: RatingRules, mean: NDArray[np.float64], variance: NDArray[np.float64], margin: float
) -> NDArray[np.float64]:
    """Return P(row beats column by more than the margin) for every pair of teams."""
    gap = mean[:, None] - mean[None, :]
    total = variance[:, None] + variance[None, :]
    if rules.model == GLICKO:
        # Of both players' variances: neither is known
        g = 1.0 / np.sqrt(1.0 + 3.0 * GLICKO_Q**2 * total / np.pi**2)
        return expit(GLICKO_Q * g * gap)
    if rules.model == ELO and not rules.normal_link:
        return expit(GLICKO_Q * gap)
    if rules.model == ELO:
        return ndtr(gap / math.sqrt(2.0 * rules.beta2))
    c = np.sqrt(total + 2.0 * rules.beta2)
    if rules.model == TM:
        return ndtr((gap - margin) / c)  # Eq. (65)
    return expit((gap - margin) / c)  # Eq. (57)


def order_probability(
    rules: RatingRules, mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> float:
    """Return the probability that the teams finish in the order in which they are given."""
    if rules.model in (BT, PL):
        # Gumbel performances, whose pairs are Bradley-Terry, make Plackett-Luce (Eq. 9).
        # c and strengths of Algorithm 4.
        log_strength = mean / math.sqrt(variance.sum() + mean.size * rules.beta2)
        suffix = [logsumexp(log_strength[q:]) for q in range(mean.size)]
        return float(np.exp(np.sum(log_strength - suffix)))
    if mean.size == 2:
        return float(win_matrix(rules, mean, variance, 0.0)[0, 1])
    # Independent normal performances: h_i(x) = P(X_k < ... < X_i < x), one integral a team.
    scale = np.sqrt(variance + rules.beta2)
    x = np.linspace((mean - 9 * scale).min(), (mean + 9 * scale).max(), 20_001)
    z = (x[None, :] - mean[:, None]) / scale[:, None]
    below = ndtr(z[-1])
    step = x[1] - x[0]
    for i in range(mean.size - 2, -1, -1):
        density = np.exp(-0.5 * z[i] ** 2) / (scale[i] * math.sqrt(2.0 * math.pi)) * below
        panels = 0.5 * step * (density[1:] + density[:-1])
        below = np.concatenate([[0.0], np.cumsum(panels)])
    return float(below[-1])


def first_place(
    rules: RatingRules, mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each team's probability of beating all the others, for three teams or more."""
    if rules.model in (BT, PL):
        # e^(μ_i/c) / Σ e^(μ_s/c)
        strength = mean / math.sqrt(variance.sum() + mean.size * rules.beta2)
        return np.exp(strength - logsumexp(strength))
    scale = np.sqrt(variance + rules.beta2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    out = np.empty(mean.size)
    for i in range(mean.size):
        x = mean[i] + scale[i] * nodes - rules.margin
        others = np.delete(np.arange(mean.size), i)
        log_p = log_ndtr((x[:, None] - mean[others]) / scale[others]).sum(axis=1)
        out[i] = weights @ np.exp(log_p) / math.sqrt(2.0 * math.pi)
    return out


def _central_differences(
    function: Callable[[NDArray[np.float64]], float],
    x: NDArray[np.float64],
    centre: float,
    h: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return first and unmixed second derivatives by differences of fourth order."""
    first, second = np.empty_like(x), np.empty_like(x)
    for i in range(x.size):
        step = np.zeros_like(x)
        step[i] = h[i]
        f_2, f_1, f1, f2 = (float(function(x + m * step)) for m in (-2, -1, 1, 2))
        first[i] = (8 * (f1 - f_1) - (f2 - f_2)) / (12 * h[i])  # error of order h⁴
        second[i] = (16 * (f1 + f_1) - (f2 + f_2) - 30 * centre) / (12 * h[i] ** 2)
    return first, second


@checked
def posterior_moments_by_derivatives(
    log_likelihood: Callable[[NDArray[np.float64]], float],
    mu: ArrayLike,
    sigma: ArrayLike,
    *,
    kappa: float = 1e-4,
    gradient: Callable[[NDArray[np.float64]], ArrayLike] | None = None,
    hessian_diagonal: Callable[[NDArray[np.float64]], ArrayLike] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Update independent normal beliefs by any smooth likelihood of the skills.

    The posterior mean and variance of θ are approximated from the derivatives of the
    log-likelihood at the prior mean (Eq. 27-30 of the paper), which follow from W-Stein's
    identity (Eq. 22-23). With it a game model of one's own needs no algebra.

    Parameters
    ----------
    log_likelihood : callable
        Maps skills, an array of shape (k,), to the log-probability of what was observed.
    mu, sigma : array-like of shape (k,)
        Prior means and standard deviations.
    kappa : float, default=1e-4
        Smallest factor by which a variance may shrink.
    gradient, hessian_diagonal : callable, optional
        First derivatives and unmixed second derivatives of the log-likelihood. Central
        differences are taken when they are not given.

    Returns
    -------
    mu_new, sigma_new : ndarray of shape (k,)
        Posterior means and standard deviations.

    Examples
    --------
    >>> from octavo.ranking import posterior_moments_by_derivatives
    >>> import numpy as np
    >>> def first_beats_second(theta):
    ...     return -np.logaddexp(0.0, (theta[1] - theta[0]) / 13.2)
    >>> mu, sigma = posterior_moments_by_derivatives(first_beats_second, [25, 25], [8, 8])
    >>> mu.round(3)
    array([27.424, 22.576])
    """
    mean = np.array(mu, dtype=float, ndmin=1)
    scale = np.array(sigma, dtype=float, ndmin=1)
    if mean.shape != scale.shape or mean.ndim != 1:
        raise ValueError(
            f"mu and sigma must be vectors of one length, got shapes {mean.shape} and "
            f"{scale.shape}."
        )
    if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("mu must be finite and sigma finite and positive.")
    centre = float(log_likelihood(mean))
    if not math.isfinite(centre):
        raise ValueError(f"log_likelihood must be finite at the prior mean, got {centre}.")
    if gradient is None or hessian_diagonal is None:
        slope, curvature = _central_differences(log_likelihood, mean, centre, 3e-3 * scale)
    if gradient is not None:
        slope = np.asarray(gradient(mean), dtype=float)
    if hessian_diagonal is not None:
        curvature = np.asarray(hessian_diagonal(mean), dtype=float)
    omega = scale**2 * slope  # Eq. (29)
    delta = -(scale**2) * curvature  # Eq. (30)
    return mean + omega, scale * np.sqrt(np.maximum(1.0 - delta, kappa))  # Eq. (27)-(28)


def _warmup() -> None:
    """Compile the replay of every model."""
    log = GameLog(
        np.array([0, 2]),
        np.array([0, 1, 2]),
        np.array([0, 1]),
        np.empty(0),
        np.array([0.0, 1.0]),
        np.empty(0),
    )
    state = RatingState(np.zeros(2), np.ones(2), np.zeros(2))
    sums, table = (np.empty(2), np.empty(2)), np.ones((2, 2))
    arrays = log.team_ptr, log.players, log.weights, log.ranks, state.mu, state.variance
    for model in (BT, TM, PL, ELO):  # Glicko is compiled with Elo
        rules = RatingRules(model, True, 1.0, 0.1, 1e-4, 0, 0.0, 0.0, 0.0, 1.0, 32.0, False)
        needs = switches(rules)
        replay_games(rules, *needs, log, state, 0.0, *sums, np.empty((0, 2)))
        replay_duels(
            rules, needs.margin, needs.duel, log.players, log.ranks, state.mu, state.variance
        )
        rate_game(rules, *needs, 0, 2, *arrays, table)
        game = np.array([0.0, 1.0, 0, 1, 2, 0, 1])
        play_game(as_numbers(rules), *needs, 2, game, log.weights, 0.0, *state)
    add_drift(rules, log.players, 0.0, state.variance, state.last_time)
    team_sums(0, 2, log.team_ptr, log.players, log.weights, state.mu, state.variance, *sums)
    glicko_period(rules, log.players[:1], log.players[1:], log.ranks[:1], state)
