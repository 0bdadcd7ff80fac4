"""Kernel regression by gradient descent that is stopped in time, without a validation set.

The only regularisation is when to stop. The paper's rule computes that time from the kernel's
eigenvalues and the size of the noise; Stein's estimate, hold-out, cross-validation and a fixed
time are there beside it, all on one spectral path.

Reference: Raskutti, Wainwright and Yu (2014), "Early Stopping and Non-parametric Regression: An
Optimal Data-dependent Stopping Rule", Sections 2 and 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy
from octavo.engine.spectral.descent import descent
from octavo.engine.spectral.gram_path import (
    SpectralPath,
    Spectrum,
    Steps,
    all_eigenvalues,
    at_least,
    eta_at,
    factor_rows,
    krylov_path,
    top_spectrum,
    whole_path,
    whole_spectrum,
)
from octavo.kernel.early_stopping.base import Problem, StoppedKernelMachine, beside
from octavo.kernel.early_stopping.complexity import (
    THEORY,
    check_steps,
    rademacher_squares,
    radius_square,
    time_of_rule,
)
from octavo.kernel.early_stopping.risk import stop_on_curve
from octavo.kernel.early_stopping.rules import (
    HeldOut,
    fitted_trace,
    folds,
    held_out,
    horizon,
    same_travel,
    sure_of_path,
)
from octavo.kernel.early_stopping.spline_kernels import SobolevKernel

__all__ = ["KernelGDRegressor"]

_FIRST_EIGENVALUES = 64  # that Lanczos is asked for; the ridge behind the noise lives on them
_ALL_EIGENVALUES = 8000  # rows up to which all of them are computed where the top is not enough
_MOST_TRIED = 256  # eigenvalues that solver="auto" asks for before it turns to all of them
_MANY_ROWS = 3000  # beyond which solver="auto" tries the top of the spectrum first
_DOUBT = 3e-3  # part of the noise's variance that eigenvalues not looked at may change there
_MUCH_DOUBT = 0.1  # part of it at which solver="lanczos" and "iterate" warn
_DEFINITE = frozenset(["rbf", "laplacian", "linear", "cosine"])
_KEPT_BYTES = 2**28  # of iterates that solver="iterate" remembers
_DECOMPOSED = frozenset(
    ["kernel", "gamma", "degree", "coef0", "kernel_params", "fit_intercept", "scale_y", "solver"]
)


class Half(NamedTuple):
    """The rows that a hold-out learned from, and what it found, an output each."""

    train: Indices
    found: list[HeldOut]


class KernelGDRegressor(CallbackSupportMixin, StoppedKernelMachine):
    """Kernel least squares by gradient descent, stopped by a rule that needs no validation set.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name of scikit-learn's kernels, ``"precomputed"``, or a function of two arrays, for
        instance `sobolev_kernel`.
    gamma : float, {"scale", "auto"} or None, default=None
        Scale of the kernel; None is 1 / n_features.
    step : float, "auto" or callable, default="auto"
        Step size: at most min(1, 1/λ₁), which is ``"auto"``; λ₁ is the largest eigenvalue of
        Gram/n. A function of t = 0, 1, ... gives a sequence, which must not increase.
    stopping : {"rademacher", "sure", "holdout", "cv"} or int, default="rademacher"
        The paper's rule (6); Stein's estimate (15); a hold-out (14); cross-validation; or a time.
    noise : {"hall_marron", "difference", "ridge"} or float, default="hall_marron"
        Standard deviation of the noise, in units of y, or how to estimate it. ``"hall_marron"``
        has a Nadaraya-Watson smoother for one column, kernel ridge regression for more or a
        precomputed kernel; ``"ridge"`` has the latter always (`ridge_variance`);
        ``"difference"`` is for one column (`gasser_variance`).
    hilbert_radius : float, default=1.0
        B with |f*|_H <= B, in units of y as scaled.
    constant : float or "theory", default="theory"
        Constant of the rule. The proof's 2e stops early; 1.0 is near the best time in simulations.
    mode : {"argmin", "first"}, default="argmin"
        How ``"sure"``, ``"holdout"`` and ``"cv"`` read a curve of risk: its minimum, or the
        paper's first rise, which noise can trigger at once.
    fit_intercept : bool, default=True
        Whether the mean of y is subtracted first.
    scale_y : bool, default=True
        Whether y is divided by its standard deviation, so that a unit ball makes sense.
    solver : {"auto", "eigh", "iterate", "lanczos"}, default="auto"
        One decomposition of the Gram matrix, for all times; the recursion itself; or the Krylov
        space of y. The last two need only the top of the spectrum and are for many rows.
        ``"auto"`` is ``"eigh"`` up to 3,000 rows; beyond, ``"lanczos"`` for a kernel that is known
        to be positive definite if the top of the spectrum settles the rule and the noise (its
        standard deviation to about one part in 1,000), and ``"eigh"`` if it does not.
    max_iter : int, default=10000
        The last time that is looked at.
    unsafe : bool, default=False
        Whether `step` may be anything below 2/λ₁, where descent still converges; the theory ends
        at min(1, 1/λ₁), and coordinates beyond it are approached from both sides.
    degree : float, default=3
        Exponent of ``"poly"``.
    coef0 : float, default=1.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    holdout : float, default=0.5
        Share of the rows that ``stopping="holdout"`` holds out.
    refit : bool, default=True
        Whether ``"holdout"`` then goes as far on all rows; the paper keeps the half.
    cv : int, default=5
        Folds of ``stopping="cv"``.
    random_state : int, RandomState instance or None, default=None
        Splits of ``"holdout"`` and ``"cv"``.

    Attributes
    ----------
    n_iter_ : int or ndarray of shape (n_outputs,)
        The stopping time T.
    eta_ : float or ndarray of shape (n_outputs,)
        Sum of the steps up to T.
    sigma_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in units of y.
    eigenvalues_ : ndarray
        Eigenvalues of Gram/n from the largest on; the top ones unless `solver_` is ``"eigh"``.
    critical_radius_ : float or ndarray of shape (n_outputs,)
        ε of Eq. (5), for the scaled targets.
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_outputs)
        Coefficients of the kernel functions.
    intercept_ : float or ndarray of shape (n_outputs,)
        What is added.
    risk_curve_ : ndarray of shape (n_times,) or (n_times, n_outputs), or None
        Estimated risk at t = 0, 1, ... for the rules that have one, for the scaled targets.
    complexity_curve_ : ndarray of shape (max_iter + 1,)
        R(η_t^(-1/2)) at t = 0, 1, ...: Eq. (4).
    df_ : float or ndarray of shape (n_outputs,)
        Degrees of freedom of the smoother, tr(1 - S_T).
    step_ : float or ndarray of shape (max_iter,)
        Step sizes.
    solver_ : {"eigh", "iterate", "lanczos"}
        The solver that was used.
    kernel_ : Kernel
        The kernel with its parameters settled.
    X_fit_ : array of shape (n_samples, n_features) or None
        The rows that predictions compare with; None with a precomputed kernel.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    StoppedKernelRidge : The same rule for the penalty of kernel ridge regression.
    stopping_time : The rule alone.

    Notes
    -----
    Do not use it where a kernel must be chosen as well: the rules know the kernel and the noise,
    and a wrong width is not theirs to repair; search over `gamma`. Without noise to average,
    `sklearn.kernel_ridge.KernelRidge` with a tiny penalty interpolates.

    With scikit-learn's ``array_api_dispatch`` Gram products, decompositions and coefficients stay
    in the namespace and on the device of X.

    References
    ----------
    .. [1] G. Raskutti, M. J. Wainwright and B. Yu (2014). "Early Stopping and Non-parametric
       Regression: An Optimal Data-dependent Stopping Rule". JMLR 15.

    Examples
    --------
    >>> from octavo.data import make_kinked_curve
    >>> from octavo.kernel import KernelGDRegressor, sobolev_kernel
    >>> X, y, f_star = make_kinked_curve(200, random_state=0)
    >>> model = KernelGDRegressor(
    ...     sobolev_kernel(1), step=0.25, noise=1.0, scale_y=False, fit_intercept=False
    ... ).fit(X, y)
    >>> model.n_iter_
    18
    >>> bool(((model.predict(X) - f_star) ** 2).mean() < 0.05)
    True
    >>> model.stopped_by(constant=1.0).n_iter_  # from the same decomposition
    185
    """

    _parameter_constraints: dict[str, Any] = {
        **StoppedKernelMachine._parameter_constraints,
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), callable],
        "stopping": [
            StrOptions({"rademacher", "sure", "holdout", "cv"}),
            Interval(Integral, 0, None, closed="left"),
        ],
        "mode": [StrOptions({"argmin", "first"})],
        "max_iter": [Interval(Integral, 1, 10_000_000, closed="both")],
        "solver": [StrOptions({"auto", "eigh", "iterate", "lanczos"})],
        "unsafe": ["boolean"],
        "holdout": [Interval(Real, 0, 1, closed="neither")],
        "refit": ["boolean"],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        kernel="rbf",
        gamma=None,
        step="auto",
        stopping="rademacher",
        noise="hall_marron",
        hilbert_radius=1.0,
        constant="theory",
        mode="argmin",
        fit_intercept=True,
        scale_y=True,
        solver="auto",
        *,
        max_iter=10_000,
        unsafe=False,
        degree=3,
        coef0=1.0,
        kernel_params=None,
        holdout=0.5,
        refit=True,
        cv=5,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.step = step
        self.stopping = stopping
        self.noise = noise
        self.hilbert_radius = hilbert_radius
        self.constant = constant
        self.mode = mode
        self.fit_intercept = fit_intercept
        self.scale_y = scale_y
        self.solver = solver
        self.max_iter = max_iter
        self.unsafe = unsafe
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.holdout = holdout
        self.refit = refit
        self.cv = cv
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the stopping time and the coefficients at it.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Rows, at least four; with a precomputed kernel the Gram matrix.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Targets. Every output has its own noise and its own time.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        rng = check_random_state(self.random_state)
        problem = self._problem(X, y)
        with FitProgress(self, None, problem.X, y, step_name="stage") as progress:
            spectrum, sigmas = self._spectrum_and_noise(problem)
            progress.step()
            self._stop(problem, spectrum, sigmas, rng, progress.step)
            progress.step()
        return self

    def _stop(self, problem, spectrum, sigmas, rng, step=lambda: None):
        """Ask the rule for its times and store the fit at them."""
        steps = self._steps(float(spectrum.values[0]))
        paths = self._whole_paths(problem, spectrum)
        if self.stopping == "sure":
            times, spectrum, paths = self._by_sure(problem, spectrum, sigmas, steps, paths)
            held = None
        else:
            times, held = self._times(problem, spectrum, sigmas, steps, rng)
        step()
        self._settle(problem, spectrum, sigmas, steps, times)
        self._coefficients(problem, steps, times, paths, held)
        # what another rule would need; a half that was kept has forgotten the other rows
        known = spectrum if self.solver_ == "eigh" else None
        self._top = None if known is not None or self.solver_ == "iterate" else spectrum
        self._whole = (problem._replace(X=None, K=None), known) if held is None else None

    def stopped_by(self, stopping: Any = None, **params: Any) -> Self:
        """Return a copy that another rule has stopped, from the same decomposition if there is one.

        Parameters
        ----------
        stopping : str or int, default=None
            The rule, as in the constructor; this model's by default.
        **params
            Other parameters to change: of the rule, the noise or the steps. Those of the kernel,
            of the targets and of the solver cannot be changed.

        Returns
        -------
        KernelGDRegressor
            Fitted, as by `fit` with these parameters; no matrix is decomposed again. A hold-out
            and folds compute the Gram matrix again and follow the paths of their parts, as the
            other solvers do for every rule.
        """
        check_is_fitted(self)
        if self._whole is None or (self._whole[1] is None and self.X_fit_ is None):
            raise ValueError(
                'stopped_by needs all rows: refit=True for a hold-out, and solver="eigh" for a '
                f"precomputed kernel; this model has solver={self.solver_!r} and "
                f"stopping={self.stopping!r}."
            )
        fixed = sorted(_DECOMPOSED.intersection(params))
        if fixed:
            raise ValueError(f"{fixed[0]} belongs to the decomposition; fit again to change it.")
        model = clone(self).set_params(**params)
        if stopping is not None:
            model.set_params(stopping=stopping)
        model._validate_params()
        for name in ("kernel_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        problem, spectrum = self._whole
        # a rule that looks at eigenvalues asks of K only where numbers are to live
        needs_gram = spectrum is None or model.stopping in ("holdout", "cv")
        K: Any = self._gram_again(spectrum) if spectrum is None or needs_gram else spectrum.vectors
        problem = problem._replace(X=self.X_fit_ if self.X_fit_ is not None else K, K=K)
        if spectrum is None and model.stopping != "rademacher" and "noise" not in params:
            spectrum = self._top  # what this rule would have asked for, or more of it
        if spectrum is None:
            spectrum, sigmas = model._spectrum_and_noise(problem)
        else:
            model.solver_ = self.solver_
            sigmas = model._sigmas(problem, spectrum)
        model._stop(problem, spectrum, sigmas, check_random_state(model.random_state))
        return model

    def _gram_again(self, spectrum: Spectrum | None) -> Any:
        if self.X_fit_ is not None:
            return self._gram(self.X_fit_)
        assert spectrum is not None
        scaled = spectrum.vectors * to_namespace(spectrum.n * spectrum.values, spectrum.vectors)
        return scaled @ spectrum.vectors.T

    # --- what the rules look at ------------------------------------------------------------------

    def _scale_of_rule(self, sigma: float) -> float:
        constant = THEORY if isinstance(self.constant, str) else float(self.constant)
        # c σ/B: targets over B have ||f*|| at most one, and noise of σ/B
        return constant * sigma / float(self.hilbert_radius)

    def _spectrum_and_noise(self, problem: Problem) -> tuple[Spectrum, Floats]:
        """Return the eigenvalues that the rule needs, and the size of the noise."""
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = "eigh"
            if len(problem.Y) > _MANY_ROWS and self._is_definite():
                spectrum, sigmas, doubt = self._top_and_noise(problem)
                if doubt <= _DOUBT:
                    self.solver_ = "lanczos"
                    return spectrum, sigmas
        if self.solver_ == "eigh":
            spectrum = whole_spectrum(problem.K)
            self._check_definite(spectrum)
            return spectrum, self._sigmas(problem, spectrum)
        spectrum, sigmas, doubt = self._top_and_noise(problem)
        if doubt > _MUCH_DOUBT and self._noise_doubt(problem, spectrum) > _MUCH_DOUBT:
            warnings.warn(
                f"The noise, {_shown(sigmas * problem.scale)}, is not settled by the "
                f"{len(spectrum.values)} eigenvalues that solver={self.solver_!r} looked at. Give "
                'noise as a number, or take solver="eigh".',
                ConvergenceWarning,
                stacklevel=4,
            )
        return spectrum, sigmas

    def _is_definite(self) -> bool:
        """Tell whether the kernel is positive definite by what it is."""
        kernel = self.kernel_
        return kernel.name in _DEFINITE or isinstance(kernel.function, SobolevKernel)

    def _top_and_noise(self, problem: Problem) -> tuple[Spectrum, Floats, float]:
        """Return the top of the spectrum, the noise, and how much of its variance is in doubt.

        Without doubt more eigenvalues would not change the rule's answer; it is infinite where the
        rule itself, or the penalty behind the noise, lies beyond those that were looked at.
        """
        wanted, is_trial = _FIRST_EIGENVALUES, self.solver == "auto"
        moments = None
        while True:
            spectrum = top_spectrum(problem.K, at_least(wanted), moments=moments)
            moments = spectrum.trace, spectrum.square
            sigmas = self._sigmas(problem, spectrum)
            smallest = min((self._radius(spectrum, s) for s in sigmas if s > 0.0), default=np.inf)
            done = spectrum.is_whole or spectrum.values[-1] <= smallest
            done = done or self.stopping != "rademacher"
            doubt = self._noise_doubt(problem, spectrum) if done or not is_trial else np.inf
            is_last = wanted >= _MOST_TRIED and (is_trial or done)
            if (done and doubt <= _DOUBT) or is_last or len(spectrum.values) < wanted:
                return spectrum, sigmas, doubt if done else np.inf
            wanted *= 4

    def _radius(self, spectrum: Spectrum, sigma: float) -> float:
        scale = self._scale_of_rule(sigma)
        return radius_square(spectrum.values, spectrum.rest, spectrum.n, scale)

    def _steps(self, top: float) -> Steps:
        if isinstance(self.step, str):
            return min(1.0, 1.0 / top) if top > 0.0 else 1.0
        if not callable(self.step):
            return check_steps(float(self.step), top, unsafe=self.unsafe)
        longest = max(self.max_iter, self.stopping if isinstance(self.stopping, Integral) else 0)
        sizes = [float(self.step(t)) for t in range(longest)]
        return check_steps(sizes, top, unsafe=self.unsafe)

    def _whole_paths(self, problem: Problem, spectrum: Spectrum) -> list[SpectralPath] | None:
        if self.solver_ != "eigh":
            return None
        return [whole_path(spectrum, to_namespace(y, problem.K)) for y in problem.Y.T]

    # --- when to stop ----------------------------------------------------------------------------

    def _times(
        self,
        problem: Problem,
        spectrum: Spectrum,
        sigmas: Floats,
        steps: Steps,
        rng: np.random.RandomState,
    ) -> tuple[list[int], Half | None]:
        """Return T of every output; for a hold-out that is not refitted, its paths too."""
        self.risk_curve_ = None
        if isinstance(self.stopping, Integral):
            return [int(self.stopping)] * len(sigmas), None
        if self.stopping == "rademacher":
            return [
                time_of_rule(
                    spectrum.values,
                    spectrum.rest,
                    spectrum.n,
                    self._scale_of_rule(sigma),
                    steps,
                    self.max_iter,
                )
                for sigma in sigmas
            ], None
        if self.stopping == "holdout":
            return self._by_holdout(problem, steps, rng)
        return self._by_folds(problem, steps, rng), None

    def _by_sure(self, problem, spectrum, sigmas, steps, paths):
        """Stop by Eq. (15); with the top eigenvalues alone, more of them until they suffice."""
        targets = [to_namespace(y, problem.K) for y in problem.Y.T]
        while True:
            last = horizon(spectrum, steps, self.max_iter)
            ways = paths or [krylov_path(problem.K, y, steps, last) for y in targets]
            curves = [sure_of_path(spectrum, p, s, steps, last) for p, s in zip(ways, sigmas)]
            times = [stop_on_curve(curve, self.mode) for curve in curves]
            if last >= self.max_iter or last not in times:
                break
            wanted = 4 * len(spectrum.values)
            if spectrum.n <= _ALL_EIGENVALUES:
                more = all_eigenvalues(problem.K)
            else:
                more = top_spectrum(problem.K, at_least(wanted))
            if len(more.values) < wanted and not more.is_whole:
                warnings.warn(
                    f"Stein's estimate still falls at t = {last}, the last time for which the "
                    f"{len(spectrum.values)} eigenvalues of solver={self.solver_!r} suffice; "
                    'solver="eigh" looks further.',
                    ConvergenceWarning,
                    stacklevel=4,
                )
                break
            spectrum = more
        self.risk_curve_ = _columns(curves, problem)
        return times, spectrum, ways

    def _by_holdout(self, problem, steps, rng):
        n = len(problem.Y)
        order = rng.permutation(n)
        n_test = min(max(1, round(self.holdout * n)), n - 2)
        test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
        found = [
            held_out(problem.K, y, train, test, steps, self.max_iter, self.unsafe)
            for y in problem.Y.T
        ]
        self.risk_curve_ = _columns([f.curve for f in found], problem)
        times = [stop_on_curve(f.curve, self.mode) for f in found]
        if not self.refit:  # Eq. (14)
            return times, Half(train, found)
        # refitted on all rows for the same η, where the paper keeps half of them
        return [same_travel(steps, f.steps, t, self.max_iter) for f, t in zip(found, times)], None

    def _by_folds(self, problem, steps, rng):
        n = len(problem.Y)
        if n < self.cv:
            raise ValueError(f"cv={self.cv} folds need as many rows; there are {n}.")
        parts = folds(n, self.cv, rng)
        times, curves = [], []
        for y in problem.Y.T:
            found = [
                held_out(problem.K, y, *part, steps, self.max_iter, self.unsafe) for part in parts
            ]
            weighted = [f.curve * len(test) for f, (_, test) in zip(found, parts)]
            curve = np.sum(weighted, axis=0) / n
            t = stop_on_curve(curve, self.mode)
            times.append(same_travel(steps, found[0].steps, t, self.max_iter))
            curves.append(curve)
        self.risk_curve_ = _columns(curves, problem)
        return times

    # --- the fit ---------------------------------------------------------------------------------

    def _settle(self, problem, spectrum, sigmas, steps, times):
        """Store what the rules saw, and warn of times at either end."""
        single, K = problem.is_single, problem.K
        self.step_ = steps if np.ndim(steps) == 0 else beside(steps, K)
        self.eigenvalues_ = beside(spectrum.values, K)
        self.n_iter_ = times[0] if single else beside(np.array(times), K)
        etas = np.array([eta_at(steps, t) for t in times])
        self.eta_ = _one(etas, single, K)
        self.sigma_ = _one(sigmas * problem.scale, single, K)
        radii = np.sqrt([self._radius(spectrum, s) for s in sigmas])
        self.critical_radius_ = _one(radii, single, K)
        longest = max(self.max_iter, *times)
        freedom = fitted_trace(spectrum, steps, longest)
        self.df_ = _one(np.array([freedom[t] for t in times]), single, K)
        with np.errstate(divide="ignore"):
            if np.ndim(steps) == 0:
                squares = 1.0 / (float(steps) * np.arange(self.max_iter + 1))  # ε = η^(−1/2)
            else:
                squares = 1.0 / np.append(0.0, np.cumsum(steps)[: self.max_iter])
        complexity = rademacher_squares(spectrum.values, spectrum.rest, squares, spectrum.n)
        self.complexity_curve_ = beside(np.sqrt(complexity), K)
        moving = problem.Y.any(axis=0)
        if isinstance(self.stopping, str) and any(t == 0 for t, m in zip(times, moving) if m):
            warnings.warn(
                "The stopping time is 0, so that the prediction is constant: the noise, "
                f"{_shown(sigmas * problem.scale)}, is too large for the rule, or hilbert_radius "
                "and the kernel's scale do not suit y.",
                UserWarning,
                stacklevel=4,
            )
        at_end = [t >= self.max_iter for t, m in zip(times, moving) if m]
        if isinstance(self.stopping, str) and any(at_end):
            warnings.warn(
                f"The stopping time reached max_iter={self.max_iter}; the noise was taken to be "
                f"{_shown(sigmas * problem.scale)}. Raise max_iter, or look at the kernel's scale.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _coefficients(self, problem, steps, times, paths, held):
        """Compute c_T by the closed form, the recursion or in the Krylov space."""
        self._paths, self._iterates = paths, None
        if held is not None:  # the half that the paper keeps
            self._paths = [found.path for found in held.found]
            coefficients = [f.path.coefficients(f.steps, t) for f, t in zip(held.found, times)]
            self.step_ = beside(held.found[0].steps, problem.K)
            return self._keep(problem, coefficients, held.train)
        if self.solver_ == "iterate":
            self._paths = None
            return self._keep(problem, self._by_recursion(problem, steps, times))
        if paths is None:
            targets = [to_namespace(y, problem.K) for y in problem.Y.T]
            self._paths = [krylov_path(problem.K, y, steps, t) for y, t in zip(targets, times)]
        found = [p.coefficients(steps, t) for p, t in zip(self._paths, times)]
        return self._keep(problem, found)

    def _by_recursion(self, problem, steps, times):
        Y = to_namespace(problem.Y, problem.K)
        sizes = np.atleast_1d(np.asarray(steps))

        def step_at(t: int) -> float:
            return float(sizes[min(t, len(sizes) - 1)])

        last, chosen = max(times), [None] * len(times)
        fits = 8 * Y.shape[0] * Y.shape[1] * (last + 1) <= _KEPT_BYTES
        self._iterates = [] if fits else None
        for t, c in enumerate(islice(descent(problem.K, Y, step_at), last + 1)):
            if self._iterates is not None:
                self._iterates.append(c)
            for j, T in enumerate(times):
                if t == T:
                    chosen[j] = c[:, j]
        return chosen

    # --- predictions -----------------------------------------------------------------------------

    def predict(self, X: Any, n_iter: int | None = None) -> Any:
        """Predict at the stopping time, or at another.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Rows; with a precomputed kernel, their kernel values with all training rows.
        n_iter : int, default=None
            Time t of the path; the stopping time by default. Any time, but for a precomputed kernel
            and ``solver_`` "iterate" or "lanczos", which forget the Gram matrix: up to the stopping
            time. Beyond it "lanczos" computes that matrix and the path again.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, in the namespace of X.
        """
        check_is_fitted(self)
        if n_iter is None:
            return self._predicted(X, self.dual_coef_)
        if isinstance(n_iter, bool) or not isinstance(n_iter, Integral) or n_iter < 0:
            raise ValueError(f"n_iter must be a whole number, at least 0; got {n_iter!r}.")
        return self._predicted(X, self._coefficients_at(int(n_iter)))

    def _coefficients_at(self, t: int) -> Any:
        self._check_reach(t)
        xp = namespace_of(self.dual_coef_).xp
        if self._iterates is not None:
            columns = [self._iterates[t][:, j] for j in range(len(self._scale))]
        else:
            steps = self._host_steps()
            columns = [path.coefficients(steps, t) for path in self._paths_to(t)]
        scaled = [float(s) * c for s, c in zip(self._scale, columns)]
        return scaled[0] if self.dual_coef_.ndim == 1 else xp.stack(scaled, axis=1)

    def _knows(self, t: int) -> bool:
        """Tell whether the path that was kept holds time t."""
        keeps_half = self.stopping == "holdout" and not self.refit  # followed up to max_iter
        return self.solver_ == "eigh" or keeps_half or t <= min(self._host_times())

    def _paths_to(self, t: int) -> list[SpectralPath]:
        """Return paths that hold time t; beyond the stopping time from a larger Krylov space."""
        if self._knows(t):
            return self._paths
        assert self._whole is not None
        K, steps = self._gram(self.X_fit_), self._host_steps()
        return [krylov_path(K, to_namespace(y, K), steps, t) for y in self._whole[0].Y.T]

    def _check_reach(self, t: int) -> None:
        last = min(self._host_times())
        if self.solver_ == "iterate" and self._iterates is None and self._paths is None:
            raise ValueError(
                f"{last + 1} iterates were too many to keep; solver='lanczos' or 'eigh' has the "
                "whole path."
            )
        can_extend = self.solver_ == "lanczos" and self.X_fit_ is not None
        if not self._knows(t) and not can_extend:
            raise ValueError(
                f"n_iter={t} is beyond the stopping time, {last}, up to which solver="
                f"{self.solver_!r} knows the path; solver='eigh' knows all of it."
            )
        known = np.size(self._host_steps())
        if known > 1 and t > known:
            raise ValueError(
                f"n_iter={t} is beyond the {known} step sizes that were computed; raise max_iter."
            )

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict at t = 1, 2, ... up to the stopping time (the largest of several outputs').

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, in the namespace of X.
        """
        check_is_fitted(self)
        last = max(self._host_times())
        if self._paths is None or self.dual_coef_.ndim > 1:
            for t in range(1, last + 1):
                yield self._predicted(X, self._coefficients_at(min(t, self._reach(last))))
            return
        path, scale = self._paths[0], float(self._scale[0])
        basis = self._predicted(X, path.vectors) - self.intercept_
        for t in range(1, last + 1):
            factors = factor_rows(path.values, self._host_steps(), [t])[0]
            factors = factors * path.z / path.vectors.shape[0]
            yield basis @ to_namespace(scale * factors, basis) + self.intercept_

    def _reach(self, last: int) -> int:
        return last if self.solver_ == "eigh" else min(self._host_times())

    def _host_times(self) -> list[int]:
        times = self.n_iter_
        return [times] if isinstance(times, int) else [int(t) for t in to_numpy(times)]

    def _host_steps(self) -> Steps:
        steps = self.step_
        return steps if isinstance(steps, float) else to_numpy(steps).astype(np.float64)


def _one(values: Floats, single: bool, K: Any) -> Any:
    return float(values[0]) if single else beside(np.asarray(values), K)


def _columns(curves: list[Floats], problem: Problem) -> Any:
    return beside(curves[0] if problem.is_single else np.stack(curves, axis=1), problem.K)


def _shown(sigmas: Floats) -> str:
    return ", ".join(f"{sigma:.3g}" for sigma in sigmas)
