"""Topics that explain a class: the hinge loss of a linear classifier on them, in one Gibbs chain.

Reference: J. Zhu, N. Chen, H. Perkins and B. Zhang (2014), "Gibbs Max-Margin Topic Models with Data
Augmentation", Journal of Machine Learning Research 15; Algorithms 1 and 3, Sections 4 and 6.3.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_consistent_length, column_or_1d

from octavo.bayes.max_margin_topics.base import SUPERVISED_CONSTRAINTS, TopicBase
from octavo.bayes.max_margin_topics.hinge_terms import HingeTerms, class_terms
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context

__all__ = ["GibbsMedLDAClassifier"]


def class_targets(codes: Any, n_classes: int) -> Floats:
    """Return labels ±1 of each task: one for two classes, else one a class (Section 6.3.2)."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


class GibbsMedLDAClassifier(ClassifierMixin, TopicBase):
    """Max-margin supervised topics for classes.

    Parameters
    ----------
    n_topics : int, default=20
        Number of topics K; with ``multi_class="ovr"`` of each classifier.
    c : float, default=1.0
        Weight of the hinge loss beside the likelihood of words; 0 is plain topics.
    margin : float, default=64.0
        The margin ℓ that a document shall keep from the boundary. The paper has 164 for two classes
        and 64 for more; results hardly change between 25 and 625.
    nu2 : float, default=1.0
        Prior variance ν² of the weights of topics.
    multi_class : {"multitask", "ovr"}, default="multitask"
        Whether more than two classes share their topics (Algorithm 3), or each has a chain and
        topics of its own.
    n_avg : int, default=10
        What is fitted is a mean over the last so many sweeps; with 1 it is the last state, as in
        the paper.
    n_jobs : int, default=None
        Number of processes for the chains of ``multi_class="ovr"``.
    random_state : int, RandomState instance or None, default=None
        Seeds chains and predictions.
    method : {"gibbs", "em"}, default="gibbs"
        ``"em"`` is the older iteration of Section 3.2: a support vector machine on mean topics
        instead of drawn weights.
    class_weight : dict, "balanced" or None, default=None
        Factors of `c`, by class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    components_ : ndarray of shape (n_topics, n_words)
        Probabilities of words; rows sum to one. With ``"ovr"`` the topics of all classifiers, one
        after another.
    coef_ : ndarray of shape (1, n_topics) or (n_classes, n_topics)
        Weights of topics; with two classes one row, for the second.
    class_topic_profile_ : ndarray of shape (n_classes, n_topics)
        Its means by class (Figure 12).
    losses_ : ndarray of shape (n_sweeps,)
        Sum of hinge losses of the training documents after each sweep.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    GibbsMedLDARegressor : The same for a number.
    GibbsMedLDAMultilabel : The same for several labels.
    topic_report : Words and weights of each topic.

    Notes
    -----
    For documents that are to be explained by topics that matter for their class. Where only the
    class matters, `sklearn.svm.LinearSVC` on tf-idf is faster and often better. There is no
    intercept: shares of topics sum to one. The fitted object holds the chain, and so the
    documents.

    References
    ----------
    .. [1] J. Zhu, N. Chen, H. Perkins and B. Zhang (2014). Gibbs Max-Margin Topic Models with Data
       Augmentation. JMLR 15.

    Examples
    --------
    >>> from octavo.bayes import GibbsMedLDAClassifier
    >>> from octavo.data import make_labelled_topics
    >>> X, y = make_labelled_topics(400, random_state=0)
    >>> model = GibbsMedLDAClassifier(n_topics=5, margin=16, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.85)
    True
    """

    _parameter_constraints = SUPERVISED_CONSTRAINTS | {
        "margin": [Interval(Real, 0, None, closed="neither")],
        "multi_class": [StrOptions({"multitask", "ovr"})],
        "n_jobs": [None, Integral],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_topics=20,
        c=1.0,
        margin=64.0,
        alpha=1.0,
        beta=0.01,
        nu2=1.0,
        n_iter=50,
        multi_class="multitask",
        n_avg=10,
        n_infer_iter=30,
        n_infer_burn=10,
        n_jobs=None,
        random_state=None,
        warm_start=False,
        *,
        method="gibbs",
        class_weight=None,
    ):
        self.n_topics = n_topics
        self.c = c
        self.margin = margin
        self.alpha = alpha
        self.beta = beta
        self.nu2 = nu2
        self.n_iter = n_iter
        self.multi_class = multi_class
        self.n_avg = n_avg
        self.n_infer_iter = n_infer_iter
        self.n_infer_burn = n_infer_burn
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.method = method
        self.class_weight = class_weight

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Run the chain, or the chains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            How often each word stands in each document: whole numbers.
        y : array-like of shape (n_documents,)
            Class labels.

        Returns
        -------
        self : GibbsMedLDAClassifier
            Fitted.
        """
        corpus = self._corpus(X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(corpus.lengths, y)
        self.classes_, self._codes = encode_classes(y, owner=self)
        self._chains = self._start(corpus, self._groups())
        self._sample(self.n_iter, X, y)
        self._finish()
        return self

    def _groups(self) -> list[HingeTerms]:
        """Return the losses of all documents so far: of all tasks, or apart for each chain."""
        y = self._codes_as_given(self.classes_[self._codes])
        weights = compute_sample_weight(self.class_weight, y)
        Y = class_targets(self._codes, len(self.classes_))
        terms = class_terms(Y, self.c * weights[:, None], self.margin)
        apart = self.multi_class == "ovr" and terms.n_tasks > 1
        return [terms.task(i) for i in range(terms.n_tasks)] if apart else [terms]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, n_iter: int = 10) -> Self:
        """Add documents to those of the chain and go on with it; the first call begins it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts of new documents, over the same words.
        y : array-like of shape (n_documents,)
            Their classes.
        classes : array-like of shape (n_classes,), optional
            All classes, for the first call, where the first documents do not have them all.
        n_iter : int, default=10
            Sweeps over all documents, old and new.

        Returns
        -------
        self : GibbsMedLDAClassifier
            With topics of all documents so far.
        """
        y = column_or_1d(y, warn=True)
        begun = hasattr(self, "_chains")
        corpus = self._more(X, n_iter) if begun else self._corpus(X)
        check_consistent_length(corpus.lengths, y)
        if begun:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(
                    f"classes must be those of the first call, {self.classes_.tolist()}; got "
                    f"{np.unique(classes).tolist()}."
                )
            codes = encode_classes(y, classes=self.classes_, owner=self)[1]
            self._codes = np.append(self._codes, codes)
            return self._add(corpus, self._groups(), n_iter)
        self.classes_, self._codes = encode_classes(y, classes=classes, owner=self)
        self._chains = self._start(corpus, self._groups())
        self._sample(self.n_iter, X, y)
        self._finish()
        return self

    def _codes_as_given(self, y: Any) -> Any:
        if isinstance(self.class_weight, dict) and not set(self.class_weight) <= set(
            self.classes_.tolist()
        ):
            raise ValueError(
                f"class_weight must name classes of y, {self.classes_.tolist()}; got "
                f"{sorted(map(str, self.class_weight))}."
            )
        return y

    def _finish(self) -> None:
        self.coef_ = self._weights
        members = self._codes[:, None] == np.arange(len(self.classes_))
        sizes = np.maximum(members.sum(axis=0), 1)  # a class may not have come yet
        self.class_topic_profile_ = (members.T @ self.doc_topic_) / sizes[:, None]

    def decision_function(self, X: Any) -> Floats:
        """Return scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        scores : ndarray of shape (n_documents,) or (n_documents, n_classes)
            With two classes one score, positive for the second.
        """
        scores = self.transform(X) @ self.coef_.T
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of each document.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        y : ndarray of shape (n_documents,)
            Labels.
        """
        scores = self.decision_function(X)
        best = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]
