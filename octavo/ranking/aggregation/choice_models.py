"""Bradley-Terry and Plackett-Luce by Newton's method on sparse evidence.

Both likelihoods are concave and their Hessians are Laplacians: a step is found by conjugate
gradients, whose products cost one pass over the pairs or the lists; where comparisons hang together
so loosely that many passes would be needed, by a factorisation.

References
----------
R. Bradley and M. Terry. Rank analysis of incomplete block designs I. Biometrika 39, 1952.
R. Plackett. The analysis of permutations. Applied Statistics 24, 1975.
D. R. Hunter. MM algorithms for generalized Bradley-Terry models. Annals of Statistics 32, 2004:
the maximum exists when every item is connected with every other by a chain of wins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.ranking.aggregation.preferences import PairwisePreferences, as_preferences
from octavo.ranking.aggregation.strengths import sums_at

__all__ = ["bradley_terry", "plackett_luce"]

_FALLBACK = 1e-6  # penalty where the maximum lies at infinity and none was asked for
_DENSE = 3000  # items up to which a Hessian is factored
_PATIENCE = 50  # items a product after which a factorisation is cheaper


class Loss(NamedTuple):
    """A loss at some scores: value, gradient, and its Hessian in three forms."""

    value: float
    gradient: Floats
    diagonal: Floats
    product: Callable[[Floats], Floats]
    dense: Callable[[], Floats]


Oracle = Callable[[Floats], Loss]


def _conjugate_gradients(
    product: Callable[[Floats], Floats], diagonal: Floats, b: Floats, tol: float, patience: int
) -> Floats | None:
    """Solve product(x) = b, preconditioned by the diagonal; None when patience is lost."""
    x = np.zeros_like(b)
    residual = b.copy()
    z = residual / diagonal
    direction, rho = z, float(residual @ z)
    goal = tol * np.sqrt(rho)
    for _ in range(patience):
        Ad = product(direction)
        curvature = float(direction @ Ad)
        if curvature <= 0:  # rounding: the direction of equal scores
            return x
        step = rho / curvature
        x += step * direction
        residual -= step * Ad
        z = residual / diagonal
        new = float(residual @ z)
        if np.sqrt(new) <= goal:
            return x
        direction, rho = z + (new / rho) * direction, new
    return None


def _factored(loss: Loss, alpha: float, b: Floats) -> Floats:
    """Solve (Hessian + alpha) x = b among vectors of sum zero, which b is."""
    H = loss.dense()
    n = b.size
    # The Hessian does not see equal shifts; a rank-one term of its own size makes it regular.
    H += float(loss.diagonal.mean()) / n
    H[np.diag_indices(n)] += alpha + 1e-14 * float(loss.diagonal.max())
    return np.asarray(cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), b))


def _newton(oracle: Oracle, n_items: int, alpha: float, max_iter: int, tol: float) -> Floats:
    """Minimise a convex loss plus (alpha/2)‖s‖²; the steps are those of equal sum."""
    s = np.zeros(n_items)
    loss = oracle(s)
    residual = np.inf
    patience = max(n_items // _PATIENCE, 10) if n_items <= _DENSE else 10 * n_items
    for _ in range(max_iter):
        full = loss.gradient + alpha * s
        residual = float(np.abs(full).max())
        if residual <= tol:
            return s
        scale = loss.diagonal + alpha + 1e-12 * (1.0 + loss.diagonal.max())
        forcing = min(0.1, np.sqrt(residual))  # superlinear convergence

        def damped(d: Floats, product: Callable[[Floats], Floats] = loss.product) -> Floats:
            return product(d) + alpha * d

        step = _conjugate_gradients(damped, scale, -full, forcing, patience)
        if step is None:
            patience = patience if n_items > _DENSE else 0  # later steps are no easier
            step = _factored(loss, alpha, -full)
        step -= step.mean()
        slope, size = float(full @ step), 1.0
        here = loss.value + 0.5 * alpha * float(s @ s)
        while True:
            trial = s + size * step
            new = oracle(trial)
            there = new.value + 0.5 * alpha * float(trial @ trial)
            if there <= here + 1e-4 * size * slope + 1e-13 * abs(here) or size < 1e-10:
                break
            size *= 0.5
        s, loss = trial, new
    warnings.warn(
        f"The scores did not converge in {max_iter} steps: the gradient is {residual:.1e}, "
        f"tol is {tol:.1e}.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return s


def _pair_oracle(winner: Indices, loser: Indices, weight: Floats, n_items: int) -> Oracle:
    """Return the Bradley-Terry loss, divided by the total weight."""
    share = weight / weight.sum()

    def oracle(s: Floats) -> Loss:
        margin = s[winner] - s[loser]
        value = float(share @ np.logaddexp(0.0, -margin))  # -log σ(s_w - s_l)
        lost = share / (1.0 + np.exp(np.clip(margin, -700, 700)))  # share · P(the loser wins)
        gradient = sums_at(loser, lost, n_items) - sums_at(winner, lost, n_items)
        curve = lost * (1.0 - lost / share)  # P(1 - P), times the share
        diagonal = sums_at(winner, curve, n_items) + sums_at(loser, curve, n_items)

        def product(v: Floats) -> Floats:
            flow = curve * (v[winner] - v[loser])
            return sums_at(winner, flow, n_items) - sums_at(loser, flow, n_items)

        def dense() -> Floats:
            between = sp.coo_array((-curve, (winner, loser)), shape=(n_items, n_items)).toarray()
            H = between + between.T
            H[np.diag_indices(n_items)] = diagonal
            return H

        return Loss(value, gradient, diagonal, product, dense)

    return oracle


@njit(cache=True, nogil=True)
def _luce_pass(starts, level, items, odds, counts, inverses, gradient, diagonal):
    """Return Σ log of what each choice was made from; add gradient and the Hessian's diagonal."""
    value = 0.0
    for r in range(starts.shape[0] - 1):
        low, high = starts[r], starts[r + 1]
        rest = 0.0
        # Backwards: what is still to be chosen at a stage is the rest of the list.
        for t in range(high - 1, low - 1, -1):
            rest += odds[items[t]]
            counts[t] = rest  # what may still be chosen, ties included
        inverse = 0.0
        squares = 0.0
        for t in range(low, high):
            # Stages of a tie have one and the same set to choose from.
            chance = 1.0 / counts[level[t]]
            value -= np.log(chance)
            inverse += chance
            # Only the items' own part of the gradient: what they were chosen from comes below
            squares += chance * chance
            gradient[items[t]] -= 1.0
            if t + 1 == high or level[t + 1] != level[t]:
                for u in range(level[t], t + 1):
                    e = odds[items[u]]
                    inverses[u] = inverse
                    gradient[items[u]] += e * inverse
                    # Σ_stages p (1 - p), p = e/count
                    diagonal[items[u]] += e * inverse - e * e * squares
    return value


@njit(cache=True, nogil=True)
def _luce_product(starts, level, items, odds, counts, inverses, v, moments, out):
    """Add the Hessian of the Plackett-Luce loss times a vector."""
    for r in range(starts.shape[0] - 1):
        low, high = starts[r], starts[r + 1]
        moment = 0.0
        for t in range(high - 1, low - 1, -1):
            moment += odds[items[t]] * v[items[t]]
            moments[t] = moment
        shift = 0.0
        for t in range(low, high):
            chance = counts[level[t]]
            shift += moments[level[t]] / (chance * chance)
            if t + 1 == high or level[t + 1] != level[t]:
                for u in range(level[t], t + 1):
                    # p v less p Σ p v, summed over the stages
                    out[items[u]] += odds[items[u]] * (v[items[u]] * inverses[u] - shift)


@njit(cache=True, nogil=True)
def _luce_hessian(starts, level, items, odds, counts, H):
    """Add the Hessian of the Plackett-Luce loss off its diagonal."""
    for r in range(starts.shape[0] - 1):
        low, high = starts[r], starts[r + 1]
        squares = 0.0
        for t in range(low, high):
            chance = counts[level[t]]
            squares += 1.0 / (chance * chance)
            if t + 1 == high or level[t + 1] != level[t]:
                # Items of this tie have been to be chosen at all stages so far, with all others
                # of the tie and all that come later.
                for u in range(level[t], t + 1):
                    for w in range(u + 1, high):
                        both = odds[items[u]] * odds[items[w]] * squares
                        H[items[u], items[w]] -= both
                        H[items[w], items[u]] -= both


def _luce_oracle(starts: Indices, level: Indices, items: Indices, n_items: int) -> Oracle:
    """Return the Plackett-Luce loss, divided by the number of choices."""
    share = 1.0 / max(items.size, 1)
    chosen = np.bincount(items, minlength=n_items)
    counts, inverses, moments = (np.empty(items.size) for _ in range(3))

    def oracle(s: Floats) -> Loss:
        gradient, diagonal = np.zeros(n_items), np.zeros(n_items)
        top = float(s.max())
        # In units of the best, whose log is added below
        odds = np.exp(np.maximum(s - top, -600.0))  # never zero, whatever a step tries
        logs = _luce_pass(starts, level, items, odds, counts, inverses, gradient, diagonal)
        value = share * (logs + items.size * top - float(chosen @ s))

        def product(v: Floats) -> Floats:
            out = np.zeros(n_items)
            _luce_product(starts, level, items, odds, counts, inverses, v, moments, out)
            return share * out

        def dense() -> Floats:
            H = np.zeros((n_items, n_items))
            _luce_hessian(starts, level, items, odds, counts, H)
            H[np.diag_indices(n_items)] = diagonal
            return share * H

        return Loss(value, share * gradient, share * diagonal, product, dense)

    return oracle


def _existing_penalty(
    winner: Indices, loser: Indices, n_items: int, alpha: float, name: str
) -> float:
    """Return alpha, or a small penalty with a warning where the maximum lies at infinity."""
    if alpha > 0:
        return alpha
    arcs = sp.csr_array((np.ones(winner.size), (winner, loser)), shape=(n_items, n_items))
    count, label = sp.csgraph.connected_components(arcs, directed=True, connection="strong")
    if count == 1:
        return 0.0
    sizes = np.bincount(label)
    outside = int(np.flatnonzero(label != np.argmax(sizes))[0])
    warnings.warn(
        f"{name} has no finite maximum: item {outside} and {n_items - int(sizes.max()) - 1} others "
        "are not connected with the rest by wins in both directions. A penalty of "
        f"alpha={_FALLBACK:g} is used; set alpha to choose your own.",
        UserWarning,
        stacklevel=4,
    )
    return _FALLBACK


def _refuse_options(alpha: Any, max_iter: Any, tol: Any) -> None:
    for name, value in (("alpha", alpha), ("tol", tol)):
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name} must be a finite number >= 0; got {value!r}.")
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1; got {max_iter!r}.")


@checked
def bradley_terry(
    R: Any,
    *,
    transform: str = "binary",
    alpha: float = 0.0,
    max_iter: int = 100,
    tol: float = 1e-10,
) -> Floats:
    """Score items by the Bradley-Terry model: i beats j with odds exp(s_i - s_j).

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences, whose strengths count as games.
    transform : {"binary", "rank_difference", "normalized", "log"}, default="binary"
        How ranks become strengths.
    alpha : float, default=0.0
        Ridge penalty (alpha/2) ‖s‖² on the mean loss of a game. With 0, items without a chain of
        wins to and from all others have no finite score; a warning names one, and 1e-6 is used.
    max_iter : int, default=100
        Largest number of Newton steps.
    tol : float, default=1e-10
        Stop when no entry of the gradient of the mean loss is larger.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        With mean zero; larger is better.

    Examples
    --------
    >>> from octavo.ranking import PairwisePreferences, bradley_terry
    >>> games = PairwisePreferences.from_pairs([[0, 1], [0, 1], [0, 1], [1, 0]], 2)
    >>> bradley_terry(games).round(4)  # three wins of four: half of log 3, and minus that
    array([ 0.5493, -0.5493])
    """
    _refuse_options(alpha, max_iter, tol)
    prefs = as_preferences(R, transform)
    pairs, n_items = prefs.pairs, prefs.n_items
    key, weight = pairs.preferred.astype(np.int64) * n_items + pairs.other, pairs.strengths
    if prefs.n_experts > 1:  # one expert's pairs are each listed once
        key, inverse = np.unique(key, return_inverse=True)
        weight = sums_at(inverse, pairs.strengths, key.size)
    winner, loser = (part[weight > 0] for part in (key // n_items, key % n_items))
    if winner.size == 0:
        return np.zeros(n_items)
    alpha = _existing_penalty(winner, loser, n_items, alpha, "The Bradley-Terry likelihood")
    oracle = _pair_oracle(winner, loser, weight[weight > 0], n_items)
    return _newton(oracle, n_items, alpha, max_iter, tol)


def _sorted_lists(prefs: PairwisePreferences) -> tuple[Indices, Indices, Indices]:
    """Return (starts, first of the tie, items) of all lists of two or more, best first."""
    experts, items, values = prefs.entries()
    order = np.lexsort((-values, experts))
    who, v = experts[order], values[order]
    sizes = np.bincount(who, minlength=prefs.n_experts)
    many = sizes[who] > 1
    who, v, members = who[many], v[many], items[order][many].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 1])]).astype(np.int64)
    if members.size == 0:
        return starts, members, members
    fresh = np.r_[True, (v[1:] != v[:-1]) | (who[1:] != who[:-1])]
    level = np.maximum.accumulate(np.where(fresh, np.arange(v.size), 0)).astype(np.int64)
    return starts, level, members


@checked
def plackett_luce(R: Any, *, alpha: float = 0.0, max_iter: int = 100, tol: float = 1e-10) -> Floats:
    """Score items by the Plackett-Luce model: lists are filled from the top, with odds exp(s).

    Items of equal rank are chosen one after the other from all that are left when the first of
    them is (Breslow's rule for ties).

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences made of ranks, ratings or lists.
    alpha : float, default=0.0
        Ridge penalty (alpha/2) ‖s‖² on the mean loss of a choice. With 0, items without a chain
        of wins to and from all others have no finite score; a warning names one, and 1e-6 is used.
    max_iter : int, default=100
        Largest number of Newton steps.
    tol : float, default=1e-10
        Stop when no entry of the gradient of the mean loss is larger.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        With mean zero; larger is better.

    Examples
    --------
    >>> from octavo.ranking import PairwisePreferences, plackett_luce
    >>> lists = PairwisePreferences.from_lists([[0, 1], [0, 1], [0, 1], [1, 0]], 2)
    >>> plackett_luce(lists).round(4)  # lists of two are games
    array([ 0.5493, -0.5493])
    """
    _refuse_options(alpha, max_iter, tol)
    prefs = as_preferences(R, "binary")
    if prefs.pairs_only:
        raise ValueError("plackett_luce needs ranks, ratings or lists; got votes between pairs.")
    starts, level, items = _sorted_lists(prefs)
    if items.size == 0:
        return np.zeros(prefs.n_items)
    # Neighbours along a list, and all of a tie with all before it, connect what pairs connect.
    follows = np.setdiff1d(np.arange(items.size), starts)
    ahead, behind = items[follows - 1], items[follows]
    tied = level[follows] == level[follows - 1]
    winner = np.concatenate([ahead, behind[tied]])
    loser = np.concatenate([behind, ahead[tied]])
    name = "The Plackett-Luce likelihood"
    alpha = _existing_penalty(winner, loser, prefs.n_items, alpha, name)
    oracle = _luce_oracle(starts, level, items, prefs.n_items)
    return _newton(oracle, prefs.n_items, alpha, max_iter, tol)


def _warmup() -> None:
    lists = PairwisePreferences.from_lists([[0, 1], [0, 1], [1, 0]], 2)
    plackett_luce(lists)
    _luce_oracle(*_sorted_lists(lists), 2)(np.zeros(2)).dense()
