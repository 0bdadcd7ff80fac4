"""A whole conditional density of a number: few local regressions, nested clusters of covariates.

Reference: S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014), "Improving Prediction from
Dirichlet Process Mixtures via Enrichment", Journal of Machine Learning Research 15; Sections 2-5.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gammaln
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from octavo.bayes.enriched_dp.base import (
    CONSTRAINTS,
    NESTED,
    NOISE,
    NestedMixture,
    check_count,
    check_level,
)
from octavo.bayes.enriched_dp.prediction import cdf_of, density_of, quantiles_of, weighted_quantiles
from octavo.bayes.enriched_dp.state import GAUSSIAN, POISSON
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context
from octavo.engine.mcmc.chains import chain_generators

__all__ = ["DPMixtureRegressor", "EnrichedDPRegressor"]


class NestedRegression(RegressorMixin, NestedMixture):
    """Fit and predictions of a number."""

    def _fit(self, X: Any, y: Any) -> Self:
        X = self._table(X, reset=True)
        y = check_array(
            column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y"
        )
        check_consistent_length(X, y)
        self._response = POISSON if getattr(self, "response", "gaussian") == "poisson" else GAUSSIAN
        if y.min() == y.max():
            raise ValueError(f"y must not be constant; all its values are {y[0]:g}.")
        if self._response == POISSON:
            if self.collapsed:
                raise ValueError(
                    "collapsed=True needs a Gaussian response; counts have no closed form."
                )
            if (y < 0).any() or (y != np.floor(y)).any():
                raise ValueError("y must hold whole numbers that are not negative for 'poisson'.")
            units = (0.0, 1.0)
        else:
            units = (float(y.mean()), float(y.std()))
            if not np.isfinite(units).all() or units[1] < 1e-300:
                raise ValueError("y is too large or too close to constant for 64 bits: scale it.")
        self._run(X, (y - units[0]) / units[1], self._response, 1, units)
        return self

    def _need_density(self, what: str) -> None:
        if self._response != GAUSSIAN:
            raise ValueError(f"{what} is for Gaussian responses; this one is counts.")

    def _moments(self, part: Any) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and second moments of clusters and of new ones, in standard units."""
        eta, base = part.eta[:, :, 0], self._predictor.base
        if self._response == POISSON:
            mean, new = (np.exp(np.minimum(e, 50.0)) for e in (eta, part.eta_new[:, :, 0]))
            return mean, mean + mean**2, new, new + new**2
        a, b = base.scalars[0], base.scalars[1]
        new = part.eta_new[:, None]
        variance = (b / (a - 1.0) * part.spread)[:, None]
        return eta, eta**2 + self._predictor.draws.noise, new, new**2 + variance

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean of y given x.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is missing.
        return_std : bool, default=False
            Return the standard deviation of y given x too.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            E[y | x, data] (Eq. 13).
        std : ndarray of shape (n_samples,)
            Where asked for: noise and doubt together.
        """
        means: list[Floats] = []
        squares: list[Floats] = []
        for part in self._parts(X):
            mean, second, new, new_second = self._moments(part)
            total = part.total
            for out, values, fresh in ((means, mean, new), (squares, second, new_second)):
                out.append(((part.weights * values).sum(1) + (part.new * fresh).sum(1)) / total)
        center, scale = self._units
        mean = np.concatenate(means)
        if not return_std:
            return center + scale * mean
        variance = np.maximum(np.concatenate(squares) - mean**2, 0.0)
        return center + scale * mean, scale * np.sqrt(variance)

    def predict_interval(
        self, X: Any, level: float = 0.95, *, target: str = "y"
    ) -> tuple[Floats, Floats]:
        """Return the ends of intervals with a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        level : float, default=0.95
            The probability, with equal tails.
        target : {"y", "mean"}, default="y"
            An interval for a new y, or a credible interval for its mean given x (Figure 2).

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)
            Ends.
        """
        level = check_level(level)
        if target not in ("y", "mean"):
            raise ValueError(f"target must be 'y' or 'mean'; got {target!r}.")
        tail = 0.5 * (1.0 - level)
        if target == "y" and self._is_gaussian():
            ends = self.predict_quantile(X, (tail, 1.0 - tail))
            return ends[:, 0], ends[:, 1]
        center, scale = self._units
        found = []
        for part in self._parts(X):
            mean, _, new, _ = self._moments(part)
            found.append(
                self._bands(part, mean, new, level)
                if target == "mean"
                else self._count_quantiles(part, mean, new, (tail, 1.0 - tail))
            )
        ends = center + scale * np.concatenate(found)
        return ends[:, 0], ends[:, 1]

    def _is_gaussian(self) -> bool:
        check_is_fitted(self)
        return self._response == GAUSSIAN

    def _count_quantiles(self, part: Any, mean: Floats, new: Floats, levels: Any) -> Floats:
        """Return quantiles of counts, from a draw of every cluster."""
        rng = np.random.default_rng(self._predictor.seed)
        weights = np.hstack([part.weights, part.new])
        counts = rng.poisson(np.minimum(np.hstack([mean, new]), 1e15)).astype(np.float64)
        return weighted_quantiles(counts, weights, levels)

    def predict_quantile(self, X: Any, q: Any = 0.5) -> Floats:
        """Return quantiles of y given x.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        q : float or array-like of shape (n_levels,), default=0.5
            Levels between 0 and 1.

        Returns
        -------
        quantiles : ndarray of shape (n_samples,) or (n_samples, n_levels)
            Of the predictive law.
        """
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q must hold levels between 0 and 1; got {q!r}.")
        center, scale = self._units if self._is_gaussian() else (0.0, 1.0)
        found = []
        for part in self._parts(X):
            if self._response == GAUSSIAN:
                found.append(quantiles_of(levels, part, self._predictor))
            else:
                mean, _, new, _ = self._moments(part)
                found.append(self._count_quantiles(part, mean, new, levels))
        quantiles = center + scale * np.concatenate(found)
        return quantiles[:, 0] if np.ndim(q) == 0 else quantiles

    def _grid(self, y_grid: Any) -> Floats:
        grid = np.asarray(y_grid, dtype=np.float64)
        if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all():
            raise ValueError(f"y_grid must be a list of finite numbers; got shape {grid.shape}.")
        center, scale = self._units
        return (grid - center) / scale

    def predict_density(self, X: Any, y_grid: Any, band: float | None = None) -> Any:
        """Return the conditional density f(y | x) on a grid.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y_grid : array-like of shape (n_grid,)
            Responses.
        band : float, optional
            Probability of pointwise credible bands.

        Returns
        -------
        density : ndarray of shape (n_samples, n_grid)
            Eq. (14).
        lower, upper : ndarray of shape (n_samples, n_grid)
            With `band`: quantiles over draws, each weighted by how likely x is under it.
        """
        parts = self._parts(X)
        self._need_density("predict_density")
        grid, scale = self._grid(y_grid), self._units[1]
        tail = None if band is None else 0.5 * (1.0 - check_level(band))
        found, bands = [], []
        for part in parts:
            for i in range(len(part.weights)):
                found.append(density_of(grid, part, self._predictor, i))
                if tail is not None:
                    each, mass = density_of(grid, part, self._predictor, i, by_draw=True)
                    weights = np.tile(mass, (grid.size, 1))
                    bands.append(weighted_quantiles(each.T, weights, (tail, 1.0 - tail)))
        density = np.array(found) / scale
        if tail is None:
            return density
        ends = np.array(bands) / scale
        return density, ends[:, :, 0], ends[:, :, 1]

    def predict_cdf(self, X: Any, y_grid: Any) -> Floats:
        """Return the conditional distribution function on a grid.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y_grid : array-like of shape (n_grid,)
            Responses.

        Returns
        -------
        cdf : ndarray of shape (n_samples, n_grid)
            Probabilities of at most y.
        """
        parts = self._parts(X)
        self._need_density("predict_cdf")
        grid = self._grid(y_grid)
        return np.concatenate(
            [cdf_of(np.tile(grid, (len(p.weights), 1)), p, self._predictor) for p in parts]
        )

    def log_predictive_density(self, X: Any, y: Any) -> Floats:
        """Return log f(y | x) of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Responses.

        Returns
        -------
        logs : ndarray of shape (n_samples,)
            Natural logarithms.
        """
        parts = self._parts(X)
        y = check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64, input_name="y")
        center, scale = self._units
        z, out = (y - center) / scale, np.empty(len(y))
        for part in parts:
            part_y = z[part.rows]
            if len(part_y) != len(part.weights):
                raise ValueError(f"X and y must have the same length; y has {len(y)} values.")
            if self._response == GAUSSIAN:
                logs = [
                    np.log(
                        np.maximum(
                            density_of(part_y[i : i + 1], part, self._predictor, i)[0], 1e-300
                        )
                    )
                    for i in range(len(part_y))
                ]
                out[part.rows] = np.array(logs) - np.log(scale)
                continue
            eta = np.minimum(np.hstack([part.eta[:, :, 0], part.eta_new[:, :, 0]]), 50.0)
            # Poisson K(y | x, θ_j) in Eq. (14)
            each = part_y[:, None] * eta - np.exp(eta) - gammaln(part_y + 1.0)[:, None]
            weights = np.hstack([part.weights, part.new]) / part.total[:, None]
            out[part.rows] = np.log(np.maximum((weights * np.exp(each)).sum(axis=1), 1e-300))
        return out

    def sample_posterior_predictive(
        self, X: Any, n_samples: int = 100, random_state: Any = None
    ) -> Floats:
        """Return draws of new responses.

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
            Draws from f(y | x).
        """
        check_count(n_samples)
        parts = self._parts(X)
        rng = chain_generators(random_state, 1)[0]
        base, noise = self._predictor.base, np.sqrt(self._predictor.draws.noise)
        a, b = base.scalars[0], base.scalars[1]
        center, scale = self._units
        found = []
        for part in parts:
            n_old = part.weights.shape[1]
            for i in range(len(part.weights)):
                weights = np.concatenate([part.weights[i], part.new[i]])
                pick = rng.choice(weights.size, n_samples, p=weights / weights.sum())
                old = np.minimum(pick, n_old - 1)
                if self._response == POISSON:
                    eta = np.concatenate([part.eta[i, :, 0], part.eta_new[i, :, 0]])[pick]
                    found.append(rng.poisson(np.exp(np.minimum(eta, 30.0))).astype(float))
                    continue
                y = part.eta[i, old, 0] + noise[old] * rng.standard_normal(n_samples)
                t = rng.standard_t(2.0 * a, n_samples) * np.sqrt(b / a * part.spread[i])
                found.append(center + scale * np.where(pick < n_old, y, part.eta_new[i] + t))
        return np.array(found)


class EnrichedDPRegressor(NestedRegression):
    """Density regression by an enriched Dirichlet process mixture of linear regressions.

    The joint law of (x, y) is a mixture with a nested partition: y-clusters, each a linear
    regression, hold x-clusters that describe the covariates. Many x-clusters no longer force many
    regressions, as they do in a plain Dirichlet process mixture.

    Parameters
    ----------
    thin : int, default=1
        Of the others every `thin`-th is kept.
    alpha_theta : float or ("gamma", shape, rate), default=("gamma", 1, 1)
        Concentration of y-clusters: a number is kept, else it is drawn.
    alpha_psi : float or ("gamma", shape, rate), default=("gamma", 1, 1)
        Concentration of x-clusters, of each y-cluster its own.
    beta0 : array-like of shape (1 + n_features,), optional
        Prior mean of the coefficients over (1, x); the mean of y and no slopes by default.
    C : array-like of shape (1 + n_features,) or (1 + n_features, 1 + n_features), optional
        Prior precision of the coefficients, times σ², or its diagonal. By default a local
        regression's value at an average row varies as y does.
    a_y : float, default=2.0
        Shape of the gamma law of 1/σ²; above 1, so that variances exist.
    b_y : float or "auto", default="auto"
        Its rate; by default σ² is expected to be half of what one straight line leaves.
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
        "dp" is the plain Dirichlet process mixture, as `DPMixtureRegressor`.
    response : {"gaussian", "poisson"}, default="gaussian"
        "poisson" takes counts with a log link, drawn by Neal's Algorithm 8.

    Attributes
    ----------
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
    DPMixtureRegressor : The plain Dirichlet process mixture.
    EnrichedDPClassifier : The same for classes.

    Notes
    -----
    For up to some ten thousand rows where the whole law of y given x is wanted, or where entries of
    X are missing (NaN): they are drawn along with everything else. Where only a mean is wanted,
    boosting is faster and often better. Numbers given for the base measure are used on the data as
    they are; inside, columns and y are in standard units and the base measure is transformed.
    Never average parameters of cluster j over draws: labels change.

    References
    ----------
    .. [1] S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014). Improving Prediction from
       Dirichlet Process Mixtures via Enrichment. JMLR 15.

    Examples
    --------
    >>> from octavo.bayes import EnrichedDPRegressor
    >>> from octavo.data import make_two_regimes
    >>> X, y = make_two_regimes(100, 3, random_state=0)
    >>> model = EnrichedDPRegressor(n_iter=400, burn_in=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    >>> model.predict_density(X[:2], [3.0, 4.0, 5.0]).shape
    (2, 3)
    """

    _parameter_constraints = (
        CONSTRAINTS | NESTED | NOISE | {"response": [StrOptions({"gaussian", "poisson"})]}
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
        a_y=2.0,
        b_y="auto",
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
        response="gaussian",
    ):
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.alpha_theta = alpha_theta
        self.alpha_psi = alpha_psi
        self.beta0 = beta0
        self.C = C
        self.a_y = a_y
        self.b_y = b_y
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
        self.response = response

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates; NaN is missing.
        y : array-like of shape (n_samples,)
            Responses.

        Returns
        -------
        self : EnrichedDPRegressor
            Fitted.
        """
        return self._fit(X, y)


class DPMixtureRegressor(NestedRegression):
    """Density regression by a Dirichlet process mixture of linear regressions.

    The joint law of (x, y) is a mixture whose clusters have a linear regression and independent
    covariates each (Shahbaba and Neal 2009): the baseline of `EnrichedDPRegressor`, and its limit
    for a small `alpha_psi`.

    Parameters
    ----------
    thin : int, default=1
        Of the others every `thin`-th is kept.
    alpha_theta : float or ("gamma", shape, rate), default=("gamma", 1, 1)
        Concentration of clusters: a number is kept, else it is drawn.
    beta0 : array-like of shape (1 + n_features,), optional
        Prior mean of the coefficients over (1, x); the mean of y and no slopes by default.
    C : array-like of shape (1 + n_features,) or (1 + n_features, 1 + n_features), optional
        Prior precision of the coefficients, times σ², or its diagonal.
    a_y : float, default=2.0
        Shape of the gamma law of 1/σ².
    b_y : float or "auto", default="auto"
        Its rate.
    mu0 : "mean", float or array-like of shape (n_features,), default="mean"
        Prior mean of clusters.
    c_x : float or array-like of shape (n_features,), default=0.25
        Precision of a cluster's mean, times its σ_x².
    b_x : "auto", float or array-like of shape (n_features,), default="auto"
        Its rate.
    column_kinds : "auto", str, list of str or dict, default="auto"
        As in `EnrichedDPRegressor`.
    collapsed : bool, default=False
        Integrate parameters out while rows choose clusters.
    n_chains : int, default=1
        Number of chains.
    n_jobs : int, default=None
        Number of processes.
    random_state : int, RandomState instance or None, default=None
        Seeds all chains.
    response : {"gaussian", "poisson"}, default="gaussian"
        "poisson" takes counts with a log link.

    Attributes
    ----------
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
    EnrichedDPRegressor : Keeps regressions few where covariates are many.

    Notes
    -----
    With five or more covariates their likelihood dictates the clusters, and regressions are learned
    from few rows each: take `EnrichedDPRegressor`. `sklearn.mixture.BayesianGaussianMixture` is a
    density of x alone.

    References
    ----------
    .. [1] S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014). Improving Prediction from
       Dirichlet Process Mixtures via Enrichment. JMLR 15, Section 2.
    .. [2] B. Shahbaba and R. Neal (2009). Nonlinear models using Dirichlet process mixtures. JMLR
       10.

    Examples
    --------
    >>> from octavo.bayes import DPMixtureRegressor
    >>> from octavo.data import make_two_regimes
    >>> X, y = make_two_regimes(100, 1, random_state=0)
    >>> model = DPMixtureRegressor(n_iter=400, burn_in=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _parameter_constraints = (
        CONSTRAINTS | NOISE | {"response": [StrOptions({"gaussian", "poisson"})]}
    )

    def __init__(
        self,
        n_iter=5000,
        burn_in=1000,
        thin=1,
        alpha_theta=("gamma", 1, 1),
        beta0=None,
        C=None,
        a_y=2.0,
        b_y="auto",
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
        response="gaussian",
    ):
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.alpha_theta = alpha_theta
        self.beta0 = beta0
        self.C = C
        self.a_y = a_y
        self.b_y = b_y
        self.mu0 = mu0
        self.c_x = c_x
        self.a_x = a_x
        self.b_x = b_x
        self.column_kinds = column_kinds
        self.collapsed = collapsed
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.response = response

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates; NaN is missing.
        y : array-like of shape (n_samples,)
            Responses.

        Returns
        -------
        self : DPMixtureRegressor
            Fitted.
        """
        return self._fit(X, y)
