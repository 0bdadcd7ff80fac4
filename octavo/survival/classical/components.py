"""Cox's model on a few components of many features: principal, supervised, or least squares ones.

The comparators of Section 6.3 of Van Belle and others (2011) for micro-arrays.

References: E. Bair and R. Tibshirani (2004), "Semi-supervised methods to predict patient survival
from gene expression data"; P. Bastien (2008), "Deviance residuals based PLS regression for
censored data in high dimensional setting"; H. M. Bøvelstad and others (2007), "Predicting
survival from microarray data: a comparative study".
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.survival.cox import (
    breslow_hazard,
    constant_columns,
    efron_ties,
    newton_cox,
)
from octavo.engine.survival.curves import nelson_aalen
from octavo.engine.survival.targets import event_and_time
from octavo.survival.classical.cox import ProportionalHazards, need_event

__all__ = ["PLSCox", "PrincipalComponentCox"]


def univariate_scores(X: Floats, event: NDArray[np.bool_], time: Floats) -> Floats:
    """Return the score statistic of Cox's model with each feature alone, at a coefficient of 0.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    event, time : ndarray of shape (n_samples,)
        What was observed.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        U / √V; large in absolute value where a feature tells about times.
    """
    order, ties = efron_ties(event, time)
    Z = (X - X.mean(axis=0))[order]
    deaths = np.flatnonzero(event[order])
    n_at_risk = (len(Z) - ties.first).astype(float)[:, None]

    def at_risk(values: Floats) -> Floats:
        # Means over the risk sets
        return np.cumsum(values[::-1], axis=0)[::-1][ties.first] / n_at_risk

    mean = at_risk(Z)
    U = (Z[deaths] - mean).sum(axis=0)
    V = (at_risk(Z**2) - mean**2).sum(axis=0)
    # The score over the root of the information, both at 0
    return np.divide(U, np.sqrt(np.maximum(V, 0.0)), out=np.zeros(len(U)), where=V > 1e-12)


def deviance_residuals(event: NDArray[np.bool_], time: Floats) -> Floats:
    """Return the deviance residuals of Cox's model without features."""
    expected = nelson_aalen(event, time)(time)
    martingale = event - expected  # Nelson-Aalen stands for the baseline
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = martingale + np.where(event, np.log(np.maximum(expected, 1e-300)), 0.0)
    # sign(M) √(-2 (M + δ log(δ - M)))
    return np.sign(martingale) * np.sqrt(np.maximum(-2.0 * inner, 0.0))


class ComponentCox(ProportionalHazards):
    """Cox's model without penalty on scores of components; subclasses find the rotation."""

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def _rotation(self, Z: Floats, event: NDArray[np.bool_], time: Floats, k: int) -> Floats:
        raise NotImplementedError

    def _fit(self, X: Any, y: Any) -> Any:
        X = self._check_rows(X, reset=True)
        event, time = event_and_time(y, len(X))
        need_event(event)
        self._center = X.mean(axis=0)
        spread = X.std(axis=0)
        self._scale = np.where(constant_columns(X), 1.0, spread)
        Z = (X - self._center) / self._scale
        k = min(self.n_components, X.shape[1], len(X) - 1)
        self.components_ = self._rotation(Z, event, time, max(k, 1))
        with FitProgress(self, self.max_iter, X, y) as progress:
            fit = newton_cox(
                Z @ self.components_.T,
                event,
                time,
                alpha=float(self.alpha),
                max_iter=self.max_iter,
                on_step=progress.step,
            )
        self.component_coef_ = fit.coef
        self.n_iter_, self.objective_ = fit.n_iter, fit.objective
        self.coef_ = (self.components_.T @ fit.coef) / self._scale
        self.baseline_ = breslow_hazard(event, time, self._margins(X))
        return self

    def _margins(self, X: Floats) -> Floats:
        return (X - self._center) @ self.coef_


class PrincipalComponentCox(ComponentCox):
    """Cox's model on principal components, of all features or of those that tell about times.

    Parameters
    ----------
    n_components : int, default=3
        Components.
    supervised : bool or float, default=False
        True keeps the tenth of the features with the largest univariate Cox scores before
        components are taken (Bair and Tibshirani 2004), a number that share of them.
    alpha : float, default=0.01
        Ridge penalty on the coefficients of the components.
    max_iter : int, default=50
        Newton steps at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Log hazard ratios of the features.
    components_ : ndarray of shape (n_components, n_features)
        Directions, in standardised features.
    component_coef_ : ndarray of shape (n_components,)
        Log hazard ratios of the components.
    selected_ : ndarray of int
        The features that were kept.
    baseline_ : Steps
        Breslow's cumulative hazard of the average row.
    objective_ : float
        What Newton's method minimised.
    n_iter_ : int
        Its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    Notes
    -----
    With fewer features than events `CoxRegression` is the simpler choice.

    References
    ----------
    .. [1] E. Bair and R. Tibshirani (2004). "Semi-supervised methods to predict patient survival
       from gene expression data". PLoS Biology 2:511-522.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import PrincipalComponentCox
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 50)) + rng.normal(size=(100, 1))
    >>> time = rng.exponential(np.exp(-X.mean(axis=1)))
    >>> y = np.column_stack([time, time])
    >>> round(PrincipalComponentCox(n_components=1).fit(X, y).score(X, y), 2)
    0.74
    """

    _parameter_constraints: dict[str, Any] = {
        **ComponentCox._parameter_constraints,
        "supervised": ["boolean", Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_components: int = 3,
        *,
        supervised: bool | float = False,
        alpha: float = 0.01,
        max_iter: int = 50,
    ) -> None:
        self.n_components = n_components
        self.supervised = supervised
        self.alpha = alpha
        self.max_iter = max_iter

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> PrincipalComponentCox:
        """Find the components and fit Cox's model on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; they are standardised here.
        y : records or array-like of shape (n_samples, 2)
            Events and times.

        Returns
        -------
        self : PrincipalComponentCox
            The fitted model.
        """
        return self._fit(X, y)

    def _rotation(self, Z: Floats, event: NDArray[np.bool_], time: Floats, k: int) -> Floats:
        self.selected_ = self._kept(Z, event, time)
        _, _, V = np.linalg.svd(Z[:, self.selected_], full_matrices=False)
        rotation = np.zeros((min(k, len(V)), Z.shape[1]))
        rotation[:, self.selected_] = V[: len(rotation)]
        # The sign of a singular vector is free: the largest entry is positive.
        top = rotation[np.arange(len(rotation)), np.abs(rotation).argmax(axis=1)]
        return rotation * np.where(top < 0, -1.0, 1.0)[:, None]

    def _kept(self, Z: Floats, event: NDArray[np.bool_], time: Floats) -> Indices:
        d = Z.shape[1]
        if self.supervised is False:
            return np.arange(d)
        share = 0.1 if self.supervised is True else float(self.supervised)
        count = max(1, round(share * d))
        scores = np.abs(univariate_scores(Z, event, time))
        return np.sort(np.argsort(-scores, kind="stable")[:count])


class PLSCox(ComponentCox):
    """Cox's model on partial least squares components of the deviance residuals.

    Parameters
    ----------
    n_components : int, default=2
        Components.
    alpha : float, default=0.01
        Ridge penalty on the coefficients of the components.
    max_iter : int, default=50
        Newton steps at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Log hazard ratios of the features.
    components_ : ndarray of shape (n_components, n_features)
        Directions, in standardised features.
    component_coef_ : ndarray of shape (n_components,)
        Log hazard ratios of the components.
    baseline_ : Steps
        Breslow's cumulative hazard of the average row.
    objective_ : float
        What Newton's method minimised.
    n_iter_ : int
        Its steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    Notes
    -----
    With fewer features than events `CoxRegression` is the simpler choice; for uncensored
    outcomes scikit-learn has `PLSRegression`.

    References
    ----------
    .. [1] P. Bastien (2008). "Deviance residuals based PLS regression for censored data in high
       dimensional setting". Chemometrics and Intelligent Laboratory Systems 91:78-86.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import PLSCox
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 50))
    >>> time = rng.exponential(np.exp(-X[:, :5].sum(axis=1)))
    >>> y = np.column_stack([time, time])
    >>> round(PLSCox(n_components=1).fit(X, y).score(X, y), 2)
    0.81
    """

    def __init__(self, n_components: int = 2, *, alpha: float = 0.01, max_iter: int = 50) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> PLSCox:
        """Find the components and fit Cox's model on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; they are standardised here.
        y : records or array-like of shape (n_samples, 2)
            Events and times.

        Returns
        -------
        self : PLSCox
            The fitted model.
        """
        return self._fit(X, y)

    def _rotation(self, Z: Floats, event: NDArray[np.bool_], time: Floats, k: int) -> Floats:
        """Return weights w* with Z w* the scores: each has the largest covariance that is left."""
        residual = deviance_residuals(event, time)
        residual = residual - residual.mean()
        left, directions, loadings = Z.copy(), [], []
        for _ in range(k):
            w = left.T @ residual
            length = float(np.linalg.norm(w))
            if not length > 1e-12 * (1.0 + float(np.linalg.norm(residual))):
                break
            w /= length
            t = left @ w
            p = left.T @ t / (t @ t)
            left = left - np.outer(t, p)  # what this component explains is taken off
            directions.append(w)
            loadings.append(p)
        if not directions:
            return np.eye(1, Z.shape[1])
        W, P = np.array(directions).T, np.array(loadings).T
        # W (PᵀW)⁻¹: from rows to scores without deflation
        rotation = np.linalg.solve((P.T @ W).T, W.T)
        return rotation / np.linalg.norm(rotation, axis=1, keepdims=True)
