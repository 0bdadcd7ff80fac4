"""Bayesian support vector machines on observed features: the weights and scales alone.

The posterior exp(-‖η‖²/(2ν²) - 2c Σ max(0, ζ)) is drawn by turns of normal weights and
inverse-Gaussian scales, or its mode is found.

References: N. G. Polson and S. L. Scott (2011), "Data augmentation for support vector machines",
Bayesian Analysis 6; J. Zhu, N. Chen, H. Perkins and B. Zhang (2014), "Gibbs Max-Margin Topic Models
with Data Augmentation", Journal of Machine Learning Research 15, Eq. (10), (12), (17), (19), (20).
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.bayes.max_margin_topics.classifier import class_targets
from octavo.bayes.max_margin_topics.hinge_terms import (
    HingeTerms,
    class_terms,
    draw_weights,
    interval_terms,
)
from octavo.bayes.max_margin_topics.modes import hinge_mode
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import Schedule, check_schedule, run_chains
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.engine.mcmc.diagnostics import effective_sample_size, split_rhat

__all__ = ["BayesianLinearSVM", "BayesianLinearSVR"]

MOST_FEATURES = 20_000  # the precision of the weights is a square of them


def weight_chain(
    rng: np.random.Generator, X: Floats, terms: HingeTerms, nu2: float, schedule: Schedule
) -> Floats:
    """Return draws of the weights (kept x tasks x features)."""
    state, kept = draw_state(rng), []
    scales = np.ones(terms.margins.shape)
    for t in range(schedule.n_iter):
        lin, quad = terms.quadratic(scales)
        eta = draw_weights(X, lin, quad, nu2, rng)  # Eq. (10), or (17)
        scales = terms.draw_scales(X @ eta.T, state)  # Eq. (12), or (19) and (20)
        if schedule.keeps(t):
            kept.append(eta)
    return np.array(kept)


class BayesianMachine(CallbackSupportMixin, SoundEstimator):
    """What both machines share."""

    _parameter_constraints: dict[str, Any] = {
        "c": [Interval(Real, 0, None, closed="neither")],
        "nu2": [Interval(Real, 0, None, closed="neither")],
        "method": [StrOptions({"gibbs", "map"})],
        "fit_intercept": ["boolean"],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "burn_in": [Interval(Integral, 0, None, closed="left")],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def _fit_terms(self, X: Any, terms: HingeTerms) -> None:
        """Set the fitted weights, tasks x features, their covariances and intercepts."""
        if X.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"X must have at most {MOST_FEATURES} features: a matrix of their square is "
                f"factored; got {X.shape[1]}."
            )
        n_features = X.shape[1]
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(X.shape[0])])
        fit = self._fit_mode if self.method == "map" else self._fit_draws
        weights, covariances = fit(X, terms)
        self._weights, self._covariances = weights[:, :n_features], covariances
        self._covariances = covariances[:, :n_features, :n_features]
        self._offsets = weights[:, -1] if self.fit_intercept else np.zeros(terms.n_tasks)

    def _fit_draws(self, X: Floats, terms: HingeTerms) -> tuple[Floats, Floats]:
        schedule = check_schedule(self.n_iter, self.burn_in, self.thin)
        chain = partial(weight_chain, X=X, terms=terms, nu2=self.nu2, schedule=schedule)
        with FitProgress(self, self.n_chains, X, step_name="chain") as progress:
            draws = np.array(
                run_chains(
                    chain,
                    self.n_chains,
                    random_state=self.random_state,
                    n_jobs=self.n_jobs,
                    finished=progress.step,
                )
            )  # chains x kept x tasks x features
        self.coef_draws_ = draws.reshape(-1, *draws.shape[2:])
        flat = draws.reshape(*draws.shape[:2], -1)
        enough = draws.shape[1] >= 4
        shape = draws.shape[2:]
        self.rhat_ = (split_rhat(flat) if enough else np.full(flat.shape[2], np.nan)).reshape(shape)
        self.ess_ = (
            effective_sample_size(flat) if enough else np.full(flat.shape[2], np.nan)
        ).reshape(shape)
        weights = self.coef_draws_.mean(axis=0)
        away = self.coef_draws_ - weights
        covariances = np.einsum("ntj,ntk->tjk", away, away) / max(len(away) - 1, 1)
        return weights, covariances

    def _fit_mode(self, X: Floats, terms: HingeTerms) -> tuple[Floats, Floats]:
        weights, covariances, gaps, total = [], [], [], 0.0
        with FitProgress(self, terms.n_tasks, X, step_name="task") as progress:
            for i in range(terms.n_tasks):
                task = terms.task(i)
                mode = hinge_mode(X, task, self.nu2, tol=self.tol)
                # λ at its mean given the mode, E λ = 1 + c |ζ|
                slack = np.abs(task.slacks((X @ mode.weights)[:, None]))
                # the precision of Eq. (10) at these λ
                quad = task.quadratic(1.0 + task.costs * slack)[1][:, 0]
                precision = X.T @ (X * quad[:, None])
                precision[np.diag_indices_from(precision)] += 1.0 / self.nu2
                weights.append(mode.weights)
                covariances.append(np.linalg.inv(precision))
                gaps.append(mode.duality_gap)
                total += mode.objective
                progress.step()
        self.objective_, self.duality_gap_ = float(total), float(np.sum(gaps))
        return np.array(weights), np.array(covariances)


class BayesianLinearSVM(ClassifierMixin, BayesianMachine):
    """Posterior of a linear support vector machine.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the hinge loss: the pseudo-likelihood of a row is exp(-2c max(0, ζ)).
    margin : float, default=1.0
        The margin ℓ of ζ = ℓ - y ηᵀx.
    nu2 : float, default=1.0
        Prior variance ν² of the weights: scale features to like sizes.
    method : {"gibbs", "map"}, default="gibbs"
        Draw the posterior, or find its mode, which is that of `sklearn.svm.LinearSVC` with
        ``C=2 * c * nu2 / margin``, the hinge loss and no intercept, times `margin`.
    fit_intercept : bool, default=False
        Whether to add a constant feature, with the prior of the others.
    n_iter : int, default=2000
        Sweeps of a chain, those of the burn-in included.
    burn_in : int, default=500
        Sweeps at the start that are not used.
    thin : int, default=1
        Of the others every `thin`-th is kept.
    n_chains : int, default=1
        Number of chains.
    tol : float, default=1e-10
        Duality gap, as a part of the objective, at which ``method="map"`` stops.
    n_jobs : int, default=None
        Number of processes; one chain is the smallest piece of work.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Posterior mean or mode; with two classes one row, for the second, else one a class against
        the others.
    coef_cov_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
        Posterior covariance; for the mode that of the normal law of the weights where each scale is
        at its mean.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Weights of the constant, zero without it.
    coef_draws_ : ndarray of shape (n_draws, n_tasks, n_features)
        The draws that are kept, chain after chain, with the intercept last where there is one.
    rhat_, ess_ : ndarray of shape (n_tasks, n_features)
        Split R-hat and effective sample size of the weights.
    objective_ : float
        ‖η‖²/(2ν²) + 2c Σ max(0, ζ) at the mode, with ``method="map"``.
    duality_gap_ : float
        How far above the least objective it may be.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    BayesianLinearSVR : The same for a number.
    GibbsMedLDAClassifier : Where the features are topics that are learned too.

    Notes
    -----
    For up to some hundred features where the weights' uncertainty matters; a sweep costs as much
    as a weighted least-squares fit. The pseudo-likelihood is no probability of labels: its scale is
    set by `c` and `margin`, and so is that of the posterior.

    References
    ----------
    .. [1] N. G. Polson and S. L. Scott (2011). Data augmentation for support vector machines.
       Bayesian Analysis 6.
    .. [2] J. Zhu, N. Chen, H. Perkins and B. Zhang (2014). Gibbs Max-Margin Topic Models with Data
       Augmentation. JMLR 15.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from octavo.bayes import BayesianLinearSVM
    >>> X, y = make_blobs(100, centers=[[-1, -1], [1, 1]], random_state=0)
    >>> model = BayesianLinearSVM(method="map").fit(X, y)
    >>> model.coef_.round(2).tolist()
    [[1.23, 1.07]]
    """

    _parameter_constraints = BayesianMachine._parameter_constraints | {
        "margin": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(
        self,
        c=1.0,
        margin=1.0,
        nu2=1.0,
        method="gibbs",
        fit_intercept=False,
        n_iter=2000,
        burn_in=500,
        thin=1,
        n_chains=1,
        tol=1e-10,
        n_jobs=None,
        random_state=None,
    ):
        self.c = c
        self.margin = margin
        self.nu2 = nu2
        self.method = method
        self.fit_intercept = fit_intercept
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Draw the posterior of the weights, or find its mode.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : BayesianLinearSVM
            Fitted.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        Y = class_targets(codes, len(self.classes_))
        self._fit_terms(X, class_terms(Y, self.c, self.margin))
        self.coef_, self.intercept_ = self._weights, self._offsets
        self.coef_cov_ = self._covariances[0] if len(self.classes_) == 2 else self._covariances
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return scores of the classes at the mean or mode of the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score, positive for the second.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        best = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


class BayesianLinearSVR(RegressorMixin, BayesianMachine):
    """Posterior of a linear support vector regression.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the loss: the pseudo-likelihood of a row is exp(-2c max(0, |y - ηᵀx| - ε)).
    epsilon : float, default=0.1
        Errors up to this cost nothing, in units of y.
    nu2 : float, default=1.0
        Prior variance ν² of the weights: scale features to like sizes.
    method : {"gibbs", "map"}, default="gibbs"
        Draw the posterior, or find its mode, which is that of `sklearn.svm.LinearSVR` with
        ``C=2 * c * nu2`` and no intercept.
    fit_intercept : bool, default=False
        Whether to add a constant feature, with the prior of the others.
    n_iter : int, default=2000
        Sweeps of a chain, those of the burn-in included.
    burn_in : int, default=500
        Sweeps at the start that are not used.
    thin : int, default=1
        Of the others every `thin`-th is kept.
    n_chains : int, default=1
        Number of chains.
    tol : float, default=1e-10
        Duality gap, as a part of the objective, at which ``method="map"`` stops.
    n_jobs : int, default=None
        Number of processes; one chain is the smallest piece of work.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior mean or mode.
    coef_cov_ : ndarray of shape (n_features, n_features)
        Posterior covariance; for the mode that of the normal law of the weights where each scale is
        at its mean.
    intercept_ : float
        Weight of the constant, zero without it.
    coef_draws_ : ndarray of shape (n_draws, 1, n_features)
        The draws that are kept, chain after chain, with the intercept last where there is one.
    rhat_, ess_ : ndarray of shape (1, n_features)
        Split R-hat and effective sample size of the weights.
    objective_ : float
        ‖η‖²/(2ν²) + 2c Σ max(0, |y - ηᵀx| - ε) at the mode, with ``method="map"``.
    duality_gap_ : float
        How far above the least objective it may be.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    BayesianLinearSVM : The same for classes.

    Notes
    -----
    For up to some hundred features where the weights' uncertainty matters and errors have heavy
    tails. `sklearn.linear_model.BayesianRidge` is the choice for normal errors.

    References
    ----------
    .. [1] J. Zhu, N. Chen, H. Perkins and B. Zhang (2014). Gibbs Max-Margin Topic Models with Data
       Augmentation. JMLR 15, Section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import BayesianLinearSVR
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> model = BayesianLinearSVR(method="map").fit(X, X @ [1.0, -0.5])
    >>> model.coef_.round(2).tolist()
    [0.96, -0.49]
    """

    _parameter_constraints = BayesianMachine._parameter_constraints | {
        "epsilon": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(
        self,
        c=1.0,
        epsilon=0.1,
        nu2=1.0,
        method="gibbs",
        fit_intercept=False,
        n_iter=2000,
        burn_in=500,
        thin=1,
        n_chains=1,
        tol=1e-10,
        n_jobs=None,
        random_state=None,
    ):
        self.c = c
        self.epsilon = epsilon
        self.nu2 = nu2
        self.method = method
        self.fit_intercept = fit_intercept
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Draw the posterior of the weights, or find its mode.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Numbers.

        Returns
        -------
        self : BayesianLinearSVR
            Fitted.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._fit_terms(X, interval_terms(y, self.c, self.epsilon))
        self.coef_, self.coef_cov_ = self._weights[0], self._covariances[0]
        self.intercept_ = float(self._offsets[0])
        return self

    def predict(self, X: Any) -> Floats:
        """Return the number of each row at the mean or mode of the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Numbers.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_ + self.intercept_
