"""Topics that explain a number: the ε-insensitive loss of a linear score on them (Algorithm 2)."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from octavo.bayes.max_margin_topics.base import SUPERVISED_CONSTRAINTS, TopicBase
from octavo.bayes.max_margin_topics.hinge_terms import HingeTerms, interval_terms
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context

__all__ = ["GibbsMedLDARegressor"]


class GibbsMedLDARegressor(RegressorMixin, TopicBase):
    """Max-margin supervised topics for a number.

    Parameters
    ----------
    n_topics : int, default=20
        Number of topics K.
    c : float, default=1.0
        Weight of the loss beside the likelihood of words; 0 is plain topics. The paper chooses it
        by cross-validation.
    epsilon : float, default=1e-3
        Errors up to this cost nothing, in units of y.
    nu2 : float, default=1.0
        Prior variance ν² of the weights of topics, in squared units of y: scale y, or this.
    random_state : int, RandomState instance or None, default=None
        Seeds the chain and predictions.
    method : {"gibbs", "em"}, default="gibbs"
        ``"em"`` fits support vector regression to mean topics instead of drawing weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_topics,)
        Weights of topics.
    intercept_ : float
        The mean of y, which is taken off before.
    losses_ : ndarray of shape (n_sweeps,)
        Sum of ε-insensitive losses of the training documents after each sweep.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    GibbsMedLDAClassifier : The same for classes.

    Notes
    -----
    Where only the number matters, a ridge regression on tf-idf is faster and often better. The
    paper's Equations (17) and (18) print c where c² is right.

    References
    ----------
    .. [1] J. Zhu, N. Chen, H. Perkins and B. Zhang (2014). Gibbs Max-Margin Topic Models with Data
       Augmentation. JMLR 15.

    Examples
    --------
    >>> from octavo.bayes import GibbsMedLDARegressor
    >>> from octavo.data import make_labelled_topics
    >>> X, y, theta = make_labelled_topics(400, return_shares=True, random_state=0)
    >>> score = 10 * (theta[:, 1] - theta[:, 0])
    >>> model = GibbsMedLDARegressor(n_topics=8, c=5, nu2=10, random_state=0)
    >>> model = model.fit(X[:300], score[:300])
    >>> bool(model.score(X[300:], score[300:]) > 0.5)
    True
    """

    _parameter_constraints = SUPERVISED_CONSTRAINTS | {
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_topics=20,
        c=1.0,
        epsilon=1e-3,
        alpha=1.0,
        beta=0.01,
        nu2=1.0,
        n_iter=50,
        n_avg=10,
        n_infer_iter=30,
        n_infer_burn=10,
        random_state=None,
        warm_start=False,
        *,
        method="gibbs",
    ):
        self.n_topics = n_topics
        self.c = c
        self.epsilon = epsilon
        self.alpha = alpha
        self.beta = beta
        self.nu2 = nu2
        self.n_iter = n_iter
        self.n_avg = n_avg
        self.n_infer_iter = n_infer_iter
        self.n_infer_burn = n_infer_burn
        self.random_state = random_state
        self.warm_start = warm_start
        self.method = method

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Run the chain.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            How often each word stands in each document: whole numbers.
        y : array-like of shape (n_documents,)
            Numbers.

        Returns
        -------
        self : GibbsMedLDARegressor
            Fitted.
        """
        corpus = self._corpus(X)
        y = check_array(
            column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y"
        )
        check_consistent_length(corpus.lengths, y)
        self._chains = self._start(corpus, self._learn_targets(y))
        self._sample(self.n_iter, X, y)
        self._finish()
        return self

    def _learn_targets(self, y: Floats) -> list[HingeTerms]:
        """Return the losses of all documents so far, around their mean."""
        intercept = float(y.mean())
        if not np.isfinite(intercept):
            raise ValueError("y has no finite mean: its values are too large for 64 bits.")
        self._targets, self.intercept_ = y, intercept
        return [interval_terms(y - intercept, self.c, self.epsilon)]

    def partial_fit(self, X: Any, y: Any, *, n_iter: int = 10) -> Self:
        """Add documents to those of the chain and go on with it; the first call is `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts of new documents, over the same words.
        y : array-like of shape (n_documents,)
            Their numbers.
        n_iter : int, default=10
            Sweeps over all documents, old and new.

        Returns
        -------
        self : GibbsMedLDARegressor
            With topics of all documents so far; the intercept is the mean of all numbers.
        """
        if not hasattr(self, "_chains"):
            return self.fit(X, y)
        y = check_array(
            column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y"
        )
        corpus = self._more(X, n_iter)
        check_consistent_length(corpus.lengths, y)
        return self._add(corpus, self._learn_targets(np.append(self._targets, y)), n_iter)

    def _finish(self) -> None:
        self.coef_ = self._weights[0]

    def predict(self, X: Any) -> Floats:
        """Return the number of each document.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        y : ndarray of shape (n_documents,)
            Numbers; the mean of y for a document without a known word.
        """
        return self.transform(X) @ self.coef_ + self.intercept_
