"""Kernel regression that averages over its support points, their number and their widths.

The model of `SparseBayesKernelClassifier` with the scores observed: normal noise whose variance is
given or drawn.

Reference: Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian Generalized Kernel Mixed Models",
Journal of Machine Learning Research 12, which mentions it beside the probit.
"""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.kernel.sparse_bayes.base import SHARED_CONSTRAINTS, SparseBayesKernelBase
from octavo.kernel.sparse_bayes.classifier import check_levels
from octavo.kernel.sparse_bayes.predictive import mixture_quantiles

__all__ = ["SparseBayesKernelRegressor"]


class SparseBayesKernelRegressor(RegressorMixin, SparseBayesKernelBase):
    """Bayes kernel regression with drawn support points.

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
    noise_variance : "sample" or float, default="sample"
        Variance of the noise, or ``"sample"`` to draw it.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.
    n_jobs : int, default=None
        Number of processes; one chain is the smallest piece of work.
    a_noise, b_noise : float, default=1.0, 0.1
        The precision of the noise, where it is drawn, has the prior Ga(a_noise/2, b_noise/2).
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
        precisions), ``"noise_variance"`` where it is drawn, ``"width"`` and ``"weight"`` where
        there are any: one entry per sweep, burn-in included; one row per chain where there are
        several.
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
    noise_variance_ : float
        Variance of the noise; its posterior mean where it is drawn.

    See Also
    --------
    SparseBayesKernelClassifier : The same for classes.

    Notes
    -----
    For a few hundred to a few thousand samples, where uncertainty and the relevance of inputs
    matter. `sklearn.gaussian_process.GaussianProcessRegressor` maximises the likelihood of its
    kernel's parameters instead of drawing them, and is faster below a thousand samples;
    `sklearn.linear_model.ARDRegression` is linear. The defaults suit a target of variance about
    one; all precisions adapt to others.

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan (2011). Bayesian Generalized Kernel Mixed Models. JMLR
       12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import SparseBayesKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (80, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> model = SparseBayesKernelRegressor(
    ...     k_max=40, n_iter=1000, burn_in=500, thin=1, random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "noise_variance": [StrOptions({"sample"}), Interval(Real, 0, None, closed="neither")],
        "a_noise": [Interval(Real, 0, None, closed="neither")],
        "b_noise": [Interval(Real, 0, None, closed="neither")],
    }

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
        noise_variance="sample",
        random_state=None,
        n_jobs=None,
        *,
        a_noise=1.0,
        b_noise=0.1,
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
        self.noise_variance = noise_variance
        self.a_noise = a_noise
        self.b_noise = b_noise
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
            Targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        schedule = self._check_options()
        drawn = isinstance(self.noise_variance, str)
        spread = float(np.var(y))
        tau = (2.0 / spread if spread > 0.0 else 1.0) if drawn else 1.0 / self.noise_variance
        problem = self._problem(
            X,
            schedule,
            targets=y[:, None],
            codes=None,
            contrasts=None,
            priors=self._priors(a_noise=float(self.a_noise), b_noise=float(self.b_noise)),
            tau=tau,
            noise=drawn,
        )
        self._run(problem, X, y)
        self.noise_variance_ = float(np.mean([1.0 / draw.tau for draw in self._draws]))
        self.draws_ = [(d.indices, d.coef[:, 0], float(d.intercept[0])) for d in self._draws]
        return self

    def predict(self, X, return_std=False):
        """Return the posterior mean of the function, averaged over the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; kernel values with the training samples for a precomputed kernel.
        return_std : bool, default=False
            Whether to return the standard deviation of a new target too.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Of a new target, noise included; only with ``return_std=True``.
        """
        check_is_fitted(self)
        means, stds = [], []
        for _, scores, variances in self._scores(X):
            f = scores[..., 0]
            means.append(f.mean(axis=1))
            # total variance: within draws and between them
            stds.append(np.sqrt(variances.mean(axis=1) + f.var(axis=1)))
        mean = np.concatenate(means)
        return (mean, np.concatenate(stds)) if return_std else mean

    def predict_interval(self, X, q=(0.05, 0.95)):
        """Return quantiles of a new target, noise included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; kernel values with the training samples for a precomputed kernel.
        q : float or array-like of shape (n_levels,), default=(0.05, 0.95)
            Levels of the quantiles.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_levels)
            Of the average over the draws.
        """
        check_is_fitted(self)
        levels = check_levels(q)
        parts = [
            mixture_quantiles(scores[..., 0], np.sqrt(variances), levels)
            for _, scores, variances in self._scores(X)
        ]
        return np.concatenate(parts)
