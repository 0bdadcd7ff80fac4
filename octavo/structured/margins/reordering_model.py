"""Where does a phrase jump when it is translated? A classifier on the words around it.

Reference: Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011), "Exploitation of Machine Learning
Techniques in Modelling Phrase Movements for Machine Translation", Journal of Machine Learning
Research 12: Sections 2 and 3, Figure 8.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, Options, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.structured.margins.class_distance import settle_class_distance
from octavo.structured.margins.classifier import StructuredMarginClassifier
from octavo.structured.margins.costs import reordering_cost
from octavo.structured.margins.features import (
    FeatureTable,
    checked_examples,
    phrase_examples,
)
from octavo.structured.margins.phrases import orientation

__all__ = ["PhraseReorderingModel"]


class _SubModel(NamedTuple):
    """A classifier of the phrases of one cluster (None: one class), its columns and its size."""

    learner: Any
    columns: Indices
    classes: np.ndarray
    n_examples: int

    def probabilities(self, X: Any, prior: Floats) -> Floats:
        """Return the shares of all classes; those absent from the cluster get some of the prior."""
        shares = np.zeros((X.shape[0], len(prior)))
        if self.learner is None:
            shares[:, self.classes] = 1.0
        else:
            shares[:, self.classes] = class_shares(self.learner, X[:, self.columns])
        absent = np.setdiff1d(np.arange(len(prior)), self.classes)
        given = prior[absent] / (self.n_examples + 1.0)
        shares *= 1.0 - given.sum()
        # a class that never occurred: its prior, counted as one more example
        shares[:, absent] = given
        return shares


def class_shares(learner: Any, X: Any) -> Floats:
    """Return a classifier's probabilities, or the softmax of its scores where it has none."""
    if hasattr(learner, "predict_proba"):
        return np.asarray(learner.predict_proba(X))
    scores = np.asarray(learner.decision_function(X))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return softmax(scores, axis=1)


class PhraseReorderingModel(CallbackSupportMixin, SoundEstimator):
    """Predicts in which direction, and how far, each phrase of a translation jumps.

    Every source phrase that is frequent has a classifier of its own on the words around it; the
    others share one.

    Parameters
    ----------
    learner : classifier or None, default=None
        What is trained; None is `StructuredMarginClassifier` with the paper's prices.
    n_classes : {3, 5}, default=3
        Classes of jumps, see `orientation`.
    max_phrase_len : int, default=8
        Most words of a phrase.
    window : int, default=3
        Words around the ends of the source phrase that are looked at.
    ngram : int, default=3
        Longest sequence of words.
    cluster_by_source : bool, default=True
        Whether frequent source phrases have classifiers of their own.
    min_cluster : int, default=20
        Examples that a source phrase needs for that.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class numbers.
    prior_ : ndarray of shape (n_classes,)
        Smoothed shares of the classes in training.
    n_features_ : int
        Features met in training.
    n_examples_ : int
        Phrase pairs trained on.
    clusters_ : dict
        Number of examples of each source phrase that has a classifier of its own.

    See Also
    --------
    LexicalizedReordering : Counts jumps of phrases and does not look around.
    phrase_examples : The phrases that `fit` trains on.

    Notes
    -----
    Not for translation today: neural systems need no reordering model. It is for the study of
    alignments and word order, for small corpora and for teaching.

    References
    ----------
    .. [1] Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011). Exploitation of Machine Learning
       Techniques in Modelling Phrase Movements for Machine Translation. JMLR 12.

    Examples
    --------
    >>> from octavo.data import make_reordering_corpus
    >>> from octavo.structured import PhraseReorderingModel
    >>> sources, targets, alignments = make_reordering_corpus(120, random_state=0)
    >>> model = PhraseReorderingModel(max_phrase_len=3)
    >>> model = model.fit(sources[:100], targets[:100], alignments[:100])
    >>> model.score(sources[100:], targets[100:], alignments[100:]) > 0.9
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "learner": [HasMethods(["fit", "predict"]), None],
        "n_classes": [Options(Integral, {3, 5})],
        "max_phrase_len": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Integral, 0, None, closed="left")],
        "ngram": [Interval(Integral, 1, None, closed="left")],
        "cluster_by_source": ["boolean"],
        "min_cluster": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        learner=None,
        n_classes=3,
        max_phrase_len=8,
        window=3,
        ngram=3,
        cluster_by_source=True,
        min_cluster=20,
    ):
        self.learner = learner
        self.n_classes = n_classes
        self.max_phrase_len = max_phrase_len
        self.window = window
        self.ngram = ngram
        self.cluster_by_source = cluster_by_source
        self.min_cluster = min_cluster

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, sources: Any, targets: Any, alignments: Any, word_classes: Any = None) -> Self:
        """Train on a word-aligned corpus.

        Parameters
        ----------
        sources, targets : sequence of sentences
            Lists of words, or strings.
        alignments : sequence of set of (int, int)
            Links (source position, target position) of each sentence pair.
        word_classes : pair of mappings, optional
            Classes of source words and of target words, whose n-grams are features too.

        Returns
        -------
        self : PhraseReorderingModel
            Fitted.
        """
        examples, distances = phrase_examples(sources, targets, alignments, self.max_phrase_len)
        if not examples:
            raise ValueError("No phrase pair is left to train on; look at the alignments.")
        codes = np.atleast_1d(orientation(distances, self.n_classes))
        table = FeatureTable({}, int(self.window), int(self.ngram), word_classes)
        X = table.rows(examples, grow=True)
        self._table = table
        self.classes_ = np.arange(self.n_classes)
        counts = np.bincount(codes, minlength=self.n_classes)
        self.prior_ = (counts + 0.5) / (counts + 0.5).sum()
        self.n_features_, self.n_examples_ = X.shape[1], X.shape[0]
        groups = self._groups(examples)
        self.clusters_ = {phrase: len(rows) for phrase, rows in groups.items()}
        self._submodels: dict[Any, _SubModel] = {}
        with FitProgress(self, len(groups) + 1, step_name="cluster") as progress:
            self._global = self._trained(X, codes)
            progress.step()
            for phrase, rows in groups.items():
                self._submodels[phrase] = self._trained(X[rows], codes[rows])
                if progress.step():
                    break
        return self

    def _groups(self, examples: list[Any]) -> dict[tuple[str, ...], list[int]]:
        if not self.cluster_by_source:
            return {}
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, example in enumerate(examples):
            groups.setdefault(example.phrases[0], []).append(number)
        return {phrase: rows for phrase, rows in groups.items() if len(rows) >= self.min_cluster}

    def _trained(self, X: Any, codes: np.ndarray) -> _SubModel:
        """Return a classifier on the features that occur, or a constant where one class does."""
        classes = np.unique(codes)
        columns = np.unique(X.indices)
        if len(classes) == 1:
            return _SubModel(None, columns, classes, len(codes))
        learner = self.learner
        if learner is None:
            learner = StructuredMarginClassifier("tree", random_state=0)
        learner = clone(learner)
        if isinstance(learner, StructuredMarginClassifier):
            # prices of the classes that occur, out of those of all
            distance = settle_class_distance(learner.class_distance, self.n_classes)
            learner.set_params(class_distance=distance[np.ix_(classes, classes)])
        return _SubModel(learner.fit(X[:, columns], codes), columns, classes, len(codes))

    def predict_proba(self, phrase_pairs: Any) -> Floats:
        """Return the probabilities of all classes of jumps.

        Parameters
        ----------
        phrase_pairs : sequence of PhraseInContext
            (source words, target words, phrase pair), as `phrase_examples` makes them.

        Returns
        -------
        probabilities : ndarray of shape (n_phrases, n_classes)
            Shares; classes that a cluster never had get a small part of the prior.
        """
        check_is_fitted(self, "prior_")
        examples = checked_examples(phrase_pairs)
        X = self._table.rows(examples)
        groups: dict[Any, list[int]] = {}
        for number, example in enumerate(examples):
            phrase = example.phrases[0]
            groups.setdefault(phrase if phrase in self._submodels else None, []).append(number)
        shares = np.empty((len(examples), self.n_classes))
        for phrase, rows in groups.items():
            model = self._global if phrase is None else self._submodels[phrase]
            shares[rows] = model.probabilities(X[rows], self.prior_)
        return shares

    def predict(self, phrase_pairs: Any) -> np.ndarray:
        """Return the most probable class of each phrase's jump, the first of equals.

        Parameters
        ----------
        phrase_pairs : sequence of PhraseInContext
            (source words, target words, phrase pair), as `phrase_examples` makes them.

        Returns
        -------
        classes : ndarray of shape (n_phrases,)
            Class numbers, see `orientation`.
        """
        return self.predict_proba(phrase_pairs).argmax(axis=1)

    def score(self, sources: Any, targets: Any, alignments: Any) -> float:
        """Return the share of phrases of a corpus whose class of jump is right.

        Parameters
        ----------
        sources, targets : sequence of sentences
            Lists of words, or strings.
        alignments : sequence of set of (int, int)
            Links of each sentence pair.

        Returns
        -------
        share : float
            Between 0 and 1.
        """
        check_is_fitted(self, "prior_")
        examples, distances = phrase_examples(sources, targets, alignments, self.max_phrase_len)
        if not examples:
            raise ValueError("No phrase pair is there to score; look at the alignments.")
        right = self.predict(examples) == orientation(distances, self.n_classes)
        return float(np.mean(right))

    def reordering_cost(self, derivation: Any, mode: str = "direct", beta: float = 1.0) -> float:
        """Return what the jumps of a translation cost under this model.

        Parameters
        ----------
        derivation : sequence of PhraseInContext
            Phrases in the order of the target.
        mode : {"direct", "adjusted", "distance"}, default="direct"
            See `octavo.structured.reordering_cost`.
        beta : float, default=1.0
            β of eq. (7).

        Returns
        -------
        cost : float
            Smaller for jumps that the model expects.
        """
        chances = self.predict_proba(derivation)
        pairs = [example[2] for example in derivation]
        return reordering_cost(pairs, mode, chances, beta)
