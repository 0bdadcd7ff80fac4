"""`BernoulliMixture` and `MultinomialMixture`: latent classes of binary rows and of counts.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 3.3.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import DensityMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.discrete_mixtures.components import (
    MixtureParams,
    bernoulli_logs,
    bernoulli_step,
    log_prior,
    multinomial_coefficients,
    multinomial_logs,
    multinomial_step,
    posterior_of,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.smooth.em import best_of, climb, warn_unless_converged

__all__ = ["BernoulliMixture", "MultinomialMixture"]


class _DiscreteMixture(DensityMixin, CallbackSupportMixin, SoundEstimator, metaclass=ABCMeta):
    """What mixtures of discrete rows share."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _two_sided = False  # whether pseudo-counts are of ones and of zeros

    @abstractmethod
    def _check(self, X: Any, reset: bool) -> Any:
        """Return X, validated."""

    @abstractmethod
    def _logs(self, X: Any, means: Floats) -> Floats:
        """Return log-probabilities of rows, up to what no component changes."""

    @abstractmethod
    def _step(self, X: Any, share: Floats) -> MixtureParams:
        """Return the M-step."""

    def _constant(self, X: Any) -> Any:
        """Return what log-probabilities of rows lack in `_logs`."""
        return 0.0

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit by EM from several random starts, and keep the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
            Fitted.
        """
        X = self._check(X, reset=True)
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} must be at most the number of rows; "
                f"n_samples={X.shape[0]}."
            )
        rng = check_random_state(self.random_state)
        constant = float(np.sum(self._constant(X)))

        def expect(params: MixtureParams) -> tuple[float, Floats]:
            share, total = posterior_of(params, self._logs(X, params.means))
            prior = log_prior(params, self.alpha, self._two_sided)
            return float(total.sum()) + constant + prior, share

        def maximize(_: MixtureParams, share: Floats) -> MixtureParams:
            return self._step(X, share)

        def start() -> MixtureParams:
            # classes are exchangeable: equal starts would stay equal
            return self._step(X, rng.dirichlet(np.ones(self.n_components), size=X.shape[0]))

        with FitProgress(self, self.n_init * self.max_iter, X) as progress:
            run = best_of(
                climb(
                    expect,
                    maximize,
                    start(),
                    max_iter=self.max_iter,
                    tol=self.tol,
                    progress=progress,
                )
                for _ in range(self.n_init)
            )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.weights_, self.means_ = run.params
        self.labels_ = run.expectations.argmax(axis=1)
        self.log_likelihoods_, self.n_iter_, self.converged_ = run.trace, run.n_iter, run.converged
        self.log_likelihood_ = run.objective - log_prior(run.params, self.alpha, self._two_sided)
        return self

    def _explain(self, X: Any) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        share, total = posterior_of(
            MixtureParams(self.weights_, self.means_), self._logs(X, self.means_)
        )
        return share, total + self._constant(X)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each component for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            Rows that no component explains get the weights.
        """
        return self._explain(X)[0]

    def predict(self, X: Any) -> Any:
        """Return the most probable component of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Components.
        """
        return self.predict_proba(X).argmax(axis=1)

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the most probable component of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Components.
        """
        return self.fit(X).labels_

    def score_samples(self, X: Any) -> Floats:
        """Return the log-probability of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_prob : ndarray of shape (n_samples,)
            -inf for a row that the fitted components cannot produce.
        """
        return self._explain(X)[1]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Mean of `score_samples`.
        """
        return float(self.score_samples(X).mean())

    @abstractmethod
    def _n_parameters(self) -> int:
        """Return how many numbers were fitted."""

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion: smaller is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        bic : float
            -2 log-likelihood + log(n_samples) · number of parameters.
        """
        logs = self.score_samples(X)
        return float(-2.0 * logs.sum() + self._n_parameters() * np.log(len(logs)))

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion: smaller is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        aic : float
            -2 log-likelihood + 2 · number of parameters.
        """
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self._n_parameters())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BernoulliMixture(_DiscreteMixture):
    """Find groups among binary rows: a mixture of independent coins per column.

    The latent class model. Within a component columns are independent; EM alternates
    responsibilities and weighted means.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    n_init : int, default=10
        Random starts, of which the best is kept.
    alpha : float, default=0.0
        Pseudo-count of ones and of zeros, added in every column of every component. Without it a
        component that never saw a one gives it probability zero.
    binarize : float, default=None
        Values above are ones. None takes zeros and ones, and refuses others.
    max_iter : int, default=500
        Most iterations from a start.
    tol : float, default=1e-6
        Stop when the log-likelihood rises by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Probabilities of the components.
    means_ : ndarray of shape (n_components, n_features)
        Probabilities of a one.
    labels_ : ndarray of shape (n_samples,)
        The most probable component of each training row.
    log_likelihood_ : float
        Of the training rows.
    log_likelihoods_ : ndarray of shape (n_iter + 1,)
        At the start and after each iteration; with the pseudo-counts' prior where ``alpha`` is
        positive. Never falls.
    n_iter_ : int
        Iterations from the best start.
    converged_ : bool
        Whether `tol` was reached.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Components may come in any order: compare two fits after matching them. Rows of real numbers
    are for `sklearn.mixture.GaussianMixture`.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import BernoulliMixture
    >>> rng = np.random.default_rng(0)
    >>> coin = rng.uniform(size=400) < 0.3
    >>> X = rng.uniform(size=(400, 12)) < np.where(coin, 0.8, 0.2)[:, None]
    >>> model = BernoulliMixture(2, random_state=0).fit(X)
    >>> model.weights_.round(2), model.means_.mean(axis=1).round(2)
    (array([0.26, 0.74]), array([0.82, 0.21]))
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **_DiscreteMixture._parameter_constraints,
        "binarize": [Interval(Real, None, None, closed="neither"), None],
    }
    _two_sided = True

    def __init__(
        self,
        n_components=2,
        *,
        n_init=10,
        alpha=0.0,
        binarize=None,
        max_iter=500,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_init = n_init
        self.alpha = alpha
        self.binarize = binarize
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check(self, X: Any, reset: bool) -> Any:
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if self.binarize is not None:
            if sp.issparse(X):
                if self.binarize < 0.0:
                    raise ValueError("binarize must not be negative for a sparse X.")
                X = X.copy()
                X.data = (X.data > self.binarize).astype(np.float64)
                X.eliminate_zeros()
                return X
            return (self.binarize < X).astype(np.float64)
        values = X.data if sp.issparse(X) else X
        odd = values[(values != 0.0) & (values != 1.0)]
        if odd.size:
            raise ValueError(
                f"X must hold zeros and ones; it holds {odd[0]:g}. Set binarize to a threshold, or "
                "use MultinomialMixture for counts."
            )
        return X

    def _logs(self, X: Any, means: Floats) -> Floats:
        return bernoulli_logs(X, means)

    def _step(self, X: Any, share: Floats) -> MixtureParams:
        return bernoulli_step(X, share, float(self.alpha))

    def _n_parameters(self) -> int:
        return self.means_.size + len(self.weights_) - 1

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Draw rows.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Zeros and ones.
        labels : ndarray of shape (n_samples,)
            The component of each row.
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        labels = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        return (
            rng.uniform(size=(n_samples, self.n_features_in_)) < self.means_[labels]
        ) * 1, labels


class MultinomialMixture(_DiscreteMixture):
    """Find groups among rows of counts: a mixture of multinomial distributions.

    A row is a bag of words, tosses of a coin (heads and tails: the notes' two coins) or any counts
    over categories, all drawn from one component.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    n_init : int, default=10
        Random starts, of which the best is kept.
    alpha : float, default=0.0
        Pseudo-count that is added in every column of every component.
    max_iter : int, default=500
        Most iterations from a start.
    tol : float, default=1e-6
        Stop when the log-likelihood rises by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Probabilities of the components.
    means_ : ndarray of shape (n_components, n_features)
        Probabilities of the columns; rows add up to one.
    labels_ : ndarray of shape (n_samples,)
        The most probable component of each training row.
    log_likelihood_ : float
        Of the training rows, given their totals; multinomial coefficients included.
    log_likelihoods_ : ndarray of shape (n_iter + 1,)
        At the start and after each iteration; with the pseudo-counts' prior where ``alpha`` is
        positive. Never falls.
    n_iter_ : int
        Iterations from the best start.
    converged_ : bool
        Whether `tol` was reached.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    PLSA : Where each word of a document has a topic of its own.

    Notes
    -----
    Components may come in any order. Where a document mixes several topics use `PLSA` or
    `sklearn.decomposition.LatentDirichletAllocation`.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import MultinomialMixture
    >>> rng = np.random.default_rng(0)
    >>> heads = rng.binomial(20, np.where(rng.uniform(size=300) < 0.4, 0.8, 0.3))
    >>> model = MultinomialMixture(2, random_state=0).fit(np.column_stack([heads, 20 - heads]))
    >>> np.sort(model.means_[:, 0]).round(2), np.sort(model.weights_).round(2)
    (array([0.31, 0.8 ]), array([0.35, 0.65]))
    """

    def __init__(
        self,
        n_components=2,
        *,
        n_init=10,
        alpha=0.0,
        max_iter=500,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_init = n_init
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check(self, X: Any, reset: bool) -> Any:
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        values = X.data if sp.issparse(X) else X
        if values.size and values.min() < 0.0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: X must hold counts; its "
                f"least entry is {values.min():g}."
            )
        if values.size and values.max() > 1e150:
            raise ValueError(f"X must hold counts below 1e150; its largest is {values.max():g}.")
        return X

    def _logs(self, X: Any, means: Floats) -> Floats:
        return multinomial_logs(X, means)

    def _step(self, X: Any, share: Floats) -> MixtureParams:
        return multinomial_step(X, share, float(self.alpha))

    def _constant(self, X: Any) -> Floats:
        return multinomial_coefficients(X)

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        return k * (d - 1) + k - 1

    def sample(
        self, n_samples: int = 1, n_trials: int = 1, random_state: Any = None
    ) -> tuple[Any, Any]:
        """Draw rows of counts.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        n_trials : int, default=1
            The total of each row.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Counts.
        labels : ndarray of shape (n_samples,)
            The component of each row.
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        labels = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        return np.array([rng.multinomial(n_trials, self.means_[j]) for j in labels]), labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
