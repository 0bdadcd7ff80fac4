"""Binary classifiers on selected features, and what stands in where nothing was selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from octavo.engine.estimators.arrays import Floats, Indices


def log_odds(shares: Any, n: int) -> Any:
    """Return log-odds of shares of n rows; none and all of them are half a row away."""
    return logit(np.clip(shares, 0.5 / n, 1.0 - 0.5 / n))


def _logistic(X: Any, response: Floats) -> LogisticRegression:
    """Fit a logistic regression whose penalty does not hang on the units of X."""
    units = StandardScaler(with_mean=not sp.issparse(X))  # the intercept is not penalised
    model = LogisticRegression(max_iter=1000).fit(units.fit_transform(X), response)
    model.coef_ = model.coef_ / units.scale_
    if units.mean_ is not None and units.with_mean:
        model.intercept_ = model.intercept_ - model.coef_ @ units.mean_
    return model


class Refit:
    """One 0/1 response: a classifier on its features, or its share of the rows.

    Parameters
    ----------
    final : estimator or None
        Cloned; by default logistic regression in units in which each feature has deviation one,
        its coefficients told in those of X.
    X : {ndarray, sparse matrix} of shape (n, p)
        All features.
    response : ndarray of shape (n,)
        Zeros and ones.
    chosen : ndarray of int
        The selected features.
    """

    def __init__(self, final: Any, X: Any, response: Floats, chosen: Indices) -> None:
        self.share, self.n, self.chosen = float(response.mean()), len(response), chosen
        self.fitted = None
        if chosen.size:
            refit = _logistic if final is None else clone(final).fit
            self.fitted = refit(X[:, chosen], response)

    @property
    def linear(self) -> tuple[Floats, float] | None:
        """Coefficients of the chosen features and the intercept, or None if it is not linear."""
        if self.fitted is None:
            return np.empty(0), float(log_odds(self.share, self.n))
        if not hasattr(self.fitted, "coef_"):
            return None
        return np.ravel(self.fitted.coef_), float(np.ravel(self.fitted.intercept_)[0])

    def scores(self, X: Any) -> Floats:
        """Return decision values, positive where the response is more likely 1."""
        if self.fitted is None:
            return np.full(X.shape[0], log_odds(self.share, self.n))
        part = X[:, self.chosen]
        if hasattr(self.fitted, "decision_function"):
            return np.asarray(self.fitted.decision_function(part))
        if hasattr(self.fitted, "predict_proba"):
            return logit(np.clip(self.fitted.predict_proba(part)[:, 1], 1e-12, 1.0 - 1e-12))
        return self.fitted.predict(part) - 0.5

    def probabilities(self, X: Any) -> Floats:
        """Return the probability that the response is 1."""
        if self.fitted is None:
            return np.full(X.shape[0], self.share)
        if not hasattr(self.fitted, "predict_proba"):
            raise ValueError(
                "Probabilities need a final estimator with predict_proba; "
                f"{type(self.fitted).__name__} has none. Use decision_function."
            )
        return np.asarray(self.fitted.predict_proba(X[:, self.chosen])[:, 1])
