"""Sequences and grids as one list of cells: who is before whom, and which labels meet.

Cells of all structures stand one after the other, each structure in the order in which it is
labelled (left to right; grids row by row). ``slots`` names the earlier cells whose labels a
recurrent classifier sees; ``tuples`` the runs of neighbouring cells that joint features count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.label_sequences import LabelStack, stack_labels
from octavo.engine.chains.sequences import locate, stack_sequences
from octavo.engine.estimators.arrays import Floats, Ints


class Cells(NamedTuple):
    """Observations of all cells, and how they came.

    ``values`` is (N, n_features); ``lengths`` counts the cells of each structure; ``shapes`` are
    the (height, width) of grids, or None; ``listed`` tells whether structures came as a list.
    """

    values: Floats
    lengths: Ints
    shapes: list[tuple[int, int]] | None
    listed: bool

    @property
    def starts(self) -> Ints:
        """Return where each structure begins, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def give(self, labels: NDArray[Any]) -> Any:
        """Return what belongs to cells in the form in which observations were given."""
        parts = np.split(labels, np.cumsum(self.lengths)[:-1])
        if self.shapes is not None:
            parts = [part.reshape(shape) for part, shape in zip(parts, self.shapes)]
        return parts if self.listed else labels


def read_cells(X: Any, lengths: ArrayLike | None = None, structure: str | None = None) -> Cells:
    """Return sequences or grids as cells; None tells them apart by their dimensions."""
    if X is None or isinstance(X, (str, bytes, dict)) or np.isscalar(X):
        raise ValueError(f"X must be a list of arrays, got {type(X).__name__}.")
    if not hasattr(X, "__len__"):
        X = list(X)
    if len(X) == 0:
        raise ValueError("X is empty; at least one sequence or grid is needed.")
    ndim = np.ndim(X[0])
    grid = structure == "grid" or (structure is None and lengths is None and ndim == 3)
    if grid:
        return _read_grids(X)
    if isinstance(X, np.ndarray) and X.ndim == 3 and lengths is None:
        X = list(X)
    listed = lengths is None and isinstance(X, (list, tuple)) and np.ndim(X[0]) > 0
    try:
        stacked = stack_sequences(X, lengths, columns=True)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.endswith(".") else text + ".") from None
    if stacked.values.ndim != 2:
        raise ValueError(
            f"X must have one row of features per position, got positions of shape "
            f"{stacked.values.shape[1:]}; grids need structure='grid'."
        )
    return Cells(_numbers(stacked.values, stacked.lengths), stacked.lengths, None, listed)


def _read_grids(X: Any) -> Cells:
    parts, shapes = [], []
    for q, grid in enumerate(X):
        part = np.asarray(grid)
        if part.ndim != 3:
            raise ValueError(
                f"Grid {q} must have the shape (height, width, n_features), got {part.shape}."
            )
        if part.shape[0] == 0 or part.shape[1] == 0:
            raise ValueError(f"Grid {q} is empty: its shape is {part.shape}; leave it out.")
        if part.shape[2] != np.shape(X[0])[2]:
            raise ValueError(
                f"Grid {q} has {part.shape[2]} features, but grid 0 has {np.shape(X[0])[2]}."
            )
        shapes.append((part.shape[0], part.shape[1]))
        parts.append(part.reshape(-1, part.shape[2]))
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    return Cells(_numbers(np.concatenate(parts), lengths), lengths, shapes, True)


def _numbers(values: NDArray[Any], lengths: Ints) -> Floats:
    try:
        if values.dtype.kind == "c":
            raise TypeError
        found = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"X must hold real numbers, got dtype {values.dtype}.") from None
    if found.shape[1] == 0:
        raise ValueError("X has 0 features; at least one is needed.")
    if not np.isfinite(found).all():
        row, column = divmod(int(np.argmin(np.isfinite(found).ravel())), found.shape[1])
        raise ValueError(
            f"X has {found[row, column]} (NaN or infinity) at {locate(row, lengths)}, feature "
            f"{column}; impute or leave out what is not finite."
        )
    if np.abs(found).max(initial=0.0) > 1e100:
        raise ValueError("X has numbers above 1e100, whose squares overflow; rescale the features.")
    return found


def read_labels(y: Any, cells: Cells, name: str = "y") -> LabelStack:
    """Return the labels of all cells after checking that every structure has as many."""
    if y is None:
        raise ValueError(f"{name} is missing: labelled sequences or grids are needed.")
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise ValueError(f"{name} must be a list of label sequences, got {type(y).__name__}.")
    if not cells.listed:
        return _ended(stack_labels, y, cells.lengths, name=name)
    parts = list(y)
    if len(parts) != cells.lengths.size:
        raise ValueError(
            f"X has {cells.lengths.size} sequences or grids, but {name} has {len(parts)}."
        )
    flat: list[Any] = []
    for q, part in enumerate(parts):
        if isinstance(part, str) or not hasattr(part, "__len__"):
            raise ValueError(f"{name}: entry {q} must be a sequence of labels, got {part!r}.")
        if cells.shapes is not None:
            grid = np.asarray(part)
            if grid.shape != cells.shapes[q]:
                raise ValueError(
                    f"Grid {q} has the shape {cells.shapes[q]} in X, but {grid.shape} in {name}."
                )
            part = grid.ravel()
        if len(part) != cells.lengths[q]:
            raise ValueError(
                f"Sequence {q} has {cells.lengths[q]} positions in X, but {len(part)} labels in "
                f"{name}."
            )
        flat.append(part if isinstance(part, np.ndarray) else list(part))
    return _ended(stack_labels, flat, None, name=name)


def _ended(function: Any, *args: Any, **options: Any) -> Any:
    """Call a reader of the engine; its messages end with a full stop here."""
    try:
        return function(*args, **options)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.endswith(".") else text + ".") from None


# --- which cells see which ----------------------------------------------------------------------


class Layout(NamedTuple):
    """Neighbours of all cells, for compiled code.

    ``slots`` (N, S) are earlier cells, -1 where there is none; ``reach`` (N,) is how far after a
    cell others may still look at it. Tuple m runs over ``tuples[m, :arity[m]]`` (the last cell
    last) and is counted in the table at ``offset[m]``; ``members[member_ptr[c]:member_ptr[c+1]]``
    are the tuples that cell c is in.
    """

    slots: Ints
    reach: Ints
    tuples: Ints
    arity: Ints
    offset: Ints
    member_ptr: Ints
    members: Ints


def _steps(cells: Cells) -> list[tuple[Ints, Ints]]:
    """Return for each direction how many cells lie before each cell, and the stride to them."""
    starts = cells.starts[:-1]
    position = np.arange(cells.lengths.sum()) - np.repeat(starts, cells.lengths)
    if cells.shapes is None:
        return [(position, np.ones_like(position))]
    width = np.repeat([shape[1] for shape in cells.shapes], cells.lengths)
    return [(position % width, np.ones_like(position)), (position // width, width)]


def table_sizes(n_labels: int, order: int, grid: bool) -> list[int]:
    """Return the sizes of the tables of joint features: by order, then by direction."""
    return [n_labels ** (q + 1) for q in range(1, order + 1) for _ in range(2 if grid else 1)]


def layout(cells: Cells, history: int, n_labels: int, order: int) -> Layout:
    """Return who sees whom: histories of the classifier, and runs that joint features count."""
    n, directions = int(cells.lengths.sum()), _steps(cells)
    own = np.arange(n)
    slots = [
        np.where(before >= h, own - h * stride, -1)
        for before, stride in directions
        for h in range(1, history + 1)
    ]
    widest = directions[-1][1] * history
    sizes = table_sizes(n_labels, order, cells.shapes is not None)
    base = n_labels * cells.values.shape[1]
    runs, arities, offsets = [], [], []
    for k, size in enumerate(sizes):
        q = k // len(directions) + 1
        before, stride = directions[k % len(directions)]
        last = own[before >= q]
        # q + 1 cells that follow one another: a table of its own for each length and direction
        run = np.full((last.size, order + 1), -1, dtype=np.int64)
        for j in range(q + 1):
            run[:, j] = last - (q - j) * stride[last]
        runs.append(run)
        arities.append(np.full(last.size, q + 1))
        offsets.append(np.full(last.size, base))
        base += size
    tuples = np.concatenate(runs) if runs else np.zeros((0, 1), dtype=np.int64)
    flat, which = tuples.ravel(), np.repeat(np.arange(len(tuples)), tuples.shape[1])
    inside = flat >= 0
    ranked = np.argsort(flat[inside], kind="stable")
    counts = np.bincount(flat[inside], minlength=n)
    # runs by cell: which joint features a changed label touches
    return Layout(
        np.ascontiguousarray(np.stack(slots, axis=1) if slots else np.zeros((n, 0)), np.int64),
        np.ascontiguousarray(widest, dtype=np.int64),
        np.ascontiguousarray(tuples),
        np.concatenate([*arities, np.zeros(0)]).astype(np.int64),
        np.concatenate([*offsets, np.zeros(0)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        which[inside][ranked].astype(np.int64),
    )
