"""What estimators of tasks with shared switches have in common: reading, solving, answering.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, column_or_1d

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import row_chunks
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.mkl.kernel_stack import KernelStack
from octavo.kernel.multitask.ascent import MEDFit, SharedDual
from octavo.kernel.multitask.losses import Loss
from octavo.kernel.multitask.switches import warn_if_saturated
from octavo.kernel.multitask.task_blocks import Block, FeatureBlock, KernelBlock
from octavo.kernel.multitask.task_tables import (
    TaskRows,
    places_of_queries,
    stack_block,
    task_matrices,
)

DENSE_CELLS = 10**6  # of a sparse table that is made dense

SOLVING: dict[str, list[Any]] = {
    "alpha": [Interval(Real, 0, None, closed="left")],
    "C": [Interval(Real, 0, None, closed="neither")],
    "bias": [StrOptions({"free"}), Interval(Real, 0, None, closed="neither")],
    "solver": [StrOptions({"newton", "bound"})],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_sweeps": [Interval(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
}
SWITCHING: dict[str, list[Any]] = {
    "select": [StrOptions({"features", "kernels"})],
    "kernels": [str, list, tuple],
    "normalize": [str, None],
    "shared": ["boolean"],
    **SOLVING,
}


class Problem(NamedTuple):
    """Tasks ready to be solved: their data, what they predict, and the number of switches."""

    blocks: Sequence[Block]
    targets: list[Floats]
    tasks: TaskRows
    n_switches: int
    communal: Floats | None = None


class TaskMachines(CallbackSupportMixin, SoundEstimator):
    """Machines of several tasks with one set of switches: solving and its report.

    Parameters
    ----------
    max_sweeps : int, default=200
        Most sweeps over the tasks.
    tol : float, default=1e-4
        Duality gap to stop at, relative to the objective; at least 1e-9.
    warm_start : bool, default=False
        Whether to start from the last fit where it had the same rows in each task.

    Attributes
    ----------
    dual_objective_ : float
        The paper's J, with J(0) = 0.
    history_ : ndarray of shape (n_iter_, 3)
        Primal objective, J and gap after each sweep.
    intercept_ : ndarray of shape (n_tasks,)
        Offset of each task.
    n_iter_ : int
        Sweeps.
    """

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        raise NotImplementedError

    def _has_offset(self) -> bool:
        return isinstance(self.bias, str)

    def _check_numbers(self) -> None:
        for name in ("alpha", "C", "bias"):
            value = getattr(self, name, 0.0)
            if not isinstance(value, str) and not np.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value}.")

    def _solve(self, problem: Problem, start: Sequence[Floats] | None, X: Any, y: Any) -> MEDFit:
        """Solve, report, and keep what every estimator keeps."""
        losses = self._losses(problem.targets)
        if start is not None and not _fits(start, losses):
            start = None
        dual = SharedDual(
            problem.blocks,
            losses,
            self.alpha,
            problem.n_switches,
            bias_variance=0.0 if self._has_offset() else float(self.bias),
            communal=problem.communal,
            betas=start,
        )
        with FitProgress(self, None, X, y) as progress:
            fit = dual.solve(
                tol=self.tol,
                max_sweeps=self.max_sweeps,
                method=self.solver,
                step=progress.step,
            )
            progress.step()
        self._keep(problem, losses, fit)
        return fit

    def _keep(self, problem: Problem, losses: Sequence[Loss], fit: MEDFit) -> None:
        self._betas = fit.betas
        totals = [loss.total(beta) for loss, beta in zip(losses, fit.betas)]
        offsets = fit.offsets
        if not self._has_offset():
            offsets = np.array([float(self.bias) * total.sum() for total in totals])
        self.intercept_: Any = offsets
        self.objective_, self.dual_objective_, self.duality_gap_ = fit.primal, fit.dual, fit.gap
        self.history_, self.n_iter_ = fit.history, max(fit.n_sweeps, 1)
        self._totals = totals
        if not fit.converged and fit.n_sweeps >= self.max_sweeps:
            warnings.warn(
                f"{type(self).__name__} stopped after max_sweeps={self.max_sweeps} sweeps with a "
                f"duality gap of {fit.gap:.3g} at an objective of {fit.primal:.3g}, where "
                f"tol={self.tol:.3g} of it was asked for.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _keep_dual(self, problem: Problem, n_rows: int) -> None:
        """Keep the variables row by row: one vector, or one a class where classes are tasks."""
        rows = problem.tasks.rows
        if len(rows) > 1 and problem.tasks.names is None:
            self.dual_coef_ = np.array(self._totals)
            self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))
            return
        self.dual_coef_ = np.zeros(n_rows)
        for one, total in zip(rows, self._totals):
            self.dual_coef_[one] = total
        self.support_ = np.flatnonzero(self.dual_coef_)


def _fits(start: Sequence[Floats], losses: Sequence[Loss]) -> bool:
    shapes = [loss.start().shape for loss in losses]
    return [beta.shape for beta in start] == shapes


class SwitchedMachines(TaskMachines):
    """Machines whose features or kernels are switched for all tasks together (Sections 6, 7)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = self._is_precomputed()
        tags.input_tags.two_d_array = not precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _is_precomputed(self) -> bool:
        named = isinstance(self.kernels, str) and self.kernels == "precomputed"
        return self.select == "kernels" and named

    def _read(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        """Return checked rows (or kernels) and targets."""
        self._check_numbers()
        if not self._is_precomputed():
            options = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", **options}
            X, y = validate_rows(self, X, y, ensure_min_samples=2, **options)
            check_squares(X)
            # Small tables are faster dense, and then their storage does not matter to the last bit.
            small = sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_CELLS
            return (X.toarray() if small else X), y
        X = as_stack(X)
        self.n_features_in_ = X.shape[1]
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[1]:
            raise ValueError(
                f"y must have one entry per sample: the kernels have {X.shape[1]}, y {len(y)}."
            )
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity.")
        return X, y

    def _problem(self, X: Any, targets: list[Floats], tasks: TaskRows) -> Problem:
        """Return the tasks with their data; features are columns, kernels matrices."""
        count = len(tasks.rows)
        if self.select == "features":
            n_columns = X.shape[1]
            data = [X if len(rows) == X.shape[0] else X[rows] for rows in tasks.rows]
            if tasks.names is not None and count == 1:
                data = [X[tasks.rows[0]]]
        else:
            self.stack_ = KernelStack(self.kernels, normalize=self.normalize)
            self.stack_._validate_params()
            data = task_matrices(self.stack_, X, tasks.rows)
            n_columns = len(data[0])
            self._X: Any = None if self._is_precomputed() else X
        shared = self.shared or count == 1
        make = FeatureBlock if self.select == "features" else KernelBlock
        blocks = [
            make(one, np.arange(n_columns) + (0 if shared else m * n_columns))
            for m, one in enumerate(data)
        ]
        return Problem(blocks, targets, tasks, n_columns if shared else count * n_columns)

    def _fit_problem(self, problem: Problem, start: Any, X: Any, y: Any) -> None:
        """Solve a problem and turn the solution into fitted attributes."""
        fit = self._solve(problem, start, X, y)
        tasks = problem.tasks
        count, n_columns = len(tasks.rows), len(problem.blocks[0].places)
        by_task = np.array([fit.switches[block.places] for block in problem.blocks])
        shared = problem.n_switches == n_columns
        self.switches_ = fit.switches if shared else by_task
        # halfway between the least mean, 1/(1 + α), and 1
        keep = 0.5 * (1.0 + 1.0 / (1.0 + self.alpha))
        self.selected_ = self.switches_ > keep
        self.tasks_ = tasks.names
        self._rows, self._by_task = tasks.rows, by_task
        n_rows = X.shape[1] if self._is_precomputed() else X.shape[0]
        self._keep_dual(problem, n_rows)
        for name in ("coef_", "weights_", "kernel_names_"):  # of an earlier fit in the other mode
            self.__dict__.pop(name, None)
        if self.select == "features":
            # w_{m,d} = ŝ(d) Σ_t β_t x_t(d)
            self.coef_ = by_task * np.array(fit.responses).reshape(count, n_columns)
        else:
            self.weights_, self.kernel_names_ = self.switches_, self.stack_.kernel_names_
        what = "features" if self.select == "features" else "kernels"
        warn_if_saturated(fit.switches, self.alpha, fit.energies, f"the {what}")

    def _queries(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._is_precomputed():
            return self.stack_.transform(X)
        return validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _task_values(self, X: Any, m: int, which: Any = None) -> Floats:
        """Return the decision values of checked queries under task m."""
        if self.select == "features":
            part = X if which is None else X[which]
            return np.asarray(part @ self.coef_[m]).ravel() + self.intercept_[m]
        used = np.flatnonzero(self._totals[m])
        rows, beta = self._rows[m][used], self._totals[m][used]
        if self._is_precomputed():
            K = X[:, :, rows] if which is None else X[:, which][:, :, rows]
            return self._by_task[m] @ (K @ beta) + self.intercept_[m]  # Section 7
        part = X if which is None else X[which]
        values = np.full(part.shape[0], self.intercept_[m])
        if not len(used):
            return values
        train = self._X[rows]
        for chunk in row_chunks(part.shape[0], len(used) * self.stack_.n_kernels_):
            values[chunk] += self._by_task[m] @ (
                stack_block(self.stack_, part[chunk], train) @ beta
            )
        return values

    def _values(self, X: Any, task: Any) -> Floats:
        """Return decision values: one a row, or one a class where classes are the tasks."""
        X = self._queries(X)
        n_rows = X.shape[1] if self._is_precomputed() else X.shape[0]
        if self.tasks_ is None:
            if task is not None:
                raise ValueError("task was not given to fit, so that it cannot be given here.")
            columns = [self._task_values(X, m) for m in range(len(self._rows))]
            return columns[0] if len(columns) == 1 else np.column_stack(columns)
        places = asked_places(task, self.tasks_, n_rows)
        values = np.empty(n_rows)
        for m in np.unique(places):
            which = np.flatnonzero(places == m)
            values[which] = self._task_values(X, int(m), which)
        return values

    def _scaled(self, X: Any, task: Any) -> Any:
        """Return features times their switches."""
        X = self._queries(X)
        if self.switches_.ndim == 1:
            weights = self.switches_
            return X.multiply(weights[None, :]).tocsr() if sp.issparse(X) else X * weights
        places = asked_places(task, self.tasks_, X.shape[0])
        weights = self.switches_[places]
        return X.multiply(weights).tocsr() if sp.issparse(X) else X * weights


def asked_places(task: Any, names: Any, n_rows: int) -> Any:
    """Return the place of each query's task; one that fit has not seen is refused by name."""
    if names is None:
        raise ValueError("Classes are the tasks here, each with switches of its own.")
    if task is None:
        raise ValueError(f"task must be given: the model was fitted to {len(names)} task(s).")
    places = places_of_queries(task, names, n_rows)
    if np.any(places < 0):
        unseen = np.unique(np.asarray(task)[places < 0])
        raise ValueError(
            f"task {unseen[0]!s} was not seen in fit, which saw {len(names)} task(s): "
            f"{', '.join(str(name) for name in names[:5])}{', ...' if len(names) > 5 else ''}."
        )
    return places
