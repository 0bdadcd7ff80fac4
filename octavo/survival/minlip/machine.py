"""What all utility machines share: feature maps of kernels, the solvers, and u(x).

A machine is solved in features: columns of X for a linear kernel, powers for a componentwise
polynomial, a Cholesky factor of the Gram matrix otherwise (exact to rounding, and of low rank for
smooth kernels), or Nyström features where a user asks for them.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.duals.threshold_program import threshold_qp_by_splitting
from octavo.engine.duals.threshold_qp import ThresholdProblem, solve_thresholds
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.gram import KERNELS, check_gram, resolve_kernel, settle_gamma
from octavo.engine.kernels.nystroem import nystroem_normalization
from octavo.engine.smooth.isotonic_newton import ChainWithLeaves, isotonic_ridge
from octavo.survival.minlip.kernels import ComponentwiseKernel, gram_factor, kernel_block
from octavo.survival.minlip.pairs import Thresholds

# Componentwise kernels by name, for grids and files; an instance of the class says more.
COMPONENTWISE = {f"componentwise_{base}": base for base in ComponentwiseKernel.BASES}
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, np.inf, closed="right"), None],
    "kernel": [StrOptions({*KERNELS, "polynomial", *COMPONENTWISE}), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}
REACH = 1e-13  # relative gaps below this are rounding
SUPPORT = 1e-9  # share of the largest multiplier that counts as none


class UtilityMachine(CallbackSupportMixin, SoundEstimator):
    """Base of machines with a utility u(x) = w·φ(x); subclasses say what must hold of it.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of the kernel, as in `sklearn.svm.SVC`.
    random_state : int, RandomState instance or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights w of a linear kernel.
    dual_coef_ : ndarray of shape (n_samples,)
        Multipliers: u(x) = Σ dual_coef_i K(x_i, x).
    support_ : ndarray of int
        Rows with a multiplier that is not zero.
    """

    def _check_rows(self, X: Any, **options: Any) -> Any:
        found = validate_data(self, X, dtype=np.float64, order="C", **options)
        check_squares(found[0] if isinstance(found, tuple) else found)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    # --- feature maps ------------------------------------------------------------------------

    def _feature_map(self, X: Floats, *, offset_free: bool = True) -> Floats:
        """Settle the kernel on the training rows and return their features."""
        self._map = "gram"
        centred = None
        if self.kernel == "precomputed":
            check_gram(X, definite=False)
            self._kernel: Any = None
            return gram_factor(X)
        additive = self._additive(X)
        if additive is not None:
            self._kernel = additive
            centred = additive.features(X) if offset_free else None
        else:
            self._kernel = resolve_kernel(
                self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
            if self.kernel == "linear":
                centred = X
        if self.n_components is not None and self.n_components < len(X):
            self._map = "landmarks"
            rng = check_random_state(self.random_state)
            chosen = np.sort(rng.permutation(len(X))[: self.n_components])
            self._landmarks = X[chosen]
            self._normalization = nystroem_normalization(
                kernel_block(self._kernel, self._landmarks, self._landmarks)
            )
            return kernel_block(self._kernel, X, self._landmarks) @ self._normalization
        if centred is not None and centred.shape[1] <= len(X):
            self._map = "columns"
            # Multipliers sum to zero, so that offsets change nothing but the rounding.
            return centred - centred.mean(axis=0) if offset_free else centred
        return gram_factor(kernel_block(self._kernel, X, X))

    def _additive(self, X: Floats) -> ComponentwiseKernel | None:
        """Return the componentwise kernel that was asked for, if one was."""
        if isinstance(self.kernel, ComponentwiseKernel):
            return self.kernel
        if isinstance(self.kernel, str) and self.kernel in COMPONENTWISE:
            gamma = settle_gamma(self.gamma, X) * X.shape[1]  # of one feature
            return ComponentwiseKernel(COMPONENTWISE[self.kernel], gamma, self.coef0)
        return None

    def _keep(self, X: Floats, w: Floats, q: Floats) -> None:
        """Store what utilities are computed from: weights, or multipliers of rows."""
        # Section 3.1: ‖w‖ in place of L
        self.lipschitz_ = float(np.linalg.norm(w))
        self.dual_coef_ = q
        self.support_ = np.flatnonzero(np.abs(q) > SUPPORT * np.abs(q).max(initial=0.0))
        self._weights = w
        if self.kernel == "linear":
            if self._map == "landmarks":
                self.coef_ = self._landmarks.T @ (self._normalization @ w)
            else:
                self.coef_ = w if self._map == "columns" else X.T @ q
        elif self._map == "gram" and self.kernel != "precomputed":
            self._rows = X[self.support_]

    def _utilities(self, X: Floats) -> Floats:
        if self.kernel == "linear":
            return X @ self.coef_
        if self._map == "columns":
            return self._kernel.features(X) @ self._weights  # u = φ(x)·w
        if self._map == "landmarks":
            return kernel_block(self._kernel, X, self._landmarks) @ (
                self._normalization @ self._weights
            )
        q = self.dual_coef_[self.support_]
        if self.kernel == "precomputed":
            return X[:, self.support_] @ q
        return kernel_block(self._kernel, X, self._rows) @ q  # Eq. (9), with q for D'α

    def predict_utility(self, X: Any) -> Floats:
        """Return the utility u(x) of each row: the larger, the later or the higher.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; for a precomputed kernel, its values with the training rows.

        Returns
        -------
        utility : ndarray of shape (n_samples,)
            Only their order and differences mean something.
        """
        check_is_fitted(self, "lipschitz_")
        return self._utilities(self._check_rows(X, reset=False))

    def partial_effect(self, feature: int, values: Any) -> Floats:
        """Return the part of the utility that one feature adds (Section 3.3).

        Parameters
        ----------
        feature : int
            Its number.
        values : array-like of shape (n_values,)
            Where to look.

        Returns
        -------
        effect : ndarray of shape (n_values,)
            u_p(values), zero at a value of zero for polynomials without offset. Needs a linear
            or a componentwise kernel.
        """
        check_is_fitted(self, "lipschitz_")
        values = np.asarray(values, dtype=np.float64).ravel()
        d = self.n_features_in_
        if not (isinstance(feature, Integral) and 0 <= feature < d):
            raise ValueError(f"feature must be a number from 0 to {d - 1}; got {feature!r}.")
        if self.kernel == "linear":
            return self.coef_[feature] * values
        if not isinstance(self._kernel, ComponentwiseKernel) or self._map == "landmarks":
            raise ValueError(
                "Effects of single features need a kernel that adds them up: kernel='linear' or "
                f"ComponentwiseKernel(...); got {self.kernel!r}."
            )
        if self._map == "columns":
            rows = np.zeros((len(values), d))
            rows[:, feature] = values
            return self._kernel.features(rows) @ self._weights
        block = self._kernel.partial(values, self._rows, int(feature))
        return block @ self.dual_coef_[self.support_]

    # --- solvers -----------------------------------------------------------------------------

    def _solve(
        self, X: Floats, y: Any, problem: ThresholdProblem, loss: str
    ) -> tuple[Floats, Floats, Any]:
        """Solve a threshold machine; return weights, multipliers of rows, and the solver's end."""
        C = np.inf if self.C is None else float(self.C)
        with FitProgress(self, self.max_iter, X, y) as progress:
            fit = solve_thresholds(
                problem,
                C,
                loss=loss,
                tol=max(self.tol, REACH),
                max_iter=self.max_iter,
                on_step=progress.step,
            )
        if np.isinf(C) and not fit.converged and fit.infeasibility > 1e-6 * _size(problem):
            raise ValueError(
                "No utility of this kind orders all rows (the problem without errors has no "
                "solution): set C to a number, which allows for errors."
            )
        q: Any = np.bincount(problem.rows, fit.q, len(X))
        self._certify(fit)
        return fit.w, q, fit

    def _solve_squares(
        self, X: Floats, y: Any, features: Floats, target: Floats, terms: Thresholds
    ) -> tuple[Floats, Floats, Any]:
        """Solve with squared errors on exact times by Newton's method on isotonic regression."""
        rows = np.flatnonzero((terms.low >= 0) | (terms.high >= 0))
        rows = rows[np.argsort(terms.low[rows], kind="stable")]  # neighbours in time and memory
        # Rows above the last threshold end the chain: they are leaves as censored rows are.
        order = ChainWithLeaves(terms.high[rows], terms.low[rows])
        with FitProgress(self, self.max_iter, X, y) as progress:
            fit = isotonic_ridge(
                features[rows],
                target[rows],
                order,
                float(self.C),
                tol=max(self.tol, REACH**2),
                max_iter=self.max_iter,
                on_step=progress.step,
            )
        q = np.zeros(len(X))
        q[rows] = float(self.C) * fit.errors  # the gradient of C/2 ‖e‖²
        self._certify(fit)
        return fit.w, q, fit

    def _solve_by_splitting(
        self, X: Floats, y: Any, problem: ThresholdProblem, loss: str
    ) -> tuple[Floats, Floats]:
        """Solve by the alternating direction method; return weights and multipliers of rows."""
        with FitProgress(self, 1, X, y) as progress:
            found = threshold_qp_by_splitting(
                problem, float(self.C), loss=loss, tol=self.tol, max_iter=100 * self.max_iter
            )
            progress.step()
        below, above = np.flatnonzero(problem.low >= 0), np.flatnonzero(problem.high >= 0)
        m = len(below)
        q: Any = np.bincount(problem.rows[below], -found.y[:m], len(X))
        q -= np.bincount(problem.rows[above], -found.y[m : m + len(above)], len(X))
        self._certify(found._replace(duality_gap=abs(found.duality_gap)))
        return found.x[: problem.features.shape[1]], q

    def _certify(self, fit: Any) -> None:
        self.objective_ = float(fit.objective)
        self.duality_gap_ = max(float(fit.duality_gap), 0.0)
        self.n_iter_ = int(fit.n_iter)
        left = abs(fit.duality_gap) > 1e-6 * max(abs(fit.objective), 1e-300)
        if left and not fit.converged and getattr(fit, "reason", "") != "callback":
            warnings.warn(
                f"{type(self).__name__} ended after {fit.n_iter} steps with a duality gap of "
                f"{fit.duality_gap:.3g} at an objective of {fit.objective:.6g}; raise max_iter or "
                "scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _size(problem: ThresholdProblem) -> float:
    return float(np.abs(np.r_[problem.lower, problem.upper]).max())
