"""Smooth curves for the mean and for the standard deviation of a response.

Reference: M. P. Wand (2014), "Fully Simplified Multivariate Normal Updates in Non-Conjugate
Variational Message Passing", Journal of Machine Learning Research 15, Section 5.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.bayes.mixed_models.designs import dense_moments
from octavo.bayes.mixed_models.mean_and_variance import Columns, Half, fit_mean_and_variance
from octavo.bayes.mixed_models.splines import spline_basis, spline_columns
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.variational.expected_likelihoods import hermite_rule

__all__ = ["HeteroscedasticAdditiveRegressor"]


class HeteroscedasticAdditiveRegressor(CallbackSupportMixin, RegressorMixin, SoundEstimator):
    """Additive regression whose variance is an additive function of the features too.

    y ~ N(b0 + sum of f_j(x_j), exp(c0 + sum of h_j(x_j))), where f_j and h_j are penalised splines
    with a variance component each (Eq. 12 to 14). The posterior of the curves is Gaussian, for the
    mean and for the log-variance; features and response are standardised first.

    Parameters
    ----------
    n_basis : int, default=18
        Number of penalised columns of a curve.
    smooth : "all" or list, default="all"
        Features, by name or place, whose effect on the mean is a curve; others are straight lines.
    smooth_variance : "all" or list, default="all"
        The same for the log-variance.
    sigma_beta : float, default=1e5
        Prior standard deviation of intercepts and slopes.
    A : float, default=1e5
        Scale of the Half-Cauchy priors of the curves' standard deviations.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-7
        Stop when the bound rises by less than this, relative to its size.

    Attributes
    ----------
    mean_ : ndarray of shape (n_mean_coefficients,)
        Posterior means of the mean's coefficients, for standardised data: intercept, slopes and
        curves.
    cov_ : ndarray
        Their covariance.
    variance_mean_ : ndarray of shape (n_variance_coefficients,)
        Posterior means of the log-variance's coefficients.
    variance_cov_ : ndarray
        Their covariance.
    lower_bound_ : float
        Variational lower bound of the log marginal likelihood of the standardised response.
    lower_bounds_ : ndarray
        Its value at the start and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether ``tol`` was met.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Their names, where X had names.

    See Also
    --------
    OSullivanSplines : The columns of a curve.
    VariationalMixedModel : Counts and binary responses, random effects of groups.

    Notes
    -----
    Do not use it where features interact (`sklearn.ensemble.HistGradientBoostingRegressor` with
    the quantile loss), or beyond a few hundred curves: matrices are dense.

    References
    ----------
    .. [1] M. P. Wand (2014). "Fully Simplified Multivariate Normal Updates in Non-Conjugate
       Variational Message Passing". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import HeteroscedasticAdditiveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((400, 1))
    >>> y = np.sin(6 * X[:, 0]) + np.exp(2 * X[:, 0] - 3) * rng.normal(size=400)
    >>> model = HeteroscedasticAdditiveRegressor().fit(X, y)
    >>> mean, std = model.predict([[0.1], [0.9]], return_std=True)
    >>> mean.round(1), std.round(2)
    (array([ 0.5, -0.8]), array([0.06, 0.31]))
    """

    _parameter_constraints: dict[str, Any] = {
        "n_basis": [Interval(Integral, 2, None, closed="left")],
        "smooth": [StrOptions({"all"}), "array-like"],
        "smooth_variance": [StrOptions({"all"}), "array-like"],
        "sigma_beta": [Interval(Real, 0, None, closed="neither")],
        "A": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_basis: int = 18,
        smooth: Any = "all",
        smooth_variance: Any = "all",
        sigma_beta: float = 1e5,
        A: float = 1e5,
        max_iter: int = 500,
        tol: float = 1e-7,
    ) -> None:
        self.n_basis = n_basis
        self.smooth = smooth
        self.smooth_variance = smooth_variance
        self.sigma_beta = sigma_beta
        self.A = A
        self.max_iter = max_iter
        self.tol = tol

    def _chosen(self, wanted: Any, name: str) -> list[int]:
        """Return the places of the features that have a curve."""
        if isinstance(wanted, str):
            return list(range(self.n_features_in_))
        names = list(getattr(self, "feature_names_in_", []))
        places = []
        for feature in wanted:
            if isinstance(feature, str) and feature in names:
                places.append(names.index(feature))
            elif isinstance(feature, (int, np.integer)) and 0 <= feature < self.n_features_in_:
                places.append(int(feature))
            else:
                raise ValueError(
                    f"{name} must hold names or places of the {self.n_features_in_} features; it "
                    f"holds {feature!r}."
                )
        return sorted(set(places))

    def _columns(self, S: Floats, curves: list[int]) -> Columns:
        """Return the design of standardised features: ones, lines, and the curves' columns."""
        parts = [np.ones((len(S), 1)), S]
        blocks, first = [], 1 + S.shape[1]
        for j in curves:
            part = spline_columns(self._bases[j], S[:, j])
            if part.shape[1]:
                blocks.append(slice(first, first + part.shape[1]))
                parts.append(part)
                first += part.shape[1]
        return Columns(np.concatenate(parts, axis=1), 1 + S.shape[1], blocks)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit mean and variance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The response.

        Returns
        -------
        self : HeteroscedasticAdditiveRegressor
            The fitted model.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        self._center, self._scale = X.mean(axis=0), _positive(X.std(axis=0))
        self._y_center, self._y_scale = float(y.mean()), float(_positive(y.std()))
        S = (X - self._center) / self._scale
        self._bases = [spline_basis(column, self.n_basis) for column in S.T]
        self._curves = self._chosen(self.smooth, "smooth")
        self._variance_curves = self._chosen(self.smooth_variance, "smooth_variance")
        with FitProgress(self, self.max_iter, X, y) as progress:
            run = fit_mean_and_variance(
                (y - self._y_center) / self._y_scale,
                self._columns(S, self._curves),
                self._columns(S, self._variance_curves),
                sigma_beta=float(self.sigma_beta),
                A=float(self.A),
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )
        self._halves = {"mean": run.mean, "sd": run.log_variance}
        self._ranges = [X.min(axis=0), X.max(axis=0)]
        self.mean_, self.cov_ = run.mean.solution
        self.variance_mean_, self.variance_cov_ = run.log_variance.solution
        self.lower_bound_, self.lower_bounds_ = float(run.lower_bounds[-1]), run.lower_bounds
        self.n_iter_, self.converged_ = run.n_iter, run.converged
        if not run.converged and run.n_iter == self.max_iter:
            rise = run.lower_bounds[-1] - run.lower_bounds[-2]
            warnings.warn(
                f"HeteroscedasticAdditiveRegressor did not converge in {run.n_iter} iterations: "
                f"the bound still rose by {rise:.3g} (tol={self.tol:g}). Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _moments(self, X: Floats, which: str) -> tuple[Floats, Floats]:
        """Return mean and variance of one half's linear predictor, for a standardised response."""
        curves = self._curves if which == "mean" else self._variance_curves
        columns = self._columns((X - self._center) / self._scale, curves)
        half: Half = self._halves[which]
        return dense_moments(columns.matrix, half.solution)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean response.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.
        return_std : bool, default=False
            Whether to return the standard deviation of a new response too: that of the noise at
            these features and of the mean's posterior.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Posterior mean of the mean.
        std : ndarray of shape (n_samples,)
            Only with ``return_std``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        m, v = self._moments(X, "mean")
        mean = self._y_center + self._y_scale * m
        if not return_std:
            return mean
        g, s = self._moments(X, "sd")
        with np.errstate(over="ignore"):
            # Var(y) = Var(f) + E exp(g), g ~ N(·, s)
            return mean, self._y_scale * np.sqrt(v + np.exp(g + 0.5 * s))

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of the interval that holds a new response with some probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.
        level : float, default=0.95
            The probability.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)
            The response is a normal whose log-variance is normal; the interval is its own, not
            that of a normal with the same standard deviation.
        """
        check_is_fitted(self)
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        m, v = self._moments(X, "mean")
        g, s = self._moments(X, "sd")
        nodes, weights = hermite_rule(20)
        # given g the response is normal: the mixture over nodes of g
        sds = np.sqrt(v[:, None] + np.exp(g[:, None] + np.sqrt(s)[:, None] * nodes))
        z = float(ndtri(0.5 + 0.5 * level))
        low, high = z * sds.min(axis=1), z * sds.max(axis=1)
        for _ in range(60):  # halve the bracket of the half width
            middle = 0.5 * (low + high)
            short = ndtr(middle[:, None] / sds) @ weights < 0.5 + 0.5 * level
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        center, reach = self._y_center + self._y_scale * m, self._y_scale * high
        return center - reach, center + reach

    def partial_effect(
        self, j: Any, which: str = "mean", grid: Any = None, level: float = 0.95
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return a feature's curve, with a pointwise credible band, others at their sample mean.

        Parameters
        ----------
        j : int or str
            Place or name of the feature.
        which : {"mean", "sd"}, default="mean"
            Whether the curve of the mean or that of the standard deviation.
        grid : array-like of shape (n_points,), default=None
            Values of the feature; 101 over its range by default.
        level : float, default=0.95
            Probability of the band.

        Returns
        -------
        grid, center, lower, upper : ndarray of shape (n_points,)
            In the units of the data; the centre of the standard deviation is its posterior median.
        """
        check_is_fitted(self)
        if which not in ("mean", "sd"):
            raise ValueError(f"which must be 'mean' or 'sd'; got {which!r}.")
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        (place,) = self._chosen([j], "j")
        if grid is None:
            grid = np.linspace(self._ranges[0][place], self._ranges[1][place], 101)
        points = check_array(grid, dtype=np.float64, ensure_2d=False, input_name="grid")
        X = np.tile(self._center, (len(points), 1))
        X[:, place] = points
        m, v = self._moments(X, which)
        reach = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(v)
        curves = np.stack([m, m - reach, m + reach])
        if which == "mean":
            curves = self._y_center + self._y_scale * curves
        else:
            # Section 5.2: exp(h_j / 2), a standard deviation
            curves = self._y_scale * np.exp(0.5 * curves)
        return points, curves[0], curves[1], curves[2]


def _positive(scale: Any) -> Any:
    """Return the scale, with ones in the place of zeros."""
    return np.where(scale > 0, scale, 1.0)
