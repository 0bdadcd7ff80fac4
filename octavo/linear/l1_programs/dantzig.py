"""The Dantzig selector: sparse linear regression by a linear program, with its exact path.

Reference: Candes and Tao (2007), "The Dantzig selector: statistical estimation when p is much
larger than n", Annals of Statistics 35:2313-2351, equation (1.7). The path is followed by the
parametric simplex method of Pang, Liu and Vanderbei (2014), JMLR 15:489-493.
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.sklearn_door import Interval, check_sample_weight, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.linear_programs.l1_homotopy import certificate, l1_path

__all__ = ["DantzigSelector"]


class DantzigSelector(RegressorMixin, SoundEstimator):
    """Sparse linear regression: the shortest coefficients that leave no feature a say.

    Minimises ||β||₁ subject to ||X'(y − Xβ)||∞ / n ≤ λ: no feature may correlate with the
    residual by more than λ.

    Parameters
    ----------
    alpha : float, default=0.1
        Bound on the mean product of any feature and the residual. Features should be on one
        scale; alpha is in units of feature times target.
    fit_intercept : bool, default=True
        Whether to centre the data and compute an intercept.
    tol : float, default=1e-9
        Duality gap, relative to max(1, ||β||₁), and violation of the constraints, relative to
        ||X'y||∞ / n, above which a `ConvergenceWarning` is given.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    alphas_ : ndarray of shape (n_alphas,)
        Breakpoints of the path from ||X'y||∞ / n, where all coefficients are zero, down to
        `alpha`.
    coef_path_ : ndarray of shape (n_alphas, n_features)
        Coefficients there; between breakpoints they are linear.
    path_ : L1Path
        The same as an object: ``path_.at(alpha)`` are the coefficients anywhere on it.
    duality_gap_ : float
        ||β||₁ minus a lower bound on its optimum.
    n_pivots_ : int
        Pivots made.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    sklearn.linear_model.Lasso : Penalised least squares, with ``alpha`` for `alpha`.

    Notes
    -----
    `sklearn.linear_model.Lasso` satisfies the same constraints at ``alpha=alpha`` and trades
    some length of β for a smaller residual; it scales to many more features, since the
    Dantzig selector needs X'X in memory, and predicts about as well. Prefer it unless the
    program itself, its guarantees or its exact path are what you are after.

    References
    ----------
    .. [1] Candes and Tao (2007). The Dantzig selector: statistical estimation when p is much
       larger than n. Annals of Statistics 35:2313-2351.
    .. [2] Pang, Liu and Vanderbei (2014). The fastclime package for linear programming and
       large-scale precision matrix estimation in R. JMLR 15:489-493.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import DantzigSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.standard_normal(50)
    >>> model = DantzigSelector(alpha=0.2).fit(X, y)
    >>> np.flatnonzero(model.coef_), round(float(model.coef_[0]), 2)
    (array([0, 1]), 2.74)
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, alpha=0.1, *, fit_intercept=True, tol=1e-9):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = weight / weight.sum()
        y = y.astype(np.float64)
        means, mean = np.zeros(X.shape[1]), 0.0
        if self.fit_intercept:
            means, mean = weight @ X, float(weight @ y)
        weighted = (X - means) * weight[:, None]
        # X'X/n and X'y/n of centred columns
        S, g = weighted.T @ (X - means), weighted.T @ (y - mean)
        S = (S + S.T) / 2
        self.path_ = l1_path(S, g, self.alpha)  # Eq. (2) with X'y/n in place of e_i
        self.alphas_, self.coef_path_ = self.path_.alphas, self.path_.coefs.toarray()
        reached = max(self.alpha, self.path_.alpha_end)
        self.coef_ = self.path_.at(reached)
        self.intercept_ = float(mean - means @ self.coef_)
        self.n_pivots_ = self.path_.n_pivots
        self.duality_gap_, violation = certificate(
            S, g, self.alpha, self.coef_, self.path_.dual_at(reached)
        )
        self._check_solved(violation, np.abs(g).max())
        return self

    def _check_solved(self, violation, unit):
        length = float(np.abs(self.coef_).sum())
        if self.duality_gap_ > self.tol * max(1.0, length) or violation > self.tol * unit:
            warnings.warn(
                f"The solver stopped at alpha={self.path_.alpha_end:.6g} instead of "
                f"{self.alpha:.6g} ({self.path_.status}): the duality gap is "
                f"{self.duality_gap_:.3g}, the violation of a constraint {violation:.3g}. X'X is "
                "too ill-conditioned for so small an alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict(self, X):
        """Return the predicted target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_ + self.intercept_
