"""Rows that belong to tasks: which rows are whose, what is predicted there, and their kernels.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 5 to 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length, column_or_1d

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import squared_distances
from octavo.kernel.mkl.kernel_normalize import inverse_lengths
from octavo.kernel.mkl.kernel_stack import KernelStack, find_ladders, member_block

Rows = np.ndarray[Any, np.dtype[np.intp]]


class TaskRows(NamedTuple):
    """The rows of each task, and the names of the tasks (None where there is one, or classes)."""

    rows: list[Rows]
    names: np.ndarray[Any, Any] | None


def read_tasks(task: Any, n_rows: int) -> np.ndarray[Any, Any]:
    """Return one name of a task a row, checked."""
    names = column_or_1d(np.asarray(task))
    check_consistent_length(np.empty(n_rows), names)
    if names.dtype.kind == "f":
        if not np.isfinite(names).all():
            raise ValueError("task must name a task for every row; it holds NaN or infinity.")
        if np.any(names != np.floor(names)):
            raise ValueError(
                f"task must hold integers or names, got the fraction "
                f"{float(names[names != np.floor(names)][0])!r}."
            )
    if names.dtype.kind in "cOmM" and any(not isinstance(name, (str, int)) for name in names):
        raise ValueError("task must hold integers or strings, one a row.")
    return names


def join_tasks(X: Any, y: Any, task: Any) -> tuple[Any, Any, Any]:
    """Return rows, targets and tasks of tables that come one a task; others as they are.

    Tables come as lists of X_m and of y_m, or as a list of pairs (X_m, y_m) without y; their
    tasks are 0, 1, ...
    """
    if task is not None or not isinstance(X, (list, tuple)) or not len(X):
        return X, y, task
    if y is None and all(isinstance(one, (list, tuple)) and len(one) == 2 for one in X):
        tables, targets = [one[0] for one in X], [one[1] for one in X]
    elif isinstance(y, (list, tuple)) and len(y) == len(X):
        tables, targets = list(X), list(y)
    else:
        return X, y, task
    if any(np.ndim(t) != 1 for t in targets) or any(
        not sp.issparse(t) and np.ndim(t) != 2 for t in tables
    ):
        return X, y, task
    sizes = [t.shape[0] if sp.issparse(t) else len(t) for t in tables]
    for m, (size, one) in enumerate(zip(sizes, targets)):
        if size != len(one):
            raise ValueError(f"Task {m} has {size} rows of X and {len(one)} entries of y.")
    columns = {t.shape[1] if sp.issparse(t) else np.shape(t)[1] for t in tables}
    if len(columns) > 1:
        raise ValueError(f"All tasks need the same columns; they have {sorted(columns)} of them.")
    stacked = sp.vstack(tables, "csr") if any(map(sp.issparse, tables)) else np.vstack(tables)
    return stacked, np.concatenate(targets), np.repeat(np.arange(len(tables)), sizes)


def rows_of_tasks(task: Any, n_rows: int) -> TaskRows:
    """Return the rows of each task; all rows for None."""
    if task is None:
        return TaskRows([np.arange(n_rows)], None)
    names, codes = np.unique(read_tasks(task, n_rows), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return TaskRows(np.split(order, np.cumsum(np.bincount(codes))[:-1]), names)


def places_of_queries(task: Any, names: Any, n_rows: int) -> Rows:
    """Return the place of each query's task among those of the fit, −1 where it was not seen."""
    given = read_tasks(task, n_rows)
    if (given.dtype.kind in "US") != (names.dtype.kind in "US"):
        return np.full(n_rows, -1)
    found = np.minimum(np.searchsorted(names, given), len(names) - 1)
    return np.where(names[found] == given, found, -1)


def signs_by_task(codes: Rows, tasks: TaskRows, classes: Any) -> list[Floats]:
    """Return labels of ±1 for each task; one whose rows are of one class is refused by name."""
    signs: list[Floats] = [np.where(codes[rows] == 1, 1.0, -1.0) for rows in tasks.rows]
    if tasks.names is not None:
        for name, one, rows in zip(tasks.names, signs, tasks.rows):
            if abs(one.sum()) == len(one):
                held = classes[codes[rows[0]]]
                raise ValueError(
                    f"Each task needs rows of both classes; task {name!s} has only class {held!s}."
                )
    return signs


def stack_block(stack: KernelStack, A: Any, B: Any) -> Floats:
    """Return the kernels of a fitted stack between two tables, normalised as the stack says."""
    members = stack.members_
    out = np.empty((len(members), A.shape[0], B.shape[0]))
    for ladder in find_ladders(members):
        D = squared_distances(_seen(A, ladder.columns), _seen(B, ladder.columns))
        for m, gamma in zip(ladder.places, ladder.gammas):
            np.exp(-gamma * D, out=out[m])
    for m, (member, scale) in enumerate(zip(members, stack.scales_)):
        left, right = _seen(A, member.columns), _seen(B, member.columns)
        if member.kernel.name != "rbf":
            out[m] = member_block(member, left, right)
        if stack.normalize == "spherical":
            out[m] *= inverse_lengths(member.kernel.diagonal(left))[:, None]
            out[m] *= inverse_lengths(member.kernel.diagonal(right))
        else:
            out[m] *= scale
    return out


def _seen(X: Any, columns: Any) -> Any:
    return X if columns is None else X[:, columns]


def task_matrices(stack: KernelStack, X: Any, rows: Sequence[Rows]) -> list[Floats]:
    """Return the kernels of each task's rows among themselves, never those between tasks.

    Parameters
    ----------
    stack : KernelStack
        Not yet fitted.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features) or ndarray of kernels
        The rows of all tasks.
    rows : sequence of ndarray
        Rows of each task; the same array more than once shares its kernels.

    Returns
    -------
    list of ndarray of shape (n_kernels, n_rows, n_rows)
        The matrices.
    """
    if stack.kernels == "precomputed":
        K = stack.fit_transform(X)
        return [K[:, one][:, :, one] for one in rows]
    stack.fit(X)
    found: dict[int, Floats] = {}
    for one in rows:
        if id(one) not in found:
            found[id(one)] = stack_block(stack, X[one], X[one])
    return [found[id(one)] for one in rows]
