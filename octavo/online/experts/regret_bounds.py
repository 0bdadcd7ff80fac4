"""Bounds on the regret of the strategies, after each round of a trace.

Reference: S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014), "Follow the Leader
If You Can, Hedge If You Must", Journal of Machine Learning Research 15: Eq. (1) and (7),
Lemmas 3, 10 and 12, Theorems 6, 8 and 15, Corollaries 9 and 16. S_t is the largest range of a
round's losses so far, L* the best expert's total, L⁻ and L⁺ the totals of the rounds' smallest
and largest losses.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.games.experts import (
    FLIP,
    FLOP,
    HEDGE,
    SECOND_ORDER_FACTOR,
    GameRule,
    new_game,
    play,
)
from octavo.engine.games.trace import Bounds, GameTrace
from octavo.online.experts.strategy import checked_losses

__all__ = ["data_bounds"]


def parabola(trace: GameTrace) -> Floats:
    """Return (L⁺ - L*)(L* - L⁻)/(L⁺ - L⁻), zero where L⁺ = L⁻."""
    above = np.maximum(trace.highest_loss_ - trace.best_loss_, 0.0)
    below = np.maximum(trace.best_loss_ - trace.lowest_loss_, 0.0)
    total = trace.highest_loss_ - trace.lowest_loss_
    # 0/0 is zero, as said after Lemma 7
    return np.divide(above * below, total, out=np.zeros_like(total), where=total > 0)


def hedge_bounds(trace: GameTrace, eta: float) -> Bounds:
    """Return Eq. (7); with a prior, ln K becomes -ln of the best expert's share."""
    rounds = np.arange(1, trace.n_rounds + 1)
    cost: float | Floats = trace.rule.log_k
    if trace.prior_ is not None:
        best = np.argmin(trace.cumulative_losses_, axis=-1)
        with np.errstate(divide="ignore"):
            cost = -np.log(trace.prior_[best])
    return {"equation 7": cost / eta + eta * trace.largest_range_**2 * rounds / 8.0}


def leader_bounds(trace: GameTrace) -> Bounds:
    """Return Lemma 10."""
    return {"lemma 10": trace.largest_range_ * trace.leader_changes_}


def adahedge_bounds(trace: GameTrace) -> Bounds:
    """Return Lemma 3, Theorems 6 and 8 and the three forms of Corollary 9."""
    log_k, span = trace.rule.log_k, trace.largest_range_
    below = np.maximum(trace.best_loss_ - trace.lowest_loss_, 0.0)
    above = np.maximum(trace.highest_loss_ - trace.best_loss_, 0.0)
    short = span * (4.0 / 3.0 * log_k + 2.0)  # of Theorem 6
    long = span * (16.0 / 3.0 * log_k + 2.0)  # of Eq. (15)
    squares = np.cumsum(trace.range_**2, axis=-1)
    return {
        "lemma 3": 2.0 * trace.cumulative_gap_,
        "theorem 6": 2.0 * np.sqrt(trace.cumulative_variance_ * log_k) + short,
        "theorem 8": 2.0 * np.sqrt(span * parabola(trace) * log_k) + long,  # Eq. (15)
        "corollary 9, ranges": np.sqrt(squares * log_k) + short,
        "corollary 9, losses": 2.0 * np.sqrt(span * below * log_k) + long,
        "corollary 9, gains": 2.0 * np.sqrt(span * above * log_k) + long,
    }


def flipflop_bounds(trace: GameTrace, phi: float, alpha: float) -> Bounds:
    """Return the two bounds of Lemma 12 and of Theorem 15."""
    span, log_k = trace.largest_range_, trace.rule.log_k
    flip = np.cumsum(np.where(trace.regime_ == FLIP, trace.gap_, 0.0), axis=-1)
    flop = np.cumsum(np.where(trace.regime_ == FLOP, trace.gap_, 0.0), axis=-1)
    leading = phi * alpha / (phi - 1.0) + 2.0 * alpha + 1.0  # f, the factor of Eq. (17)
    c1 = phi / (phi - 1.0) + phi / alpha + 2.0  # g, the factor of Eq. (18)
    extra = span * (phi / (phi - 1.0) + 2.0)
    # Theorem 15, second bound, whose leading factor is c1.
    rest = c1 * span * ((c1 + 2.0 / 3.0) * log_k + math.sqrt(log_k) + 1.0) + span
    return {
        "lemma 12, flip": leading * flip + extra,  # Eq. (17)
        "lemma 12, flop": c1 * flop + span,  # Eq. (18)
        "theorem 15, leader": leading * trace.leader_regret_ + extra,
        "theorem 15, losses": c1 * np.sqrt(span * parabola(trace) * log_k) + rest,
    }


def doubling_bounds(trace: GameTrace) -> Bounds:
    """Return Δ plus ln K / η of every block so far.

    Within a block the rate is constant, so that M - L* is at most ln K / η (Lemma 1), and the
    blocks' best experts together are no worse than the best expert of all rounds.
    """
    begins = np.diff(trace.regime_, axis=-1, prepend=-1) != 0
    costs = np.cumsum(np.where(begins, trace.rule.log_k / trace.eta_, 0.0), axis=-1)
    return {"blocks": costs + trace.cumulative_gap_}


def cbms_leading_term(trace: GameTrace) -> Floats:
    """Return the leading term of Eq. (1): 4 √((L* - L⁻)(L⁻ + ST - L*)/T ln K)."""
    rounds = np.arange(1, trace.n_rounds + 1)
    below = np.maximum(trace.best_loss_ - trace.lowest_loss_, 0.0)
    above = np.maximum(trace.largest_range_ * rounds - below, 0.0)  # L⁻ + ST - L*
    return 4.0 * np.sqrt(below * above / rounds * trace.rule.log_k)  # Eq. (1)


def cbms_bounds(trace: GameTrace) -> Bounds:
    """Return a second-order bound with all its terms.

    The rate never rises, so that M - L* is at most ln K / η_T (Lemma 2). A round whose range
    exceeds E costs at most its range, and those ranges add to at most 2E. Elsewhere
    δ <= (e - 2) η v, whose sum is at most (e - 2)(√2 + 1) C √(V ln K) over rounds in which V
    at most doubles, and (e - 2)(1 + √2)/2 E over the others.
    """
    span, log_k = trace.largest_range_, trace.rule.log_k
    mantissa, exponent = np.frexp(span)
    power = np.where(span > 0, np.ldexp(1.0, exponent - (mantissa == 0.5)), 0.0)
    root = np.sqrt(trace.cumulative_variance_ * log_k)
    mixed = np.maximum(power * log_k, root / SECOND_ORDER_FACTOR)
    gaps = (math.e - 2.0) * (math.sqrt(2.0) + 1.0) * (SECOND_ORDER_FACTOR * root + power / 2.0)
    return {"second order": mixed + gaps + 2.0 * power}


def largest_leader_variation(losses: Floats) -> Floats:
    """Return VAR^max: the largest variation that a best expert so far has had (Section 1.2).

    Where several experts lead, the largest of their variations counts.
    """
    rounds = np.arange(1.0, losses.shape[-2] + 1.0)[:, None]
    totals = np.cumsum(losses, axis=-2)
    mean = totals / rounds
    before = np.concatenate([np.zeros_like(mean[..., :1, :]), mean[..., :-1, :]], axis=-2)
    variation = np.cumsum((losses - mean) * (losses - before), axis=-2)  # Welford's recursion
    leads = totals == totals.min(axis=-1, keepdims=True)
    return np.maximum.accumulate(np.where(leads, variation, -np.inf).max(axis=-1), axis=-1)


def variation_bounds(trace: GameTrace, eta: float) -> Bounds:
    """Return 8 √(Q ln K) + 10 ln K of Hazan and Kale (2008, Theorem 4).

    The theorem sets η = min(√(ln K / 4Q), 1/10) for losses in [0, 1] and any Q that the
    variation of the leaders does not exceed; Q is the smallest one that gives this η.
    """
    log_k, losses = trace.rule.log_k, trace.losses_
    variation = largest_leader_variation(losses)
    allowed = log_k / (4.0 * eta**2) * (1.0 + 1e-12)
    q = variation if eta == 0.1 else np.full_like(variation, allowed)
    valid = (losses.min(axis=-1) >= 0.0) & (losses.max(axis=-1) <= 1.0)
    valid = np.logical_and.accumulate(valid, axis=-1) & (variation <= allowed) & (eta <= 0.1)
    bound = 8.0 * np.sqrt(q * log_k) + 10.0 * log_k
    return {"theorem 4 of Hazan and Kale": np.where(valid, bound, np.inf)}


@checked
def data_bounds(losses: ArrayLike, *, phi: float = 2.37, alpha: float = 1.243) -> Bounds:
    """Return the regret bounds that a matrix of losses implies, whatever is then played.

    Parameters
    ----------
    losses : array-like of shape (n_rounds, n_experts)
        Losses of the experts.
    phi, alpha : float
        Parameters of FlipFlop.

    Returns
    -------
    bounds : dict of str to ndarray of shape (n_rounds,)
        After each round: "hedge, best rate" (Eq. 7 at its best learning rate, which needs the
        horizon), "adahedge" (Theorem 8) and its three forms of Corollary 9, "flipflop" (the
        smaller one of Theorem 15), "leader" (Lemma 10) and "cbms, leading term" (Eq. 1 without
        its lower-order terms).

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> from octavo.online import data_bounds
    >>> bounds = data_bounds(make_expert_game(1))
    >>> round(float(bounds["adahedge"][-1]), 2)
    32.02
    """
    matrix = checked_losses(losses, ndim=(2,), drop=False)
    log_k = math.log(matrix.shape[1])
    rule = GameRule(HEDGE, log_k)  # Follow-the-Leader: its own regret is a bound as well
    trace = GameTrace(rule, play(rule, new_game(rule, matrix.shape[1]), matrix, keep_weights=False))
    rounds = np.arange(1, trace.n_rounds + 1)
    ada = adahedge_bounds(trace)
    flip = flipflop_bounds(trace, phi, alpha)
    return {
        "hedge, best rate": trace.largest_range_ * np.sqrt(rounds * log_k / 2.0),
        "leader": leader_bounds(trace)["lemma 10"],
        "adahedge": ada["theorem 8"],
        "adahedge, ranges": ada["corollary 9, ranges"],
        "adahedge, losses": ada["corollary 9, losses"],
        "adahedge, gains": ada["corollary 9, gains"],
        "flipflop": np.minimum(flip["theorem 15, leader"], flip["theorem 15, losses"]),
        "cbms, leading term": cbms_leading_term(trace),
    }
