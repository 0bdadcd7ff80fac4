"""How much worse one hypothesis is than another: the estimate, and the truth where all is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import as_oracle, as_pairs
from octavo.search.active_pairs.sampling import PairSample, as_labels, as_position

__all__ = ["pair_error", "relative_regret_estimate"]

KINDS = ("ranking", "clustering")


def said_before(position: Ints, pairs: Ints) -> Floats:
    """Return what a ranking says of pairs: 1 where the first stands before the second."""
    return (position[pairs[:, 0]] < position[pairs[:, 1]]).astype(np.float64)


def said_together(labels: Ints, pairs: Ints) -> Floats:
    """Return what a clustering says of pairs: 1 where both are of one cluster."""
    return (labels[pairs[:, 0]] == labels[pairs[:, 1]]).astype(np.float64)


def _reader(kind: str) -> tuple[Any, Any]:
    if kind not in KINDS:
        raise ValueError(f"kind must be 'ranking' or 'clustering'; got {kind!r}.")
    return (as_position, said_before) if kind == "ranking" else (as_labels, said_together)


def weighted_regret(
    sample: PairSample, answers: Floats, pivot: Floats, other: Floats, total: float
) -> tuple[float, float]:
    """Return the estimate and its standard error from what the two hypotheses say."""
    # cost(σ) - cost(π) of Section 4.3, N = n(n - 1)
    change = (np.abs(other - answers) - np.abs(pivot - answers)) / total
    terms = sample.weights * change
    value = float(terms.sum())
    if sample.cells is None:
        # Bernoulli draws: weight 2 / π, and Var = Σ term² (1 - π).
        chance = np.minimum(1.0, 2.0 / np.maximum(sample.weights, 2.0))
        return value, float(np.sqrt(np.sum(terms**2 * (1.0 - chance))))
    drawn = np.asarray(sample.cells) >= 0
    if not drawn.any():
        return value, 0.0
    _, cell, size = np.unique(
        np.asarray(sample.cells)[drawn], return_inverse=True, return_counts=True
    )
    mean = np.bincount(cell, weights=terms[drawn]) / size
    spread = np.bincount(cell, weights=(terms[drawn] - mean[cell]) ** 2)
    # One draw of a cell tells nothing of its spread: its square is an upper bound on average.
    alone = np.bincount(cell, weights=terms[drawn] ** 2)
    variance = np.where(size > 1, size / np.maximum(size - 1, 1) * spread, alone)
    return value, float(np.sqrt(variance.sum()))


@checked
def relative_regret_estimate(
    sample: Any, answers: Any, pivot: Any, other: Any, kind: str = "ranking"
) -> tuple[float, float]:
    """Estimate er(other) - er(pivot) over all n(n - 1) ordered pairs, from few of them.

    Unbiased for any two hypotheses, and the more exact the closer they are, if the sample was drawn
    for the pivot: the smooth relative regret approximation f(other) of the paper.

    Parameters
    ----------
    sample : PairSample
        Pairs and weights, from `band_sample`, `bernoulli_sample` or `cluster_sample`.
    answers : PairwiseOracle, callable or array-like
        Who answers about pairs: an oracle, a function, an n x n matrix, or a vector with one answer
        for each pair of the sample.
    pivot, other : array-like of shape (n_items,)
        Positions of the items, or their clusters.
    kind : {"ranking", "clustering"}, default="ranking"
        Which of the two.

    Returns
    -------
    value : float
        The estimate.
    error : float
        Its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import bernoulli_sample, relative_regret_estimate
    >>> pivot = np.arange(5)
    >>> sample = bernoulli_sample(pivot, 2, random_state=0)
    >>> value, error = relative_regret_estimate(sample, lambda u, v: 1, pivot, [1, 0, 2, 3, 4])
    >>> print(round(value, 3), error)
    0.1 0.0
    """
    read, says = _reader(kind)
    pivot, other = read(pivot, "pivot"), read(other, "other")
    if len(pivot) != len(other):
        raise ValueError(
            f"pivot and other must be about the same items; got {len(pivot)} and {len(other)}."
        )
    if not (hasattr(sample, "pairs") and hasattr(sample, "weights")):
        raise ValueError("sample must be a PairSample, with pairs and weights.")
    n = len(pivot)
    pairs = as_pairs(sample.pairs, n)
    weights = np.asarray(sample.weights, dtype=np.float64)
    if weights.shape != (len(pairs),) or not np.isfinite(weights).all():
        raise ValueError("sample needs one finite weight for each pair.")
    given = None if callable(answers) or hasattr(answers, "ask") else np.asarray(answers)
    if given is not None and given.ndim == 1:
        said = np.asarray(given, dtype=np.float64)
        if said.shape != (len(pairs),) or not np.isin(said, (0.0, 0.5, 1.0)).all():
            raise ValueError(
                f"answers must be 0, 0.5 or 1 for each of the {len(pairs)} pairs of the sample."
            )
    else:
        said = as_oracle(answers, n).ask(pairs, symmetric=kind == "clustering")
        if np.isnan(said).any():
            raise ValueError("The budget of the oracle does not cover all pairs of the sample.")
    drawn = PairSample(pairs, weights, getattr(sample, "cells", None))
    return weighted_regret(drawn, said, says(pivot, pairs), says(other, pairs), n * (n - 1) or 1)


@checked
def pair_error(hypothesis: Any, answers: Any, kind: str = "ranking") -> float:
    """Return the share of all pairs about which a hypothesis disagrees with the answers.

    Nothing is counted or charged: this is to judge a simulation.

    Parameters
    ----------
    hypothesis : array-like of shape (n_items,)
        Positions of the items, or their clusters.
    answers : PairwiseOracle, callable or array-like
        Who answers; a tie counts one half against anything.
    kind : {"ranking", "clustering"}, default="ranking"
        Which of the two.

    Returns
    -------
    error : float
        Between 0 and 1.

    Examples
    --------
    >>> from octavo.search import pair_error
    >>> print(round(pair_error([1, 0, 2], lambda u, v: u < v), 3))
    0.333
    """
    read, says = _reader(kind)
    hypothesis = read(hypothesis, "hypothesis")
    n = len(hypothesis)
    if n < 2:
        return 0.0
    oracle = as_oracle(answers, n)
    wrong = 0.0
    rows = max(1, 2_000_000 // n)
    for low in range(0, n, rows):  # blocks: all pairs at once would not fit for large n
        u, v = np.nonzero(np.arange(low, min(low + rows, n))[:, None] < np.arange(n))
        pairs = np.column_stack([u + low, v])
        if len(pairs):
            said = oracle.peek(pairs, symmetric=kind == "clustering")
            wrong += float(np.abs(says(hypothesis, pairs) - said).sum())
    return wrong / (n * (n - 1) / 2)
