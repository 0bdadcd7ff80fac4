"""Data whose classes are decided by interactions: final boards of a game, texts with triggers."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["TriggerCorpus", "make_tic_tac_toe", "make_trigger_corpus", "tic_tac_toe_lines"]

LINES = (
    (0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6),
)  # fmt: skip


def tic_tac_toe_lines() -> list[tuple[int, ...]]:
    """Return the sixteen winning patterns as columns of `make_tic_tac_toe`.

    Returns
    -------
    lines : list of tuple of int
        Eight of the first player (columns 0 to 8), then eight of the second (9 to 17).

    Examples
    --------
    >>> from octavo.data import tic_tac_toe_lines
    >>> tic_tac_toe_lines()[0], tic_tac_toe_lines()[8]
    ((0, 1, 2), (9, 10, 11))
    """
    return [tuple(9 * player + cell for cell in line) for player in (0, 1) for line in LINES]


def _final_boards() -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return all final boards (cells 1, 2 or 0) and who has won: 1, 2, or 0 for a draw."""
    boards, winners = [], []
    for cells in product((0, 1, 2), repeat=9):
        n_first, n_second = cells.count(1), cells.count(2)
        won = [any(all(cells[c] == player for c in line) for line in LINES) for player in (1, 2)]
        # The first player moves first, and the game ends with the winner's move.
        if won == [True, False] and n_first == n_second + 1:
            winners.append(1)
        elif won == [False, True] and n_first == n_second:
            winners.append(2)
        elif won == [False, False] and n_first == 5 and n_second == 4:
            winners.append(0)
        else:
            continue
        boards.append(cells)
    return np.array(boards, np.int8), np.array(winners)


@checked
def make_tic_tac_toe(
    n_noise: int = 0,
    *,
    noise_rate: float = 0.1,
    draws: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return all final boards of tic-tac-toe that one of the players has won.

    Parameters
    ----------
    n_noise : int, default=0
        Columns of random zeros and ones that are added.
    noise_rate : float, default=0.1
        Probability of a one there. The paper does not say how its noise was drawn.
    draws : bool, default=False
        Whether to add the sixteen boards that nobody has won, as boards that the first player
        has not won: the set of the UCI repository.
    random_state : int, RandomState instance or None, default=None
        Seeds the noise; boards come in a fixed order.

    Returns
    -------
    X : ndarray of shape (942, 18 + n_noise), dtype int8
        Nine columns for the stones of the first player, nine for the second's, then the noise.
    y : ndarray of shape (942,)
        One where the first player has won.

    Examples
    --------
    >>> from octavo.data import make_tic_tac_toe
    >>> X, y = make_tic_tac_toe()
    >>> X.shape, int(y.sum())
    ((942, 18), 626)
    """
    if isinstance(n_noise, bool) or n_noise != int(n_noise) or not 0 <= n_noise <= 10**6:
        raise ValueError(f"n_noise must be a whole number in [0, 1000000], got {n_noise!r}.")
    if not 0 <= noise_rate <= 1:
        raise ValueError(f"noise_rate must lie in [0, 1], got {noise_rate!r}.")
    boards, winners = _final_boards()
    if not draws:
        boards, winners = boards[winners > 0], winners[winners > 0]
    rng = check_random_state(random_state)
    noise = rng.uniform(size=(len(boards), int(n_noise))) < noise_rate
    X = np.hstack([boards == 1, boards == 2, noise]).astype(np.int8)
    return X, (winners == 1).astype(np.int64)


class TriggerCorpus(NamedTuple):
    """Texts, their topics, and the words that stand for each topic.

    Attributes
    ----------
    X : csr_array of shape (n_documents, n_words)
        Which words occur.
    Y : ndarray of shape (n_documents, n_topics)
        Which topics a document belongs to.
    triggers : list of tuple of int
        The words that occur together in documents of each topic.
    """

    X: sp.csr_array
    Y: NDArray[np.int64]
    triggers: list[tuple[int, ...]]


@checked
def make_trigger_corpus(
    n_documents: int = 5000,
    n_words: int = 1000,
    n_topics: int = 20,
    *,
    length: int = 60,
    share: float = 0.12,
    rarity: float = 0.05,
    random_state: int | np.random.RandomState | None = None,
) -> TriggerCorpus:
    """Simulate texts in which topics show in two to four words that occur together.

    Words follow Zipf's law. Each topic has trigger words of middling frequency; a part of its
    documents holds all of them, and each of them occurs elsewhere too, so that none says much by
    itself.

    Parameters
    ----------
    n_documents, n_words, n_topics : int
        Sizes.
    length : int, default=60
        Draws of words a document, with repetitions.
    share : float, default=0.12
        Part of a topic's documents that holds all of its trigger words.
    rarity : float, default=0.05
        Probability that a document belongs to a topic.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    corpus : TriggerCorpus
        Words, topics and triggers.

    Examples
    --------
    >>> from octavo.data import make_trigger_corpus
    >>> corpus = make_trigger_corpus(500, 300, 4, random_state=0)
    >>> corpus.X.shape, corpus.Y.shape, sorted(map(len, corpus.triggers))
    ((500, 300), (500, 4), [2, 2, 4, 4])
    """
    for name, value, low, high in (
        ("n_documents", n_documents, 1, 10**7),
        ("n_words", n_words, 40, 10**7),
        ("n_topics", n_topics, 1, 10**4),
        ("length", length, 1, 10**4),
    ):
        if isinstance(value, bool) or value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number in [{low}, {high}], got {value!r}.")
    if n_documents * length > 2 * 10**8:
        raise ValueError(
            f"n_documents * length must be at most 200,000,000, got {n_documents * length}."
        )
    for name, number in (("share", share), ("rarity", rarity)):
        if not 0 <= number <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {number!r}.")
    rng = check_random_state(random_state)
    words = ((n_words + 1) ** rng.uniform(size=(n_documents, length))).astype(np.int64) - 1
    Y = (rng.uniform(size=(n_documents, n_topics)) < rarity).astype(np.int64)
    rows = [np.repeat(np.arange(n_documents), length)]
    columns = [words.ravel()]
    triggers = []
    for topic in range(n_topics):
        # Beyond the commonest words, before the rarest.
        size = rng.randint(2, 5)
        trigger = rng.choice(np.arange(n_words // 20, n_words // 2), size, replace=False)
        triggers.append(tuple(int(k) for k in np.sort(trigger)))
        own = np.flatnonzero((Y[:, topic] == 1) & (rng.uniform(size=n_documents) < share))
        rows.append(np.repeat(own, size))
        columns.append(np.tile(trigger, own.size))
    at, word = np.concatenate(rows), np.concatenate(columns)
    shape = (n_documents, n_words)
    X = sp.csr_array((np.ones(at.size), (at, np.minimum(word, n_words - 1))), shape=shape)
    X.sum_duplicates()
    X.data[:] = 1.0
    return TriggerCorpus(X, Y, triggers)
