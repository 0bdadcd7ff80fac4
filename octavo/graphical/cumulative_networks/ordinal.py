"""Ordinal regression by cumulative links: P(y <= k | x) = F(θ_k - w·x).

Reference: P. McCullagh (1980), "Regression models for ordinal data"; J. C. Huang and B. J. Frey
(2011), "Cumulative Distribution Networks and the Derivative-sum-product Algorithm", Appendix A.2,
where it gives the cut-points of the ranker.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_ndtr, ndtr
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["CumulativeLinkRegression"]


def log_cell(a: Floats, b: Floats, link: str) -> tuple[Floats, Floats, Floats]:
    """Return log(F(b) - F(a)) and its derivatives by a and by b, for a < b."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if link == "logit":  # F(b) - F(a) = F(b) (1 - F(a)) (1 - e^(a - b))
            gap = np.maximum(b - a, 1e-300)
            both = 1.0 / np.expm1(gap)
            # the difference as a product, in which nothing cancels
            value = log_expit(b) + log_expit(-a) + np.log(-np.expm1(-gap))
            return value, -expit(a) - both, expit(-b) + both
        flip = a > 0  # the upper tail is the lower one of the other sign
        high, low = np.where(flip, -a, b), np.where(flip, -b, a)
        top = log_ndtr(high)
        value = top + np.log(-np.expm1(np.minimum(log_ndtr(low) - top, -1e-300)))
        slopes = [
            np.where(np.isfinite(t), np.exp(-0.5 * t * t - 0.5 * np.log(2 * np.pi) - value), 0.0)
            for t in (a, b)
        ]
        return value, -slopes[0], slopes[1]


class CumulativeLinkRegression(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Predict an ordered label from a linear score and cut-points.

    Parameters
    ----------
    link : {"logit", "probit"}, default="logit"
        The distribution of the noise: logistic (proportional odds) or normal.
    alpha : float, default=1.0
        Strength of the squared penalty ½ alpha |w|² on the coefficients; zero is maximum
        likelihood.
    max_iter : int, default=500
        Most iterations of L-BFGS.
    tol : float, default=1e-6
        The largest slope of the mean objective at which it stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in ascending order, which is taken as theirs.
    coef_ : ndarray of shape (n_features,)
        w; larger scores mean larger labels.
    thresholds_ : ndarray of shape (n_classes - 1,)
        θ, ascending.
    objective_ : float
        Negative log-likelihood with penalty.
    n_iter_ : int
        Iterations.

    Notes
    -----
    Do not use it for labels without an order, or where the effect of a feature differs from one
    cut-point to the next: sklearn's `LogisticRegression` fits a vector for each class.

    References
    ----------
    .. [1] P. McCullagh (1980). "Regression models for ordinal data". Journal of the Royal
       Statistical Society B 42.
    .. [2] J. C. Huang and B. J. Frey (2011). "Cumulative Distribution Networks and the
       Derivative-sum-product Algorithm". Journal of Machine Learning Research 12, Appendix A.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import CumulativeLinkRegression
    >>> X = np.arange(12.0)[:, None]
    >>> model = CumulativeLinkRegression().fit(X, np.repeat([0, 1, 2], 4))
    >>> model.predict([[1.0], [5.0], [10.0]])
    array([0, 1, 2])
    >>> model.predict_proba([[5.5]]).round(2)
    array([[0.05, 0.91, 0.05]])
    """

    _parameter_constraints: dict[str, Any] = {
        "link": [StrOptions({"logit", "probit"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        link: str = "logit",
        alpha: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
    ) -> None:
        self.link = link
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on labels that no line puts in order
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit coefficients and cut-points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Ordered labels.

        Returns
        -------
        self
            Fitted.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_squares(X)
        self.classes_, codes = encode_classes(y, owner=self)
        n, d = X.shape
        center, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 1e-12 * np.abs(center), scale, 1.0)
        Z = (X - center) / scale
        ridge = np.minimum(float(self.alpha), 1e150) / scale**2
        k = len(self.classes_) - 1
        share = np.cumsum(np.bincount(codes))[:-1] / n
        start = np.log(share / (1 - share)) * (1.0 if self.link == "logit" else 0.6)
        gaps = np.log(np.maximum(np.diff(start), 1e-3))
        theta = np.concatenate([np.zeros(d), start[:1], gaps])

        def objective(free: Floats) -> tuple[float, Floats]:
            w, cuts, steps = self._unpacked(free, d)
            padded = np.concatenate([[-np.inf], cuts, [np.inf]])
            score = Z @ w
            value, by_low, by_high = log_cell(
                padded[codes] - score, padded[codes + 1] - score, self.link
            )
            slope = np.zeros_like(free)
            slope[:d] = -Z.T @ (by_low + by_high)
            by_cut = np.bincount(codes, by_high, k + 1)[:k] + np.bincount(codes, by_low, k + 1)[1:]
            tail = by_cut[::-1].cumsum()[::-1]
            slope[d], slope[d + 1 :] = tail[0], tail[1:] * steps
            total = -value.sum() + 0.5 * (ridge * w * w).sum()
            slope = -slope
            slope[:d] += ridge * w
            if not np.isfinite(total):
                return 1e300, np.zeros_like(free)
            return total / n, slope / n

        with FitProgress(self, self.max_iter, X, y) as progress:

            def report(intermediate_result: Any) -> None:
                if progress.step():
                    raise StopIteration

            found = minimize(
                objective,
                theta,
                jac=True,
                method="L-BFGS-B",
                callback=report,
                options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-14, "maxcor": 20},
            )
        w, cuts, _ = self._unpacked(found.x, d)
        self.coef_ = w / scale
        self.thresholds_ = cuts + center @ self.coef_
        self.objective_ = float(found.fun * n)
        self.n_iter_ = int(max(found.nit, 1))
        if found.nit >= self.max_iter:
            warnings.warn(
                f"The fit has not converged after {found.nit} iterations; the largest slope is "
                f"{np.abs(found.jac).max():.3g}. Raise max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @staticmethod
    def _unpacked(free: Floats, d: int) -> tuple[Floats, Floats, Floats]:
        steps = np.exp(np.clip(free[d + 1 :], -50.0, 50.0))
        # θ_0 < θ_1 < ..., by positive steps
        cuts = free[d] + np.concatenate([[0.0], np.cumsum(steps)])
        return free[:d], cuts, steps

    def decision_score(self, X: Any) -> Floats:
        """Return the linear score w·x, which the cut-points divide.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        score = self.decision_score(X)
        ends = self.thresholds_ - score[:, None]
        below = (expit if self.link == "logit" else ndtr)(ends)
        padded = np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
        return np.maximum(np.diff(padded, axis=1), 0.0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        chance = self.predict_proba(X)
        return self.classes_[chance.argmax(axis=1)]
