"""Lexicalised reordering: how often a phrase pair jumped each way, with back-off.

Reference: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12: Section 1 (the LR model of MOSES).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.structured.margins.phrases import words_of

__all__ = ["LexicalizedReordering"]

Phrase = tuple[str, ...]


def phrase_keys(X: Any) -> list[tuple[Phrase, Phrase]]:
    """Return source and target phrases as tuples of words; refuse anything else."""
    if isinstance(X, (str, bytes)) or not isinstance(X, (Sequence, np.ndarray)) or not len(X):
        raise ValueError(
            f"Phrases must be a list of pairs (source phrase, target phrase) with at least one "
            f"entry, got {type(X).__name__}."
        )
    keys = []
    for number, pair in enumerate(X):
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(
                f"Entry {number} must be a pair (source phrase, target phrase), got {pair!r}."
            )
        keys.append((tuple(words_of(pair[0])), tuple(words_of(pair[1]))))
    return keys


class LexicalizedReordering(ClassifierMixin, SoundEstimator):
    """Shares of the jumps that a phrase pair made in training, smoothed, with back-off.

    p(o | f, e) = (count(o, f, e) + σ) / Σ for pairs that were seen; the same of the source phrase f
    for pairs that were not, and of all phrases where f is new too.

    Parameters
    ----------
    smoothing : float, default=0.5
        σ, added to every count.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of jumps.
    pair_counts_ : dict
        Counts of each class by (source phrase, target phrase).
    source_counts_ : dict
        Counts of each class by source phrase.
    class_counts_ : ndarray of shape (n_classes,)
        Counts of each class.

    See Also
    --------
    PhraseReorderingModel : Looks at the words around a phrase too.

    Notes
    -----
    Not where the words around a phrase decide its jump: it cannot see them.

    References
    ----------
    .. [1] Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011). Exploitation of Machine Learning
       Techniques in Modelling Phrase Movements for Machine Translation. JMLR 12.

    Examples
    --------
    >>> from octavo.structured import LexicalizedReordering
    >>> phrases = [("rot", "red"), ("rot", "red"), ("Haus", "house")]
    >>> model = LexicalizedReordering().fit(phrases, [0, 0, 1])
    >>> model.predict_proba([("rot", "red"), ("rot", "ruddy"), ("Tür", "door")]).round(3).tolist()
    [[0.833, 0.167], [0.833, 0.167], [0.625, 0.375]]
    """

    _parameter_constraints: dict[str, Any] = {"smoothing": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, smoothing=0.5):
        self.smoothing = smoothing

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Count jumps.

        Parameters
        ----------
        X : sequence of (source phrase, target phrase)
            Each phrase a string or a list of words.
        y : array-like of shape (n_samples,)
            Classes of their jumps.

        Returns
        -------
        self : LexicalizedReordering
            Fitted.
        """
        keys = phrase_keys(X)
        y = column_or_1d(y)
        check_consistent_length(keys, y)
        self.classes_, codes = encode_classes(y, owner=self)
        n = len(self.classes_)
        self.pair_counts_: dict[Any, Floats] = {}
        self.source_counts_: dict[Any, Floats] = {}
        for (f, e), code in zip(keys, codes):
            self.pair_counts_.setdefault((f, e), np.zeros(n))[code] += 1.0
            self.source_counts_.setdefault(f, np.zeros(n))[code] += 1.0
        self.class_counts_ = np.bincount(codes, minlength=n).astype(np.float64)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes.

        Parameters
        ----------
        X : sequence of (source phrase, target phrase)
            Phrases, seen or not.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        rows = []
        for f, e in phrase_keys(X):
            counts = self.pair_counts_.get((f, e))
            if counts is None:
                # back-off: p(o | f), then p(o)
                counts = self.source_counts_.get(f, self.class_counts_)
            rows.append(counts + float(self.smoothing))
        shares = np.array(rows)
        return shares / shares.sum(axis=1, keepdims=True)  # p(o | f, e) = count / Σ count

    def predict(self, X: Any) -> np.ndarray:
        """Return the most frequent class, the first of equals.

        Parameters
        ----------
        X : sequence of (source phrase, target phrase)
            Phrases.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            Classes of jumps.
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]
