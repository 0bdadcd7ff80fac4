"""À la carte: Fourier features whose spectrum is a mixture of Gaussians, learned as a whole.

The frequencies of component q are w = D_q u + µ_q with u ~ N(0, I) drawn once; means, diagonal
scales, weights and the penalty are moved together by L-BFGS-B on the cross-validated error of a
ridge model. It is the baseline that greedy features are compared with.

Reference: Z. Yang, A. J. Smola, L. Song and A. G. Wilson (2015). "À la carte: learning fast
kernels". AISTATS; in the least-squares form of the thesis on kernel-based greedy algorithms
(D. Oglic), Section 3.2.3.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.gram import row_chunks
from octavo.engine.smooth.holdout_gradient import (
    fit_and_judge,
    fold_moments,
    fold_starts,
    weight_blocks,
)
from octavo.kernel.fourier.gcv_ridge import ridge_gcv
from octavo.kernel.fourier.trig_sums import waves

__all__ = ["AlaCarteRegressor"]

_N_FOLDS = 5
_START_ALPHA = 1e-4
_LOG_ALPHA = (-25.0, 7.0)


class Spectrum(NamedTuple):
    """A mixture: means and scales (Q, d), weights ν (Q,), and log λ."""

    means: Floats
    scales: Floats
    weights: Floats
    log_alpha: float

    def pack(self) -> Floats:
        """Return all parameters as one vector."""
        return np.concatenate(
            [self.means.ravel(), self.scales.ravel(), self.weights, [self.log_alpha]]
        )

    @staticmethod
    def unpack(theta: Floats, n_components: int, n_features: int) -> Spectrum:
        """Return the parameters that a vector holds."""
        size = n_components * n_features
        shape = (n_components, n_features)
        return Spectrum(
            theta[:size].reshape(shape),
            theta[size : 2 * size].reshape(shape),
            theta[2 * size : -1],
            float(theta[-1]),
        )


def spectrum_frequencies(spectrum: Spectrum, u: Floats, component: NDArray[np.intp]) -> Floats:
    """Return w_j = D_q u_j + µ_q for the component q of every j."""
    # a draw of N(µ_q, D_q²), reparametrised
    return spectrum.scales[component] * u + spectrum.means[component]


def spectrum_features(
    X: Floats, spectrum: Spectrum, u: Floats, component: NDArray[np.intp]
) -> Floats:
    """Return ν_q² sin(w_j·x), then ν_q² cos(w_j·x)."""
    size = spectrum.weights[component] ** 2
    sine, cosine = waves(X @ spectrum_frequencies(spectrum, u, component).T)
    return np.hstack([sine * size, cosine * size])


class SpectrumObjective:
    """Cross-validated error of the features of a mixture, and its gradient in all parameters."""

    def __init__(
        self, X: Floats, y: Floats, u: Floats, component: NDArray[np.intp], q: int
    ) -> None:
        self.X, self.y, self.u, self.component, self.q = X, y, u, component, q
        self.starts = fold_starts(len(y), _N_FOLDS)
        self._member = (component[None, :] == np.arange(q)[:, None]).astype(np.float64)
        self._Z = np.empty((len(y), 2 * len(component)))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        spectrum = Spectrum.unpack(theta, self.q, self.X.shape[1])
        alpha = float(np.exp(spectrum.log_alpha))
        X, Z, m = self.X, self._Z, len(self.component)
        for rows in row_chunks(len(Z), 2 * m, megabytes=0.5):
            Z[rows] = spectrum_features(X[rows], spectrum, self.u, self.component)
        moments = fold_moments(Z, self.y, self.starts)
        fit = fit_and_judge(moments.others(), moments, alpha)
        by_frequency, by_size = np.zeros((m, X.shape[1])), np.zeros(2 * m)
        # G gives every derivative: ∂error/∂θ = Σ G_ij ∂Z_ij/∂θ.
        for rows, G in weight_blocks(Z, self.y, self.starts, fit, moments.size, one=False):
            z = Z[rows]
            by_size += np.einsum("ij,ij->j", G, z)
            pull = G[:, :m] * z[:, m:]  # ∂ sin τ = cos τ ∂τ, ∂ cos τ = -sin τ ∂τ
            pull -= G[:, m:] * z[:, :m]
            by_frequency += pull.T @ X[rows]  # ∂τ/∂w = x
        # Both features of j are ν² times a wave: ∂Z/∂ν = 2 Z/ν, and nothing where ν is 0.
        sizes = self._member @ (by_size[:m] + by_size[m:])
        nu = spectrum.weights
        gradient = Spectrum(
            self._member @ by_frequency,  # ∂w/∂µ_q = 1
            self._member @ (by_frequency * self.u),  # ∂w/∂D_q = u
            np.divide(2.0 * sizes, nu, out=np.zeros_like(nu), where=nu != 0.0),
            alpha * float(fit.slope.mean()),  # by log λ
        )
        return float(fit.error.mean()), gradient.pack()


def starting_spectrum(X: Floats, q: int, rng: np.random.RandomState) -> Spectrum:
    """Return a random mixture near zero, each column's scale one over its spread."""
    d = X.shape[1]
    spread = X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    scales = np.exp(0.5 * rng.standard_normal((q, d))) / (np.sqrt(d) * spread)
    means = 0.01 * rng.standard_normal((q, d)) / spread
    return Spectrum(means, scales, np.full(q, 1.0 / q), float(np.log(_START_ALPHA)))


class AlaCarteRegressor(RegressorMixin, CallbackSupportMixin, SoundEstimator):
    """Regress on Fourier features whose spectrum, a mixture of Gaussians, is learned.

    Parameters
    ----------
    n_components : int, default=5
        Gaussians Q of the mixture.
    n_features : int, default=100
        Frequencies m, shared out among the components; each gives a sine and a cosine.
    n_restarts : int, default=10
        Random starts, of which the best goes on.
    restart_iter : int, default=20
        L-BFGS-B iterations of every start.
    max_iter : int, default=200
        Iterations of the best one after that.
    alpha : float or "gcv", default="gcv"
        Penalty of the final ridge regression, or generalised cross-validation.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, `n_features_in_`)
        Frequencies of the learned mixture.
    component_ : ndarray of shape (n_features,)
        The component of each.
    means_, scales_ : ndarray of shape (n_components, `n_features_in_`)
        Means and standard deviations of the components.
    weights_ : ndarray of shape (n_components,)
        ν; the features of component q are multiplied by its square.
    coef_ : ndarray of shape (2 * n_features,)
        Coefficients of the sines, then of the cosines, ν² included.
    intercept_ : float
        Intercept.
    alpha_ : float
        Penalty of the final fit.
    objective_ : float
        Cross-validated mean squared error that was reached, in units of the target's variance.
    n_iter_ : int
        Iterations after the restarts.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    GreedyFourierRegressor : One frequency after the other: much faster, mostly as good.

    Notes
    -----
    Standardise the columns first. A step costs O(n m² + m³) and several arrays of n × 2m numbers
    are held. Do not use it where `GreedyFourierRegressor` does; its place is data whose spectrum
    really is a few clusters, such as near-periodic signals.

    References
    ----------
    .. [1] Z. Yang, A. J. Smola, L. Song and A. G. Wilson (2015). "À la carte: learning fast
       kernels". AISTATS.
    .. [2] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Section 3.2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import AlaCarteRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> model = AlaCarteRegressor(2, 20, n_restarts=2, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.98)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "restart_iter": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=5,
        n_features=100,
        n_restarts=10,
        *,
        restart_iter=20,
        max_iter=200,
        alpha="gcv",
        random_state=None,
    ):
        self.n_components = n_components
        self.n_features = n_features
        self.n_restarts = n_restarts
        self.restart_iter = restart_iter
        self.max_iter = max_iter
        self.alpha = alpha
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the spectrum and the model on its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, standardised.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2 * _N_FOLDS
        )
        y = np.asarray(y, dtype=np.float64)
        if self.n_features < self.n_components:
            raise ValueError(
                f"n_features={self.n_features} frequencies cannot be shared out among "
                f"n_components={self.n_components}: every component needs one."
            )
        rng = check_random_state(self.random_state)
        component = np.arange(self.n_features) % self.n_components
        order = rng.permutation(len(y))
        offset, scale = float(y.mean()), float(y.std()) or 1.0
        with FitProgress(self, self.n_restarts + 1, X, y, step_name="start") as progress:
            spectrum, u = self._search(
                X[order], (y[order] - offset) / scale, component, rng, progress
            )
        self.means_, self.scales_, self.weights_ = spectrum[:3]
        self.component_ = component
        self.frequencies_ = spectrum_frequencies(spectrum, u, component)
        fit = ridge_gcv(lambda A: spectrum_features(A, spectrum, u, component), X, y, self.alpha)
        self.coef_ = fit.coef * np.tile(self.weights_[component] ** 2, 2)
        self.intercept_, self.alpha_ = fit.intercept, fit.alpha
        return self

    def _search(
        self,
        X: Floats,
        y: Floats,
        component: NDArray[np.intp],
        rng: np.random.RandomState,
        progress: FitProgress,
    ) -> tuple[Spectrum, Floats]:
        """Return the best mixture over restarts, taken further, and its draws u."""
        d, q = X.shape[1], self.n_components
        bounds = [(None, None)] * (2 * q * d + q) + [_LOG_ALPHA]
        best: tuple[float, Floats, Floats] | None = None
        for _ in range(self.n_restarts):
            u = rng.standard_normal((self.n_features, d))
            start = starting_spectrum(X, q, rng).pack()
            found = minimize(
                SpectrumObjective(X, y, u, component, q),
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": self.restart_iter},
            )
            if best is None or found.fun < best[0]:
                best = (float(found.fun), found.x, u)
            if progress.step():
                break
        assert best is not None
        self.objective_, theta, u = best
        self.n_iter_ = 0
        if self.max_iter:
            found = minimize(
                SpectrumObjective(X, y, u, component, q),
                theta,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": self.max_iter},
            )
            self.objective_, theta = float(found.fun), found.x
            self.n_iter_ = int(found.nit)
        progress.step()
        return Spectrum.unpack(theta, q, d), u

    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        y = np.empty(len(X))
        for rows in row_chunks(len(X), len(self.coef_), megabytes=16.0):
            features = np.hstack(waves(X[rows] @ self.frequencies_.T))
            y[rows] = features @ self.coef_ + self.intercept_
        return y
