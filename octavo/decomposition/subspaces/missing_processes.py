"""Autoregressive mixtures of independent vectors with missing values.

The autoregression is fitted by expectation maximisation: a Kalman smoother over windows of the
process tells the moments of what is missing given all that was seen, and least squares on these
moments give the coefficients. The innovations are then taken apart.

References: Shumway and Stoffer (1982), "An approach to time series smoothing and forecasting
using the EM algorithm", Journal of Time Series Analysis 3:253-264; Szabó (2014), "Information
theoretical estimators toolbox", JMLR 15:283-287, for the use of it.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.decomposition.subspaces.analysis import SubspaceModel
from octavo.decomposition.subspaces.linear_processes import fit_autoregression
from octavo.decomposition.subspaces.process_analysis import ProcessModel
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.smooth.em import climb, warn_unless_converged

__all__ = ["MissingARISA"]

RIDGE = 1e-10  # of the mean variance, so that covariances of exact relations can be inverted


class Process(NamedTuple):
    """A normal autoregression: ``coef`` (order, p, p), innovations of covariance ``noise``."""

    coef: Floats
    noise: Floats
    spread: Floats  # variances of the first values, whose past is not known


class Smoothed(NamedTuple):
    """Means (n, p) of all values given the seen ones, and summed moments of windows (q, q)."""

    means: Floats
    moments: Floats


def observe(
    mean: Floats, cov: Floats, values: Floats, places: np.ndarray
) -> tuple[Floats, Floats, float]:
    """Condition a normal vector on some of its entries; return its log density there too."""
    if not places.size:
        return mean, cov, 0.0
    seen = cov[np.ix_(places, places)]
    seen = seen + RIDGE * max(np.trace(seen) / len(seen), 1e-300) * np.eye(len(seen))
    factor = np.linalg.cholesky(seen)
    gap = values - mean[places]
    scaled = np.linalg.solve(factor, gap)
    half = np.linalg.solve(factor, cov[places])
    logs = -0.5 * (scaled @ scaled + places.size * np.log(2 * np.pi))
    logs -= np.log(np.diag(factor)).sum()
    mean, cov = mean + half.T @ scaled, cov - half.T @ half
    mean[places] = values
    cov[places] = 0.0
    cov[:, places] = 0.0
    return mean, cov, float(logs)


def transition(process: Process) -> tuple[Floats, Floats]:
    """Return the matrix that moves a window of order + 1 values on, and the noise it adds."""
    order, p, _ = process.coef.shape
    q = (order + 1) * p
    move = np.zeros((q, q))
    move[:p, : order * p] = np.hstack(list(process.coef))
    move[p:, :-p] = np.eye(q - p)
    noise = np.zeros((q, q))
    noise[:p, :p] = process.noise
    return move, noise


def forward(X: Floats, process: Process) -> tuple[list[Floats], list[Floats], float]:
    """Return filtered windows [x_t, ..., x_(t-order)] for t ≥ order - 1, and the likelihood."""
    order, p, _ = process.coef.shape
    move, noise = transition(process)
    mean, cov = np.zeros(len(move)), np.diag(np.tile(process.spread, order + 1))
    window = np.concatenate([X[:order][::-1].ravel(), np.full(p, np.nan)])
    places = np.flatnonzero(~np.isnan(window))
    mean, cov, likelihood = observe(mean, cov, window[places], places)
    means, covs = [mean], [cov]
    for x in X[order:]:
        mean, cov = move @ mean, move @ cov @ move.T + noise
        places = np.flatnonzero(~np.isnan(x))
        mean, cov, gain = observe(mean, cov, x[places], places)
        likelihood += gain
        means.append(mean)
        covs.append(cov)
    return means, covs, likelihood


def smooth(X: Floats, process: Process) -> tuple[float, Smoothed]:
    """Return the likelihood of what was seen, and the moments of everything given it."""
    order, p, _ = process.coef.shape
    move, noise = transition(process)
    means, covs, likelihood = forward(X, process)
    mean, cov = means[-1], covs[-1]
    filled, moments = np.empty_like(X), np.zeros((len(mean), len(mean)))
    for t in range(len(X) - 1, order - 1, -1):
        moments += cov + np.outer(mean, mean)  # E[w w'] of a window, given all
        filled[t] = mean[:p]
        ahead = move @ covs[t - order] @ move.T + noise
        # the smoother of Rauch, Tung and Striebel
        back = covs[t - order] @ move.T @ np.linalg.pinv(ahead, rcond=1e-12, hermitian=True)
        before = means[t - order]
        mean = before + back @ (mean - move @ before)
        cov = covs[t - order] + back @ (cov - ahead) @ back.T
    filled[:order] = mean[: order * p].reshape(order, p)[::-1]
    return likelihood, Smoothed(filled, moments)


def update(process: Process, smoothed: Smoothed, n: int) -> Process:
    """Return the least squares fit to the moments of windows."""
    order, p, _ = process.coef.shape
    moments = smoothed.moments
    # the M step: normal equations of expected moments
    weights = np.linalg.lstsq(moments[p:, p:], moments[p:, :p], rcond=1e-12)[0]
    noise = (moments[:p, :p] - moments[:p, p:] @ weights) / (n - order)
    coef: Floats = weights.reshape(order, p, p).transpose(0, 2, 1).astype(np.float64)
    return Process(coef, (noise + noise.T) / 2, process.spread)


def first_guess(X: Floats, order: int) -> Process:
    """Return the process of the data with gaps filled by zero, the mean."""
    filled = np.nan_to_num(X)
    start = fit_autoregression(filled, order)
    noise = start.innovations.T @ start.innovations / len(start.innovations)
    spread = np.nanvar(X, axis=0)
    return Process(start.coef, noise, np.where(spread > 0.0, spread, 1.0))


class MissingARISA(ProcessModel):
    """Mixtures of independent autoregressive vectors, of which some values are missing.

    `ARIndependentSubspaceAnalysis` for data with NaN. The autoregression is fitted by expectation
    maximisation. Its innovations are taken apart at the times whose values, and those of the
    steps before, were all seen; or at all times, with expected values in the gaps, where fewer
    than ten times as many as features were.

    Parameters
    ----------
    order : int, default=1
        Number of steps that the process looks back.
    max_iter : int, default=100
        The most iterations of expectation maximisation.
    tol : float, default=1e-5
        It ends when the log-likelihood rises by less than this share.

    Attributes
    ----------
    coef_ : ndarray of shape (order, `n_features_in_`, `n_features_in_`)
        The autoregression of the data.
    noise_covariance_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Covariance of its innovations.
    log_likelihood_ : ndarray of shape (`n_iter_` + 1,)
        Of the seen values under the normal process, after each iteration; it never falls.
    n_complete_ : int
        Times whose values and those of the steps before were all seen.
    n_iter_ : int
        Iterations of expectation maximisation.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    ARIndependentSubspaceAnalysis : The same without missing values, faster.

    Notes
    -----
    Values must be missing for reasons that have nothing to do with them. Without missing values
    `ARIndependentSubspaceAnalysis` gives the same answer at once. The time of an iteration is
    linear in the number of times and cubic in (order + 1) n_features.

    References
    ----------
    .. [1] Shumway and Stoffer (1982). An approach to time series smoothing and forecasting using
       the EM algorithm. Journal of Time Series Analysis 3:253-264.
    .. [2] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import MissingARISA, amari_index
    >>> rng = np.random.default_rng(0)
    >>> sample = make_subspace_mixture("letters", n_subspaces=2, n_samples=500, random_state=0)
    >>> X = sample.X.copy()
    >>> for t in range(1, len(X)):
    ...     X[t] += 0.7 * X[t - 1]
    >>> X[rng.uniform(size=X.shape) < 0.05] = np.nan
    >>> model = MissingARISA(subspace_dims=[2, 2], random_state=0).fit(X)
    >>> index = amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)
    >>> print(f"{index:.1f}")
    0.1
    """

    _parameter_constraints = {
        **SubspaceModel._parameter_constraints,
        "order": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        order=1,
        max_iter=100,
        tol=1e-5,
        n_components=None,
        subspace_dims="auto",
        objective="sum_entropy",
        estimator=None,
        ica=None,
        optimizer="greedy",
        n_subspaces=None,
        random_state=None,
    ):
        super().__init__(
            n_components=n_components,
            subspace_dims=subspace_dims,
            objective=objective,
            estimator=estimator,
            ica=ica,
            optimizer=optimizer,
            n_subspaces=n_subspaces,
            random_state=random_state,
        )
        self.order = order
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Fit the autoregression to what was seen and take its innovations apart.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time; NaN where missing.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(
            self, X, dtype=np.float64, ensure_min_samples=2, ensure_all_finite="allow-nan"
        )
        unseen = np.flatnonzero(np.isnan(X).all(axis=0))
        if unseen.size:
            raise ValueError(f"Features {unseen.tolist()} of X were never seen: all NaN.")
        self.mean_ = np.nanmean(X, axis=0)
        X = X - self.mean_
        with FitProgress(self, None, X, step_name="iteration") as progress:
            run = climb(
                lambda process: smooth(X, process),
                lambda process, smoothed: update(process, smoothed, len(X)),
                first_guess(X, self.order),
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )
            warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
            self._process = run.params
            self.coef_, self.noise_covariance_ = run.params.coef, run.params.noise
            self._fit_innovations(self._innovations_seen(X, run.expectations.means), progress)
            self.log_likelihood_, self.n_iter_ = run.trace, run.n_iter
        return self

    def _innovations_seen(self, X: Floats, filled: Floats) -> Floats:
        order = self.order
        past = np.hstack([filled[order - i : len(filled) - i] for i in range(1, order + 1)])
        left = filled[order:] - past @ np.hstack(list(self.coef_)).T
        seen = np.asarray(~np.isnan(X).any(axis=1))
        complete = np.array([seen[t - order : t + 1].all() for t in range(order, len(X))])
        self.n_complete_ = int(complete.sum())
        return left[complete] if self.n_complete_ >= 10 * X.shape[1] else left

    def impute(self, X):
        """Return X with the expected values of what is missing, given all that is there.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time; NaN where missing.

        Returns
        -------
        X_full : ndarray of shape (n_times, n_features)
            Values that were there are as they were.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        gaps = np.isnan(X)
        if not gaps.any():
            return X
        before = np.full((self.order, X.shape[1]), np.nan)  # nothing is known of the past
        filled = smooth(np.vstack([before, X - self.mean_]), self._process)[1].means
        return np.where(gaps, filled[self.order :] + self.mean_, X)

    def transform(self, X):
        """Return the sources, subspace after subspace; expected ones where values are missing.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time; NaN where missing.

        Returns
        -------
        S : ndarray of shape (n_times, n_components)
            Coordinates of the sources.
        """
        return (self.impute(X) - self.mean_) @ self.unmixing_.T
