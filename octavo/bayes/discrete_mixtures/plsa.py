"""`PLSA`: probabilistic latent semantic analysis of counts.

References: A. Shashua (2008), "Introduction to Machine Learning", section 3.5.2; T. Hofmann (1999),
"Probabilistic latent semantic analysis".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.discrete_mixtures.latent_pairs import (
    Aspects,
    expected_counts,
    fold_in,
    maximize_aspects,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import canonical_csr, validate_rows
from octavo.engine.smooth.em import best_of, climb, warn_unless_converged

__all__ = ["PLSA"]


class PLSA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, SoundEstimator):
    """Explain a table of counts by topics: P(d, w) = Σ_z P(z) P(d | z) P(w | z).

    Each pair of document and word has a hidden topic, and given the topic the two are independent.
    EM works on the stored entries only, and the likelihood never falls.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    n_init : int, default=1
        Random starts, of which the best is kept.
    temperature : float, default=1.0
        Exponent of the responsibilities, between 0 and 1: below 1 is tempered EM, which overfits
        less and whose likelihood may fall.
    max_iter : int, default=500
        Most iterations from a start.
    tol : float, default=1e-6
        Stop when the log-likelihood rises by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    words_ : ndarray of shape (n_components, n_words)
        P(w | z): rows add up to one.
    docs_ : ndarray of shape (n_documents, n_components)
        P(d | z): columns add up to one; zero for documents without words.
    weights_ : ndarray of shape (n_components,)
        P(z).
    components_ : ndarray of shape (n_components, n_words)
        `words_`, under scikit-learn's name.
    log_likelihood_ : float
        Σ n(d, w) log P(d, w).
    log_likelihoods_ : ndarray of shape (n_iter + 1,)
        At the start and after each iteration.
    n_iter_ : int
        Iterations from the best start.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    MultinomialMixture : One topic per document.

    Notes
    -----
    The same maximum as `sklearn.decomposition.NMF` with the Kullback-Leibler loss, in
    probabilities. It has no prior: with few words per document prefer
    `sklearn.decomposition.LatentDirichletAllocation`.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 3.5.2.
    .. [2] Hofmann (1999). Probabilistic latent semantic analysis. UAI.

    Examples
    --------
    >>> from octavo.bayes import PLSA
    >>> counts = [[8, 6, 0, 0], [5, 9, 1, 0], [0, 0, 7, 7], [0, 1, 9, 6]]
    >>> model = PLSA(2, random_state=0).fit(counts)
    >>> model.transform(counts).argmax(axis=1), round(model.log_likelihood_, 2)
    (array([1, 1, 0, 0]), -129.59)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "temperature": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=10,
        *,
        n_init=1,
        temperature=1.0,
        max_iter=500,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_init = n_init
        self.temperature = temperature
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _counts(self, X: Any, reset: bool) -> Any:
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        X = canonical_csr(X if sp.issparse(X) else sp.csr_array(X), narrow=True)
        if X.data.size and X.data.min() < 0.0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: X must hold counts; its "
                f"least entry is {X.data.min():g}."
            )
        if X.data.size and X.data.max() > 1e150:
            raise ValueError(f"X must hold counts below 1e150; its largest is {X.data.max():g}.")
        return X

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts, or other weights that are not negative.
        y : None
            Ignored.

        Returns
        -------
        self : PLSA
            Fitted.
        """
        X = self._counts(X, reset=True)
        lengths = np.asarray(X.sum(axis=1)).ravel()
        some = np.flatnonzero(lengths > 0.0)
        if not some.size:
            raise ValueError("X must hold at least one positive count; every document is empty.")
        if some.size < len(lengths):
            first = int(np.flatnonzero(lengths <= 0.0)[0])
            warnings.warn(
                "Documents without words are left out: "
                f"{len(lengths) - some.size} of {len(lengths)}, the first is row {first}.",
                UserWarning,
                stacklevel=2,
            )
        rows = X if some.size == len(lengths) else X[some]
        size = float(rows.data.max())
        # EM sees ratios of counts alone: the size cannot overflow its sums
        rows = type(rows)((rows.data / size, rows.indices, rows.indptr), shape=rows.shape)
        rng = check_random_state(self.random_state)
        with FitProgress(self, self.n_init * self.max_iter, X) as progress:
            run = best_of(
                climb(
                    lambda at: expected_counts(rows, at, float(self.temperature)),
                    maximize_aspects,
                    self._start(rows.shape, rng),
                    max_iter=self.max_iter,
                    tol=self.tol,
                    progress=progress,
                    monotone=self.temperature == 1.0,
                )
                for _ in range(self.n_init)
            )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.weights_ = run.params.weights
        self.words_ = self.components_ = np.ascontiguousarray(run.params.words.T)
        self.docs_ = np.zeros((len(lengths), self.n_components))
        self.docs_[some] = run.params.docs
        self.log_likelihoods_, self.n_iter_ = run.trace * size, run.n_iter
        self.log_likelihood_ = float(run.objective * size)
        self._n_features_out = self.n_components
        return self

    def _start(self, shape: tuple[int, int], rng: Any) -> Aspects:
        k = self.n_components
        docs = rng.dirichlet(np.ones(shape[0]), size=k).T
        words = rng.dirichlet(np.ones(shape[1]), size=k).T
        # a word that a start gives no chance would never get one
        return Aspects(
            np.full(k, 1.0 / k),
            np.ascontiguousarray(0.5 * docs + 0.5 / shape[0]),
            np.ascontiguousarray(0.5 * words + 0.5 / shape[1]),
        )

    def transform(self, X: Any) -> Floats:
        """Return the shares of topics in documents, new ones folded in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        shares : ndarray of shape (n_documents, n_components)
            P(z | d) at the largest likelihood with the topics kept; a document without words has
            `weights_`.
        """
        check_is_fitted(self)
        X = self._counts(X, reset=False)
        start = 0.5 * self.weights_ + 0.5 / self.n_components
        words = np.ascontiguousarray(self.words_.T)
        shares = fold_in(X, words, start, max_iter=self.max_iter, tol=self.tol)
        shares[np.asarray(X.sum(axis=1)).ravel() <= 0.0] = self.weights_
        return shares

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a word given its document, topics kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Σ n log P(w | d) / Σ n; minus the logarithm of the perplexity.
        """
        shares = self.transform(X)
        X = self._counts(X, reset=False)
        total = float(X.data.sum())
        if total <= 0.0:
            raise ValueError("X must hold at least one positive count; every document is empty.")
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        p = np.einsum("ez,ez->e", shares[row], self.words_.T[X.indices])
        return float(X.data @ np.log(np.maximum(p, 1e-300)) / total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
