"""Moves between subsets of n things: birth, death and swap, with their proposal ratios.

Reversible jump proposes a birth with probability b_k and a death with d_k at size k, and corrects
for both in the acceptance. Stochastic search flips a thing chosen among all n, or swaps; its
proposals are symmetric, so that the acceptance has no proposal ratio. Both have the same target.

References: D. J. Nott and P. J. Green (2004), "Bayesian variable selection and the Swendsen-Wang
algorithm", Journal of Computational and Graphical Statistics 13; E. I. George and R. E. McCulloch
(1997), "Approaches for Bayesian variable selection", Statistica Sinica 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Ints
from octavo.engine.mcmc.metropolis import accepts

BIRTH, DEATH, SWAP, STAY = 0, 1, 2, 3
BIRTH_SHARE = DEATH_SHARE = 0.3  # b_k = d_k for 1 <= k < k_max; a swap otherwise
FLIP_SHARE = 0.6  # of stochastic search


def birth_probability(k: int, k_max: int) -> float:
    """Return b_k: one for the empty set, zero at k_max."""
    if k >= k_max:
        return 0.0
    return 1.0 if k == 0 else BIRTH_SHARE


def death_probability(k: int, k_max: int) -> float:
    """Return d_k: zero for the empty set, one at k_max."""
    if k == 0:
        return 0.0
    return 1.0 if k >= k_max else DEATH_SHARE


def choose_move(u: float, k: int, n: int, k_max: int, jump: bool) -> int:
    """Return the kind of move that a uniform number u stands for, at size k of n."""
    if jump:
        birth = birth_probability(k, k_max)
        if u < birth:
            return BIRTH
        return DEATH if u < birth + death_probability(k, k_max) else SWAP
    if u < FLIP_SHARE:  # one of all n is flipped: k of them are deaths
        if u * n < FLIP_SHARE * k:
            return DEATH
        return BIRTH if k < k_max else STAY
    return SWAP if 0 < k < n else STAY


def log_birth_ratio(k: int, n: int, k_max: int, jump: bool) -> float:
    """Return the log proposal ratio of a birth at size k; that of the death back is its negative.

    d_{k+1} (n - k) / (b_k (k + 1)) for reversible jump, one for stochastic search.
    """
    if not jump:
        return 0.0
    death, birth = death_probability(k + 1, k_max), birth_probability(k, k_max)
    # d_{k+1} / (k + 1) of the way back over b_k / (n - k) of the birth
    return math.log(death * (n - k)) - math.log(birth * (k + 1))


class SubsetDraws(NamedTuple):
    """What a walk over subsets saw.

    Attributes
    ----------
    masks : ndarray of bool of shape (n_iter, n)
        The subset after each move.
    log_posts : ndarray of shape (n_iter,)
        Their log density, up to a constant.
    proposed, accepted : ndarray of int of shape (3,)
        Births, deaths and swaps.
    """

    masks: NDArray[np.bool_]
    log_posts: NDArray[np.float64]
    proposed: Ints
    accepted: Ints


def walk_over_subsets(
    log_post: Callable[[NDArray[np.bool_]], float],
    n: int,
    k_max: int,
    n_iter: int,
    rng: np.random.Generator,
    *,
    jump: bool = True,
) -> SubsetDraws:
    """Return subsets of at most `k_max` of n things, drawn with probability ∝ exp(log_post).

    Parameters
    ----------
    log_post : callable
        Takes a boolean mask; minus infinity where a subset is impossible.
    n, k_max, n_iter : int
        Number of things, largest size, number of moves.
    rng : Generator
        Source of randomness.
    jump : bool, default=True
        Reversible jump; otherwise stochastic search.

    Returns
    -------
    draws : SubsetDraws
        One mask per move; the walk starts from the empty set.
    """
    mask = np.zeros(n, dtype=bool)
    value = float(log_post(mask.copy()))
    masks, values = np.empty((n_iter, n), dtype=bool), np.empty(n_iter)
    proposed, accepted = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    for t in range(n_iter):
        k = int(mask.sum())
        move = choose_move(rng.random(), k, n, k_max, jump)
        other, ratio = mask.copy(), 0.0
        if move in (BIRTH, SWAP):
            out = np.flatnonzero(~mask)
            other[out[rng.integers(out.size)]] = True
        if move in (DEATH, SWAP):
            within = np.flatnonzero(mask)
            other[within[rng.integers(k)]] = False
        if move == BIRTH:
            ratio = log_birth_ratio(k, n, k_max, jump)
        elif move == DEATH:
            ratio = -log_birth_ratio(k - 1, n, k_max, jump)
        proposed[move] += 1
        if move != STAY:
            new = float(log_post(other.copy()))
            if math.isnan(new):
                raise ValueError(f"log_post returned NaN for the subset {np.flatnonzero(other)}.")
            # From a subset of probability zero, any move to another is a step towards the support.
            if not math.isfinite(value) or accepts(new - value + ratio, rng):
                mask, value = other, new
                accepted[move] += 1
        masks[t], values[t] = mask, value
    return SubsetDraws(masks, values, proposed[:3], accepted[:3])
