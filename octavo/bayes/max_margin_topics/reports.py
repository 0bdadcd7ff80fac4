"""Reports of topics: their words, how large they are, and what they say of the target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["TopicSummary", "topic_report"]


class TopicSummary(NamedTuple):
    """What a topic is about.

    Attributes
    ----------
    topic : int
        Its number.
    share : float
        Mean part of a document that it has.
    words : list
        Its most probable words.
    word_probs : ndarray of shape (n,)
        Their probabilities.
    weights : ndarray of shape (n_tasks,)
        Its weight for each class, label or the number; empty for plain topics.

    Examples
    --------
    >>> from octavo.bayes import GibbsLDA, topic_report
    >>> model = GibbsLDA(n_topics=1, n_iter=5, random_state=0).fit([[3, 1], [2, 2]])
    >>> summary = topic_report(model, n=1)[0]
    >>> summary.words, round(summary.share, 2)
    ([0], 1.0)
    """

    topic: int
    share: float
    words: list[Any]
    word_probs: Floats
    weights: Floats


@checked
def topic_report(model: Any, feature_names: Any = None, n: int = 10) -> list[TopicSummary]:
    """Return words, size and weights of each topic, the topics that weigh most first.

    Parameters
    ----------
    model : estimator
        A fitted topic model of this family.
    feature_names : array-like of shape (n_words,), optional
        The words; names seen in fit, else column numbers, by default.
    n : int, default=10
        How many words of each topic.

    Returns
    -------
    report : list of TopicSummary
        In the order of the largest weight, by its size; of shares for plain topics.

    Examples
    --------
    >>> from octavo.bayes import GibbsMedLDAClassifier, topic_report
    >>> X, y = [[4, 3, 0, 0], [5, 2, 1, 0], [0, 0, 3, 4], [0, 1, 6, 2]] * 5, [0, 0, 1, 1] * 5
    >>> model = GibbsMedLDAClassifier(n_topics=2, random_state=0).fit(X, y)
    >>> for topic in sorted(topic_report(model, list("abcd"), 2), key=lambda one: one.weights[0]):
    ...     print(sorted(topic.words), bool(topic.weights[0] > 0))
    ['a', 'b'] False
    ['c', 'd'] True
    """
    if not hasattr(model, "top_words"):
        raise ValueError(
            f"model must be a topic model of octavo.bayes; got {type(model).__name__}."
        )
    check_is_fitted(model)
    words, shares = model.top_words(feature_names, n), model.doc_topic_.mean(axis=0)
    weights = np.atleast_2d(getattr(model, "coef_", np.zeros((0, len(words)))))
    probs = -np.sort(-model.components_, axis=1)[:, :n]
    size = np.abs(weights).max(axis=0) if len(weights) else shares
    return [
        TopicSummary(int(k), float(shares[k]), words[k], probs[k], weights[:, k])
        for k in np.argsort(-size, kind="stable")
    ]
