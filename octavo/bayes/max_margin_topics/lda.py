"""Latent Dirichlet allocation by collapsed Gibbs sampling: topics without labels."""

from __future__ import annotations

from typing import Any, Self

from sklearn.callback import with_callbacks

from octavo.bayes.max_margin_topics.base import TOPIC_CONSTRAINTS, TopicBase
from octavo.engine.estimators.sklearn_door import fit_context

__all__ = ["GibbsLDA"]


class GibbsLDA(TopicBase):
    """Topics of documents by collapsed Gibbs sampling.

    Parameters
    ----------
    n_topics : int, default=20
        Number of topics K.
    n_iter : int, default=200
        Number of sweeps over all words.
    random_state : int, RandomState instance or None, default=None
        Seeds the chain and the draws of `transform`.

    Attributes
    ----------
    doc_topic_ : ndarray of shape (n_documents, n_topics)
        Which part of each document each topic has; rows sum to one.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    GibbsMedLDAClassifier : Topics that are tuned for a label.

    Notes
    -----
    The same sampler as that of the supervised models, without labels: what comes before a support
    vector machine in the paper's GibbsLDA+SVM. `partial_fit` keeps all documents; for a stream
    without end take `sklearn.decomposition.LatentDirichletAllocation`.

    References
    ----------
    .. [1] T. L. Griffiths and M. Steyvers (2004). Finding scientific topics. PNAS 101.
    .. [2] J. Zhu, N. Chen, H. Perkins and B. Zhang (2014). Gibbs Max-Margin Topic Models with Data
       Augmentation. JMLR 15.

    Examples
    --------
    >>> from octavo.bayes import GibbsLDA
    >>> X = [[4, 3, 0, 0], [5, 2, 0, 0], [0, 0, 3, 4], [0, 0, 6, 2]]
    >>> model = GibbsLDA(n_topics=2, alpha=0.2, n_iter=50, random_state=0).fit(X)
    >>> sorted(sorted(words) for words in model.top_words(["a", "b", "c", "d"], 2))
    [['a', 'b'], ['c', 'd']]
    """

    _parameter_constraints = TOPIC_CONSTRAINTS

    def __init__(
        self,
        n_topics=20,
        alpha=1.0,
        beta=0.01,
        n_iter=200,
        n_avg=10,
        n_infer_iter=30,
        n_infer_burn=10,
        random_state=None,
        warm_start=False,
    ):
        self.n_topics = n_topics
        self.alpha = alpha
        self.beta = beta
        self.n_iter = n_iter
        self.n_avg = n_avg
        self.n_infer_iter = n_infer_iter
        self.n_infer_burn = n_infer_burn
        self.random_state = random_state
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the chain.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            How often each word stands in each document: whole numbers.
        y : None
            Ignored.

        Returns
        -------
        self : GibbsLDA
            Fitted.
        """
        self._chains = self._start(self._corpus(X), [None])
        self._sample(self.n_iter, X)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, n_iter: int = 10) -> Self:
        """Add documents to those of the chain and go on with it; the first call is `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts of new documents, over the same words.
        y : None
            Ignored.
        n_iter : int, default=10
            Sweeps over all documents, old and new.

        Returns
        -------
        self : GibbsLDA
            With topics of all documents so far.
        """
        if not hasattr(self, "_chains"):
            return self.fit(X)
        return self._add(self._more(X, n_iter), [None], n_iter)
