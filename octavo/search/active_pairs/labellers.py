"""Simulated labellers: who errs on close pairs, anywhere, by the scores, or on purpose.

Whether an answer is wrong depends on the pair and on the seed alone, by a hash, so that a pair
always has the same answer and no n x n matrix is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import PairwiseOracle, as_count, is_real
from octavo.search.active_pairs.sampling import as_labels, as_position

__all__ = [
    "adversarial_preference_oracle",
    "bradley_terry_oracle",
    "flipped_preference_oracle",
    "noisy_cluster_oracle",
    "noisy_preference_oracle",
]


def _mixed(key: Any) -> Any:
    """Return well mixed bits (the finaliser of SplitMix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


class _Labeller:
    """Answer pairs of arrays: the truth, unless the pair's own uniform number says otherwise."""

    vectorized = True

    def __init__(
        self,
        truth: Callable[[Ints, Ints], Floats],
        wrong: Callable[[Ints, Ints], Any],
        random_state: Any,
    ) -> None:
        self.truth, self.wrong = truth, wrong
        seed = check_random_state(random_state).randint(0, 2**31, size=2).astype(np.uint64)
        self.seed = _mixed(seed[:1] << np.uint64(32) | seed[1:])

    def __call__(self, u: Any, v: Any) -> Floats:
        u, v = np.atleast_1d(u), np.atleast_1d(v)
        low, high = np.minimum(u, v).astype(np.uint64), np.maximum(u, v).astype(np.uint64)
        key = _mixed(low << np.uint64(32) | high) ^ self.seed
        uniform = (_mixed(key) >> np.uint64(11)).astype(np.float64) / 2.0**53
        truth = self.truth(u, v)
        return np.where(uniform < self.wrong(u, v), 1.0 - truth, truth)


def _probability(value: Any, name: str) -> float:
    if not is_real(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a probability between 0 and 1; got {value!r}.")
    return float(value)


def _before(position: Ints) -> Callable[[Ints, Ints], Floats]:
    return lambda u, v: (position[u] < position[v]).astype(np.float64)


def _oracle(labeller: _Labeller, n: int, budget: Any) -> PairwiseOracle:
    oracle = PairwiseOracle(labeller, budget)
    oracle.n_items_ = n
    return oracle


@checked
def noisy_preference_oracle(
    position: Any, rho: float, random_state: Any = None, *, budget: int | None = None
) -> PairwiseOracle:
    """Return a labeller that errs with probability ½ distance^(-ρ): close items are confused.

    Parameters
    ----------
    position : array-like of shape (n_items,)
        The true place of each item, from 0.
    rho : float
        The paper's ρ; 0 tosses a coin about every pair, infinity never errs.
    random_state : int, RandomState instance or None, default=None
        Which pairs are answered wrongly.
    budget : int or None, default=None
        Most questions, as for `PairwiseOracle`.

    Returns
    -------
    oracle : PairwiseOracle
        The labeller.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import noisy_preference_oracle, pair_error
    >>> oracle = noisy_preference_oracle(np.arange(100), 1.0, random_state=0)
    >>> print(round(pair_error(np.arange(100), oracle), 3))
    0.045
    """
    place = as_position(position)
    if not is_real(rho) or not rho >= 0:
        raise ValueError(f"rho must be a number of at least 0; got {rho!r}.")

    def wrong(u: Ints, v: Ints) -> Any:
        distance = np.abs(place[u] - place[v]).astype(np.float64)
        return 0.0 if rho == np.inf else 0.5 * distance**-rho

    return _oracle(_Labeller(_before(place), wrong, random_state), len(place), budget)


@checked
def flipped_preference_oracle(
    position: Any, flip: float, random_state: Any = None, *, budget: int | None = None
) -> PairwiseOracle:
    """Return a labeller that errs with the same probability about every pair.

    Parameters
    ----------
    position : array-like of shape (n_items,)
        The true place of each item, from 0.
    flip : float
        Probability of a wrong answer.
    random_state : int, RandomState instance or None, default=None
        Which pairs are answered wrongly.
    budget : int or None, default=None
        Most questions, as for `PairwiseOracle`.

    Returns
    -------
    oracle : PairwiseOracle
        The labeller.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import flipped_preference_oracle, pair_error
    >>> oracle = flipped_preference_oracle(np.arange(100), 0.1, random_state=0)
    >>> print(round(pair_error(np.arange(100), oracle), 3))
    0.101
    """
    place, flip = as_position(position), _probability(flip, "flip")
    return _oracle(_Labeller(_before(place), lambda u, v: flip, random_state), len(place), budget)


@checked
def bradley_terry_oracle(
    scores: Any, random_state: Any = None, *, budget: int | None = None
) -> PairwiseOracle:
    """Return a labeller that puts u before v with probability 1 / (1 + exp(scores[v] - scores[u])).

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        Strength of each item; the larger, the earlier.
    random_state : int, RandomState instance or None, default=None
        Which pairs are answered against the stronger item.
    budget : int or None, default=None
        Most questions, as for `PairwiseOracle`.

    Returns
    -------
    oracle : PairwiseOracle
        The labeller.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import bradley_terry_oracle, pair_error
    >>> oracle = bradley_terry_oracle(-np.linspace(0.0, 10.0, 100), random_state=0)
    >>> print(round(pair_error(np.arange(100), oracle), 3))
    0.122
    """
    strength = np.asarray(scores, dtype=np.float64)
    if strength.ndim != 1 or not strength.size or not np.isfinite(strength).all():
        raise ValueError("scores must be a vector of finite numbers, one an item.")

    def wrong(u: Ints, v: Ints) -> Floats:
        gap = np.abs(strength[u] / 2.0 - strength[v] / 2.0)  # halves: the difference may overflow
        return 1.0 / (1.0 + np.exp(np.minimum(gap, 350.0) * 2.0))

    def truth(u: Ints, v: Ints) -> Floats:
        return (strength[u] >= strength[v]).astype(np.float64)

    return _oracle(_Labeller(truth, wrong, random_state), len(strength), budget)


@checked
def adversarial_preference_oracle(
    position: Any, n_lies: int, *, budget: int | None = None
) -> PairwiseOracle:
    """Return a labeller that lies about the pairs furthest apart, each of which closes cycles.

    A single such lie, found by a uniform sample, can throw an item across the whole order; no order
    is consistent with the answers.

    Parameters
    ----------
    position : array-like of shape (n_items,)
        The true place of each item, from 0.
    n_lies : int
        Pairs answered wrongly, from the largest distance down.
    budget : int or None, default=None
        Most questions, as for `PairwiseOracle`.

    Returns
    -------
    oracle : PairwiseOracle
        The labeller.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import adversarial_preference_oracle, pair_error
    >>> oracle = adversarial_preference_oracle(np.arange(10), 9)
    >>> print(pair_error(np.arange(10), oracle))
    0.2
    """
    place = as_position(position)
    n = len(place)
    lies = as_count(n_lies, "n_lies", least=0, most=n * (n - 1) // 2)

    def wrong(u: Ints, v: Ints) -> Floats:
        first = np.minimum(place[u], place[v])
        left = n - np.abs(place[u] - place[v])  # pairs of a distance; 1 for the largest
        return (left * (left - 1) // 2 + first < lies).astype(np.float64)

    return _oracle(_Labeller(_before(place), wrong, 0), n, budget)


@checked
def noisy_cluster_oracle(
    labels: Any, flip: float, random_state: Any = None, *, budget: int | None = None
) -> PairwiseOracle:
    """Return a labeller that says whether two items are of one cluster, wrongly now and then.

    Parameters
    ----------
    labels : array-like of shape (n_items,)
        The true cluster of each item, from 0.
    flip : float
        Probability of a wrong answer.
    random_state : int, RandomState instance or None, default=None
        Which pairs are answered wrongly.
    budget : int or None, default=None
        Most questions, as for `PairwiseOracle`.

    Returns
    -------
    oracle : PairwiseOracle
        The labeller.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import noisy_cluster_oracle, pair_error
    >>> labels = np.arange(100) % 3
    >>> oracle = noisy_cluster_oracle(labels, 0.1, random_state=0)
    >>> print(round(pair_error(labels, oracle, kind="clustering"), 3))
    0.101
    """
    labels, flip = as_labels(labels), _probability(flip, "flip")

    def truth(u: Ints, v: Ints) -> Floats:
        return (labels[u] == labels[v]).astype(np.float64)

    return _oracle(_Labeller(truth, lambda u, v: flip, random_state), len(labels), budget)
