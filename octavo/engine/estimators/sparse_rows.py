"""Sparse tables in one form, whatever the caller stored: each column once a row, in order.

A compressed sparse row may name a column several times, meaning the sum, and in any order.
Whoever reads stored entries as if they were the matrix (a norm, a largest value, a hash) answers
wrongly then. Estimators bring a table into canonical form first; the caller's arrays are never
touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

CHUNK = 1 << 17  # entries looked at while they are in the cache


def _looked_at(X: Any) -> tuple[bool, bool]:
    """Tell whether columns strictly increase within rows, and whether all of them exist.

    By looking, since scipy's flag may be stale. Columns fail to rise where a row begins, or
    somewhere else too: only how often both happen has to be counted.
    """
    indices, indptr = X.indices, X.indptr
    begins = indptr[:-1][indptr[1:] > indptr[:-1]][1:].astype(np.intp)  # of filled rows, but one
    starts = np.arange(1, indices.size + 1, CHUNK)
    cuts = np.searchsorted(begins, np.append(starts, indices.size + CHUNK))
    unsigned = indices.view(f"u{indices.dtype.itemsize}")  # of which a negative number is huge
    high, extra = unsigned[-1], 0
    for k, start in enumerate(starts):
        part = unsigned[start - 1 : start + CHUNK]
        falls = part[1:] <= part[:-1]
        local = begins[cuts[k] : cuts[k + 1]] - start
        extra += int(np.count_nonzero(falls)) - int(np.count_nonzero(falls.take(local)))
        # where columns rise within rows, the largest is the last of some row
        high = max(high, part.take(local).max(initial=0))
    if extra:
        high = unsigned.max()
    return extra == 0, bool(high < X.shape[1])


def _refuse_broken(X: Any) -> None:
    """Raise unless the pointers of a CSR matrix fit its arrays: compiled code trusts them."""
    indptr = X.indptr
    fits = indptr.size == X.shape[0] + 1 and indptr[0] == 0 and bool(np.all(np.diff(indptr) >= 0))
    if not fits or not indptr[-1] == X.indices.size == X.data.size:
        raise ValueError(
            f"The row pointers of a sparse matrix must rise from 0 to its {X.data.size} stored "
            f"entries in {X.shape[0]} steps; these do not."
        )


def canonical_csr(X: Any, *, narrow: bool = False) -> Any:
    """Return a sparse table as CSR that names each column at most once a row, in order.

    Parameters
    ----------
    X : ndarray or sparse matrix
        A table; one that is not sparse is returned as it is.
    narrow : bool, default=False
        Return 32-bit indices where they suffice, for libraries that know no others.

    Returns
    -------
    table : ndarray, csr_matrix or csr_array
        X itself where it is in that form already, else a copy. X is never changed.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from octavo.engine.estimators.sparse_rows import canonical_csr
    >>> X = sp.csr_array(([1.0, 2.0, 3.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    >>> canonical_csr(X).data.tolist(), X.data.tolist()
    ([2.0, 4.0], [1.0, 2.0, 3.0])
    """
    if not sp.issparse(X):
        return X
    if X.format != "csr":
        X = X.tocsr(copy=True)  # some formats share their arrays
    _refuse_broken(X)
    canonical = True
    if X.indices.size:
        canonical, exist = _looked_at(X)
        if not exist:
            raise ValueError(
                f"The column indices of a sparse matrix with {X.shape[1]} columns must lie between "
                f"0 and {X.shape[1] - 1}; got {X.indices.min()} to {X.indices.max()}."
            )
    if not canonical:
        X = X.copy()
        X.has_sorted_indices = X.has_canonical_format = False
        X.sum_duplicates()  # sorts too
    wide = X.indices.dtype.itemsize > 4 or X.indptr.dtype.itemsize > 4
    if narrow and wide and max(X.shape[1], X.data.size) < 2**31:
        X = type(X)(X, copy=False)  # another matrix over the same arrays, whose indices may go
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def validate_rows(estimator: Any, X: Any, *y: Any, narrow: bool = False, **options: Any) -> Any:
    """Validate as scikit-learn's `validate_data` does, and bring sparse rows into canonical form.

    Parameters
    ----------
    estimator : estimator
        Whose data these are.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The table.
    *y : array-like
        Targets, where there are any.
    narrow : bool, default=False
        As for `canonical_csr`.
    **options : dict
        Those of `validate_data`.

    Returns
    -------
    checked : array or tuple of arrays
        X, or X and y.
    """
    checked = validate_data(estimator, X, *y, **options)
    if isinstance(checked, tuple):
        return canonical_csr(checked[0], narrow=narrow), *checked[1:]
    return canonical_csr(checked, narrow=narrow)
