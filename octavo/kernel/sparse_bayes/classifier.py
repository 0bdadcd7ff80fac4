"""Kernel classification that averages over its support points, their number and their widths.

A probit model on kernel values with a few training samples, drawn by reversible jump: probabilities
come with the uncertainty of everything that other kernel machines fix beforehand.

Reference: Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian Generalized Kernel Mixed Models",
Journal of Machine Learning Research 12; Sections 3, 4.2, 6.1 and 6.2.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.kernel.sparse_bayes.base import SHARED_CONSTRAINTS, SparseBayesKernelBase
from octavo.kernel.sparse_bayes.latent_scores import class_contrasts
from octavo.kernel.sparse_bayes.predictive import class_probabilities

__all__ = ["SparseBayesKernelClassifier"]


def check_levels(q: Any) -> Floats:
    """Return probabilities as a vector; refuse others."""
    levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    if levels.ndim != 1 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"q must hold probabilities between 0 and 1; got {q!r}.")
    return levels


class SparseBayesKernelClassifier(ClassifierMixin, SparseBayesKernelBase):
    """Bayes kernel classifier with drawn support points.

    Parameters
    ----------
    model : {"fbgkm", "sgpc", "bgkm"}, default="fbgkm"
        Which model. ``"fbgkm"``: coefficients of the active vectors are drawn, and predictions
        averaged over them. ``"sgpc"``: the same chain read as a sparse Gaussian process, whose
        predictive variance is kept. ``"bgkm"``: every sample is active.
    kernel : {"rbf", "precomputed"} or callable, default="rbf"
        exp(-d²/width²); a matrix of kernel values in place of X; or a function of (A, B) that
        returns the kernel values of their rows.
    width : "mean" or float, default="mean"
        Width θ of the Gaussian kernel; ``"mean"`` is the mean distance of two samples. Inputs are
        used as they are: scale them in a pipeline.
    sample_width : bool, default=False
        Draw the width too, uniform between 0.01 and 10 times ``width``.
    ard : bool, default=False
        Draw one width per feature: exp(-Σ_l d_l²/θ_l²).
    k_max : int, default=200
        Most active vectors; above the number of samples it is that number, with a warning.
    n_iter : int, default=10000
        Sweeps of a chain, those of the burn-in included.
    burn_in : int, default=5000
        Sweeps at the start that are not used.
    thin : int, default=5
        Of the others every `thin`-th is kept for prediction.
    n_moves : "auto" or int, default="auto"
        Births, deaths and swaps of active vectors that a sweep proposes; ``"auto"`` is one per
        fifty samples. The paper has one; more of them mix faster towards the same law.
    a_g, b_g : float, default=4.0, 0.1
        The precision g of the coefficients has the prior Ga(a_g/2, b_g/2).
    a_eta, b_eta : float, default=1.0, 0.1
        The precision η of the intercept has the prior Ga(a_eta/2, b_eta/2).
    a_alpha, b_alpha : float, default=1.0, 1.0
        The share of active vectors has the prior Beta(a_alpha, b_alpha).
    n_chains : int, default=1
        Number of chains.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.
    n_jobs : int, default=None
        Number of processes; one chain is the smallest piece of work.
    kernels : str or list, default=None
        Several kernels as in `KernelStack`, in place of `kernel`: each has a weight that is zero
        with the probability `spike` and otherwise drawn. Experimental.
    spike : float, default=0.5
        Prior probability ρ that a kernel's weight is zero.
    method : {"reversible-jump", "stochastic-search"}, default="reversible-jump"
        How active vectors are proposed, as in `reversible_jump_subset`.

    Attributes
    ----------
    traces_ : dict of str to ndarray
        ``"n_active"``, ``"g"``, ``"eta"``, ``"loglik"`` (of the scores given active vectors and
        precisions), ``"width"`` and ``"weight"`` where there are any: one entry per sweep, burn-in
        included; one row per chain where there are several.
    inclusion_probs_ : ndarray of shape (n_samples,)
        Share of the draws in which a training sample is active. Which samples stand for their
        neighbours is arbitrary: this is no selection of samples.
    inclusion_errors_ : ndarray of shape (n_samples,)
        Its Monte Carlo error.
    draws_ : list of tuple
        ``(indices, coef, intercept)`` of each draw that is kept, chain after chain.
    rhat_, ess_ : dict
        Split R-hat and effective sample size of the traces after the burn-in.
    acceptance_ : dict of str to float
        Rates of acceptance of births, deaths, swaps and parameters of the kernel.
    width_ : float or ndarray of shape (n_features,)
        Width of the kernel; the posterior mean where it is drawn.
    relevance_ : ndarray of shape (n_features,)
        Posterior mean of 1/θ_l², with ``ard=True``.
    weights_ : ndarray of shape (n_kernels,)
        Posterior mean of the squared weights g_l², with `kernels`.
    kernel_probs_ : ndarray of shape (n_kernels,)
        Posterior probability that a kernel is used, with `kernels`.
    n_features_in_ : int
        Number of features.
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    See Also
    --------
    SparseBayesKernelRegressor : The same for a number.
    cusum_hairiness : A look at a trace.

    Notes
    -----
    For a few hundred to a few thousand samples, where probabilities matter more than seconds. With
    many samples, or where only labels are wanted, `sklearn.svm.SVC` is much faster;
    `sklearn.gaussian_process.GaussianProcessClassifier` fits a Gaussian process by Laplace's method
    without drawing. More than two classes share their active vectors (Section 6.2).

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan (2011). Bayesian Generalized Kernel Mixed Models. JMLR
       12.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.kernel import SparseBayesKernelClassifier
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = SparseBayesKernelClassifier(
    ...     k_max=50, n_iter=400, burn_in=200, thin=1, n_chains=2, random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.8
    True
    """

    _parameter_constraints = SHARED_CONSTRAINTS

    def __init__(
        self,
        model="fbgkm",
        kernel="rbf",
        width="mean",
        sample_width=False,
        ard=False,
        k_max=200,
        n_iter=10000,
        burn_in=5000,
        thin=5,
        n_moves="auto",
        a_g=4.0,
        b_g=0.1,
        a_eta=1.0,
        b_eta=0.1,
        a_alpha=1.0,
        b_alpha=1.0,
        n_chains=1,
        random_state=None,
        n_jobs=None,
        *,
        kernels=None,
        spike=0.5,
        method="reversible-jump",
    ):
        self.model = model
        self.kernel = kernel
        self.width = width
        self.sample_width = sample_width
        self.ard = ard
        self.k_max = k_max
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_moves = n_moves
        self.a_g = a_g
        self.b_g = b_g
        self.a_eta = a_eta
        self.b_eta = b_eta
        self.a_alpha = a_alpha
        self.b_alpha = b_alpha
        self.n_chains = n_chains
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.kernels = kernels
        self.spike = spike
        self.method = method

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; their kernel matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels, of two classes or more.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        schedule = self._check_options()
        self._contrasts = class_contrasts(len(self.classes_))
        problem = self._problem(
            X,
            schedule,
            targets=None,
            codes=codes.astype(np.intp),
            contrasts=self._contrasts,
            priors=self._priors(),
            tau=1.0,
            noise=False,
        )
        self._run(problem, X, y)
        two = len(self.classes_) == 2
        self.draws_ = [
            (d.indices, d.coef[:, 0], float(d.intercept[0]))
            if two
            else (d.indices, d.coef, d.intercept)
            for d in self._draws
        ]
        return self

    def _probabilities(self, X: Any):
        """Yield rows and the probabilities of the classes by draw."""
        check_is_fitted(self)
        for rows, scores, variances in self._scores(X, len(self.classes_)):
            yield rows, class_probabilities(scores / np.sqrt(variances)[..., None], self._contrasts)

    def predict_proba(self, X):
        """Return the probabilities of the classes, averaged over the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; kernel values with the training samples for a precomputed kernel.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        parts = [given.mean(axis=1) for _, given in self._probabilities(X)]
        return np.concatenate(parts)

    def predict(self, X):
        """Return the most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; kernel values with the training samples for a precomputed kernel.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Class labels.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_interval(self, X, q=(0.05, 0.95)):
        """Return quantiles of the class probabilities over the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; kernel values with the training samples for a precomputed kernel.
        q : float or array-like of shape (n_levels,), default=(0.05, 0.95)
            Levels of the quantiles.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_levels) or (n_samples, n_classes, n_levels)
            Of the probability of ``classes_[1]`` for two classes; of each class for more.
        """
        levels = check_levels(q)
        parts = [
            np.moveaxis(np.quantile(given, levels, axis=1), 0, -1)
            for _, given in self._probabilities(X)
        ]
        quantiles = np.concatenate(parts)
        return quantiles[:, 1] if len(self.classes_) == 2 else quantiles
