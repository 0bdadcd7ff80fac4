"""Samples: what estimators of entropy, dependence and the like ask of them, in one place.

A sample is an array of N rows, one draw each, and d columns; a vector of length N is taken as one
column. Complex samples become real ones of twice the columns: real parts first, then imaginary
parts. Where an estimator needs a density, columns that are constant or linearly dependent are
refused, because there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats


def complex_as_real(Z: NDArray[np.complexfloating]) -> Floats:
    """Return the columns of Re Z followed by those of Im Z: C^d becomes R^2d."""
    return np.hstack([Z.real, Z.imag]).astype(np.float64)


def as_sample(
    X: Any,
    name: str = "X",
    *,
    density: bool = False,
    allow_complex: bool = True,
    min_samples: int = 2,
) -> Floats:
    """Return X as a finite C-ordered float array of shape (N, d).

    Parameters
    ----------
    X : array-like of shape (N, d) or (N,)
        The sample.
    name : str, default="X"
        What messages call it.
    density : bool, default=False
        Whether to refuse samples that can have no density.
    allow_complex : bool, default=True
        Whether complex numbers are mapped to pairs of reals or refused.
    min_samples : int, default=2
        The least N.

    Returns
    -------
    X : ndarray of shape (N, d)
        The input itself where it already was such an array.
    """
    if hasattr(X, "tocsr"):
        raise TypeError(f"{name} is sparse; a dense array of shape (N, d) is needed.")
    X = np.asarray(X)
    if X.ndim == 1:
        X = X[:, None]
    if np.iscomplexobj(X):
        if not allow_complex:
            raise ValueError(f"{name} is complex; this estimator is for real samples.")
        if X.ndim == 2:
            X = complex_as_real(X)
    if not _is_plain(X, min_samples):
        X = check_array(
            X, dtype=np.float64, order="C", ensure_min_samples=min_samples, input_name=name
        )
    if density:
        _refuse_degenerate(X, name)
    return X


def _is_plain(X: Any, min_samples: int) -> bool:
    """Whether `check_array`, which takes as long as sorting a small sample, could say nothing."""
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.shape[0] >= min_samples
        and X.shape[1] > 0
        and bool(np.isfinite(X.sum()))
    )


def _refuse_degenerate(X: Floats, name: str) -> None:
    """Raise where columns are constant, or linearly dependent although N > d."""
    alike = np.flatnonzero(X[0] == X[-1])  # no other column can be constant
    constant = alike[[bool((X[:, c] == X[0, c]).all()) for c in alike]]
    if constant.size:
        raise ValueError(
            f"{name} has no density: {constant.size} of its {X.shape[1]} columns are constant "
            f"(column {constant[0]} is {X[0, constant[0]]:g} throughout). Drop them."
        )
    n, d = X.shape
    if d == 1 or n <= d:
        return
    scaled = np.ascontiguousarray(X.T)  # sums along rows of memory are several times as fast
    scaled = scaled - scaled.mean(axis=1, keepdims=True)
    scaled /= np.abs(scaled).max(axis=1, keepdims=True)  # squares of tiny numbers would vanish
    gram = scaled @ scaled.T
    sizes = np.sqrt(np.diagonal(gram))
    if np.linalg.eigvalsh(gram / np.outer(sizes, sizes))[0] > 1e-10:
        return
    # the Gram matrix only tells half of the digits
    rank = np.linalg.matrix_rank(scaled / sizes[:, None])
    if rank < d:
        raise ValueError(
            f"{name} has no density: its {d} columns are linearly dependent (rank {rank}). "
            "Drop or merge columns."
        )


def as_pair(X: Any, Y: Any, *, density: bool = False) -> tuple[Floats, Floats]:
    """Return two samples of the same dimension; see `as_sample`."""
    X, Y = as_sample(X, "X", density=density), as_sample(Y, "Y", density=density)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}."
        )
    return X, Y


def _columns(group: Any, d: int, position: int) -> list[int]:
    columns = [group] if isinstance(group, (int, np.integer)) else list(group)
    if not columns:
        raise ValueError(f"groups[{position}] is empty; every group needs a column.")
    for c in columns:
        if not isinstance(c, (int, np.integer)) or isinstance(c, bool) or not -d <= c < d:
            raise ValueError(
                f"groups[{position}] must hold column numbers of X (0 to {d - 1}), got {c!r}."
            )
    return [int(c) % d for c in columns]


def as_blocks(
    X: Any, Y: Any = None, groups: Sequence[Any] | None = None, *, density: bool = False
) -> list[Floats]:
    """Return the groups of variables whose dependence is asked for, one array each.

    Parameters
    ----------
    X : array-like of shape (N, d)
        The sample.
    Y : array-like of shape (N, e), default=None
        A second block; the first is then the whole of X.
    groups : sequence of (int or sequence of int), default=None
        The columns of X in each block, disjoint; columns in no group are left out. Without
        `Y` and `groups` every column is a block. A column of a complex X takes its real and
        its imaginary part along.
    density : bool, default=False
        Whether to refuse blocks that can have no density.

    Returns
    -------
    blocks : list of ndarray of shape (N, d_m)
        Two or more.
    """
    if Y is not None:
        if groups is not None:
            raise ValueError("Give either Y or groups, not both.")
        blocks = [as_sample(X, "X", density=density), as_sample(Y, "Y", density=density)]
        if blocks[0].shape[0] != blocks[1].shape[0]:
            raise ValueError(
                "X and Y must have the same number of rows (drawn together), got "
                f"{blocks[0].shape[0]} and {blocks[1].shape[0]}."
            )
        return blocks
    sample = as_sample(X, "X")
    is_complex = np.iscomplexobj(np.asarray(X))
    d = sample.shape[1] // 2 if is_complex else sample.shape[1]
    if groups is None:
        groups = range(d)
    chosen = [_columns(group, d, m) for m, group in enumerate(groups)]
    flat = [c for columns in chosen for c in columns]
    if len(set(flat)) < len(flat):
        raise ValueError(f"groups must be disjoint, got {[list(c) for c in chosen]}.")
    if len(chosen) < 2:
        raise ValueError(
            f"Dependence needs at least two groups of variables, got {len(chosen)}: "
            f"X has {d} column{'s' * (d != 1)} and Y is None."
        )
    if is_complex:
        chosen = [[*columns, *[c + d for c in columns]] for columns in chosen]
    blocks = [np.ascontiguousarray(sample[:, columns]) for columns in chosen]
    if density:
        for m, block in enumerate(blocks):
            _refuse_degenerate(block, f"group {m} of X")
    return blocks


def as_columns(X: Any, Y: Any = None, *, min_columns: int = 2) -> Floats:
    """Return real variables as the columns of one array: those of X, then those of Y."""
    parts = [as_sample(X, "X", allow_complex=False)]
    if Y is not None:
        parts.append(as_sample(Y, "Y", allow_complex=False))
        if parts[0].shape[0] != parts[1].shape[0]:
            raise ValueError(
                "X and Y must have the same number of rows (drawn together), got "
                f"{parts[0].shape[0]} and {parts[1].shape[0]}."
            )
    columns = np.hstack(parts) if len(parts) > 1 else parts[0]
    if columns.shape[1] < min_columns:
        raise ValueError(
            f"Association needs at least {min_columns} variables, got {columns.shape[1]}."
        )
    return columns


def same_sample(X: Floats, Y: Floats) -> bool:
    """Tell whether two samples are the same, as on the diagonal of a Gram matrix."""
    return X is Y or (X.shape == Y.shape and bool(np.array_equal(X, Y)))
