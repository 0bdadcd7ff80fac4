"""Phrases in their sentences: what surrounds them, and where they jumped.

References: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12: Section 3.1, Table 3 and Figure 6.
The paper leaves window and n-gram lengths open; both are parameters here.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.checked import checked
from octavo.structured.margins.phrases import (
    PhrasePair,
    extract_phrase_pairs,
    spans_of,
    words_of,
)

__all__ = ["PhraseInContext", "phrase_examples", "phrase_features"]

FARTHEST = 15  # jumps beyond are dropped, as in the paper


class PhraseInContext(NamedTuple):
    """A phrase pair with the two sentences that it stands in, as lists of words."""

    source: list[str]
    target: list[str]
    pair: PhrasePair

    @property
    def phrases(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of the source phrase and of the target phrase."""
        (a, b), (c, d) = self.pair
        return tuple(self.source[a:b]), tuple(self.target[c:d])


def checked_corpus(
    sources: Any, targets: Any, alignments: Any = None
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the sentences as lists of words; refuse lists of different lengths."""
    names = {"sources": sources, "targets": targets, "alignments": alignments}
    given = {name: value for name, value in names.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise ValueError(f"Parameter `{name}` must be a list with one entry per sentence.")
    sizes = {len(value) for value in given.values()}
    if len(sizes) > 1 or len(given) < 2:
        raise ValueError(
            "There must be as many sources as targets and alignments, got "
            + ", ".join(f"{len(value)} {name}" for name, value in given.items())
            + "."
        )
    if sizes == {0}:
        raise ValueError("A corpus needs at least one sentence pair, got none.")
    return [words_of(s) for s in sources], [words_of(t) for t in targets]


def phrase_examples(
    sources: Any, targets: Any, alignments: Any, max_phrase_len: int = 8
) -> tuple[list[PhraseInContext], np.ndarray]:
    """Return all phrase pairs of a corpus in their sentences, and how far they jumped.

    The phrase before is the shortest one that ends in the target where this one begins; pairs
    without one, and jumps over more than 15 words, are left out.

    Parameters
    ----------
    sources, targets : sequence of sentences
        Lists of words, or strings.
    alignments : sequence of set of (int, int)
        Links of each sentence pair; pairs without a link are skipped with a warning.
    max_phrase_len : int, default=8
        Most words of a phrase.

    Returns
    -------
    examples : list of PhraseInContext
        The phrases.
    distances : ndarray of shape (n_examples,)
        Their jumps, see `reordering_distances`.

    Examples
    --------
    >>> from octavo.structured import phrase_examples
    >>> examples, distances = phrase_examples(["a b"], ["B A"], [{(0, 1), (1, 0)}])
    >>> [(example.phrases[0], int(d)) for example, d in zip(examples, distances)]
    [(('a',), 2), (('a', 'b'), 0), (('b',), -1)]
    """
    examples, distances, empty = [], [], 0
    sources, targets = checked_corpus(sources, targets, alignments)
    for number, (source, target, links) in enumerate(zip(sources, targets, alignments)):
        try:
            pairs = extract_phrase_pairs(source, target, links, max_phrase_len)
        except ValueError as error:
            raise ValueError(f"Sentence pair {number}: {error}") from error
        empty += not pairs
        before = {0: 0}
        for pair in sorted(pairs, key=lambda p: (-_length(p.target), -_length(p.source))):
            # of phrases that end at a place the shortest is the neighbour: it comes last
            before[pair.target[1]] = pair.source[1]
        for pair in pairs:
            stop = before.get(pair.target[0])
            # the paper drops longer jumps
            if stop is not None and abs(stop - pair.source[0]) <= FARTHEST:
                examples.append(PhraseInContext(source, target, pair))
                distances.append(stop - pair.source[0])
    if empty:
        warnings.warn(
            f"{empty} of {len(sources)} sentence pairs have no phrase pair (no link, or none "
            "within max_phrase_len) and are skipped.",
            UserWarning,
            stacklevel=3,
        )
    return examples, np.array(distances, dtype=np.int64)


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]


def _grams(words: Sequence[str], ngram: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    for start in range(len(words)):
        for stop in range(start + 1, min(start + ngram, len(words)) + 1):
            yield start, tuple(words[start:stop])


@checked
def phrase_features(
    example: Any,
    window: int = 3,
    ngram: int = 3,
    word_classes: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
) -> list[Hashable]:
    """Return the features that are on for a phrase (Table 3).

    Parameters
    ----------
    example : PhraseInContext
        A phrase in its sentences.
    window : int, default=3
        Words left of the first and right of the last word of the source phrase.
    ngram : int, default=3
        Longest sequence of words.
    word_classes : pair of mappings, optional
        Classes of source words and of target words; their n-grams are added.

    Returns
    -------
    features : list
        ("L" or "R", position, words) for sequences around the left and right end of the source
        phrase, ("T", words) for those of the target phrase; "LC", "RC" and "TC" of classes.

    Examples
    --------
    >>> from octavo.structured import PhraseInContext, PhrasePair, phrase_features
    >>> example = PhraseInContext(["a", "b", "c"], ["B"], PhrasePair((1, 2), (0, 1)))
    >>> phrase_features(example, window=1, ngram=1)
    [('L', -1, ('a',)), ('L', 0, ('b',)), ('R', 0, ('b',)), ('R', 1, ('c',)), ('T', ('B',))]
    """
    source, target, pair = example
    found: list[Hashable] = []
    tables: list[tuple[str, Any, Any]] = [("", None, None)]
    if word_classes is not None:
        tables.append(("C", *word_classes))
    (a, b), (c, d) = pair
    for mark, source_table, target_table in tables:
        # one mark beyond each end of the sentence, since first and last words are special
        words = ["<s>", *_translated(source, source_table), "</s>"]
        low, high = max(a + 1 - window, 0), min(b + window, len(words) - 1)
        for start, gram in _grams(words[low : a + 2], ngram):
            # φ_{(p,u)}: n-gram u at relative position p, left of the phrase
            found.append(("L" + mark, low + start - a - 1, gram))
        for start, gram in _grams(words[b : high + 1], ngram):
            found.append(("R" + mark, start, gram))
        grams = {gram for _, gram in _grams(_translated(target[c:d], target_table), ngram)}
        found.extend(("T" + mark, gram) for gram in sorted(grams))
    return found


def _translated(words: Sequence[str], table: Mapping[str, Any] | None) -> list[str]:
    return list(words) if table is None else [str(table.get(word, "?")) for word in words]


def checked_examples(examples: Any) -> list[PhraseInContext]:
    """Return phrases in their sentences; refuse spans beyond them."""
    if isinstance(examples, (str, bytes)) or not hasattr(examples, "__len__") or not len(examples):
        raise ValueError(
            "Phrases must be a list of (source words, target words, phrase pair) with at least one "
            "entry."
        )
    found = []
    for number, example in enumerate(examples):
        if not hasattr(example, "__len__") or len(example) != 3:
            raise ValueError(
                f"Entry {number} must be (source words, target words, phrase pair), got "
                f"{example!r}."
            )
        source, target, pair = words_of(example[0]), words_of(example[1]), spans_of(example[2])
        if pair.source[1] > len(source) or pair.target[1] > len(target):
            raise ValueError(
                f"Entry {number}: {pair} lies beyond sentences of {len(source)} and {len(target)} "
                "words."
            )
        found.append(PhraseInContext(source, target, pair))
    return found


class FeatureTable(NamedTuple):
    """Columns of the features met in training, and how features are made."""

    columns: dict[Hashable, int]
    window: int
    ngram: int
    word_classes: Any

    def rows(self, examples: Sequence[Any], grow: bool = False) -> sp.csr_matrix:
        """Return 0/1 rows; features never met are left out, or given columns with ``grow``."""
        indices: list[int] = []
        indptr = [0]
        columns = self.columns
        for example in examples:
            features = phrase_features(example, self.window, self.ngram, self.word_classes)
            if grow:
                row = {columns.setdefault(feature, len(columns)) for feature in features}
            else:
                row = {columns[feature] for feature in features if feature in columns}
            indices.extend(sorted(row))
            indptr.append(len(indices))
        shape = (len(indptr) - 1, max(len(columns), 1))
        parts = (np.ones(len(indices)), np.array(indices, dtype=np.int32), np.array(indptr))
        return sp.csr_matrix(parts, shape=shape)
