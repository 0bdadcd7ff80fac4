"""What the estimators of grouped multiple kernel learning share: kernels, groups, attributes.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.kernel.mkl.base import LpMKLBase, pick, rescaled, warn_of_unequal
from octavo.kernel.mkl.kernel_stack import KernelStack
from octavo.kernel.mkl.machines import Machine
from octavo.kernel.vskl.kernel_groups import (
    KernelGroups,
    as_kernel_groups,
    by_group,
    without_kernels,
)
from octavo.kernel.vskl.mirror import VSKLFit, solve_vskl
from octavo.kernel.vskl.oracle import INDEFINITE, IndefiniteKernels

_NO_VARIANCE = 1e-12  # of the mean diagonal: less is rounding

SOLVER_CONSTRAINTS: dict[str, list[Any]] = {
    "kernels": [str, list, tuple],
    "C": [Interval(Real, 0, None, closed="neither")],
    "normalize": [StrOptions({"multiplicative", "spherical", "trace"}), None],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "svm_tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "stopping": [StrOptions({"gap", "objective"})],
}
GROUP_CONSTRAINTS: dict[str, list[Any]] = {
    **SOLVER_CONSTRAINTS,
    "groups": [None, StrOptions({"one", "each"}), "array-like", list, tuple],
    "q": [Interval(Real, 0.5, np.inf, closed="both")],
    "step": [Interval(Real, 0, None, closed="neither")],
    "oracle_tol": [StrOptions({"adaptive"}), Interval(Real, 0, None, closed="neither")],
    "warm_start": ["boolean"],
}


def descriptors_of(stack: KernelStack) -> list[str] | None:
    """Return what each kernel of a stack looks at, None where nobody can say."""
    if not stack.members_:
        return None
    return [
        "all features"
        if member.columns is None
        else "features " + ",".join(map(str, member.columns.tolist()))
        for member in stack.members_
    ]


def without_signal(K: Floats) -> Indices:
    """Return the kernels that cannot tell the samples apart: zero or constant ones."""
    diagonals = np.trace(K, axis1=1, axis2=2) / K.shape[1]
    sizes = np.abs(np.diagonal(K, axis1=1, axis2=2)).mean(axis=1)
    variances = diagonals - K.mean(axis=(1, 2))
    return np.flatnonzero(~(np.abs(variances) > _NO_VARIANCE * sizes))


def useful_groups(K: Floats, groups: KernelGroups, names: Sequence[str]) -> KernelGroups:
    """Return the groups without kernels that have no signal; say which were left out."""
    useless = without_signal(K)
    if not useless.size:
        return groups
    left = without_kernels(groups, useless)
    shown = [names[m] for m in useless[:5]]
    if not left.members:
        raise ValueError(
            f"No kernel tells the samples apart: all {len(names)} are zero or constant on them."
        )
    gone = [name for name in groups.names if name not in left.names]
    also = f", and with them the group(s) {gone[:5]}" if gone else ""
    warnings.warn(
        f"Kernel(s) {shown} cannot tell the training samples apart (zero or constant) and get no "
        f"weight{also}.",
        UserWarning,
        stacklevel=5,
    )
    return left


def indefinite(K: Floats) -> Indices:
    """Return the kernels with an eigenvalue below zero by more than rounding."""
    ends = [np.linalg.eigvalsh(K_m)[[0, -1]] for K_m in K]
    return np.flatnonzero([low < -INDEFINITE * max(-low, high) for low, high in ends])


def shifted(K: Floats, which: Indices, names: Sequence[str]) -> Floats:
    """Return kernels of which the indefinite ones have got a ridge; warn of it."""
    K = K.copy()
    n, least = K.shape[1], 0.0
    for m in which:
        lowest = float(np.linalg.eigvalsh(K[m])[0])
        least = min(least, lowest)
        K[m][np.diag_indices(n)] += max(-lowest, 0.0) * (1.0 + 1e-6)
    warnings.warn(
        f"Kernel(s) {[names[m] for m in which[:5]]} are indefinite on the training samples: their "
        f"smallest eigenvalue is {least:.3g}. A ridge of that size was added to their diagonals.",
        UserWarning,
        stacklevel=6,
    )
    return K


class VSKLBase(LpMKLBase):
    """What the estimators of grouped kernel learning have in common.

    Parameters
    ----------
    C : float, default=1000.0
        Weight of the loss; see `normalize` for its scale.
    normalize : {"multiplicative", "spherical", "trace"} or None, default="trace"
        How kernels are made comparable, as in `KernelStack`. Unit trace, the paper's choice, makes
        entries about 1 / n_samples: a good C is n_samples times larger than for the others.
    stopping : {"gap", "objective"}, default="gap"
        ``"gap"`` stops at `tol` alone; ``"objective"`` also where the objective changes by less
        than that share in one iteration, the paper's rule, which certifies nothing.
    svm_tol : float, default=1e-4
        Gap that the inner machine may leave, relative to the objective; at most ``tol / 10`` is
        used.

    Attributes
    ----------
    group_names_ : list
        Labels of the groups, in the order of `gamma_`.
    """

    def _solver(self) -> Callable[..., VSKLFit]:
        """Return what solves for one machine."""
        oracle_tol = None if self.oracle_tol == "adaptive" else float(self.oracle_tol)

        def solve(K: Floats, groups: KernelGroups, machine: Machine, **options: Any) -> VSKLFit:
            return solve_vskl(
                K, groups, machine, self.q, step=self.step, oracle_tol=oracle_tol, **options
            )

        return solve

    def _fit_stack(self, X: Any) -> Floats:
        """Fit the stack; return its matrices."""
        stack = KernelStack(self.kernels, normalize=self.normalize)
        self.stack_ = stack
        stack._validate_params()
        stack._checked_before = self._is_precomputed()
        K = stack.fit_transform(X)
        self.kernel_names_ = stack.kernel_names_
        if self.normalize is None:
            warn_of_unequal(stack._diagonal.mean(axis=1), K)
        return K

    def _groups_of(self, n_kernels: int) -> KernelGroups:
        return as_kernel_groups(self.groups, n_kernels, descriptors_of(self.stack_))

    def _solve_machines(self, X: Any, y: Any, machines: Sequence[Machine]) -> None:
        """Learn weights and a machine for every class, and store them."""
        earlier = getattr(self, "_group_fits", None) if getattr(self, "warm_start", False) else None
        K = self._fit_stack(X)
        groups = self._groups_of(len(K))
        self.group_names_ = groups.names
        used = useful_groups(K, groups, self.kernel_names_)
        solve, fits = self._solver(), []
        options = {
            "tol": self.tol,
            "svm_tol": self.svm_tol,
            "max_iter": self.max_iter,
            "stopping": self.stopping,
        }
        total = self.max_iter * len(machines)
        with FitProgress(self, total, X, y, step_name="weights") as progress:
            options["on_step"] = progress.step
            for k, machine in enumerate(machines):
                if earlier and len(earlier) == len(machines):
                    options |= start_from(earlier[k], machine, used, len(K))
                for _ in range(len(K) + 1):
                    try:
                        fits.append(solve(K, used, machine, **options))
                        break
                    except IndefiniteKernels as found:
                        K = shifted(K, found.kernels, self.kernel_names_)
                    except np.linalg.LinAlgError:  # ridge regression factorises before it asks
                        which = indefinite(K)
                        if not which.size:
                            raise
                        K = shifted(K, which, self.kernel_names_)
        self._store_fits(fits, groups, used)

    def _store_fits(self, fits: list[VSKLFit], groups: KernelGroups, used: KernelGroups) -> None:
        """Turn solutions into fitted attributes."""
        self._group_fits = fits
        single = len(fits) == 1
        # A group without signal has γ = 0: its kernels have no weight.
        places = [groups.names.index(name) for name in used.names]
        gammas = np.zeros((len(fits), len(groups.names)))
        for row, fit in zip(gammas, fits):
            row[places] = fit.gamma
        shares = [by_group(fit.lam, groups) for fit in fits]
        self.lambda_ = shares[0] if single else shares
        self.gamma_ = gammas[0] if single else gammas
        weights = np.array([fit.weights for fit in fits])
        self.weights_ = weights[0] if single else weights
        coefs = np.array([fit.solved.a for fit in fits])
        self.support_ = np.flatnonzero(coefs.any(axis=0))
        self.dual_coef_ = coefs[:, self.support_]
        self.intercept_ = np.array([fit.solved.offset for fit in fits])
        self.objective_ = pick([fit.objective for fit in fits])
        self.duality_gap_ = pick([fit.gap for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.n_svm_calls_ = sum(fit.n_calls for fit in fits)
        self.history_ = fits[0].history if single else [fit.history for fit in fits]
        self._warn_of(fits)

    def _warn_of(self, fits: list[VSKLFit]) -> None:
        """Tell of fits without signal, and of those that did not converge."""
        if any(not fit.scale > 0.0 for fit in fits):
            warnings.warn(
                "No kernel has signal: the solution is zero in every one of them, and the weights "
                "are as they started. C is too small, or the kernels say nothing about y.",
                UserWarning,
                stacklevel=5,
            )
        poor = [fit.gap / max(abs(fit.objective), 1e-300) for fit in fits if not fit.converged]
        if poor:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} changes of "
                f"the weights: the duality gap is {max(poor):.3g} times the objective, where "
                f"tol={self.tol:.3g} was asked for. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )


def start_from(
    earlier: VSKLFit, machine: Machine, groups: KernelGroups, n_kernels: int
) -> dict[str, Any]:
    """Return the earlier solution as a start for the solver, where it fits this machine."""
    if len(earlier.lam) != n_kernels:
        return {"start": None}
    solved = rescaled([earlier.solved], [machine])
    fits = solved is not None and (earlier.lam[groups.order] >= 0.0).all()
    return {"start": earlier._replace(solved=solved[0]) if fits and solved else None}
