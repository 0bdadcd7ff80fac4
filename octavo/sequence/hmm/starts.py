"""First models for EM: k-means for emissions, counts for transitions, seeds far apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.sequence.hmm.bank import HMMBank, pack_hmms, unpack_hmms
from octavo.sequence.hmm.params import HMMParams
from octavo.sequence.hmm.sequence_sets import (
    Mixture,
    SequenceSets,
    rows_of_sets,
    set_logliks,
    take_sets,
)

_KMEANS_ROWS = 4096  # rows that k-means sees when it looks for first states
_KMEANS_ITERATIONS = 20
_FLOOR = 1e-3  # smallest first variance, as a share of that of all the data


class Shape(NamedTuple):
    """What a model to be learnt looks like; n_mix is the number of symbols where it is discrete."""

    n_states: int
    n_mix: int
    kind: str


def start_mixture(
    data: SequenceSets, n_components: int, shape: Shape, noise: float, rng: np.random.RandomState
) -> Mixture:
    """Return a first mixture: one model from each of K sets that explain each other badly.

    The first set is drawn at random, each next one with a probability that grows with how much
    less likely its positions are than the best explained set's, under the models so far.
    """
    n, n_rows = data.sets.size, rows_of_sets(data)
    banks: list[HMMBank] = []
    best = np.full(n, -np.inf)
    chance = np.ones(n)
    for _ in range(n_components):
        g = int(rng.choice(n, p=chance / chance.sum()))
        own = take_sets(data, g, g + 1)
        bank = start_bank(own, shape, rng, data.rows, noise)
        banks.append(bank)
        if len(banks) < n_components:
            logliks = set_logliks(Mixture(np.ones(1), bank), data)[:, 0] / n_rows
            # by row, so that long sets are not the worst explained for their length
            best = np.maximum(best, logliks)
            lack = best.max() - best
            chance = np.where(np.isfinite(lack), lack, lack[np.isfinite(lack)].max(initial=1.0))
            chance = chance if chance.sum() > 0 else np.ones(n)
    return Mixture(np.full(n_components, 1.0 / n_components), join_banks(banks))


def join_banks(banks: list[HMMBank]) -> HMMBank:
    """Return the models of several banks of the same shape as one bank."""
    return pack_hmms([hmm for bank in banks for hmm in unpack_hmms(bank)])


def start_bank(
    data: SequenceSets,
    shape: Shape,
    rng: np.random.RandomState,
    everything: NDArray[Any],
    noise: float,
) -> HMMBank:
    """Return a first model of some sequences: k-means for emissions, counts for transitions.

    Parameters
    ----------
    data : SequenceSets
        The sequences.
    shape : Shape
        What the model looks like.
    rng : RandomState
        Source of randomness.
    everything : ndarray
        All rows there are; variances start no lower than a share of theirs.
    noise : float
        Smallest variance.

    Returns
    -------
    bank : HMMBank
        A bank of one model.
    """
    S, M, rows = shape.n_states, shape.n_mix, data.rows
    if shape.kind == "discrete":
        smooth = np.bincount(rows, minlength=M) / rows.size + 1.0 / M
        emission = rng.dirichlet(np.full(M, 2.0), S) * smooth
        emission /= emission.sum(axis=1, keepdims=True)
        start, trans = rng.dirichlet(np.full(S, 5.0)), rng.dirichlet(np.full(S, 2.0), S)
        return pack_hmms([HMMParams(start, 0.5 * trans + 0.5 * np.eye(S), emission)])
    labels, _ = k_means(rows, S, rng)
    pooled = everything.var(axis=0)
    pooled = np.where(pooled > 0, pooled, 1.0)
    means, weights = np.empty((S, M, rows.shape[1])), np.empty((S, M))
    variances = np.empty_like(means)
    for s in range(S):
        mine = rows[labels == s]
        inner, centers = k_means(mine if len(mine) else rows, M, rng)
        sizes = np.bincount(inner, minlength=M)
        weights[s], means[s] = (sizes + 1) / (sizes + 1).sum(), centers
        for m in range(M):
            some = (mine if len(mine) else rows)[inner == m]
            spread = some.var(axis=0) if len(some) > 1 else pooled
            # variances of few rows may be nothing
            variances[s, m] = np.maximum(spread, _FLOOR * pooled) + noise
    start, trans = _label_counts(labels, data.lengths, S)
    kind = "full" if shape.kind == "full" else "diag"
    covars = variances if kind == "diag" else variances[..., None] * np.eye(rows.shape[1])
    if shape.kind == "spherical":
        kind, covars = "spherical", variances.mean(axis=2)
    return pack_hmms([HMMParams(start, trans, weights, means, covars, kind)])


def k_means(rows: Floats, k: int, rng: np.random.RandomState) -> tuple[Ints, Floats]:
    """Return labels and k centres of rows; where there are fewer different rows, centres repeat.

    A plain Lloyd iteration: on a hundred rows scikit-learn's costs a hundred times as much.
    """
    if k == 1:
        return np.zeros(len(rows), dtype=np.int64), rows.mean(axis=0, keepdims=True)
    some = rows
    if len(rows) > _KMEANS_ROWS:
        some = rows[rng.choice(len(rows), _KMEANS_ROWS, replace=False)]
    centers = some[rng.randint(len(some), size=1)]
    gaps = np.full(len(some), np.inf)
    for _ in range(k - 1):
        gaps = np.minimum(gaps, ((some - centers[-1]) ** 2).sum(axis=1))
        # k-means++: the next centre by squared distance from those before
        chance = gaps / gaps.sum() if gaps.sum() > 0 else None
        centers = np.vstack([centers, some[rng.choice(len(some), p=chance)]])
    labels = np.full(len(some), -1)
    for _ in range(_KMEANS_ITERATIONS):
        before, labels = labels, _nearest(some, centers)
        if np.array_equal(before, labels):
            break
        sizes = np.bincount(labels, minlength=k)
        sums = np.zeros_like(centers)
        np.add.at(sums, labels, some)
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
    return _nearest(rows, centers), centers


def _nearest(rows: Floats, centers: Floats) -> Ints:
    return ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)


def _label_counts(labels: Ints, lengths: Ints, S: int) -> tuple[Floats, Floats]:
    """Return first and next states of labelled sequences as smoothed distributions."""
    firsts = np.cumsum(lengths) - lengths
    start = np.bincount(labels[firsts], minlength=S) + 1.0
    follows = np.ones(labels.size, dtype=bool)
    follows[firsts] = False
    steps = np.flatnonzero(follows)
    trans = np.ones((S, S))
    np.add.at(trans, (labels[steps - 1], labels[steps]), 1.0)
    return start / start.sum(), trans / trans.sum(axis=1, keepdims=True)
