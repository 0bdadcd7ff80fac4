"""Means and covariances of two classes, in whatever space the rows are compared.

A machine that looks at moments alone solves the same small problem for rows as they are, for
more features than rows, and for kernels: the rows are written in coordinates Z in which inner
products are those of the space, K = ZZᵀ, and a direction found there is taken back to weights
of features or of training rows.

Reference: S. Cousins, thesis on moments and multi-label learning (University College London),
Section 3.3.4. There the kernel problem is posed in the n coefficients of the rows; in the
coordinates used here it is the linear problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.extmath import row_norms

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import check_sample_weight
from octavo.engine.kernels.gram import Kernel
from octavo.engine.kernels.nystroem import nystroem_normalization

__all__ = ["ClassMoments", "class_moments"]


class ClassMoments(NamedTuple):
    """What a moment machine knows of one class: ``mean``, ``cov`` and the sample size ``n``.

    ``cov`` is divided by n, not by n - 1. ``n`` is the sum of the weights where rows have them.
    """

    mean: Floats
    cov: Floats
    n: float


@checked
def class_moments(
    X: Any, y: Any, sample_weight: Floats | None = None
) -> tuple[ClassMoments, ClassMoments]:
    """Return the moments of the rows that are not in class 1, and of those that are.

    Parameters
    ----------
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        True or 1 for the rows of class 1; both classes must be there.
    sample_weight : ndarray of shape (n_samples,), default=None
        How often each row counts; not negative.

    Returns
    -------
    zero, one : tuple of ClassMoments
        Mean, covariance (divided by the class's size) and size of each class.

    Examples
    --------
    >>> from octavo.svm import class_moments
    >>> zero, one = class_moments([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0]], [0, 0, 1])
    >>> zero.mean.tolist(), zero.cov.tolist(), one.n
    ([1.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], 1.0)
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    check_squares(X)
    given = column_or_1d(y)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("y must hold True or 1, or False or 0; it contains NaN or infinity.")
    is_one = given.astype(bool)
    check_consistent_length(X, is_one)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
    if is_one.all() or not is_one.any():
        raise ValueError(f"Both classes must be there; got {int(is_one.sum())} of {len(is_one)}.")
    return _moments(X, ~is_one, sample_weight), _moments(X, is_one, sample_weight)


def _moments(X: Any, member: NDArray[np.bool_], sample_weight: Floats | None) -> ClassMoments:
    rows = X[member]
    weight = None if sample_weight is None else sample_weight[member]
    n = float(rows.shape[0]) if weight is None else float(weight.sum())
    share = np.full(rows.shape[0], 1.0 / n) if weight is None else weight / n
    mean = np.asarray(rows.T @ share).ravel()
    if sp.issparse(rows):  # centring would fill it
        scaled = sp.csr_array(rows).multiply(np.sqrt(share)[:, None]).tocsr()
        # E xxᵀ - mean meanᵀ
        return ClassMoments(mean, (scaled.T @ scaled).toarray() - np.outer(mean, mean), n)
    centred = rows - mean
    if weight is not None:
        centred *= np.sqrt(weight)[:, None]
    return ClassMoments(mean, centred.T @ centred / n, n)


class FeatureSpace(NamedTuple):
    """Rows in coordinates, and the way back from a direction in them.

    ``rows`` has the inner products of the space, ``norms`` are the lengths of the images of the
    training rows, ``weights_of`` takes a direction to weights of the features or landmarks, and
    ``landmarks`` are the training rows that predictions are made from (None: the features).
    """

    rows: Any
    norms: Floats
    weights_of: Callable[[Floats], Floats]
    landmarks: NDArray[np.intp] | None


def linear_space(X: Any, *, reduce: bool = True) -> FeatureSpace:
    """Return the rows as they are; with more features than rows, in a basis of their span.

    No direction outside the span of the rows is ever optimal for a machine whose penalty is
    the Euclidean norm (Section 3.3.4), so that nothing is lost.
    """
    norms = row_norms(X)
    if not reduce or X.shape[1] <= X.shape[0]:
        return FeatureSpace(X, norms, lambda w: w, None)
    gram = X @ X.T
    gram = gram.toarray() if sp.issparse(gram) else gram
    values, vectors = np.linalg.eigh(gram)
    # The Gram matrix squares the singular values: below √eps of the largest they are rounding.
    kept = values > 1e-14 * values[-1]
    lengths = np.sqrt(values[kept])
    back = vectors[:, kept] / lengths
    return FeatureSpace(vectors[:, kept] * lengths, norms, lambda w: X.T @ (back @ w), None)


def kernel_space(kernel: Kernel, X: Any, landmarks: NDArray[np.intp]) -> FeatureSpace:
    """Return coordinates for which K ≈ ZZᵀ, exactly if every row is a landmark."""
    if kernel.name == "precomputed":
        columns = np.asarray(X, dtype=np.float64)[:, landmarks]
    else:
        everything = len(landmarks) == X.shape[0]
        columns = kernel.block(X, X if everything else X[landmarks])
    # K_ZZ^(-1/2): K ≈ ZZᵀ with Z = K_nZ K_ZZ^(-1/2)
    back = nystroem_normalization(columns[landmarks])
    norms = np.sqrt(np.maximum(kernel.diagonal(X), 0.0))
    return FeatureSpace(columns @ back, norms, lambda w: back @ w, landmarks)
