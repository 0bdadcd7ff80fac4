"""Kernels of sparse vectors and of sets of labels (Section 5.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["label_intersection_kernel", "relevance_gaussian_kernel", "relevance_scale"]


def as_rows(X: Any, name: str = "X") -> Floats:
    """Return vectors as rows of a table."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)
    return X.toarray() if sp.issparse(X) else X


@checked
def relevance_scale(X: Any) -> Floats:
    """Return how much a unit of each column counts: 2 √(n / nnz) / (max - min).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Examples.

    Returns
    -------
    scale : ndarray of shape (n_features,)
        Zero for columns that never vary.

    Examples
    --------
    >>> from octavo.search import relevance_scale
    >>> print(relevance_scale([[0.0, 1.0], [0.5, 0.0], [0.0, 0.25]]).tolist())
    [4.0, 2.0]
    """
    X = as_rows(X)
    nnz = int(np.count_nonzero(X))
    spread = np.ptp(X, axis=0)
    factor = 2.0 * np.sqrt(len(X) / max(nnz, 1))
    # m_jj of Section 5.5.1
    return np.divide(factor, spread, out=np.zeros_like(spread), where=spread > 0)


@checked
def relevance_gaussian_kernel(X: Any, other: Any = None, scale: Any = None) -> Floats:
    """Return exp(-½ Σ_j m_j² (x_j - x'_j)²), a Gaussian with one scale for each column.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Vectors; a list of vectors will do.
    other : {array-like, sparse matrix} of shape (n_other, n_features), default=None
        The second arguments; `X` by default.
    scale : array-like of shape (n_features,), default=None
        The thesis's m; `relevance_scale(X)` by default. In a search give that of the examples, or
        the kernel would change from call to call.

    Returns
    -------
    K : ndarray of shape (n_samples, n_other)
        Between 0 and 1.

    Examples
    --------
    >>> from octavo.search import relevance_gaussian_kernel
    >>> K = relevance_gaussian_kernel([[0.0, 1.0], [0.5, 0.5]], scale=[2.0, 1.0])
    >>> print(K.round(4).tolist())
    [[1.0, 0.5353], [0.5353, 1.0]]
    """
    X = as_rows(X)
    Y = X if other is None else as_rows(other, "other")
    if Y.shape[1] != X.shape[1]:
        raise ValueError(
            f"The vectors of other have {Y.shape[1]} entries, those of X {X.shape[1]}."
        )
    m = relevance_scale(X) if scale is None else np.asarray(scale, dtype=np.float64)
    if m.shape != (X.shape[1],) or not np.isfinite(m).all():
        raise ValueError(f"A vector of {X.shape[1]} finite numbers is needed as scale.")
    return np.exp(-0.5 * cdist(X * m, Y * m, "sqeuclidean"))  # k_X of Section 5.5.1, M diagonal


@checked
def label_intersection_kernel(labels: Any, other: Any = None) -> Floats:
    """Return how many elementary properties two sets of labels share, |y ∩ y'|.

    Parameters
    ----------
    labels : list of set
        Sets of labels.
    other : list of set, default=None
        The second arguments; `labels` by default.

    Returns
    -------
    K : ndarray of shape (n_labels, n_other)
        Sizes of intersections.

    Examples
    --------
    >>> from octavo.search import label_intersection_kernel
    >>> print(label_intersection_kernel([{"binds"}, {"binds", "soluble"}, set()]).tolist())
    [[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    """
    first = as_sets(labels)
    second = first if other is None else as_sets(other)
    return np.array([[float(len(a & b)) for b in second] for a in first]).reshape(
        len(first), len(second)
    )


def as_sets(labels: Any) -> list[frozenset[Any]]:
    """Return a list of sets."""
    if isinstance(labels, (str, bytes, dict, set, frozenset)) or not hasattr(labels, "__len__"):
        raise ValueError(f"A list of sets of labels is needed; got {labels!r}.")
    for entry in labels:
        if not isinstance(entry, (set, frozenset, list, tuple)):
            raise ValueError(f"Every label must be a set; got {entry!r}.")
    return [frozenset(entry) for entry in labels]
