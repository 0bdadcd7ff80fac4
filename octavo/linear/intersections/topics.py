"""The few words that characterise a topic: Section 5.2, Equations (11) and (12)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.linear.intersections.binary_rows import binary_csr
from octavo.linear.intersections.classes import need_two_rows
from octavo.linear.intersections.mining import Search, mine_patterns
from octavo.linear.intersections.patterns import count_patterns, flat_sets
from octavo.linear.intersections.trees import hashed_ceiling

__all__ = ["TopicPattern", "topic_patterns"]

SHARE, LEAST = 3 / 20, 1 / 10  # of p_c: the ceiling of branches, and (12)


class TopicPattern(NamedTuple):
    """The pattern that says most about a topic.

    Attributes
    ----------
    pattern : tuple of int
        Its columns; empty where no pattern is frequent enough.
    precision : float
        Share of the topic among the rows that hold it, (11).
    prevalence : float
        Share of all rows that hold it.
    base_rate : float
        Share of the topic among all rows, p_c.
    """

    pattern: tuple[int, ...]
    precision: float
    prevalence: float
    base_rate: float


@checked
def topic_patterns(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    X_screen: ArrayLike | None = None,
    n_trees: int = 1000,
    branching: float = 5,
    n_hashes: int = 200,
    max_size: int = 4,
    max_nodes: int = 5000,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> list[TopicPattern]:
    """Return, for each of several topics, the pattern with the largest share of the topic.

    Trees intersect rows of the topic; a branch ends where its set is held by more than 3/20 of
    the topic's share of all rows. Among the sets of at most `max_size` columns that a tenth of
    that share hold, (12), the one with the largest share of the topic, (11), is returned. One
    table of min-wise hashes, of all rows, serves all topics.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_columns) or list of sets
        Zeros and ones, or the active columns of each row.
    Y : array-like of shape (n_rows, n_topics)
        One where a row belongs to a topic; it may belong to several.
    X_screen : array-like or sparse matrix, optional
        Rows on which (12) is asked for, such as those of a test set; X by default.
    n_trees : int, default=1000
        Trees a topic.
    branching : float, default=5
        Children of a node.
    n_hashes : int, default=200
        Random orders of the rows.
    max_size : int, default=4
        Most columns of a pattern.
    max_nodes : int, default=5000
        Nodes at which a tree is cut.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Seeds hashes and trees.

    Returns
    -------
    patterns : list of TopicPattern
        One a topic.

    Examples
    --------
    >>> from octavo.data import make_trigger_corpus
    >>> from octavo.linear import topic_patterns
    >>> corpus = make_trigger_corpus(2000, 300, 3, random_state=0)
    >>> found = topic_patterns(corpus.X, corpus.Y, n_trees=200, random_state=0)
    >>> sum(set(f.pattern) <= set(t) for f, t in zip(found, corpus.triggers))
    3
    """
    Y = np.asarray(Y)
    if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
        raise ValueError(f"Y must be a 0/1 table with a column a topic, got shape {Y.shape}.")
    owner = BaseEstimator()
    rows = binary_csr(owner, X, reset=True)
    if rows.shape[0] != Y.shape[0]:
        raise ValueError(f"X and Y must have a row a document, got {rows.shape[0]} and {len(Y)}.")
    screen = rows if X_screen is None else binary_csr(owner, X_screen, reset=False)
    rng = check_random_state(random_state)
    hashed = hashed_ceiling(rows, 0.0, n_hashes, rng)  # once for all topics: (12) counts all rows
    found = []
    for topic in range(Y.shape[1]):
        inside = Y[:, topic] == 1
        need_two_rows(int(inside.sum()), f"topic {topic}")
        share = float(inside.mean())
        search = Search(
            n_trees, branching, theta0=SHARE * share, min_count=1, max_size=max_size,
            max_nodes=max_nodes, n_jobs=n_jobs,
        )  # fmt: skip
        ceiling = hashed._replace(theta0=SHARE * share)
        mined = mine_patterns(rows[inside], rows[~inside], search, rng, ceiling=ceiling)
        found.append(_best(mined, screen, share, rows.shape[0]))
    return found


def _best(mined: Any, screen: Any, share: float, n_rows: int) -> TopicPattern:
    """Return the pattern that maximises (11) among those that satisfy (12)."""
    if not mined.patterns:
        return TopicPattern((), share, 1.0, share)
    frequent = count_patterns(screen, *flat_sets(mined.patterns)) / screen.shape[0]
    precision = mined.held[:, 0] / mined.held.sum(axis=1)
    allowed = np.flatnonzero(frequent >= LEAST * share)  # Eq. (12)
    if not allowed.size:
        return TopicPattern((), share, 1.0, share)
    best = max(allowed, key=lambda s: (precision[s], mined.held[s, 0]))  # Eq. (11)
    prevalence = float(mined.held[best].sum() / n_rows)
    return TopicPattern(mined.patterns[best], float(precision[best]), prevalence, share)
