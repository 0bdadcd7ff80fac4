"""Sentence pairs of a small synchronous grammar whose order depends on words nearby."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_reordering_corpus"]

Corpus = tuple[list[list[str]], list[list[str]], list[set[tuple[int, int]]]]


@checked
def make_reordering_corpus(
    n_sentences: int = 200,
    n_clauses: int = 3,
    n_words: int = 30,
    n_markers: int = 5,
    block_length: int = 1,
    noise: float = 0.0,
    random_state: Any = None,
) -> Corpus:
    """Draw sentence pairs from a synchronous grammar in which a marker swaps what follows it.

    S -> C S | C; C -> keep A B / KEEP A B; C -> swap A B / SWAP B A: in the target, the two blocks
    after a marker that swaps change places. The words of the blocks say nothing about it, so that a
    model which does not look at the words around a phrase cannot know.

    Parameters
    ----------
    n_sentences : int, default=200
        Sentence pairs.
    n_clauses : int, default=3
        Most clauses of a sentence, each a marker and two blocks.
    n_words : int, default=30
        Words that blocks of either kind are made of.
    n_markers : int, default=5
        Markers that keep, and as many that swap.
    block_length : int, default=1
        Most words of a block.
    noise : float, default=0.0
        Chance that a clause does not follow its marker.
    random_state : int, RandomState instance or None, default=None
        Draws all of it.

    Returns
    -------
    sources, targets : list of list of str
        Words; a target word is its source word in capitals.
    alignments : list of set of (int, int)
        Links (source position, target position).

    Examples
    --------
    >>> from octavo.data import make_reordering_corpus
    >>> sources, targets, alignments = make_reordering_corpus(2, n_clauses=1, random_state=0)
    >>> print(sources[0], targets[0], sorted(alignments[0]))
    ['keep0', 'a3', 'b27'] ['KEEP0', 'A3', 'B27'] [(0, 0), (1, 1), (2, 2)]
    """
    least = min(n_sentences, n_clauses, n_words, n_markers, block_length)
    if least < 1:
        raise ValueError(f"All sizes of a corpus must be at least 1, got {least}.")
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"A chance lies between 0 and 1, got noise={noise!r}.")
    random = check_random_state(random_state)
    corpus: Corpus = ([], [], [])
    for _ in range(n_sentences):
        source: list[str] = []
        order: list[int] = []
        for _ in range(int(random.randint(1, n_clauses + 1))):
            swaps = bool(random.randint(2))
            source.append(f"{'swap' if swaps else 'keep'}{random.randint(n_markers)}")
            start = len(source)
            blocks = []
            for kind in "ab":
                size = int(random.randint(1, block_length + 1))
                source += [f"{kind}{random.randint(n_words)}" for _ in range(size)]
                blocks.append(list(range(start, start + size)))
                start += size
            swapped = swaps != bool(random.random_sample() < noise)
            first, second = blocks[::-1] if swapped else blocks
            order += [blocks[0][0] - 1, *first, *second]
        corpus[0].append(source)
        corpus[1].append([source[i].upper() for i in order])
        corpus[2].append({(int(i), int(j)) for j, i in enumerate(np.asarray(order))})
    return corpus
