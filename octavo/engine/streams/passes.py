"""Rows of a dense or CSR table, met one after the other by compiled code.

A one-pass learner touches each row once, so its inner loop is a dot product and a step
along the row. This module gives both for dense and sparse tables behind one type: Python
code calls `row_blocks` (no copy for C-ordered float64 tables and for float64 CSR, one small
block at a time otherwise), compiled code takes a `Row` out of a `Rows` and uses `dot`,
`axpy`, `squared_norm` and `p_norm`. A compiled learner therefore exists once, whatever the
layout and the precision of the table.

`add`, `rescale` and `averaged` keep a weight vector together with the mean of its past
values at a cost in the nonzeros of a row alone.

References
----------
L. Bottou. Stochastic gradient descent tricks. In Neural Networks: Tricks of the Trade,
2012: the scaled vector and the lazily averaged vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba.core import cgutils
from numba.extending import intrinsic

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.compilation.prefetch import fetch

__all__ = ["Row", "Rows", "as_rows", "row_blocks"]

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# A small kernel is inlined where it is called: its arguments are tuples of arrays, which cost
# more to pass than its work.
WORD: dict[str, Any] = {**JIT, "forceinline": True}
# Sums over contiguous numbers may be taken in any order and with fused multiply-add: rounding
# changes, nothing else. Sums over scattered ones may not: vector gathers are slower.
SUM: dict[str, Any] = {**JIT, "fastmath": {"reassoc", "contract"}}
_TINY = 1e-150  # the square of a smaller number may underflow
BLOCK = 1 << 18  # numbers held by a block that has to be copied: 2 MiB, stays in the cache


class Rows(NamedTuple):
    """A block of rows; ``bias`` is the value of a coordinate appended to each (0: none)."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    n_features: int
    dense: bool
    bias: float


class Row(NamedTuple):
    """One row; coordinate ``k`` is ``k`` itself when dense, else ``indices[k]``."""

    indices: np.ndarray
    values: np.ndarray
    n_features: int
    dense: bool
    bias: float


_NO_INDPTR = np.zeros(0, dtype=np.int64)
_NO_INDICES = np.zeros(0, dtype=np.uint32)


def is_sparse(X: Any) -> bool:
    """Tell a scipy sparse table; a plain bool, which leaves type checkers their idea of X."""
    return sp.issparse(X)


def locked(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, so that read-only input is the same compiled type."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_rows(X, bias: float = 0.0) -> Rows:
    """Present a C-ordered float64 array or a float64 CSR matrix as `Rows`, without a copy.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float64
        Rows without repeated columns.
    bias : float, default=0.0
        Value of the coordinate appended to every row; 0 appends none.

    Returns
    -------
    rows : Rows
        Views of the data of ``X`` (column numbers are converted to 32 bits if needed).
    """
    if is_sparse(X):
        indptr = X.indptr.astype(np.int64, copy=False)
        # unsigned, so that compiled code need not look for negative ones
        indices = X.indices.astype(np.int32, copy=False).view(np.uint32)
        return Rows(locked(indptr), locked(indices), locked(X.data), X.shape[1], False, float(bias))
    return Rows(
        locked(_NO_INDPTR),
        locked(_NO_INDICES),
        locked(X.reshape(-1)),
        X.shape[1],
        True,
        float(bias),
    )


def row_blocks(X, order=None, bias: float = 0.0) -> Iterator[tuple[Rows, np.ndarray, np.ndarray]]:
    """Cut a validated table into blocks that compiled code can read.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        float64 or float32, any memory order. Fewer than 2**31 columns.
    order : ndarray of shape (n_rounds,) or None, default=None
        The rows to visit, in this order; all of them as stored when None.
    bias : float, default=0.0
        Value of the coordinate appended to every row; 0 appends none.

    Yields
    ------
    rows : Rows
        The block.
    local : ndarray of int64
        Where the rows to visit stand in the block, in order.
    visited : ndarray of int64
        Where the same rows stand in ``X``.
    """
    order = np.arange(X.shape[0], dtype=np.int64) if order is None else np.asarray(order, np.int64)
    if is_sparse(X):
        ready = X.dtype == np.float64 and X.indices.dtype == np.int32
        per_row = max(1.0, X.nnz / max(1, X.shape[0]))
    else:
        ready = X.dtype == np.float64 and X.flags.c_contiguous
        per_row = max(1, X.shape[1])
    if ready:
        yield as_rows(X, bias), locked(order), order
        return
    size = max(1, int(BLOCK / per_row))
    for start in range(0, len(order), size):
        visited = order[start : start + size]
        block = X[visited].astype(np.float64, copy=False)
        if not is_sparse(block):
            block = np.ascontiguousarray(block)
        yield as_rows(block, bias), locked(np.arange(len(visited), dtype=np.int64)), visited


def _borrow(typing_context, array):
    """Return a view that does not count references, valid while its owner lives.

    Taking an array out of a tuple counts a reference, atomically; in a loop over short rows
    these counts would take longer than the arithmetic.
    """

    def codegen(context, builder, signature, arguments):
        view = context.make_array(signature.return_type)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), codegen


borrowed: Any = intrinsic(_borrow)  # what numba makes of it has no type that mypy knows


@njit(**WORD)
def borrowed_rows(rows):
    """Return a block whose arrays do not count references."""
    return Rows(
        borrowed(rows.indptr),
        borrowed(rows.indices),
        borrowed(rows.values),
        rows.n_features,
        rows.dense,
        rows.bias,
    )


@njit(**WORD)
def row_of(rows, i):
    """Return row ``i`` of a block."""
    if rows.dense:
        first = i * rows.n_features
        last = first + rows.n_features
        return Row(rows.indices, rows.values[first:last], rows.n_features, rows.dense, rows.bias)
    first = rows.indptr[i]
    last = rows.indptr[i + 1]
    return Row(
        rows.indices[first:last], rows.values[first:last], rows.n_features, rows.dense, rows.bias
    )


@njit(**WORD)
def fetch_row(rows, i, vector):
    """Ask for the entries of a vector that row ``i`` names, where it is sparse."""
    if not rows.dense and vector.size > 0:
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            fetch(vector, np.int64(rows.indices[k]))


@njit(**WORD)
def is_zero(x):
    """Tell whether a row is zero, or so small that its squared norm would underflow."""
    if x.bias != 0.0:
        return False
    for k in range(x.values.size):  # noqa: SIM110
        if abs(x.values[k]) > _TINY:
            return False
    return True


@njit(**WORD)
def coordinate(x, k):
    """Return the number of the ``k``-th coordinate of a row; the bias comes last."""
    if k == x.values.size:
        return np.int64(x.n_features)
    return np.int64(k) if x.dense else np.int64(x.indices[k])


@njit(**SUM)
def _dense_dot(values, w):
    total = 0.0
    for k in range(values.size):
        total += values[k] * w[k]
    return total


@njit(**WORD)
def sparse_dot(indices, values, w):
    """Return the product of stored entries with a vector: four sums, none waits for another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = values.size & ~3
    for k in range(0, whole, 4):
        a += values[k] * w[indices[k]]
        b += values[k + 1] * w[indices[k + 1]]
        c += values[k + 2] * w[indices[k + 2]]
        d += values[k + 3] * w[indices[k + 3]]
    for k in range(whole, values.size):
        a += values[k] * w[indices[k]]
    return (a + b) + (c + d)


@njit(**WORD)
def dot(x, w):
    """Return the product of a row with a vector of weights."""
    total = 0.0
    if x.dense:
        total = _dense_dot(x.values, w)
    else:
        total = sparse_dot(x.indices, x.values, w)
    if x.bias != 0.0:
        total += x.bias * w[x.n_features]
    return total


@njit(**WORD)
def axpy(step, x, w):
    """Add ``step`` times a row to a vector."""
    if x.dense:
        for k in range(x.values.size):
            w[k] += step * x.values[k]
    else:
        for k in range(x.values.size):
            w[x.indices[k]] += step * x.values[k]
    if x.bias != 0.0:
        w[x.n_features] += step * x.bias


@njit(**JIT)
def dots(x, weights, out):
    """Write the products of a row with ``out.size`` vectors, stored coordinate by coordinate."""
    n = out.size
    out[:] = 0.0
    for k in range(x.values.size):
        first = (k if x.dense else np.int64(x.indices[k])) * n
        value = x.values[k]
        for c in range(n):
            out[c] += value * weights[first + c]
    if x.bias != 0.0:
        for c in range(n):
            out[c] += x.bias * weights[x.n_features * n + c]


@njit(**JIT)
def axpy_strided(step, x, weights, n, c):
    """Add ``step`` times a row to vector ``c`` of ``n`` stored coordinate by coordinate."""
    for k in range(x.values.size):
        j = k if x.dense else np.int64(x.indices[k])
        weights[j * n + c] += step * x.values[k]
    if x.bias != 0.0:
        weights[x.n_features * n + c] += step * x.bias


@njit(**SUM)
def squared_norm(x):
    """Return the squared Euclidean norm of a row."""
    total = x.bias * x.bias
    for k in range(x.values.size):
        total += x.values[k] * x.values[k]
    return total


@njit(**JIT)
def p_norm(x, p):
    """Return the p-norm of a row."""
    if p == 2.0:
        return np.sqrt(squared_norm(x))
    largest = abs(x.bias)
    for k in range(x.values.size):
        largest = max(largest, abs(x.values[k]))
    if largest == 0.0:
        return 0.0
    total = (abs(x.bias) / largest) ** p  # no power of the largest can overflow or vanish
    for k in range(x.values.size):
        total += (abs(x.values[k]) / largest) ** p
    return largest * total ** (1.0 / p)


# A scaled vector with a lazy mean. The weights are w = scale * z. The sum of w over all rounds
# is t * w - u, where a change d made in round t adds (t - 1) * d to u; u = lag * z + drift, so
# that scaling w moves `lag` alone. `clock` holds (t, scale, lag).
ROUND, SCALE, LAG = 0, 1, 2


def new_clock() -> np.ndarray:
    """Return the clock of a vector that no round has touched."""
    return np.array([0.0, 1.0, 0.0])


@njit(**WORD)
def add(step, x, weights, drift, clock, n, c):
    """Add ``step`` times a row to vector ``c`` of ``n``, keeping the mean of its past.

    Parameters
    ----------
    step : float
        Length of the step.
    x : Row
        The direction.
    weights, drift : ndarray of shape (n_coordinates * n,)
        The vectors, coordinate by coordinate. An empty ``drift`` keeps no mean.
    clock : ndarray of shape (3,)
        Round, scale and lag.
    n, c : int
        Number of vectors, and the one to change.
    """
    inner = step / clock[SCALE]
    if n == 1:
        axpy(inner, x, weights)
    else:
        axpy_strided(inner, x, weights, n, c)
    if drift.size > 0:
        # Keeps u = lag z + drift when z moves: a change of w by `step` adds (t - 1) step to u.
        lagging = (clock[ROUND] - 1.0) * step - clock[LAG] * inner
        if n == 1:
            axpy(lagging, x, drift)
        else:
            axpy_strided(lagging, x, drift, n, c)


@njit(**JIT)
def rescale(factor, weights, drift, clock):
    """Multiply all the vectors by ``factor``, at no cost but a rare clean-up."""
    scale = clock[SCALE]
    clock[LAG] += (clock[ROUND] - 1.0) * (factor - 1.0) * scale
    scale *= factor
    clock[SCALE] = scale
    if 1e-6 < abs(scale) < 1e6:  # further out, the scale would lose the digits of z
        return
    if drift.size > 0:
        for k in range(drift.size):
            drift[k] += clock[LAG] * weights[k]
            weights[k] *= scale
    else:
        for k in range(weights.size):
            weights[k] *= scale
    clock[SCALE] = 1.0
    clock[LAG] = 0.0


def current(weights: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Return the vectors as they stand."""
    return clock[SCALE] * weights


def averaged(weights: np.ndarray, drift: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Return the mean of the vectors over the rounds so far."""
    behind = clock[LAG] * weights + drift
    return clock[SCALE] * weights - behind / max(clock[ROUND], 1.0)


def _warmup() -> None:
    """Compile all of the above."""
    rows = as_rows(np.array([[1.0, 2.0]]), 1.0)
    x = row_of(rows, 0)
    weights, drift, clock, out = np.zeros(6), np.zeros(6), new_clock(), np.zeros(2)
    is_zero(x)
    _dense_dot(weights, weights)
    coordinate(x, 2)
    fetch_row(rows, 0, weights)
    sparse_dot(rows.indices, rows.values[:0], weights)
    dot(x, weights)
    axpy(1.0, x, weights)
    dots(x, weights, out)
    axpy_strided(1.0, x, weights, 2, 1)
    squared_norm(x)
    p_norm(x, 3.0)
    add(1.0, x, weights, drift, clock, 2, 0)
    rescale(0.5, weights, drift, clock)
