"""What the estimators of multiple kernel learning share: their stack, solver, and prediction.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.kernel.mkl.columns import MatrixColumns, StackColumns
from octavo.kernel.mkl.cutting_planes import CuttingPlanes, solve_smooth_dual
from octavo.kernel.mkl.interleaved import solve_interleaved
from octavo.kernel.mkl.kernel_normalize import as_stack, kernel_alignment
from octavo.kernel.mkl.kernel_stack import KernelStack, stack_members
from octavo.kernel.mkl.machines import BoxMachine, Machine, Solved, SquaredMachine
from octavo.kernel.mkl.weight_norms import FLOOR, LpNorm, WeightNorm, weight_norm
from octavo.kernel.mkl.wrapper import MKLFit, Step, WeightStep, solve_wrapper

CUTS_BELOW = 1.5  # p below which planes need fewer machines than the closed form
IN_MEMORY = 2**30  # bytes of kernel matrices that "auto" keeps

LEAST_TOL = 1e-10  # of a gap relative to the penalty: rounding of kernel sums leaves about that

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "kernels": [str, list, tuple],
    "p": [Interval(Real, 1, np.inf, closed="both")],
    "solver": [StrOptions({"auto", "wrapper", "interleaved", "silp"})],
    "regularizer": [StrOptions({"lp", "block", "mahalanobis"})],
    "q": [None, Interval(Real, 1, np.inf, closed="both")],
    "E": [None, "array-like"],
    "importance": [None, "array-like"],
    "normalize": [StrOptions({"multiplicative", "spherical", "trace"}), None],
    "center": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "svm_tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "warm_start": ["boolean"],
}


def choose_solver(
    solver: str, norm: WeightNorm, machines: Sequence[Machine], n_bytes: float
) -> str:
    """Return the solver that "auto" means, or say why the one that was asked for cannot be.

    Parameters
    ----------
    solver : str
        What the user asked for.
    norm : WeightNorm
        Norm on the weights.
    machines : sequence of Machine
        The machines that share the weights.
    n_bytes : float
        Memory that the kernel matrices would take; 0 where they are there already.

    Returns
    -------
    str
        "wrapper", "interleaved", "silp" or "lbfgs".
    """
    is_box = len(machines) == 1 and isinstance(machines[0], BoxMachine)
    if solver == "interleaved" and not is_box:
        raise ValueError(
            "solver='interleaved' is for one machine with a loss whose dual is a box (hinge, "
            "epsilon_insensitive, one-class), not for other losses nor shared weights; use "
            "solver='wrapper'."
        )
    if solver == "silp" and not (isinstance(norm, LpNorm) and norm.p < np.inf):
        raise ValueError("solver='silp' needs an lp norm on the weights with p < inf.")
    if solver == "lbfgs" and not (isinstance(norm, LpNorm) and 1.0 < norm.p < np.inf):
        raise ValueError("solver='lbfgs' needs an lp norm on the weights with 1 < p < inf.")
    if solver == "lbfgs" and not isinstance(machines[0], SquaredMachine):
        raise ValueError("solver='lbfgs' needs loss='squared'.")
    if solver != "auto":
        return solver
    if is_box and n_bytes > IN_MEMORY:
        return "interleaved"
    return "silp" if isinstance(norm, LpNorm) and norm.p < CUTS_BELOW else "wrapper"


def weight_step(solver: str, norm: WeightNorm) -> WeightStep | None:
    """Return cutting planes where they are asked for or better, None for the closed form."""
    wanted = solver == "silp" or (
        solver == "interleaved" and isinstance(norm, LpNorm) and norm.p < CUTS_BELOW
    )
    return CuttingPlanes(norm) if wanted and isinstance(norm, LpNorm) else None


def rescaled(solved: Sequence[Solved], machines: Sequence[Machine]) -> list[Solved] | None:
    """Return earlier solutions as starts, scaled into new bounds; None where they do not fit."""
    starts = []
    for one, machine in zip(solved, machines):
        if isinstance(machine, BoxMachine):
            beta = one.variables
            if beta.shape != machine.linear.shape:
                return None
            width = np.where(beta > 0.0, machine.upper, machine.lower)
            ratio = np.divide(width, beta, out=np.full_like(beta, np.inf), where=beta != 0.0)
            # Scaling by one factor keeps the sum zero; a fixed sum other than that cannot scale.
            factor = min(1.0, float(ratio.min()))
            if factor < 0.0 or (factor < 1.0 and machine.start.any()):
                return None
            beta = np.clip(factor * beta, machine.lower, machine.upper)
            one = one._replace(variables=beta, a=factor * one.a)
        elif one.a.shape != machine.y.shape:  # type: ignore[attr-defined]
            return None
        starts.append(one)
    return starts


def solve_mkl(
    stack: KernelStack,
    K: Floats | None,
    machines: Sequence[Machine],
    norm: WeightNorm,
    *,
    solver: str = "auto",
    tol: float = 1e-3,
    svm_tol: float = 1e-4,
    max_iter: int = 200,
    cache_size: float = 500,
    start: MKLFit | None = None,
    step: Step | None = None,
) -> MKLFit:
    """Solve with the solver that is asked for, from an earlier solution where there is one.

    Parameters
    ----------
    stack : KernelStack
        The fitted stack, which the interleaved solver asks for columns where there is no K.
    K : ndarray of shape (n_kernels, n_samples, n_samples) or None
        Kernel matrices.
    machines : sequence of Machine
        The machines that share the weights.
    norm : WeightNorm
        Norm on the weights.
    solver : {"wrapper", "interleaved", "silp", "lbfgs"}
        As `choose_solver` returned it.
    tol, svm_tol, max_iter, cache_size
        As in the estimators.
    start : MKLFit, optional
        Where to start.
    step : callable, optional
        Called once an iteration; returns whether to stop.

    Returns
    -------
    MKLFit
        The solution.
    """
    theta, solved = None, None
    if start is not None and len(start.theta) == stack.n_kernels_:
        solved = rescaled(start.solved, machines)
        if isinstance(norm, LpNorm) and solved is not None:
            theta = np.maximum(start.theta, 1e-3 * start.theta.max())
            theta = norm.start(len(theta)) if norm.p == np.inf else theta / norm.size(theta)
    tol = reachable_tolerance(tol, floor=LEAST_TOL)
    svm_tol = reachable_tolerance(svm_tol, floor=LEAST_TOL)
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "step": step}
    if solver == "lbfgs":
        assert K is not None
        assert isinstance(machines[0], SquaredMachine)
        assert isinstance(norm, LpNorm)
        return solve_smooth_dual(K, machines[0], norm, **options)
    options |= {"weights": weight_step(solver, norm), "theta": theta, "solved": solved}
    if solver == "interleaved":
        source = StackColumns(stack, cache_size) if K is None else MatrixColumns(K)
        assert isinstance(machines[0], BoxMachine)
        return solve_interleaved(source, machines[0], norm, **options)
    assert K is not None
    return solve_wrapper(K, machines, norm, svm_tol=svm_tol, **options)


class LpMKLBase(CallbackSupportMixin, SoundEstimator):
    """What the estimators of lp-norm multiple kernel learning have in common.

    Parameters
    ----------
    cache_size : float, default=500
        Megabytes for columns of kernels that ``"interleaved"`` keeps.
    importance : array-like of shape (n_kernels,), default=None
        Prior importance v of the kernels for ``regularizer="lp"``: ||θ/v||_p ≤ 1.
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`, or ``"precomputed"``.
    p : float, default=2.0
        Norm of the weights, from 1 (few kernels) to infinity (the plain sum of kernels).
    warm_start : bool, default=False
        Whether to start from the last fit where it has the same number of samples.

    Attributes
    ----------
    kernel_names_ : list of str
        Names of the kernels.
    stack_ : KernelStack
        The kernels with the training samples.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = self._is_precomputed()
        tags.input_tags.two_d_array = not precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        """Validate samples and targets; y="no_validation" where there are none."""
        if not self._is_precomputed():
            options = {"accept_sparse": "csr", "dtype": np.float64, **options}
            checked = validate_rows(self, X, y, ensure_min_samples=2, **options)
            return checked if isinstance(checked, tuple) else (checked, None)
        X = as_stack(X)
        self.n_features_in_ = X.shape[1]
        if isinstance(y, str):
            return X, None
        y = np.asarray(y).ravel()
        if len(y) != X.shape[1]:
            raise ValueError(
                f"y must have one entry per sample: the kernels have {X.shape[1]}, y {len(y)}."
            )
        return X, y

    def _prepare(self, X: Any, machines: Sequence[Machine]) -> tuple[Floats | None, str]:
        """Fit the stack; return the matrices, where they are needed, and the solver."""
        stack = KernelStack(self.kernels, normalize=self.normalize, center=self.center)
        self.stack_ = stack
        stack._validate_params()
        stack._checked_before = self._is_precomputed()
        members = len(X) if self._is_precomputed() else len(stack_members(self.kernels, X))
        n = X.shape[1] if self._is_precomputed() else X.shape[0]
        n_bytes = 0.0 if self._is_precomputed() else 8.0 * members * n * n
        norm = self._norm_of(members, None)  # says at once what is wrong with it
        solver = choose_solver(self.solver, norm, machines, n_bytes)
        K = None
        if solver == "interleaved" and n_bytes > IN_MEMORY:
            stack.fit(X)
        else:
            K = stack.fit_transform(X)
        if self.normalize is None:
            warn_of_unequal(stack._diagonal.mean(axis=1), K)
        return K, solver

    def _norm_of(self, n_kernels: int, K: Floats | None) -> WeightNorm:
        E = self.E
        if self.regularizer == "mahalanobis" and E is None:
            E = np.eye(n_kernels) if K is None else kernel_alignment(K)
        return weight_norm(self.regularizer, self.p, self.q, E, self.importance, n_kernels)

    def _solve_groups(self, X: Any, y: Any, groups: Sequence[Sequence[Machine]]) -> list[MKLFit]:
        """Solve one problem per group of machines that share their weights."""
        earlier = getattr(self, "_fits", None) if self.warm_start else None
        K, solver = self._prepare(X, groups[0])
        if K is None and self.regularizer == "mahalanobis" and self.E is None:
            raise ValueError("E must be given where the kernel matrices do not fit in memory.")
        norm = self._norm_of(self.stack_.n_kernels_, K)
        fits = []
        with FitProgress(self, self.max_iter * len(groups), X, y, step_name="weights") as progress:
            for k, machines in enumerate(groups):
                start = earlier[k] if earlier and len(earlier) == len(groups) else None
                fits.append(
                    solve_mkl(
                        self.stack_,
                        K,
                        machines,
                        norm,
                        solver=solver,
                        tol=self.tol,
                        svm_tol=self.svm_tol,
                        max_iter=self.max_iter,
                        cache_size=self.cache_size,
                        start=start,
                        step=progress.step,
                    )
                )
        self._store(fits)
        return fits

    def _store(self, fits: list[MKLFit]) -> None:
        """Turn solutions into fitted attributes."""
        self._fits = fits
        thetas = np.array([clean_weights(fit.theta, self._sparse()) for fit in fits])
        norms = np.array([theta * np.sqrt(fit.s) for theta, fit in zip(thetas, fits)])
        solved = [one for fit in fits for one in fit.solved]
        single = len(fits) == 1
        self.kernel_names_ = self.stack_.kernel_names_
        self.weights_ = thetas[0] if single else thetas
        self.kernel_norms_ = norms[0] if single else norms
        coefs = np.array([one.a for one in solved])
        self.support_ = np.flatnonzero(coefs.any(axis=0))
        self.dual_coef_ = coefs[:, self.support_]
        self.intercept_ = np.array([one.offset for one in solved])
        self.objective_ = pick([fit.objective for fit in fits])
        self.duality_gap_ = pick([fit.gap for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.history_ = fits[0].history if single else [fit.history for fit in fits]
        poor = [fit for fit in fits if not fit.converged]
        if poor:
            worst = max(fit.gap / max(fit.scale, 1e-300) for fit in poor)
            warnings.warn(
                f"Multiple kernel learning did not converge in max_iter={self.max_iter} changes of "
                f"the weights: the duality gap is {worst:.3g} times the penalty, where "
                f"tol={self.tol:.3g} was asked for. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _sparse(self) -> bool:
        return self.regularizer == "lp" and self.p == 1.0

    def _decide(self, X: Any) -> Floats:
        """Return decision values of every machine, (n_queries, n_machines)."""
        check_is_fitted(self)
        coef = np.zeros((self.stack_.n_kernels_, self.stack_.n_samples_, len(self.intercept_)))
        thetas = np.atleast_2d(self.weights_)
        for k, row in enumerate(self.dual_coef_):
            theta = thetas[k if len(thetas) > 1 else 0]
            coef[:, self.support_, k] = theta[:, None] * row[None, :]
        if not self._is_precomputed():
            X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.stack_._apply(X, coef) + self.intercept_


def clean_weights(theta: Floats, sparse: bool) -> Floats:
    """Return the weights; for p = 1 those that were only kept off zero are zero."""
    if not sparse:
        return theta
    return np.where(theta > 1e3 * FLOOR * theta.max(), theta, 0.0)


def pick(values: list[float]) -> Any:
    """Return the only value, or an array of several."""
    return values[0] if len(values) == 1 else np.array(values)


def warn_of_unequal(traces: Floats, K: Floats | None) -> None:
    """Warn where kernels that are not normalised differ much in scale."""
    # A common offset does not count as scale, where the matrices are there to tell: by some 128
    # rows of each, as a pass over all of them would take as long as a machine.
    scales = traces
    if K is not None:
        scales = traces - K[:, :: -(-K.shape[1] // 128)].mean(axis=(1, 2))
    positive = scales[scales > 1e-12 * traces]
    if len(positive) and positive.max() > 10.0 * positive.min():
        warnings.warn(
            f"The variances of the kernels range from {positive.min():.3g} to "
            f"{positive.max():.3g} and normalize=None: the weights favour the largest, whatever it "
            "says about y. normalize='multiplicative' makes them comparable.",
            UserWarning,
            stacklevel=5,
        )
