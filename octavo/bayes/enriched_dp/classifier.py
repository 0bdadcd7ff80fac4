"""Classes with credible probabilities: few local probit or logit models, nested covariate clusters.

Reference: S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014), "Improving Prediction from
Dirichlet Process Mixtures via Enrichment", Journal of Machine Learning Research 15; Section 6.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtr, softmax
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from octavo.bayes.enriched_dp.base import (
    CONSTRAINTS,
    NESTED,
    NestedMixture,
    check_count,
    check_level,
)
from octavo.bayes.enriched_dp.state import LOGIT, PROBIT
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context

__all__ = ["DPMixtureClassifier", "EnrichedDPClassifier"]


class NestedClassification(ClassifierMixin, NestedMixture):
    """Fit and predictions of classes."""

    def _fit(self, X: Any, y: Any) -> Self:
        X = self._table(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        self.classes_, codes = encode_classes(y, owner=self)
        n_classes = len(self.classes_)
        if self.link == "probit" and n_classes > 2:
            raise ValueError(
                f"link='probit' takes two classes; y holds {n_classes}. Use link='logit'."
            )
        is_probit = n_classes == 2 and self.link != "logit"
        if self.collapsed and not is_probit:
            raise ValueError(
                "collapsed=True needs a probit of two classes; a logit has no closed form."
            )
        self._response = PROBIT if is_probit else LOGIT
        outputs = 1 if n_classes == 2 else n_classes
        self._run(X, codes.astype(np.float64), self._response, outputs, (0.0, 1.0))
        return self

    def _chances(self, part: Any) -> tuple[Floats, Floats]:
        """Return class probabilities of clusters and of new ones."""
        if self._response == PROBIT:
            p, new = ndtr(part.eta[:, :, 0]), ndtr(part.eta_new / np.sqrt(part.spread))[:, None]
        elif len(self.classes_) > 2:
            return softmax(part.eta, axis=2), softmax(part.eta_new, axis=2)
        else:
            p, new = (
                1.0 / (1.0 + np.exp(-np.clip(e[:, :, 0], -700, 700)))
                for e in (part.eta, part.eta_new)
            )
        return np.stack([1.0 - p, p], axis=2), np.stack([1.0 - new, new], axis=2)

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is missing.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        found = []
        for part in self._parts(X):
            old, new = self._chances(part)
            fresh = np.einsum(
                "ms,msc->mc",
                part.new,
                np.broadcast_to(new, (len(old), part.new.shape[1], new.shape[2])),
            )
            found.append(np.einsum("mt,mtc->mc", part.weights, old) + fresh)
        proba = np.concatenate(found)
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return credible intervals of the probabilities (Figure 7).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        level : float, default=0.95
            Probability, with equal tails.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of the second class where there are two, of each where there are more.
        """
        level = check_level(level)
        found = []
        for part in self._parts(X):
            old, new = self._chances(part)
            each = [
                self._bands(part, old[:, :, c], new[:, :, c], level) for c in range(old.shape[2])
            ]
            found.append(np.stack(each, axis=1))
        ends = np.concatenate(found)
        if len(self.classes_) == 2:
            return ends[:, 1, 0], ends[:, 1, 1]
        return ends[:, :, 0], ends[:, :, 1]

    def log_predictive_density(self, X: Any, y: Any) -> Floats:
        """Return the log probability of each row's class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        logs : ndarray of shape (n_samples,)
            Natural logarithms.
        """
        proba, y = self.predict_proba(X), column_or_1d(y)
        check_consistent_length(proba, y)
        _, codes = encode_classes(y, classes=self.classes_, owner=self)
        return np.log(np.maximum(proba[np.arange(len(y)), codes], 1e-300))

    def sample_posterior_predictive(
        self, X: Any, n_samples: int = 100, random_state: Any = None
    ) -> Any:
        """Return draws of new classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        n_samples : int, default=100
            Draws of each row.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        y : ndarray of shape (n_rows, n_samples)
            Labels.
        """
        check_count(n_samples)
        steps = np.cumsum(self.predict_proba(X), axis=1)
        u = check_random_state(random_state).uniform(size=(len(steps), int(n_samples)))
        codes = (u[:, :, None] > steps[:, None, :]).sum(axis=2)
        return self.classes_[np.minimum(codes, len(self.classes_) - 1)]


class EnrichedDPClassifier(NestedClassification):
    """Classification by an enriched Dirichlet process mixture of local probit or logit models.

    The joint law of (x, y) is a mixture with a nested partition: y-clusters, each a linear
    probit or logit model, hold x-clusters that describe the covariates. Many x-clusters no longer
    force many local models, as they do in a plain Dirichlet process mixture.

    Parameters
    ----------
    thin : int, default=1
        Of the others every `thin`-th is kept.
    alpha_theta : float or ("gamma", shape, rate), default=("gamma", 1, 1)
        Concentration of y-clusters: a number is kept, else it is drawn.
    alpha_psi : float or ("gamma", shape, rate), default=("gamma", 1, 1)
        Concentration of x-clusters, of each y-cluster its own.
    beta0 : array-like of shape (1 + n_features,), optional
        Prior mean of the coefficients over (1, x); zero by default.
    C : array-like of shape (1 + n_features,) or (1 + n_features, 1 + n_features), optional
        Prior precision of the coefficients, or its diagonal. By default the
        constant has variance one, and the slopes of standardised columns share four.
    mu0 : "mean", float or array-like of shape (n_features,), default="mean"
        Prior mean of x-clusters.
    c_x : float or array-like of shape (n_features,), default=0.25
        Precision of an x-cluster's mean, times its σ_x².
    b_x : "auto", float or array-like of shape (n_features,), default="auto"
        Its rate; by default a quarter of the column's variance is expected within an x-cluster.
    column_kinds : "auto", str, list of str or dict, default="auto"
        "gaussian", "categorical" or "poisson" for all columns, for each, or by name or number. By
        default categories of a data frame are categories, and other columns Gaussian. In (1, x) a
        categorical column stands as an indicator of each category but the first.
    mh_moves : bool, default=True
        Whether x-clusters may move between y-clusters as a whole, which mixes far better.
    collapsed : bool, default=False
        Integrate parameters out while rows choose clusters: better mixing, slower sweeps.
    n_chains : int, default=1
        Number of chains.
    n_jobs : int, default=None
        Number of processes; one chain is the smallest piece of work.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.
    model : {"edp", "dp"}, default="edp"
        "dp" is the plain Dirichlet process mixture, as `DPMixtureClassifier`.
    link : {"auto", "probit", "logit"}, default="auto"
        "probit" for two classes; "logit" for any number, drawn by Neal's Algorithm 8. By default
        two classes have a probit and more a multinomial logit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    k_trace_, kx_trace_ : ndarray of shape (n_draws,)
        Numbers of y- and of x-clusters in each kept draw, chain after chain.
    alpha_theta_trace_ : ndarray of shape (n_draws,)
        Draws of the concentration of y-clusters.
    alpha_psi_trace_ : ndarray of shape (n_draws, max of k)
        Draws of the concentrations of x-clusters, NaN beyond the y-clusters of a draw.
    y_labels_draws_ : ndarray of shape (n_draws, n_samples)
        y-cluster of each row in each draw, in order of appearance.
    y_partition_ : ndarray of shape (n_samples,)
        The y-partition with the least expected variation of information.
    most_frequent_partition_ : ndarray of shape (n_samples,)
        The y-partition that was visited most often, as in the paper.
    co_clustering_y_, co_clustering_x_ : ndarray of shape (n_samples, n_samples)
        Posterior probabilities that two rows share a y-cluster, and a y- and an x-cluster.
    acceptance_ : ndarray of shape (3,)
        Rates of acceptance of the three moves, also as `acceptance_rates_`.
    rhat_, ess_ : ndarray of shape (3,)
        Split R-hat and effective sample size of k, kx and alpha_theta.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    DPMixtureClassifier : The plain Dirichlet process mixture.
    EnrichedDPRegressor : The same for a number.

    Notes
    -----
    For up to some ten thousand rows where probabilities with credible intervals are wanted, or
    where entries of X are missing (NaN): they are drawn along with everything else. Where only the
    class is wanted, boosting is faster and often better. Numbers given for the base measure are
    used on the data as they are; inside, columns are in standard units and the base measure is
    transformed to them.
    Never average parameters of cluster j over draws: labels change.

    References
    ----------
    .. [1] S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014). Improving Prediction from
       Dirichlet Process Mixtures via Enrichment. JMLR 15.

    Examples
    --------
    >>> from octavo.bayes import EnrichedDPClassifier
    >>> from octavo.data import make_two_regimes
    >>> X, y = make_two_regimes(100, 3, random_state=0)
    >>> model = EnrichedDPClassifier(n_iter=400, burn_in=100, random_state=0).fit(X, y > 4.5)
    >>> bool(model.score(X, y > 4.5) > 0.8)
    True
    """

    _parameter_constraints = (
        CONSTRAINTS | NESTED | {"link": [StrOptions({"auto", "probit", "logit"})]}
    )

    def __init__(
        self,
        n_iter=5000,
        burn_in=1000,
        thin=1,
        alpha_theta=("gamma", 1, 1),
        alpha_psi=("gamma", 1, 1),
        beta0=None,
        C=None,
        mu0="mean",
        c_x=0.25,
        a_x=2.0,
        b_x="auto",
        column_kinds="auto",
        mh_moves=True,
        collapsed=False,
        n_chains=1,
        n_jobs=None,
        random_state=None,
        *,
        model="edp",
        link="auto",
    ):
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.alpha_theta = alpha_theta
        self.alpha_psi = alpha_psi
        self.beta0 = beta0
        self.C = C
        self.mu0 = mu0
        self.c_x = c_x
        self.a_x = a_x
        self.b_x = b_x
        self.column_kinds = column_kinds
        self.mh_moves = mh_moves
        self.collapsed = collapsed
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.model = model
        self.link = link

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates; NaN is missing.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : EnrichedDPClassifier
            Fitted.
        """
        return self._fit(X, y)


class DPMixtureClassifier(NestedClassification):
    """Classification by a Dirichlet process mixture of local probit or logit models.

    The joint law of (x, y) is a mixture whose clusters have a local model and independent
    covariates each (Shahbaba and Neal 2009): the baseline of `EnrichedDPClassifier`, and its limit
    for a small `alpha_psi`.

    Parameters
    ----------
    thin : int, default=1
        Of the others every `thin`-th is kept.
    alpha_theta : float or ("gamma", shape, rate), default=("gamma", 1, 1)
        Concentration of clusters: a number is kept, else it is drawn.
    beta0 : array-like of shape (1 + n_features,), optional
        Prior mean of the coefficients over (1, x); zero by default.
    C : array-like of shape (1 + n_features,) or (1 + n_features, 1 + n_features), optional
        Prior precision of the coefficients, or its diagonal.
    mu0 : "mean", float or array-like of shape (n_features,), default="mean"
        Prior mean of clusters.
    c_x : float or array-like of shape (n_features,), default=0.25
        Precision of a cluster's mean, times its σ_x².
    b_x : "auto", float or array-like of shape (n_features,), default="auto"
        Its rate.
    column_kinds : "auto", str, list of str or dict, default="auto"
        As in `EnrichedDPClassifier`.
    collapsed : bool, default=False
        Integrate parameters out while rows choose clusters.
    n_chains : int, default=1
        Number of chains.
    n_jobs : int, default=None
        Number of processes.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.
    link : {"auto", "probit", "logit"}, default="auto"
        "probit" for two classes; "logit" for any number, drawn by Neal's Algorithm 8. By default
        two classes have a probit and more a multinomial logit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    k_trace_, kx_trace_ : ndarray of shape (n_draws,)
        Number of clusters in each kept draw; both are the same here.
    alpha_theta_trace_ : ndarray of shape (n_draws,)
        Draws of the concentration.
    y_labels_draws_ : ndarray of shape (n_draws, n_samples)
        Cluster of each row in each draw, in order of appearance.
    y_partition_ : ndarray of shape (n_samples,)
        The partition with the least expected variation of information.
    most_frequent_partition_ : ndarray of shape (n_samples,)
        The partition that was visited most often.
    co_clustering_y_, co_clustering_x_ : ndarray of shape (n_samples, n_samples)
        Posterior probabilities that two rows share a cluster.
    acceptance_ : ndarray of shape (3,)
        Rates of acceptance of splits and merges of clusters (the third is 0), also as
        `acceptance_rates_`; all are 0 where the response has no conjugate prior.
    rhat_, ess_ : ndarray of shape (3,)
        Split R-hat and effective sample size of k (twice) and alpha_theta.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    EnrichedDPClassifier : Keeps regressions few where covariates are many.

    Notes
    -----
    With five or more covariates their likelihood dictates the clusters, and local models are
    learned from few rows each: take `EnrichedDPClassifier`.
    `sklearn.mixture.BayesianGaussianMixture` is a density of x alone.

    References
    ----------
    .. [1] S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014). Improving Prediction from
       Dirichlet Process Mixtures via Enrichment. JMLR 15, Section 2.
    .. [2] B. Shahbaba and R. Neal (2009). Nonlinear models using Dirichlet process mixtures. JMLR
       10.

    Examples
    --------
    >>> from octavo.bayes import DPMixtureClassifier
    >>> from octavo.data import make_two_regimes
    >>> X, y = make_two_regimes(100, 3, random_state=0)
    >>> model = DPMixtureClassifier(n_iter=400, burn_in=100, random_state=0).fit(X, y > 4.5)
    >>> bool(model.score(X, y > 4.5) > 0.8)
    True
    """

    _parameter_constraints = CONSTRAINTS | {"link": [StrOptions({"auto", "probit", "logit"})]}

    def __init__(
        self,
        n_iter=5000,
        burn_in=1000,
        thin=1,
        alpha_theta=("gamma", 1, 1),
        beta0=None,
        C=None,
        mu0="mean",
        c_x=0.25,
        a_x=2.0,
        b_x="auto",
        column_kinds="auto",
        collapsed=False,
        n_chains=1,
        n_jobs=None,
        random_state=None,
        *,
        link="auto",
    ):
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.alpha_theta = alpha_theta
        self.beta0 = beta0
        self.C = C
        self.mu0 = mu0
        self.c_x = c_x
        self.a_x = a_x
        self.b_x = b_x
        self.column_kinds = column_kinds
        self.collapsed = collapsed
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.link = link

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates; NaN is missing.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : DPMixtureClassifier
            Fitted.
        """
        return self._fit(X, y)
