"""Topics of documents by anchor words: words that one topic uses and no other.

Word counts become tf-idf weights with unit l1 norm a document; anchor words are chosen among
the columns; the anchors' columns tell how much of each topic a document holds, and non-negative
least squares gives the topics.

Reference: Mizutani (2014), "Ellipsoidal rounding for nonnegative matrix factorization under noisy
separability", JMLR 15:1011-1039, section 6.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, check_non_negative

from octavo.decomposition.gms.reduced_points import SVD_SOLVERS, reduced_points
from octavo.decomposition.separable.anchor_factorization import SPARSE, fit_weights, refuse_extremes
from octavo.decomposition.separable.pursuits import rank_error, successive_projection, xray_anchors
from octavo.decomposition.separable.rounding import (
    SELECTORS,
    is_zero,
    round_points,
    select_anchors,
)
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.ellipsoid import Stop

__all__ = ["AnchorTopics"]

METHODS = (*(f"er-{selector}" for selector in SELECTORS), *SELECTORS)


def inverse_document_frequency(counts) -> np.ndarray:
    """Return log(n / df) of each word; 0 for words of no document."""
    n = counts.shape[0]
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    return np.log(n / np.maximum(frequency, 1)) * (frequency > 0)


def weighted_documents(counts, idf):
    """Return tf-idf weights with unit l1 norm a document, documents without weight zero."""
    weighted = counts @ sparse.diags_array(idf) if sparse.issparse(counts) else counts * idf
    return normalize(weighted, norm="l1")


class AnchorTopics(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, SoundEstimator
):
    """Topics, anchor words and clusters of documents from a matrix of word counts.

    Parameters
    ----------
    n_topics : int, default=2
        Number of topics; at most the rank of the weighted counts.
    method : str, default="er-spa"
        How anchor words are chosen: "er-spa", "er-xray-max", "er-xray-dist", "er-xray-greedy" or
        "er-xray-rand" among the words that an ellipsoid touches; "spa", "xray-max",
        "xray-dist", "xray-greedy" or "xray-rand" among all words.
    contributions : {"low-rank", "original"}, default="low-rank"
        What tells how much of each topic a document holds: the columns of the anchor words in
        the approximation of rank `n_topics`, or in the matrix itself. The original columns are
        zero for documents that hold no anchor word.
    tfidf : bool, default=True
        Weigh counts by log(n_documents / number of documents with the word). Documents are
        scaled to unit l1 norm in any case.
    mvee_tol : float, default=1e-7
        Duality gap of the ellipsoid; at least 1e-12, which is what rounding leaves.
    max_iter : int, default=100_000
        Most steps of the ellipsoid's solver.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        How singular vectors are found; see `EllipsoidalRoundingNMF`.
    random_state : int, RandomState instance or None, default=None
        For "xray-rand" and for the solvers "arpack" and "randomized".

    Attributes
    ----------
    topics_ : ndarray of shape (n_topics, n_features)
        Non-negative weights of the words in each topic.
    anchor_indices_ : ndarray of shape (n_topics,)
        Column of each topic's anchor word.
    anchor_words_ : ndarray of shape (n_topics,)
        Names of the anchor words, where X has feature names; else their columns.
    labels_ : ndarray of shape (n_samples,)
        Topic that contributes most to each document; -1 for documents without any contribution.
    contributions_ : ndarray of shape (n_samples, n_topics)
        How much of each topic each document holds.
    directions_ : ndarray of shape (n_topics, n_features)
        Right singular vectors of the weighted counts.
    idf_ : ndarray of shape (n_features,)
        Weights of the words.
    duality_gap_ : float
        Of the ellipsoid, where `method` draws one.
    n_iter_ : int
        Steps of the ellipsoid's solver (at least 1), or anchors chosen without one.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    EllipsoidalRoundingNMF : The factorisation behind it.
    sklearn.decomposition.LatentDirichletAllocation : A generative model of mixed documents.

    Notes
    -----
    Do not use it on a few short documents: an anchor must be seen often enough to be told from
    noise. Use `sklearn.decomposition.LatentDirichletAllocation` where topics share all words.

    References
    ----------
    .. [1] Mizutani (2014). Ellipsoidal rounding for nonnegative matrix factorization under noisy
       separability. JMLR 15:1011-1039.

    Examples
    --------
    >>> from octavo.data import make_anchor_corpus
    >>> from octavo.decomposition import AnchorTopics
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> corpus = make_anchor_corpus(500, 300, n_topics=3, random_state=0)
    >>> model = AnchorTopics(3).fit(corpus.counts)
    >>> round(normalized_mutual_info_score(corpus.labels, model.labels_), 1)
    0.8
    """

    _parameter_constraints = {
        "n_topics": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions(set(METHODS))],
        "contributions": [StrOptions({"low-rank", "original"})],
        "tfidf": ["boolean"],
        "mvee_tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "svd_solver": [StrOptions(set(SVD_SOLVERS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_topics=2,
        *,
        method="er-spa",
        contributions="low-rank",
        tfidf=True,
        mvee_tol=1e-7,
        max_iter=100_000,
        svd_solver="auto",
        random_state=None,
    ):
        self.n_topics = n_topics
        self.method = method
        self.contributions = contributions
        self.tfidf = tfidf
        self.mvee_tol = mvee_tol
        self.max_iter = max_iter
        self.svd_solver = svd_solver
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find topics, anchor words and the topic of each document.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of documents.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = self._counts(X, reset=True)
        n_features = X.shape[1]
        self.idf_ = inverse_document_frequency(X) if self.tfidf else np.ones(n_features)
        A = weighted_documents(X, self.idf_)
        if is_zero(A) and not is_zero(X):
            raise ValueError(
                "Every word stands in every document, so that all tf-idf weights are zero and no "
                "topic is left. Pass tfidf=False, or documents that differ in their words."
            )
        if is_zero(A):
            raise rank_error(self.n_topics, 0, X.shape, "n_topics")
        reduced = reduced_points(
            A, self.n_topics, solver=self.svd_solver, random_state=self.random_state
        )
        if len(reduced.sizes) < self.n_topics:
            what = "X weighted by tf-idf" if self.tfidf else "X"
            raise rank_error(self.n_topics, len(reduced.sizes), X.shape, "n_topics", what)
        self.directions_ = reduced.directions
        with FitProgress(self, None, X) as progress:
            self.anchor_indices_ = self._choose_words(A, reduced, progress.step)
            progress.step()
        self.anchor_words_ = getattr(self, "feature_names_in_", np.arange(n_features))[
            self.anchor_indices_
        ]
        self.contributions_ = self._contributions(A)
        self.labels_ = self._strongest(self.contributions_)
        words = A.T.tocsr() if sparse.issparse(A) else A.T
        self.topics_ = fit_weights(words, self.contributions_.T).weights.T
        return self

    def _counts(self, X, reset):
        X = validate_rows(self, X, accept_sparse=SPARSE, dtype=np.float64, reset=reset)
        check_non_negative(X, type(self).__name__)
        refuse_extremes(X)
        return X

    def _choose_words(self, A, reduced, step):
        """Choose columns of A; their reduced coordinates are the directions times the sizes."""
        words = A.T.tocsr() if sparse.issparse(A) else np.ascontiguousarray(A.T)
        r = self.n_topics
        if self.method.startswith("er-"):
            turned = reduced._replace(
                # columns of A are the points here: P = UᵀA of Algorithm 1, step 1
                coordinates=reduced.directions.T * reduced.sizes,
                directions=(reduced.coordinates / reduced.sizes).T,
            )
            stop = Stop.at_gap(self.mvee_tol, r, self.max_iter)
            found = round_points(turned, r, stop, 1e-6, step)
            self.duality_gap_, self.n_iter_ = found.ellipsoid.gap, max(found.ellipsoid.n_iter, 1)
            if not found.ellipsoid.converged:
                _warn_of_gap(self.duality_gap_, self.mvee_tol)
            selector = self.method.removeprefix("er-")
            return select_anchors(words, found.candidates, r, selector, self.random_state)
        self.n_iter_ = r
        if self.method == "spa":
            return successive_projection(words, r, step=step)
        policy = self.method.removeprefix("xray-")
        return xray_anchors(words, r, policy=policy, random_state=self.random_state, step=step)

    def _contributions(self, A) -> np.ndarray:
        """Return F = A(I), or F' = Aʳ(I) of the approximation A V Vᵀ of rank r."""
        if self.contributions == "original":
            columns = A.tocsc()[:, self.anchor_indices_] if sparse.issparse(A) else None
            return A[:, self.anchor_indices_] if columns is None else columns.toarray()
        # F' of Section 6.2
        return np.asarray(A @ self.directions_.T) @ self.directions_[:, self.anchor_indices_]

    def _strongest(self, contributions) -> np.ndarray:
        """Return the largest contribution of each document, -1 where there is none."""
        labels = contributions.argmax(axis=1)
        labels[~(contributions > 0).any(axis=1)] = -1
        lost = int((labels < 0).sum())
        if lost:
            warnings.warn(
                f"{lost} of {len(labels)} documents hold nothing of any topic and are labelled "
                "-1: they are empty, or hold no anchor word.",
                UserWarning,
                stacklevel=3,
            )
        return labels

    @property
    def _n_features_out(self):
        return self.topics_.shape[0]

    def transform(self, X):
        """Return how much of each topic documents hold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of documents.

        Returns
        -------
        ndarray of shape (n_samples, n_topics)
            Contributions as in `contributions_`; those of low rank may be slightly negative.
        """
        check_is_fitted(self)
        return self._contributions(weighted_documents(self._counts(X, reset=False), self.idf_))

    def predict(self, X):
        """Return the topic that contributes most to each document.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of documents.

        Returns
        -------
        ndarray of shape (n_samples,)
            Topics; -1 for documents without any contribution.
        """
        return self._strongest(self.transform(X))

    def fit_predict(self, X, y=None):
        """Find topics and return the topic of each document.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of documents.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples,)
            `labels_`.
        """
        return self.fit(X).labels_

    def top_words(self, n_words=5):
        """Return the heaviest words of each topic.

        Parameters
        ----------
        n_words : int, default=5
            How many.

        Returns
        -------
        list of ndarray
            Names (or columns) of the words, heaviest first, without the topic's anchor word.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        found = []
        for anchor, topic in zip(self.anchor_indices_, self.topics_):
            order = np.argsort(-topic, kind="stable")
            found.append(names[order[order != anchor][:n_words]])
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _warn_of_gap(gap, tol) -> None:
    warnings.warn(
        f"The duality gap of the ellipsoid is {gap:.3g}, above mvee_tol={tol:.3g}, or words with "
        "weight are not on its boundary. Raise max_iter, or mvee_tol.",
        ConvergenceWarning,
        stacklevel=5,
    )
