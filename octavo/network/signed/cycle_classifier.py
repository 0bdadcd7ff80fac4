"""Signs of links by logistic regression on the cycles that they would close."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.network.signed.base import SignPredictor
from octavo.network.signed.cycles import (
    count_walks,
    degree_features,
    step_kinds,
    with_reversals,
)
from octavo.network.signed.signs import check_pairs, read_signs, undirected_signs

__all__ = ["HigherOrderCycleClassifier"]


class HigherOrderCycleClassifier(SignPredictor):
    """Predict signs from counts of the cycles of each kind that a link would close (HOC).

    Parameters
    ----------
    order : int, default=3
        The longest cycles that are counted; 3 is the method of Leskovec and others (2010).
    directed : bool, default=True
        Whether the directions of links count: 4^(t-1) kinds of cycles of length t, else 2^(t-1).
    degree_features : bool, default=True
        Whether seven degrees of the two nodes are features too.
    C : float, default=1.0
        Inverse strength of the l2 penalty; features have unit variance.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features as scaled: degrees, then cycles of length 3, 4, ...
    intercept_ : float
        Offset.
    majority_ : int
        The sign that most links have; the answer for nodes without a link.
    isolated_ : ndarray
        Nodes without a known link: their scores are zero.
    n_nodes_ : int
        Number of nodes.

    See Also
    --------
    SignedCompletion : Faster by far on large networks, and more accurate in the paper.

    References
    ----------
    Chiang, Hsieh, Natarajan, Dhillon and Tewari (2014), "Prediction and Clustering in Signed
    Networks: A Local to Global Perspective", Appendix B.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import HigherOrderCycleClassifier
    >>> network = make_weakly_balanced([30, 20], 0.2, random_state=0)
    >>> model = HigherOrderCycleClassifier(directed=False).fit(network.A)
    >>> model.predict([[0, 1], [0, 49]]).tolist()
    [1, -1]
    """

    _parameter_constraints = {
        "order": [Interval(Integral, 3, 6, closed="both")],
        "directed": ["boolean"],
        "degree_features": ["boolean"],
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, order=3, directed=True, degree_features=True, C=1.0):
        self.order = order
        self.directed = directed
        self.degree_features = degree_features
        self.C = C

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A: Any, y: Any = None) -> Self:
        """Learn from all links of a network, each described without itself.

        Parameters
        ----------
        A : graph
            Links of 1 and -1: matrix (0 is unknown), networkx graph, list of links.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : HigherOrderCycleClassifier
            The fitted estimator.
        """
        self._matrix = (read_signs(A) if self.directed else undirected_signs(A)[0]).matrix
        self._count(self._matrix)
        touched = np.diff(self._matrix.indptr) + np.bincount(
            self._matrix.indices, minlength=self.n_nodes_
        )
        self.isolated_ = np.flatnonzero(touched == 0)
        self._kinds = step_kinds(self._matrix, self.directed)
        known = self._matrix.tocoo()  # an undirected link both ways, each with half a weight
        signs, weight = known.data, np.full(known.nnz, 1.0 if self.directed else 0.5)
        self._model = None
        self.coef_, self.intercept_ = np.zeros(0), float(self.majority_)
        if np.ptp(signs) > 0.0:  # else every link has the sign that all of them have
            features = self._features(np.column_stack([known.row, known.col]))
            logistic = LogisticRegression(C=self.C, max_iter=2000)  # Appendix B.3
            self._model = make_pipeline(StandardScaler(), logistic)
            self._model.fit(features, signs, logisticregression__sample_weight=weight)
            self.coef_, self.intercept_ = logistic.coef_[0], float(logistic.intercept_[0])
        return self

    def _features(self, pairs: Indices) -> Floats:
        pairs = np.asarray(pairs, dtype=np.intp)
        parts = [degree_features(self._matrix, pairs, self._kinds)] if self.degree_features else []
        for order in range(3, self.order + 1):
            counts = count_walks(self._kinds, pairs, order, 4 if self.directed else 2)
            parts.append(counts if self.directed else with_reversals(counts, order - 1))
        return np.hstack(parts)

    def _scores(self, pairs: Any) -> Floats:
        if self._model is None:
            return np.full(len(pairs), self.intercept_)
        if not len(pairs):
            return np.empty(0)
        scores = self._model.decision_function(self._features(pairs))
        scores[np.isin(pairs, self.isolated_).any(axis=1)] = 0.0  # nothing is known of them
        return scores

    def predict_proba(self, pairs: Any) -> Floats:
        """Return the chances of a negative and of a positive link.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Rows of the network's matrix.

        Returns
        -------
        proba : ndarray of shape (m, 2)
            Of -1 and of 1; rows sum to one.
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs, self.n_nodes_)
        positive = 1.0 / (1.0 + np.exp(-np.clip(self._scores(pairs), -700.0, 700.0)))
        return np.column_stack([1.0 - positive, positive])
