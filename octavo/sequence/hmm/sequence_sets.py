"""Sequences in sets that belong together, and mixtures of HMMs that explain them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.sequence.hmm.bank import HMMBank, chunks_of_sequences, sequence_logliks


class Mixture(NamedTuple):
    """A mixture of HMMs: weights (K,) and K models."""

    weights: Floats
    bank: HMMBank


class SequenceSets(NamedTuple):
    """Stacked sequences, those of a set next to each other.

    ``rows`` and ``lengths`` of the sequences; ``sets``, the number of sequences of each set; and
    ``names``, what the user called the sets.
    """

    rows: NDArray[Any]
    lengths: Ints
    sets: Ints
    names: NDArray[Any]


def gather_sets(rows: NDArray[Any], lengths: Ints, groups: Any) -> SequenceSets:
    """Return sequences with those of one group next to each other.

    Parameters
    ----------
    rows, lengths : ndarray
        Stacked sequences.
    groups : array-like of shape (n_sequences,) or None
        The set that each sequence belongs to; None: each is a set of its own.

    Returns
    -------
    sets : SequenceSets
        In the order of `numpy.unique` of the groups.
    """
    n = lengths.size
    if groups is None:
        return SequenceSets(rows, lengths, np.ones(n, dtype=np.int64), np.arange(n))
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry a sequence ({n}), got shape {labels.shape}.")
    names, place = np.unique(labels, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.cumsum(lengths) - lengths
    index = np.concatenate([np.arange(starts[q], starts[q] + lengths[q]) for q in order])
    return SequenceSets(rows[index], lengths[order], np.bincount(place), names)


def rows_of_sets(data: SequenceSets) -> Ints:
    """Return the number of rows of each set."""
    return np.add.reduceat(data.lengths, np.cumsum(data.sets) - data.sets)


def parts_of_sets(data: SequenceSets, width: int) -> Iterator[SequenceSets]:
    """Yield the data in parts of whole sets whose rows x width numbers fit in memory."""
    done = 0
    for _, counts in chunks_of_sequences(data.rows, rows_of_sets(data), width):
        yield take_sets(data, done, done + counts.size)
        done += counts.size


def take_sets(data: SequenceSets, first: int, last: int) -> SequenceSets:
    """Return some neighbouring sets."""
    sequence = np.concatenate([[0], np.cumsum(data.sets)])
    row = np.concatenate([[0], np.cumsum(data.lengths)])
    begin, end = sequence[first], sequence[last]
    return SequenceSets(
        data.rows[row[begin] : row[end]],
        data.lengths[begin:end],
        data.sets[first:last],
        data.names[first:last],
    )


def set_logliks(mixture: Mixture, data: SequenceSets) -> Floats:
    """Return the log-likelihood of each set under each component, of shape (n_sets, K)."""
    each = sequence_logliks(mixture.bank, data.rows, data.lengths)
    return np.add.reduceat(each, np.cumsum(data.sets) - data.sets, axis=1).T
