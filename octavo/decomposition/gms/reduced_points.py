"""Points in the space of their first singular vectors: Step 1 of ellipsoidal rounding."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, svd
from scipy.sparse.linalg import svds
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd, safe_sparse_dot

SVD_SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized")
_SMALL = 2_000  # dimension up to which a dense Gram matrix costs little
_SQUARED = 1e-6  # singular values below this share of the first are poor if found by squares
_SPARSE_RANK = 1e-7  # and below this share they are nothing but rounding


class Reduced(NamedTuple):
    """Coordinates of each point, the singular values (decreasing), and the directions as rows."""

    coordinates: np.ndarray
    sizes: np.ndarray
    directions: np.ndarray


def reduced_points(X, n_dimensions: int, *, solver="auto", random_state=None) -> Reduced:
    """Return the points U Σ in the space of the first right singular vectors of X.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_points, n_features)
        Points.
    n_dimensions : int
        How many singular vectors; fewer are returned where the rank of X is smaller.
    solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}
        How they are found; "auto" takes the eigenvectors of the smaller Gram matrix where that
        is small and accurate, LAPACK's SVD for dense X where many are wanted, and else ARPACK.
    random_state : int, RandomState instance or None
        For "arpack" and "randomized".

    Returns
    -------
    Reduced
        Coordinates (n_points, n_dimensions), singular values, directions.
    """
    least = min(X.shape)
    n_dimensions = min(n_dimensions, least)
    if solver == "auto":
        solver = _fitting_solver(sparse.issparse(X), least, n_dimensions)
    if sparse.issparse(X) and (solver == "full" or n_dimensions == least):
        solver = "covariance_eigh"  # a full SVD would make X dense, ARPACK finds fewer than all
    found = _SOLVERS[solver](X, n_dimensions, random_state)
    is_poor = solver == "covariance_eigh" and found.sizes[-1] <= _SQUARED * found.sizes[0]
    if is_poor and not sparse.issparse(X):
        found = _by_svd(X, n_dimensions, random_state)
    return _of_full_rank(found, X)


def _fitting_solver(is_sparse: bool, least: int, n_dimensions: int) -> str:
    """Return the cheapest solver that is exact."""
    if not is_sparse and 4 * n_dimensions > least:
        return "full"
    return "covariance_eigh" if least <= _SMALL else "arpack"


def _of_full_rank(found: Reduced, X) -> Reduced:
    """Leave out directions in which the points have no extent."""
    least = _SPARSE_RANK if sparse.issparse(X) else max(X.shape) * np.finfo(float).eps
    rank = int((found.sizes > least * found.sizes[0]).sum())
    return Reduced(found.coordinates[:, :rank], found.sizes[:rank], found.directions[:rank])


def _by_svd(X, k, random_state) -> Reduced:
    u, sizes, directions = svd(X, full_matrices=False)
    return Reduced(u[:, :k] * sizes[:k], sizes[:k], directions[:k])


def _by_squares(X, k, random_state) -> Reduced:
    n, p = X.shape
    is_tall = n >= p
    gram = safe_sparse_dot(X.T, X) if is_tall else safe_sparse_dot(X, X.T)
    gram = gram.toarray() if sparse.issparse(gram) else gram
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[size - k, size - 1])
    sizes, vectors = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]
    if is_tall:
        return Reduced(np.asarray(X @ vectors), sizes, vectors.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        directions = np.asarray(safe_sparse_dot(X.T, vectors)).T / sizes[:, None]
    return Reduced(vectors * sizes, sizes, directions)


def _by_arpack(X, k, random_state) -> Reduced:
    if k == min(X.shape):
        return _by_svd(X, k, random_state)
    start = check_random_state(random_state).uniform(-1, 1, min(X.shape))
    u, sizes, directions = svds(X, k=k, v0=start)
    order = np.argsort(sizes)[::-1]
    return Reduced(u[:, order] * sizes[order], sizes[order], directions[order])


def _by_random_sketch(X, k, random_state) -> Reduced:
    u, sizes, directions = randomized_svd(X, k, n_iter=7, random_state=random_state)
    return Reduced(u * sizes, sizes, directions)


_SOLVERS = {
    "full": _by_svd,
    "covariance_eigh": _by_squares,
    "arpack": _by_arpack,
    "randomized": _by_random_sketch,
}


def warn_of_smaller_rank(asked: int, rank: int) -> None:
    """Say that the points are reduced to fewer dimensions than asked for."""
    warnings.warn(
        f"reduced_dim={asked} exceeds the rank of X, which is {rank}, and is lowered to it.",
        UserWarning,
        stacklevel=3,
    )
