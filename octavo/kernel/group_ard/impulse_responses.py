"""Which inputs drive an output, and how: impulse responses with whole inputs left out.

y_t = Σ_i Σ_j h_ij u_i,t-j + noise is a regression on lagged inputs whose groups are the inputs. A
stable-spline prior makes responses smooth and decaying: h_i ~ N(0, λ_i P) with P_st = β^max(s,t).

References: Aravkin, Burke, Chiuso and Pillonetto (2014), JMLR 15; the prior is the first-order
stable spline (tuned/correlated kernel) of Pillonetto and De Nicolao (2010) and Chen, Ohlsson and
Ljung (2011), which that paper builds on.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.kernel.group_ard.estimators import GroupARDRegression

__all__ = ["ImpulseResponseSelector"]

DECAYS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98)


def lagged_inputs(U: Floats, n_lags: int, delay: int) -> Floats:
    """Return u_i,t-delay-j for every input i and lag j, input by input; zero before the first row.

    Parameters
    ----------
    U : ndarray of shape (n_times, n_inputs)
        Inputs in the order of time.
    n_lags, delay : int
        Lags of each input, and the first of them.

    Returns
    -------
    ndarray of shape (n_times, n_inputs * n_lags)
        The regressors.
    """
    n, d = U.shape
    padded = np.vstack([np.zeros((delay + n_lags - 1, d)), U])
    windows = np.lib.stride_tricks.sliding_window_view(padded, n_lags, axis=0)[:n]
    return windows[:, :, ::-1].reshape(n, d * n_lags)


def prior_root(n_lags: int, decay: float | None) -> Floats:
    """Return C with CCᵀ = P of the stable-spline prior; the identity without decay."""
    if decay is None:
        return np.eye(n_lags)
    lags = np.arange(n_lags)
    # P_st = β^max(s, t), Cholesky's factor of it scales the lags
    prior = np.power(decay, np.maximum(lags, lags[:, None]), dtype=np.float64)
    return np.asarray(np.linalg.cholesky(prior), dtype=np.float64)


class ImpulseResponseSelector(CallbackSupportMixin, RegressorMixin, SoundEstimator):
    """Impulse responses from several inputs to one output; inputs without effect are left out.

    Rows are times. The lags of an input are a group of `GroupARDRegression`.

    Parameters
    ----------
    n_lags : int
        Length of each impulse response.
    delay : int, default=0
        First lag: 0 lets an input act at once, 1 from the next row on.
    prior : {"ridge", "stable-spline"}, default="ridge"
        Prior of a response, up to its variance: independent lags, or smooth and decaying ones,
        which allows many lags.
    decay : float or "ml", default="ml"
        Decay β of the stable-spline prior, between 0 and 1; "ml" takes the one of 0.5 to 0.98
        with the largest marginal likelihood under ARD.
    gamma : float or "cv", default=0.0
        As in `GroupARDRegression`.
    noise : {"ls", "ml"} or float, default="ls"
        As in `GroupARDRegression`; "ls" needs more rows than inputs times lags.
    solver : {"lbfgs", "fixed_point", "reweighted", "newton"}, default="lbfgs"
        As in `GroupARDRegression`.
    fit_intercept : bool, default=True
        Whether the output has a constant of its own.
    n_gammas : int, default=30
        As in `GroupARDRegression`.
    cv : "half", int, splitter or iterable, default="half"
        As in `GroupARDRegression`.
    tol : float, default=1e-8
        As in `GroupARDRegression`.
    max_iter : int, default=500
        As in `GroupARDRegression`.
    n_starts : int, default=1
        As in `GroupARDRegression`.

    Attributes
    ----------
    impulse_responses_ : ndarray of shape (n_inputs, n_lags)
        Posterior means; exactly zero for inputs that are out.
    impulse_std_ : ndarray of shape (n_inputs, n_lags)
        Posterior standard deviations given the variances.
    active_groups_ : ndarray of int
        Indices of the inputs that act.
    lambda_ : ndarray of shape (n_inputs,)
        Variance of each input's response.
    sigma2_ : float
        Variance of the noise.
    intercept_ : float
        Intercept.
    decay_ : float or None
        The decay used; None for ``prior="ridge"``.
    gamma_ : float
        The rate used.
    log_marginal_likelihood_ : float
        As in `GroupARDRegression`, of the rows whose past is known.
    kkt_violation_ : float
        As in `GroupARDRegression`.
    n_iter_ : int
        Steps of the solver.
    model_ : GroupARDRegression
        The regression on (transformed) lagged inputs.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, where they are strings.

    See Also
    --------
    GroupARDRegression : The regression behind it.

    Notes
    -----
    Rows must be in the order of time, equally spaced. `fit` leaves out the first rows, whose past
    is unknown; `predict` takes inputs before the first row as zero. Do not use it where the
    output feeds back on itself; `scipy.signal` and lagged outputs as further inputs are the way
    there. Inputs in different units should be scaled.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation: the Mean Squared Error Properties of ARD and GLasso.
       JMLR 15, 217-252.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import ImpulseResponseSelector
    >>> rng = np.random.default_rng(0)
    >>> U = rng.normal(size=(300, 5))
    >>> y = np.convolve(U[:, 2], [1.0, 0.5, 0.25])[:300] + 0.1 * rng.normal(size=300)
    >>> selector = ImpulseResponseSelector(n_lags=4, gamma="cv").fit(U, y)
    >>> selector.active_groups_, selector.impulse_responses_[2].round(1)
    (array([2]), array([1. , 0.5, 0.3, 0. ]))
    """

    _parameter_constraints: dict[str, Any] = {
        **GroupARDRegression._parameter_constraints,
        "n_lags": [Interval(Integral, 1, None, closed="left")],
        "delay": [Interval(Integral, 0, None, closed="left")],
        "prior": [StrOptions({"ridge", "stable-spline"})],
        "decay": [Interval(Real, 0, 1, closed="neither"), StrOptions({"ml"})],
    }
    for _name in ("groups", "kernels"):
        del _parameter_constraints[_name]
    del _name

    def __init__(
        self,
        n_lags,
        *,
        delay=0,
        prior="ridge",
        decay="ml",
        gamma=0.0,
        noise="ls",
        solver="lbfgs",
        fit_intercept=True,
        n_gammas=30,
        cv="half",
        tol=1e-8,
        max_iter=500,
        n_starts=1,
    ):
        self.n_lags = n_lags
        self.delay = delay
        self.prior = prior
        self.decay = decay
        self.gamma = gamma
        self.noise = noise
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_gammas = n_gammas
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, U: Any, y: Any) -> Self:
        """Estimate the impulse responses.

        Parameters
        ----------
        U : array-like of shape (n_times, n_inputs)
            Inputs, in the order of time.
        y : array-like of shape (n_times,)
            The output.

        Returns
        -------
        self : object
            The fitted selector.
        """
        U, y = validate_data(self, U, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        first = self.delay + self.n_lags - 1
        if len(y) - first < 2:
            raise ValueError(
                f"n_lags={self.n_lags} and delay={self.delay} need at least {first + 2} samples; "
                f"got {len(y)} sample{'s' * (len(y) != 1)}."
            )
        lags, target = lagged_inputs(U, self.n_lags, self.delay)[first:], y[first:]
        with FitProgress(self, None, U, y) as progress:
            self.decay_ = self._chosen_decay(lags, target)
            progress.step()
            root = prior_root(self.n_lags, self.decay_)
            self.model_ = self._regression(self.gamma).fit(self._scaled(lags, root), target)
            progress.step()
        self._store(root)
        return self

    def _regression(self, gamma: Any) -> GroupARDRegression:
        groups = np.repeat(np.arange(self.n_features_in_), self.n_lags)
        names = ("noise", "solver", "fit_intercept", "n_gammas", "cv", "tol", "max_iter")
        shared = {name: getattr(self, name) for name in (*names, "n_starts")}
        return GroupARDRegression(groups, gamma, **shared)

    def _scaled(self, lags: Floats, root: Floats) -> Floats:
        """Return G_i C of every input: θ_i = C⁻¹h_i has independent entries."""
        blocks = lags.reshape(len(lags), self.n_features_in_, self.n_lags)
        return (blocks @ root).reshape(len(lags), -1)

    def _chosen_decay(self, lags: Floats, y: Floats) -> float | None:
        if self.prior == "ridge":
            return None
        if not isinstance(self.decay, str):
            return float(self.decay)

        def evidence(decay: float) -> float:
            scaled = self._scaled(lags, prior_root(self.n_lags, decay))
            return self._regression(0.0).fit(scaled, y).log_marginal_likelihood_

        return max(DECAYS, key=evidence)

    def _store(self, root: Floats) -> None:
        model, shape = self.model_, (self.n_features_in_, self.n_lags)
        self.impulse_responses_ = model.coef_.reshape(shape) @ root.T
        self.impulse_std_ = np.zeros(shape)
        covariance = model.coef_cov_
        for i in model.active_groups_:
            own = slice(i * self.n_lags, (i + 1) * self.n_lags)
            block = root @ covariance[own, own] @ root.T
            self.impulse_std_[i] = np.sqrt(np.maximum(block.diagonal(), 0.0))
        for name in ("active_groups_", "lambda_", "sigma2_", "intercept_", "gamma_", "n_iter_"):
            setattr(self, name, getattr(model, name))
        self.log_marginal_likelihood_ = model.log_marginal_likelihood_
        self.kkt_violation_ = model.kkt_violation_

    def predict(self, U: Any) -> Floats:
        """Predict the output from inputs, zero before the first row.

        Parameters
        ----------
        U : array-like of shape (n_times, n_inputs)
            Inputs, in the order of time.

        Returns
        -------
        y : ndarray of shape (n_times,)
            The output's mean.
        """
        check_is_fitted(self)
        U = validate_data(self, U, dtype=np.float64, reset=False)
        lags = lagged_inputs(U, self.n_lags, self.delay)
        return lags @ self.impulse_responses_.ravel() + self.intercept_
