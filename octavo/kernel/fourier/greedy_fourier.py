"""Fourier features that are learned, one after the other, by fitting residuals.

Random Fourier features draw their frequencies from the spectrum of a kernel that somebody has to
choose. Here every frequency is fitted to what the features before it left unexplained; several
descents run side by side on samples of the rows, and one ridge regression takes their features
together.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 3: Algorithms 3.1 and 3.2.
The descent is in `octavo.kernel.fourier.greedy_descent`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.gram import row_chunks
from octavo.kernel.fourier.gcv_ridge import RidgeFit, ridge_gcv
from octavo.kernel.fourier.greedy_descent import N_FOLDS, Basis, greedy_descent
from octavo.kernel.fourier.trig_sums import waves

__all__ = ["GreedyFourierFeatures", "GreedyFourierRegressor"]

_WHOLE = 50_000  # rows up to which every descent sees all of them


class GreedyFeatures(NamedTuple):
    """What Algorithm 3.2 found: frequencies, phases, the last ridge fit, errors of the descents."""

    frequencies: Floats
    phases: Floats
    ridge: RidgeFit
    paths: list[list[float]]


def feature_map(
    X: Floats, frequencies: Floats, phases: Floats, basis: Basis | None = None
) -> Floats:
    """Return sin and cos of every frequency, (n, 2m); or φ of every phase, (n, m)."""
    phase = X @ frequencies.T
    if basis is not None:
        return basis[0](phase + phases)
    return np.hstack(waves(phase))


def amplitudes(coef: Floats, basis: Basis | None) -> Floats:
    """Return the size of every feature's coefficients."""
    # of a sin + b cos: √(a² + b²)
    return np.abs(coef) if basis is not None else np.hypot(*coef.reshape(2, -1))


def _one_descent(X, y, f, size, seed, options):
    """Run greedy descent on a sample of the rows drawn without replacement."""
    rng = np.random.RandomState(seed)
    rows = rng.permutation(len(y))[:size]  # line 4: S_j
    return greedy_descent(np.ascontiguousarray(X[rows]), y[rows], f[rows], rng, **options)


def construct(
    X: Floats,
    y: Floats,
    rng: np.random.RandomState,
    *,
    n_workers: int,
    n_epochs: int,
    sample_size: int,
    prune: float,
    alpha: float | str,
    basis: Basis | None,
    n_jobs: int | None,
    on_descent: Callable[[], bool],
    **options: Any,
) -> GreedyFeatures:
    """Learn features by Algorithm 3.2 on validated rows; y must not be constant."""
    offset, scale = float(y.mean()), float(y.std())
    target = 1.0 + (y - offset) / scale  # whatever the unit and the offset of y: f₀ is one
    f = np.ones(len(y))
    frequencies, phases = np.empty((0, X.shape[1])), np.empty(0)
    paths: list[list[float]] = []
    stop = False
    fit = RidgeFit(np.empty(0), 1.0, 0.0, np.inf)
    for _ in range(n_epochs):
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_workers)  # lines 3 to 5
        jobs = (
            delayed(_one_descent)(X, target, f, sample_size, seed, {"basis": basis, **options})
            for seed in seeds
        )
        for descent in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            frequencies = np.vstack([frequencies, descent.frequencies])
            phases = np.append(phases, descent.phases)
            paths.append(descent.errors)
            stop |= on_descent()
        # Lines 6 and 7.
        frequencies, phases, fit = _fit_and_prune(
            X, target, frequencies, phases, alpha, basis, prune * float(np.ptp(target))
        )
        for rows in row_chunks(len(f), max(1, len(fit.coef)), megabytes=16.0):
            # f of the next pass, for its residuals
            f[rows] = feature_map(X[rows], frequencies, phases, basis) @ fit.coef + fit.intercept
        if stop:
            break
    # back to the unit and offset of y
    ridge = RidgeFit(
        scale * fit.coef, offset + scale * (fit.intercept - 1.0), fit.alpha, fit.score * scale**2
    )
    return GreedyFeatures(frequencies, phases, ridge, paths)


def _fit_and_prune(X, y, frequencies, phases, alpha, basis, floor):
    """Fit the linear model, drop features without amplitude, and fit again if any was."""

    def fit(W, b):
        return ridge_gcv(lambda A: feature_map(A, W, b, basis), X, y, alpha)

    first = fit(frequencies, phases)
    keep = amplitudes(first.coef, basis) >= floor  # line 7: |a_l| < η goes
    if keep.all():
        return frequencies, phases, first
    if keep.any():
        frequencies, phases = frequencies[keep], phases[keep]
    else:  # nothing was learned: the constant feature stays
        frequencies, phases = np.zeros((1, X.shape[1])), np.zeros(1)
    return frequencies, phases, fit(frequencies, phases)


class _GreedyFourier(CallbackSupportMixin, SoundEstimator):
    """What the transformer and the regressor share: parameters' rules and the learning."""

    _parameter_constraints: dict[str, Any] = {
        "n_workers": [Interval(Integral, 1, None, closed="left")],
        "max_descent_steps": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "prune": [Interval(Real, 0, None, closed="left")],
        "basis": [StrOptions({"cos"}), tuple, list],
        "sample_size": [Interval(Integral, 1, None, closed="left"), None],
        "min_fold_size": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def _basis(self) -> Basis | None:
        if isinstance(self.basis, str):
            return None
        if len(self.basis) != 2 or not all(callable(part) for part in self.basis):
            raise ValueError(
                'basis must be "cos" or a pair of functions (phi, derivative of phi); got '
                f"{self.basis!r}."
            )
        return self.basis[0], self.basis[1]

    def _sample_size(self, n: int) -> int:
        size = self.sample_size or max(-(-n // self.n_workers), _WHOLE)
        size = min(n, size)
        if size // N_FOLDS < self.min_fold_size:
            raise ValueError(
                f"Each of the {N_FOLDS} folds that a feature is trained on needs at least "
                f"min_fold_size={self.min_fold_size} rows; a sample of {size} rows "
                f"(n_samples={n}) gives {size // N_FOLDS}."
            )
        return size

    def _learn(self, X: Floats, y: Floats, alpha: float | str) -> GreedyFeatures:
        """Learn features and store what both estimators tell about them."""
        basis, rng = self._basis(), check_random_state(self.random_state)
        _warn_if_unscaled(X)
        size = self._sample_size(len(y))
        if np.ptp(y) == 0.0:
            found = _constant(X, y, basis)
        else:
            total = self.n_workers * self.n_epochs
            with FitProgress(self, total, X, y, step_name="descent") as progress:
                found = construct(
                    X,
                    y,
                    rng,
                    n_workers=self.n_workers,
                    n_epochs=self.n_epochs,
                    sample_size=size,
                    prune=self.prune,
                    alpha=alpha,
                    basis=basis,
                    n_jobs=self.n_jobs,
                    on_descent=progress.step,
                    max_descent_steps=self.max_descent_steps,
                    tol=self.tol,
                    max_iter=self.max_iter,
                )
        self.frequencies_, self.phases_ = found.frequencies, found.phases
        self.descent_errors_ = found.paths
        self.n_iter_ = max((len(path) - 1 for path in found.paths), default=1)
        return found

    def _features(self, X: Floats) -> Floats:
        return feature_map(X, self.frequencies_, self.phases_, self._basis())


def _constant(X: Floats, y: Floats, basis: Basis | None) -> GreedyFeatures:
    """Return the constant feature and the intercept: all that a constant target needs."""
    frequencies = np.zeros((1, X.shape[1]))
    width = 1 if basis is not None else 2
    return GreedyFeatures(
        frequencies, np.zeros(1), RidgeFit(np.zeros(width), float(y[0]), 0.0, 0.0), []
    )


def _warn_if_unscaled(X: Floats) -> None:
    """Warn when the first frequencies, of norm one, are far off the scale of the rows."""
    spread = X.std(axis=0)
    spread = spread[spread > 0]
    if len(spread) and (spread.max() > 30.0 or spread.max() < 1.0 / 30.0):
        warnings.warn(
            "The columns of X are far from unit variance (standard deviations from "
            f"{spread.min():.3g} to {spread.max():.3g}); searches for frequencies start from w ~ "
            "N(0, I/d), which suits standardised columns. Put a StandardScaler before it.",
            UserWarning,
            stacklevel=4,
        )


class GreedyFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _GreedyFourier):
    """Learn Fourier features for a target by greedy descents on its residuals.

    Parameters
    ----------
    n_workers : int, default=5
        Descents that run side by side, each on its own sample of the rows.
    max_descent_steps : int, default=20
        Most features a descent adds; n_workers · max_descent_steps is the most frequencies of a
        pass.
    n_epochs : int, default=1
        Passes over the data; each starts from the model of the one before.
    tol : float, default=0.01
        A descent ends when a feature changes its error by less than this part.
    prune : float, default=1e-6
        Features whose amplitude is below this part of the target's range are dropped.
    basis : "cos" or (callable, callable), default="cos"
        ``"cos"`` makes the pair sin(w·x), cos(w·x) of every frequency. A pair of functions
        (φ, φ′) makes φ(w·x + b).
    sample_size : int, default=None
        Rows of a descent's sample, drawn without replacement. By default all of them up to
        50,000 rows, n_samples / n_workers but no fewer than 50,000 beyond that. Samples of
        n_samples / n_workers are several times faster and a little worse.
    n_jobs : int, default=None
        Descents that run at the same time; the features do not depend on it.
    min_fold_size : int, default=20
        Fewest rows to train a feature on; a fold has a fifth of the sample.
    max_iter : int, default=100
        Most L-BFGS-B iterations a feature.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_frequencies, `n_features_in_`)
        Frequencies w that were learned.
    phases_ : ndarray of shape (n_frequencies,)
        Phases b; zero for ``basis="cos"``.
    descent_errors_ : list of list of float
        Mean squared error of every descent before and after each step, in units of the target's
        variance. It never rises.
    n_iter_ : int
        Most steps that a descent took.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    GreedyFourierRegressor : The same with its ridge model.
    SpectralSampler : Random Fourier features of a kernel that is given.

    Notes
    -----
    Standardise the columns first. Do not use it with fewer than some hundreds of rows, or where
    the target plays no part: `SpectralSampler` or `sklearn.kernel_approximation.RBFSampler`
    need no target. For classes, give it scores or one-hot columns one at a time.

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import GreedyFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> features = GreedyFourierFeatures(1, 1, random_state=0).fit(X, np.cos(3 * X[:, 0]))
    >>> abs(features.frequencies_).round(3)
    array([[3.]])
    """

    _parameter_constraints: dict[str, Any] = {
        name: rule
        for name, rule in _GreedyFourier._parameter_constraints.items()
        if name != "alpha"
    }

    def __init__(
        self,
        n_workers=5,
        max_descent_steps=20,
        n_epochs=1,
        *,
        tol=0.01,
        prune=1e-6,
        basis="cos",
        sample_size=None,
        n_jobs=None,
        min_fold_size=20,
        max_iter=100,
        random_state=None,
    ):
        self.n_workers = n_workers
        self.max_descent_steps = max_descent_steps
        self.n_epochs = n_epochs
        self.tol = tol
        self.prune = prune
        self.basis = basis
        self.sample_size = sample_size
        self.n_jobs = n_jobs
        self.min_fold_size = min_fold_size
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, standardised.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._learn(X, np.asarray(y, dtype=np.float64), "gcv")
        self._n_features_out = len(self.frequencies_) * (2 if self.basis == "cos" else 1)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the features of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            The sines of all frequencies, then their cosines; with a basis of one's own, one
            column a frequency.
        """
        check_is_fitted(self)
        return self._features(validate_data(self, X, reset=False, dtype=np.float64))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class GreedyFourierRegressor(RegressorMixin, _GreedyFourier):
    """Regress on Fourier features that are learned by greedy descents on residuals.

    Parameters
    ----------
    n_workers : int, default=5
        Descents that run side by side, each on its own sample of the rows.
    max_descent_steps : int, default=20
        Most features a descent adds; n_workers · max_descent_steps is the most frequencies of a
        pass.
    n_epochs : int, default=1
        Passes over the data; each starts from the model of the one before.
    tol : float, default=0.01
        A descent ends when a feature changes its error by less than this part.
    prune : float, default=1e-6
        Features whose amplitude is below this part of the target's range are dropped.
    basis : "cos" or (callable, callable), default="cos"
        ``"cos"`` makes the pair sin(w·x), cos(w·x) of every frequency. A pair of functions
        (φ, φ′) makes φ(w·x + b).
    sample_size : int, default=None
        Rows of a descent's sample, drawn without replacement. By default all of them up to
        50,000 rows, n_samples / n_workers but no fewer than 50,000 beyond that. Samples of
        n_samples / n_workers are several times faster and a little worse.
    alpha : float or "gcv", default="gcv"
        Penalty of the final ridge regression, or generalised cross-validation.
    n_jobs : int, default=None
        Descents that run at the same time; the model does not depend on it.
    min_fold_size : int, default=20
        Fewest rows to train a feature on; a fold has a fifth of the sample.
    max_iter : int, default=100
        Most L-BFGS-B iterations a feature.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_frequencies, `n_features_in_`)
        Frequencies w that were learned.
    phases_ : ndarray of shape (n_frequencies,)
        Phases b; zero for ``basis="cos"``.
    coef_ : ndarray of shape (n_features_out,)
        Coefficients of the sines of all frequencies, then of their cosines.
    intercept_ : float
        Intercept.
    amplitudes_ : ndarray of shape (n_frequencies,)
        Size of every feature's coefficients.
    alpha_ : float
        Penalty that was used.
    gcv_ : float
        Generalised cross-validation score: an estimate of the mean squared error.
    descent_errors_ : list of list of float
        Mean squared error of every descent before and after each step, in units of the target's
        variance. It never rises.
    n_iter_ : int
        Most steps that a descent took.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    GreedyFourierFeatures : The features alone.
    AlaCarteRegressor : All frequencies learned together, slower.

    Notes
    -----
    Standardise the columns first. Do not use it where trees do better (step functions of
    single columns: `sklearn.ensemble.HistGradientBoostingRegressor`) or with few rows
    (`sklearn.kernel_ridge.KernelRidge` is exact there).

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from octavo.kernel import GreedyFourierRegressor
    >>> X, y = make_friedman1(3000, noise=1.0, random_state=0)
    >>> model = make_pipeline(StandardScaler(), GreedyFourierRegressor(random_state=0))
    >>> round(model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]), 2)
    0.95
    """

    def __init__(
        self,
        n_workers=5,
        max_descent_steps=20,
        n_epochs=1,
        *,
        tol=0.01,
        prune=1e-6,
        basis="cos",
        sample_size=None,
        alpha="gcv",
        n_jobs=None,
        min_fold_size=20,
        max_iter=100,
        random_state=None,
    ):
        self.n_workers = n_workers
        self.max_descent_steps = max_descent_steps
        self.n_epochs = n_epochs
        self.tol = tol
        self.prune = prune
        self.basis = basis
        self.sample_size = sample_size
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.min_fold_size = min_fold_size
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the features and the model on them.

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
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        found = self._learn(X, np.asarray(y, dtype=np.float64), self.alpha)
        self.coef_, self.intercept_, self.alpha_, self.gcv_ = found.ridge
        self.amplitudes_ = amplitudes(self.coef_, self._basis())
        return self

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
            y[rows] = self._features(X[rows]) @ self.coef_ + self.intercept_
        return y
