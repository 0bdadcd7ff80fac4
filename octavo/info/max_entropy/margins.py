"""Iterative proportional fitting: tables with given margins, nearest to a given table.

Each step multiplies the table so that one margin is right, which is the I-projection onto that
margin; in turn they lead to the I-projection onto all (I. Csiszár 1975).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.info.max_entropy.feasibility import InfeasibleConstraints

__all__ = ["ipf"]

TOTALS = 1e-8  # relative difference of the totals of two margins that counts as rounding


def _axes_of(given: Any, ndim: int, position: int) -> tuple[int, ...]:
    """Return the axes that a margin keeps."""
    kept = (given,) if np.ndim(given) == 0 else tuple(given)
    for axis in kept:
        if isinstance(axis, bool) or int(axis) != axis or not -ndim <= axis < ndim:
            raise ValueError(
                f"axes[{position}] must name axes of the table, 0 to {ndim - 1}; got {given!r}."
            )
    found = tuple(int(axis) % ndim for axis in kept)
    if len(set(found)) != len(found):
        raise ValueError(f"axes[{position}] names an axis twice: {given!r}.")
    return found


def _read_margins(
    table: Floats, margins: Sequence[ArrayLike], axes: Sequence[Any]
) -> tuple[list[Floats], list[tuple[int, ...]]]:
    """Return the margins in the order of the table's axes, and which axes each sums over."""
    if len(margins) != len(axes) or not len(margins):
        raise ValueError(
            f"There must be as many margins as axes, one at least; got {len(margins)} and "
            f"{len(axes)}."
        )
    wanted, summed, total = [], [], None
    for i, (margin, given) in enumerate(zip(margins, axes, strict=True)):
        kept = _axes_of(given, table.ndim, i)
        values = np.asarray(real_array(margin, f"margins[{i}]"))
        shape = tuple(table.shape[axis] for axis in kept)
        if values.shape != shape:
            raise ValueError(
                f"margins[{i}] must have shape {shape}, that of the axes {kept} of the table; got "
                f"{values.shape}."
            )
        if (values < 0.0).any():
            raise ValueError(f"margins[{i}] must not be negative; got {values.min():g}.")
        here = float(values.sum())
        total = here if total is None else total
        if here <= 0.0 or abs(here - total) > TOTALS * total:
            raise ValueError(
                f"Margins must have one positive total; margins[0] adds up to {total:.10g} and "
                f"margins[{i}] to {here:.10g}."
            )
        wanted.append(values.transpose(np.argsort(kept)) if len(kept) > 1 else values)
        summed.append(tuple(axis for axis in range(table.ndim) if axis not in kept))
    return wanted, summed


def _cell_rows(table: Floats, wanted: list[Floats], summed: list[tuple[int, ...]]) -> Any:
    """Return which cell of the table adds to which cell of the margins, one column a cell."""
    places, offset = np.indices(table.shape).reshape(table.ndim, -1), 0
    rows = []
    for margin, over in zip(wanted, summed, strict=True):
        kept = [axis for axis in range(table.ndim) if axis not in over]
        at = np.ravel_multi_index([places[axis] for axis in kept], margin.shape) if kept else 0
        rows.append(offset + np.broadcast_to(at, table.size))
        offset += margin.size
    columns = np.tile(np.arange(table.size), len(rows))
    ones = np.ones(columns.size)
    return sparse.csr_array((ones, (np.concatenate(rows), columns)), (offset, table.size))


def _refuse_impossible(table: Floats, wanted: list[Floats], summed: list[tuple[int, ...]]) -> None:
    """Raise where no table with zeros where this one has them has the margins, by HiGHS."""
    rows = _cell_rows(table, wanted, summed)[:, np.flatnonzero(table.ravel() > 0.0)]
    target = np.concatenate([margin.ravel() for margin in wanted])
    target = target / target.max()
    # max y·target over rowsᵀ y ≤ 0, |y| ≤ 1 is positive if and only if no table exists (Farkas)
    found = linprog(-target, A_ub=rows.T, b_ub=np.zeros(rows.shape[1]), bounds=(-1, 1))
    if found.status == 0 and -found.fun > 1e-7:
        direction = np.where(np.abs(found.x) < 1e-9, 0.0, found.x)
        raise InfeasibleConstraints(
            "No table that is zero where this one is has these margins: the cells of the margins "
            f"with weights {np.array2string(direction[:8], precision=3)} ... can add up to 0 at "
            f"most, and they are to add up to {-found.fun:.3g} of the largest. Fill cells of the "
            "table, or change the margins.",
            direction,
        )


@checked
def ipf(
    table: ArrayLike,
    margins: Sequence[ArrayLike],
    axes: Sequence[Any],
    tol: float = 1e-10,
    *,
    max_iter: int = 10_000,
) -> Floats:
    """Return the table with given margins that is nearest to a given one in relative entropy.

    Iterative proportional fitting, for tables of any dimension and any set of margins. Odds ratios
    that the margins do not fix are those of the given table; cells of zero stay zero.

    Parameters
    ----------
    table : array-like
        Where to begin, none negative: ones for independence beyond the margins.
    margins : sequence of array-like
        The sums that the result must have, all with one total.
    axes : sequence of (int or sequence of int)
        For each margin the axes of the table that it keeps, in the order of the margin's axes.
    tol : float, default=1e-10
        Stop when no cell of a margin is off by more than this part of the total.
    max_iter : int, default=10_000
        Most rounds over all margins.

    Returns
    -------
    fitted : ndarray
        Of the shape of the table.

    Raises
    ------
    InfeasibleConstraints
        If cells of zero leave no table with these margins.

    Examples
    --------
    >>> from octavo.info import ipf
    >>> ipf([[1, 2], [3, 4]], [[10, 10], [8, 12]], [0, 1]).round(4)
    array([[3.5153, 6.4847],
           [4.4847, 5.5153]])
    """
    if not tol > 0.0 or max_iter < 1:
        raise ValueError(f"tol and max_iter must be positive; got {tol} and {max_iter}.")
    start = np.atleast_1d(real_array(table, "table"))
    if (start < 0.0).any() or not start.any():
        raise ValueError(
            f"table must not be negative, nor zero throughout; its least entry is {start.min():g}."
        )
    wanted, summed = _read_margins(start, margins, axes)
    total = float(wanted[0].sum())
    fitted = start / start.max()
    fitted *= total / float(fitted.sum())
    residual = np.inf
    for _ in range(max_iter):
        residual = 0.0
        for margin, over in zip(wanted, summed, strict=True):
            sums = fitted.sum(axis=over)
            residual = max(residual, float(np.abs(sums - margin).max()) / total)
            # an I-projection onto one margin
            ratio = np.divide(margin, sums, out=np.zeros_like(sums), where=sums > 0.0)
            fitted = fitted * np.expand_dims(ratio, over)
        if residual <= tol:
            return fitted
        if not np.isfinite(residual):
            break
        if residual > tol and not fitted.any():
            break
    _refuse_impossible(start, wanted, summed)
    warnings.warn(
        f"IPF did not converge in {max_iter} rounds: a margin is off by {residual:.3g} of the "
        f"total (tol={tol:g}). Cells of zero make it slow; raise max_iter or tol.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return fitted
