"""What gradient descent and the stopped ridge share: rows, targets, kernel, noise, prediction."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import block_megabytes, check_gram, resolve_kernel, row_chunks
from octavo.engine.kernels.namespaces import (
    check_same_namespace,
    namespace_of,
    to_namespace,
    to_numpy,
)
from octavo.engine.spectral.gram_path import Spectrum
from octavo.kernel.early_stopping.noise import (
    Masses,
    chosen_ridge,
    gasser_variance,
    hall_marron_variance,
    tail_masses,
)

FEWEST_ROWS = 4


def beside(values: Any, K: Any) -> Any:
    """Return host numbers in the namespace, on the device and in the precision of K."""
    return to_namespace(np.asarray(values), K)


class Problem(NamedTuple):
    """Rows X, their Gram matrix K, and targets Y (n, n_outputs): centred and scaled."""

    X: Any
    K: Any
    Y: Floats
    center: Floats
    scale: Floats
    is_single: bool


class StoppedKernelMachine(MultiOutputMixin, RegressorMixin, SoundEstimator):
    """The shared part; see `KernelGDRegressor` and `StoppedKernelRidge`."""

    _parameter_constraints: dict[str, Any] = {
        "kernel": [str, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "auto"}), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "noise": [
            StrOptions({"hall_marron", "difference", "ridge"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "hilbert_radius": [Interval(Real, 0, None, closed="neither")],
        "constant": [StrOptions({"theory"}), Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scale_y": ["boolean"],
        "random_state": ["random_state"],
    }
    _parameter_constraints["noise"].append(Interval(Integral, 1, None, closed="left"))

    def _validated(self, X: Any, reset: bool) -> Any:
        xp = namespace_of(X).xp if not sp.issparse(X) else np
        return validate_rows(
            self,
            X,
            reset=reset,
            accept_sparse=False if self.kernel == "precomputed" else "csr",
            dtype=[xp.float64, xp.float32],
            ensure_min_samples=FEWEST_ROWS if reset else 1,
        )

    def _problem(self, X: Any, y: Any) -> Problem:
        xp = namespace_of(X).xp if not sp.issparse(X) else np
        X, y = validate_rows(
            self,
            X,
            y,
            accept_sparse=False if self.kernel == "precomputed" else "csr",
            dtype=[xp.float64, xp.float32],
            ensure_min_samples=FEWEST_ROWS,
            multi_output=True,
            y_numeric=True,
        )
        target = to_numpy(y).astype(np.float64)
        is_single = target.ndim == 1
        target = target.reshape(len(target), -1)
        check_squares(target, "y")
        if self.kernel == "precomputed":
            check_gram(to_numpy(X), definite=False)
        self.kernel_ = resolve_kernel(
            self.kernel,
            X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        K = self._gram(X)
        center = target.mean(axis=0) if self.fit_intercept else np.zeros(target.shape[1])
        target = target - center
        spread = np.sqrt((target**2).mean(axis=0)) if self.scale_y else np.ones(len(center))
        # what rounding leaves of a constant less its mean is no signal
        quiet = spread <= 1e-14 * np.abs(center)
        target[:, quiet] = 0.0
        spread = np.where(quiet | (spread == 0.0), 1.0, spread)
        return Problem(X, K, target / spread, center, spread, is_single)

    def _gram(self, X: Any) -> Any:
        if self.kernel_.name == "precomputed":
            return X
        K = self.kernel_.block(X, X)
        if sp.issparse(K):
            K = K.toarray()
        if namespace_of(K).is_numpy and K.dtype.kind != "f":
            K = np.asarray(K, dtype=np.float64)
        return K

    def _sigmas(self, problem: Problem, spectrum: Spectrum) -> Floats:
        """Return the noise's size of every output, in units of the scaled targets."""
        if not isinstance(self.noise, str):
            return np.full(len(problem.scale), float(self.noise)) / problem.scale
        line = self._line(problem.X)
        if self.noise == "difference":
            if line is None:
                raise ValueError(
                    'noise="difference" compares neighbours on a line and needs one column of X; '
                    'use noise="hall_marron", or give the noise as a number.'
                )
            estimate: Callable[[Floats], float] = lambda y: gasser_variance(line, y)  # noqa: E731
        elif self.noise == "hall_marron" and line is not None:
            estimate = lambda y: hall_marron_variance(line, y)  # noqa: E731
        else:
            estimate = lambda y: self._ridge_variance(problem, y, spectrum)[0]  # noqa: E731
        return np.sqrt([max(estimate(y), 0.0) if y.any() else 0.0 for y in problem.Y.T])

    def _line(self, X: Any) -> Floats | None:
        """Return the one column of X on the host, or None where there are several."""
        if self.kernel_.name == "precomputed" or X.shape[1] != 1:
            return None
        return np.asarray(X.toarray() if sp.issparse(X) else to_numpy(X), dtype=np.float64)[:, 0]

    @staticmethod
    def _ridge_variance(problem: Problem, y: Floats, spectrum: Spectrum) -> tuple[float, float]:
        """Estimate the noise's variance by ridge regression; return also what part is in doubt.

        What is not listed of the spectrum is known by its sums of 1, λ and λ², and so is what y has
        there, by one product K y: points with the same sums stand for both. Two such rules bound
        the sums from either side; where they differ there is doubt.
        """
        K = spectrum.vectors if spectrum.is_whole else problem.K
        target, n = to_namespace(y, K), spectrum.n
        values = np.maximum(spectrum.values, 0.0)
        squares = to_numpy(spectrum.vectors.T @ target).astype(np.float64) ** 2
        if spectrum.is_whole:
            return chosen_ridge(Masses(values, np.ones(n)), Masses(values, squares), n)[0], 0.0
        image = to_numpy(K @ target).astype(np.float64) / n
        sums = (  # what the listed eigenvectors leave of tr, of y'y, y'Ky and y'K²y
            (n - len(values), spectrum.rest, spectrum.rest_square),
            (
                y @ y - squares.sum(),
                y @ image - squares @ values,
                image @ image - squares @ values**2,
            ),
        )
        rules = []
        for above in (False, True):
            tail, energy = (
                tail_masses(float(a), float(b), float(c), float(values[-1]), above=above)
                for a, b, c in sums
            )
            every = np.append(np.ones(len(values)), tail.weights)
            rules.append(
                (
                    Masses(np.append(values, tail.at), every),
                    Masses(np.append(values, energy.at), np.append(squares, energy.weights)),
                )
            )
        limit = 1.0 / max(float(values[-1]), 1e-300)  # where the two rules begin to part
        (low, has_low), (high, has_high) = (chosen_ridge(*rule, n, limit) for rule in rules)
        if has_low and has_high:
            return low, abs(high - low) / max(low, 1e-300)
        return chosen_ridge(*rules[0], n, 30.0 * limit)[0], np.inf

    def _noise_doubt(self, problem: Problem, spectrum: Spectrum) -> float:
        """Return what part of the noise's variance the eigenvalues not listed may change."""
        if not isinstance(self.noise, str) or self.noise == "difference" or spectrum.is_whole:
            return 0.0
        if self.noise == "hall_marron" and self._line(problem.X) is not None:
            return 0.0
        found = [self._ridge_variance(problem, y, spectrum)[1] for y in problem.Y.T if y.any()]
        return max(found, default=0.0)

    def _check_definite(self, spectrum: Spectrum) -> None:
        rounding = 1e-8
        if spectrum.vectors is not None:  # eigenvalues are wrong by units in the last place
            xp = namespace_of(spectrum.vectors).xp
            rounding = max(rounding, 64.0 * float(xp.finfo(spectrum.vectors.dtype).eps))
        if spectrum.lowest < -rounding * max(float(spectrum.values[0]), 0.0) - 1e-300:
            warnings.warn(
                f"The kernel matrix is indefinite: the smallest eigenvalue of Gram/n is "
                f"{spectrum.lowest:.3g}. Its negative part is left out.",
                UserWarning,
                stacklevel=3,
            )

    def _keep(self, problem: Problem, coefficients: list[Any], rows: Any = None) -> None:
        """Store what predictions need."""
        xp = namespace_of(problem.K).xp
        scaled = [float(s) * c for s, c in zip(problem.scale, coefficients)]
        self.dual_coef_ = scaled[0] if problem.is_single else xp.stack(scaled, axis=1)
        center = problem.center
        self.intercept_ = float(center[0]) if problem.is_single else beside(center, problem.K)
        self._scale = tuple(map(float, problem.scale))
        self._n_rows = problem.X.shape[0] if rows is None else len(rows)
        self._rows = None if rows is None else to_namespace(rows.astype(np.int64), problem.K)
        if self.kernel_.name == "precomputed":
            self.X_fit_ = None
        elif rows is None:
            self.X_fit_ = problem.X
        elif sp.issparse(problem.X):
            self.X_fit_ = problem.X[rows]
        else:
            self.X_fit_ = xp.take(problem.X, self._rows, axis=0)

    def _against(self, X: Any) -> Any:
        """Return kernel values of rows with those that were fitted."""
        if self.kernel_.name != "precomputed":
            return self.kernel_.block(X, self.X_fit_)
        if self._rows is None:
            return X
        return namespace_of(X).xp.take(X, self._rows, axis=1)

    def _predicted(self, X: Any, coefficients: Any) -> Any:
        """Return k(X, rows) @ coefficients + intercept, by chunks of rows."""
        check_same_namespace(X, self, attribute="dual_coef_", method="predict")
        X = self._validated(X, reset=False)
        xp = namespace_of(X).xp if not sp.issparse(X) else np
        parts = []
        for rows in row_chunks(X.shape[0], self._n_rows, megabytes=block_megabytes(X)):
            block = self._against(X[rows] if sp.issparse(X) else X[rows, :])
            if sp.issparse(block):
                block = block.toarray()
            parts.append(block @ coefficients + self.intercept_)
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.array_api_support = True
        # the constant of the proof stops long before the data are used up
        tags.regressor_tags.poor_score = isinstance(self.constant, str)
        return tags
