"""Tag sequences as numbers, batched by length, and the checks of sequences and heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Indices


class Batch(NamedTuple):
    """Sentences of one length: their numbers in the corpus, and tag numbers (B, n)."""

    rows: Indices
    tags: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Entries of a table of edges (B, n + 1, n), the root first."""
        B, n = self.tags.shape
        return B * (n + 1) * n


class Corpus(NamedTuple):
    """Sentences by length, shortest first, and the number of tags and sentences."""

    batches: tuple[Batch, ...]
    n_tags: int
    n_sentences: int

    @property
    def n_edges(self) -> int:
        """Entries of the tables of edges of all sentences."""
        return sum(batch.size for batch in self.batches)


def tag_lists(sequences: Any) -> list[list[Any]]:
    """Return sequences as lists of strings or integers, after checking them."""
    if isinstance(sequences, (str, bytes, Mapping)) or not hasattr(sequences, "__len__"):
        raise TypeError(
            "Expected a list of sequences of tags, such as [['D', 'N', 'V'], ['N', 'V']], got "
            f"{type(sequences).__name__}."
        )
    if len(sequences) == 0:
        raise ValueError("Expected at least one sequence of tags, got an empty list.")
    found = [_tags_of(q, sequence) for q, sequence in enumerate(sequences)]
    kinds = {isinstance(tag, str) for tags in found for tag in tags}
    if len(kinds) > 1:
        raise TypeError("Tags must be all strings or all integers, got both. Convert one of them.")
    return found


def _tags_of(q: int, sequence: Any) -> list[Any]:
    if isinstance(sequence, (str, bytes, Mapping)) or not hasattr(sequence, "__len__"):
        raise TypeError(
            f"Sequence {q} must be a list of tags, got {sequence!r}. A single sentence goes into a "
            "list of its own."
        )
    if isinstance(sequence, np.ndarray) and sequence.ndim != 1:
        raise ValueError(f"Sequence {q} must be one-dimensional, got shape {sequence.shape}.")
    if len(sequence) == 0:
        raise ValueError(f"Sequence {q} is empty; every sequence needs at least one tag.")
    tags = sequence.tolist() if hasattr(sequence, "tolist") else list(sequence)
    for t, tag in enumerate(tags):
        if isinstance(tag, bool) or not isinstance(tag, (str, int, np.integer)):
            raise TypeError(
                f"Tags must be strings or integers, but sequence {q}, position {t} holds {tag!r}."
            )
    return tags


def encode(sequences: Any, tags: NDArray[Any] | None = None) -> tuple[Corpus, NDArray[Any]]:
    """Return sequences in batches and the sorted tags; unseen tags are refused if those are given.

    Parameters
    ----------
    sequences : list of list of str or int
        Tags of each sentence.
    tags : ndarray, optional
        Tags of a fitted model.

    Returns
    -------
    corpus : Corpus
        Batches by length.
    tags : ndarray
        All tags, sorted.
    """
    lists = tag_lists(sequences)
    seen = {tag for each in lists for tag in each}
    if tags is None:
        tags = np.array(sorted(seen))
    number = {tag: i for i, tag in enumerate(tags.tolist())}
    unseen = sorted(str(tag) for tag in seen if tag not in number)
    if unseen:
        raise ValueError(
            f"Tags {', '.join(unseen[:10])} were not seen in training. Known tags: "
            f"{', '.join(map(str, tags.tolist()[:50]))}."
        )
    by_length: dict[int, list[int]] = {}
    for q, each in enumerate(lists):
        by_length.setdefault(len(each), []).append(q)
    batches = tuple(
        Batch(
            np.array(rows, dtype=np.int64),
            np.array([[number[tag] for tag in lists[q]] for q in rows], dtype=np.int64),
        )
        for _, rows in sorted(by_length.items())
    )
    return Corpus(batches, len(tags), len(lists)), tags


def head_arrays(heads: Any, lengths: list[int]) -> list[NDArray[np.int64]]:
    """Return heads as arrays, after checking that each sequence has one head per token."""
    if isinstance(heads, (str, bytes, Mapping)) or not hasattr(heads, "__len__"):
        raise TypeError(f"Expected a list of arrays of heads, got {type(heads).__name__}.")
    if len(heads) != len(lengths):
        raise ValueError(f"There are {len(lengths)} sequences but heads of {len(heads)}.")
    found = []
    for q, (given, n) in enumerate(zip(heads, lengths)):
        mine = np.asarray(given)
        if mine.ndim != 1 or mine.shape[0] != n:
            raise ValueError(
                f"Sequence {q} has {n} tags, but its heads have the shape {mine.shape}."
            )
        if mine.dtype.kind not in "iu":
            raise TypeError(
                f"Heads must be integers (0 for the root, 1-based else); those of sequence {q} "
                f"have the type {mine.dtype}."
            )
        mine = mine.astype(np.int64)
        if mine.min() < 0 or mine.max() > n or (mine == np.arange(1, n + 1)).any():
            raise ValueError(
                f"Heads of sequence {q} must be 0 for the root or another token's number up to "
                f"{n}, got {mine.tolist()}."
            )
        found.append(mine)
    return found


def check_projective(heads: NDArray[np.int64], q: int) -> None:
    """Refuse heads that are no projective tree with one root."""
    roots = np.flatnonzero(heads == 0)
    if roots.size != 1:
        raise ValueError(
            f"Sequence {q} has {roots.size} roots; a tree of the grammar has one head 0."
        )
    n = heads.size
    for token in range(1, n + 1):
        at, steps = token, 0
        while at and steps <= n:
            at, steps = int(heads[at - 1]), steps + 1
        if at:
            raise ValueError(f"The heads of sequence {q} run in a circle through token {token}.")
    low = np.minimum(heads, np.arange(1, n + 1))
    high = np.maximum(heads, np.arange(1, n + 1))
    inside = (low[:, None] < low) & (low < high[:, None]) & (high[:, None] < high)
    if inside.any():
        one, other = (int(k) + 1 for k in np.argwhere(inside)[0])
        raise ValueError(
            f"The tree of sequence {q} is not projective: the edges into tokens {one} and {other} "
            "cross. Leave the sentence out, or make its tree projective."
        )
