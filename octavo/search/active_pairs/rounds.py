"""Algorithm 1: sample around a pivot, minimise the estimated regret, take the minimiser as pivot.

Everything that differs between rankings, clusterings, linear rules and finite classes is handed in.
"Pairs" below are rows of item numbers; for finite classes they are single points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import as_count, distinct_keys, pair_keys, pairs_of
from octavo.search.active_pairs.sampling import PairSample

__all__ = ["SRRAResult", "SRRARound", "srra"]


class SRRARound(NamedTuple):
    """One round: questions so far, pairs used, estimated change of the error, new hypothesis."""

    n_queries: int
    n_pairs: int
    regret: float
    hypothesis: Any


class SRRAResult(NamedTuple):
    """Where the rounds ended, what each did, and whether the budget was spent on the way."""

    hypothesis: Any
    history: list[SRRARound]
    budget_exhausted: bool
    pairs: Any
    weights: Any


class Problem(NamedTuple):
    """A class of hypotheses: how it is sampled, what its members say, and how it is minimised.

    `sample(h, rng)` draws pairs for a pivot; `says(h, pairs)` are its answers, 0 or 1;
    `minimize(pairs, answers, weights, h)` returns the hypothesis of the least weighted error;
    `inclusion(h, pairs)` says how likely each is to be drawn; `total` is the weight of everything.
    """

    sample: Callable[[Any, Any], PairSample]
    says: Callable[[Any, Any], Floats]
    minimize: Callable[[Any, Floats, Floats, Any], Any]
    inclusion: Callable[[Any, Any], Floats] | None
    total: float


class Bought(NamedTuple):
    """Pairs that a start has asked about, and how likely each was (None where none were)."""

    pairs: Any
    inclusion: Callable[[Any], Floats]


def _keys(points: Any) -> Ints:
    return pair_keys(points) if points.ndim == 2 else points


def _points(keys: Ints, like: Any) -> Any:
    return pairs_of(keys) if like.ndim == 2 else keys


def _capped(weights: Floats, max_weight: float | None) -> Floats:
    if max_weight is None or not len(weights):
        return weights
    return np.minimum(weights, max_weight * weights.min())


def _scaled_chance(
    chance: Callable[[Any, Any], Floats], hypothesis: Any, share: float, pairs: Any
) -> Floats:
    """Return how likely pairs are to be drawn and asked, where a share of the draws is."""
    return share * chance(hypothesis, pairs)


def run_rounds(
    problem: Problem,
    start: Any,
    ask: Callable[[Any], Floats],
    spent: Callable[[], int],
    *,
    n_rounds: int,
    rng: Any,
    bought: Bought | None = None,
    max_weight: float | None = None,
    step: Callable[[], bool] = lambda: False,
) -> SRRAResult:
    """Run Algorithm 1; with `problem.inclusion` all answers ever bought are used in every round.

    A pair that rounds 1, ..., t draw with probabilities π_1, ..., π_t has been asked with
    probability 1 - Π(1 - π_s), whose inverse is its weight (Horvitz and Thompson).
    """
    hypothesis, history = start, []
    drawn_by = [] if bought is None else [bought.inclusion]
    pool = None if bought is None or not len(bought.pairs) else distinct_keys(_keys(bought.pairs))
    exhausted, points, weights = False, None, None
    for _ in range(n_rounds):
        drawn = problem.sample(hypothesis, rng)
        mixed = rng.permutation(len(drawn.pairs))  # so that a spent budget cuts at random
        drawn = PairSample(drawn.pairs[mixed], drawn.weights[mixed])
        answers = ask(drawn.pairs)
        got = ~np.isnan(answers)
        share = float(got.mean()) if len(got) else 1.0
        if share < 1.0:
            exhausted = True
        if problem.inclusion is None:
            points, said = drawn.pairs[got], answers[got]
            weights = _capped(drawn.weights[got] / max(share, 1e-300), max_weight)
        else:
            keys = _keys(drawn.pairs[got])
            pool = distinct_keys(keys if pool is None else np.concatenate([pool, keys]))
            points = _points(pool, drawn.pairs)
            said = ask(points) if len(points) else np.zeros(0)
            chance = problem.inclusion
            drawn_by.append(partial(_scaled_chance, chance, hypothesis, share))
            missed = np.ones(len(points))
            for probability in drawn_by:
                # A pair is missed only if every round missed it.
                missed = missed * (1.0 - np.minimum(probability(points), 1.0))
            each = 2.0 if drawn.pairs.ndim == 2 else 1.0  # a pair stands for both of its orders
            weights = _capped(each / np.maximum(1.0 - missed, 1e-12), max_weight)
        if not len(points):
            break
        # Algorithm 1: h_i minimises f around h_(i-1)
        found = problem.minimize(points, said, weights, hypothesis)
        before, after = problem.says(hypothesis, points), problem.says(found, points)
        # cost of the new hypothesis less cost of the pivot, as in Eq. (8)
        change = np.abs(after - said) - np.abs(before - said)
        history.append(
            SRRARound(spent(), len(points), float(weights @ change) / problem.total, found)
        )
        hypothesis = found
        if step() or exhausted:
            break
    return SRRAResult(hypothesis, history, exhausted, points, weights)


@checked
def srra(
    initial: Any,
    oracle: Any,
    sample: Any,
    minimize: Any,
    says: Any,
    *,
    n_rounds: int = 4,
    inclusion: Any = None,
    random_state: Any = None,
) -> SRRAResult:
    """Learn from few answers about pairs, for any class of hypotheses (Algorithm 1).

    Parameters
    ----------
    initial : object
        The first pivot: an array of positions or labels, or whatever the functions below take.
    oracle : PairwiseOracle
        Who answers.
    sample : callable
        ``sample(h, rng)`` -> PairSample for the pivot h.
    minimize : callable
        ``minimize(pairs, answers, weights, h)`` -> the hypothesis of least weighted error.
    says : callable
        ``says(h, pairs)`` -> the answers that h gives, 0 or 1.
    n_rounds : int, default=4
        Rounds.
    inclusion : callable, optional
        ``inclusion(h, pairs)`` -> how likely `sample` is to draw each pair. With it, answers of all
        rounds are pooled; without it every round uses its own sample alone, as printed.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    result : SRRAResult
        The last hypothesis, a row of `history` a round, whether the budget was spent, and the pairs
        and weights of the last round.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import PairwiseOracle, bernoulli_sample, srra
    >>> turns = [np.roll(np.arange(6), k) for k in range(6)]  # a class of six rankings
    >>> def says(h, pairs):
    ...     return (h[pairs[:, 0]] < h[pairs[:, 1]]).astype(float)
    >>> def minimize(pairs, answers, weights, h):
    ...     return min(turns, key=lambda t: weights @ np.abs(says(t, pairs) - answers))
    >>> oracle = PairwiseOracle(lambda u, v: turns[4][u] < turns[4][v])
    >>> found = srra(turns[0], oracle, lambda h, rng: bernoulli_sample(h, 1, rng), minimize, says,
    ...              random_state=0)
    >>> print(found.hypothesis, found.history[-1].n_queries)
    [2 3 4 5 0 1] 15
    """
    rounds = as_count(n_rounds, "n_rounds", most=10_000)
    if not hasattr(oracle, "ask"):
        raise ValueError("oracle must be a PairwiseOracle.")
    for name, function in (("sample", sample), ("minimize", minimize), ("says", says)):
        if not callable(function):
            raise ValueError(f"{name} must be a function; got {function!r}.")
    if inclusion is not None and not callable(inclusion):
        raise ValueError(f"inclusion must be a function or None; got {inclusion!r}.")
    n = len(initial)
    problem = Problem(sample, says, minimize, inclusion, max(n * (n - 1), 1))
    return run_rounds(
        problem,
        initial,
        oracle.ask,
        lambda: oracle.n_queries_,
        n_rounds=rounds,
        rng=check_random_state(random_state),
    )
