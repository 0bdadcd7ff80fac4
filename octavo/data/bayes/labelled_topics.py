"""Documents whose class is told by a topic that holds few of their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_labelled_topics"]


@checked
def make_labelled_topics(
    n_samples: int = 900,
    *,
    n_classes: int = 2,
    n_topics: int = 12,
    n_words: int = 600,
    doc_length: int = 80,
    return_shares: bool = False,
    random_state: Any = None,
) -> tuple[Any, ...]:
    """Return documents in which one small topic tells the class and many large ones do not.

    Parameters
    ----------
    n_samples : int, default=900
        Number of documents.
    n_classes : int, default=2
        Number of classes, each with one topic of its own: the first topics.
    n_topics : int, default=12
        Number of all topics; their words are drawn from Dir(0.05).
    n_words : int, default=600
        Size of the vocabulary.
    doc_length : int, default=80
        Words in a document.
    return_shares : bool, default=False
        Return the true shares of topics too.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    X : csr_array of shape (n_samples, n_words)
        Counts.
    y : ndarray of shape (n_samples,)
        Classes.
    theta : ndarray of shape (n_samples, n_topics)
        Shares of topics, where asked for: drawn from Dir(0.08, ..., 0.5, ...), then 0.12 more for
        the topic of the class and a fifth for those of other classes, and divided by their sum.

    Examples
    --------
    >>> from octavo.data import make_labelled_topics
    >>> X, y = make_labelled_topics(10, random_state=0)
    >>> X.shape, int(X.sum())
    ((10, 600), 800)
    """
    for name, value, least in (
        ("n_samples", n_samples, 1),
        ("n_classes", n_classes, 1),
        ("n_topics", n_topics, n_classes + 1),
        ("n_words", n_words, 1),
        ("doc_length", doc_length, 1),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}; got {value}.")
    rng = check_random_state(random_state)
    phi = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    y = rng.randint(0, n_classes, n_samples)
    base = np.r_[np.full(n_classes, 0.08), np.full(n_topics - n_classes, 0.5)]
    theta = rng.dirichlet(base, n_samples)
    own = y[:, None] == np.arange(n_classes)
    theta[:, :n_classes] = np.where(own, theta[:, :n_classes] + 0.12, 0.2 * theta[:, :n_classes])
    theta /= theta.sum(axis=1, keepdims=True)
    chances = theta @ phi
    chances /= chances.sum(axis=1, keepdims=True)
    X = sp.csr_array(np.array([rng.multinomial(doc_length, chance) for chance in chances]))
    return (X, y, theta) if return_shares else (X, y)
