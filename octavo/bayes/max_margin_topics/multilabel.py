"""Topics that explain several labels at once: binary tasks that share them (Section 6.4)."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_array, check_consistent_length

from octavo.bayes.max_margin_topics.base import SUPERVISED_CONSTRAINTS, TopicBase
from octavo.bayes.max_margin_topics.hinge_terms import class_terms
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sparse_rows import canonical_csr

__all__ = ["GibbsMedLDAMultilabel"]


def label_signs(Y: Any) -> Floats:
    """Return ±1 for labels 1 and 0, NaN for unknown ones; refuse others."""
    if sp.issparse(Y):
        Y = canonical_csr(Y).toarray()
    Y = check_array(Y, dtype=np.float64, ensure_all_finite="allow-nan", input_name="Y")
    known = ~np.isnan(Y)
    if not np.all(np.isin(Y[known], (0.0, 1.0))):
        wrong = Y[known][~np.isin(Y[known], (0.0, 1.0))][0]
        raise ValueError(f"Y must hold 0, 1, and NaN for unknown labels; got {wrong:g}.")
    if not known.any(axis=0).all():
        raise ValueError(f"Column {np.flatnonzero(~known.any(axis=0))[0]} of Y has no known label.")
    return 2.0 * Y - 1.0


class GibbsMedLDAMultilabel(ClassifierMixin, TopicBase):
    """Max-margin supervised topics for several labels a document.

    Parameters
    ----------
    n_topics : int, default=20
        Number of topics K, which all labels share.
    c : float, default=1.0
        Weight of the hinge losses beside the likelihood of words; 0 is plain topics.
    margin : float, default=64.0
        The margin ℓ that a document shall keep from each boundary.
    nu2 : float, default=1.0
        Prior variance ν² of the weights of topics.
    threshold : float, default=0.0
        A label is given where its score is above this.
    random_state : int, RandomState instance or None, default=None
        Seeds the chain and predictions.
    method : {"gibbs", "em"}, default="gibbs"
        ``"em"`` fits support vector machines to mean topics instead of drawing weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_topics)
        Weights of topics.
    class_topic_profile_ : ndarray of shape (n_labels, n_topics)
        Its means over the documents that have a label; zero for a label that none has.
    classes_ : ndarray of shape (n_labels,)
        The numbers of the labels.
    losses_ : ndarray of shape (n_sweeps,)
        Sum of hinge losses of the known labels after each sweep.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    GibbsMedLDAClassifier : Where each document has one class.

    Notes
    -----
    A label that is unknown (NaN) is left out of the loss; its document still teaches topics and
    the other labels.

    References
    ----------
    .. [1] J. Zhu, N. Chen, H. Perkins and B. Zhang (2014). Gibbs Max-Margin Topic Models with Data
       Augmentation. JMLR 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import GibbsMedLDAMultilabel
    >>> from octavo.data import make_labelled_topics
    >>> X, y = make_labelled_topics(300, n_classes=3, random_state=0)
    >>> Y = np.column_stack([y == 0, y != 2]).astype(float)
    >>> Y[:50, 0] = np.nan  # not looked at
    >>> model = GibbsMedLDAMultilabel(n_topics=8, margin=16, random_state=0).fit(X, Y)
    >>> bool((model.predict(X) == (Y > 0))[50:].mean() > 0.8)
    True
    """

    _parameter_constraints = SUPERVISED_CONSTRAINTS | {
        "margin": [Interval(Real, 0, None, closed="neither")],
        "threshold": [Interval(Real, None, None, closed="neither")],
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
        n_avg=10,
        n_infer_iter=30,
        n_infer_burn=10,
        threshold=0.0,
        random_state=None,
        warm_start=False,
        *,
        method="gibbs",
    ):
        self.n_topics = n_topics
        self.c = c
        self.margin = margin
        self.alpha = alpha
        self.beta = beta
        self.nu2 = nu2
        self.n_iter = n_iter
        self.n_avg = n_avg
        self.n_infer_iter = n_infer_iter
        self.n_infer_burn = n_infer_burn
        self.threshold = threshold
        self.random_state = random_state
        self.warm_start = warm_start
        self.method = method

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, Y: Any) -> Self:
        """Run the chain.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            How often each word stands in each document: whole numbers.
        Y : {array-like, sparse matrix} of shape (n_documents, n_labels)
            1 where a document has a label, 0 where not, NaN where that is unknown.

        Returns
        -------
        self : GibbsMedLDAMultilabel
            Fitted.
        """
        corpus = self._corpus(X)
        signs = label_signs(Y)
        check_consistent_length(corpus.lengths, signs)
        self.classes_, self._signs = np.arange(signs.shape[1]), signs
        self._chains = self._start(corpus, [class_terms(signs, self.c, self.margin)])
        self._sample(self.n_iter, X, Y)
        self._finish()
        return self

    def partial_fit(self, X: Any, Y: Any, *, n_iter: int = 10) -> Self:
        """Add documents to those of the chain and go on with it; the first call is `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts of new documents, over the same words.
        Y : {array-like, sparse matrix} of shape (n_documents, n_labels)
            Their labels: 1, 0, or NaN where unknown.
        n_iter : int, default=10
            Sweeps over all documents, old and new.

        Returns
        -------
        self : GibbsMedLDAMultilabel
            With topics of all documents so far.
        """
        if not hasattr(self, "_chains"):
            return self.fit(X, Y)
        signs = label_signs(Y)
        corpus = self._more(X, n_iter)
        check_consistent_length(corpus.lengths, signs)
        if signs.shape[1] != len(self.classes_):
            raise ValueError(
                f"Y must have {len(self.classes_)} labels, as in fit; got {signs.shape[1]}."
            )
        self._signs = np.vstack([self._signs, signs])
        return self._add(corpus, [class_terms(self._signs, self.c, self.margin)], n_iter)

    def _finish(self) -> None:
        self.coef_ = self._weights
        given = self._signs == 1.0
        sizes = np.maximum(given.sum(axis=0), 1)
        self.class_topic_profile_ = (given.T @ self.doc_topic_) / sizes[:, None]

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        scores : ndarray of shape (n_documents, n_labels)
            Larger is more likely.
        """
        return self.transform(X) @ self.coef_.T

    def predict(self, X: Any) -> Any:
        """Return which labels each document has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        Y : ndarray of shape (n_documents, n_labels)
            0 and 1.
        """
        return (self.decision_function(X) > self.threshold).astype(int)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.two_d_labels = True
        return tags
