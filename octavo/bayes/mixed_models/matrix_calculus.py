"""Matrix calculus of a multivariate normal: vech, duplication, commutation, natural parameters.

Reference: M. P. Wand (2014), "Fully Simplified Multivariate Normal Updates in Non-Conjugate
Variational Message Passing", Journal of Machine Learning Research 15, Sections 2 and 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = [
    "commutation_matrix",
    "duplication_matrix",
    "moment_parameters",
    "natural_parameters",
    "row_kronecker",
    "vech",
]

LARGEST_ORDER = 100  # d^2 x d^2 entries beyond this are a gigabyte


def _check_order(d: Any) -> int:
    if isinstance(d, bool) or not isinstance(d, (int, np.integer)) or d < 1:
        raise ValueError(f"d must be a whole number of at least 1; got {d!r}.")
    if d > LARGEST_ORDER:
        raise ValueError(
            f"d must be at most {LARGEST_ORDER}: the matrix has of the order of d^4 entries; "
            f"got {d}."
        )
    return int(d)


def _check_square(matrix: Any, name: str) -> Floats:
    found = check_array(matrix, dtype=np.float64, input_name=name)
    if found.shape[0] != found.shape[1]:
        raise ValueError(f"{name} must be square; it is {found.shape[0]} x {found.shape[1]}.")
    return found


def _check_covariance(Sigma: Any, name: str = "Sigma") -> Floats:
    found = _check_square(Sigma, name)
    if not np.allclose(found, found.T, rtol=1e-8, atol=1e-12 * np.abs(found).max()):
        raise ValueError(f"{name} must be symmetric; it is not.")
    return found


@checked
def vech(A: Any) -> Floats:
    """Return the lower triangle of a matrix, column by column (Section 2.1).

    Parameters
    ----------
    A : array-like of shape (d, d)
        A square matrix.

    Returns
    -------
    entries : ndarray of shape (d (d + 1) / 2,)
        vec(A) without the entries above the diagonal.

    Examples
    --------
    >>> from octavo.bayes import vech
    >>> vech([[5.0, 2.0], [9.0, 4.0]])
    array([5., 9., 4.])
    """
    A = _check_square(A, "A")
    columns, rows = np.triu_indices(len(A))
    return A[rows, columns]


@checked
def duplication_matrix(d: int) -> Floats:
    """Return D with D vech(A) = vec(A) for every symmetric A (Section 2.1).

    Parameters
    ----------
    d : int
        Order of A.

    Returns
    -------
    D : ndarray of shape (d^2, d (d + 1) / 2)
        Zeros and ones. Its pseudo-inverse maps vec(A) to vech(A).

    Examples
    --------
    >>> from octavo.bayes import duplication_matrix
    >>> duplication_matrix(2)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    d = _check_order(d)
    columns, rows = np.triu_indices(d)
    place = np.arange(len(rows))
    D = np.zeros((d * d, len(rows)))
    D[columns * d + rows, place] = 1.0  # both places of an entry below the diagonal
    D[rows * d + columns, place] = 1.0
    return D


@checked
def commutation_matrix(d: int, n_columns: int | None = None) -> Floats:
    """Return K with K vec(A) = vec(A') (proof of Theorem 1).

    Parameters
    ----------
    d : int
        Number of rows of A.
    n_columns : int or None, default=None
        Number of its columns; None for a square A.

    Returns
    -------
    K : ndarray of shape (d n_columns, d n_columns)
        A permutation.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import commutation_matrix
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> commutation_matrix(2) @ A.ravel("F")
    array([1., 2., 3., 4.])
    """
    d = _check_order(d)
    n = d if n_columns is None else _check_order(n_columns)
    K = np.zeros((d * n, d * n))
    K[np.arange(d * n), np.arange(d * n).reshape(n, d).T.ravel()] = 1.0
    return K


@checked
def row_kronecker(A: Any) -> Floats:
    """Return the Kronecker product of each row with itself: the paper's Q(A) (Theorem 2).

    Then diagonal(A B A') = Q(A) vec(B) and vec(A' diag(b) A) = Q(A)' b. Computations have no need
    of it: ``((A @ B) * A).sum(1)`` and ``(A.T * b) @ A`` are the same.

    Parameters
    ----------
    A : array-like of shape (n, d)
        A design matrix.

    Returns
    -------
    Q : ndarray of shape (n, d^2)
        (A ⊗ 1') ⊙ (1' ⊗ A).

    Examples
    --------
    >>> from octavo.bayes import row_kronecker
    >>> row_kronecker([[1.0, 2.0], [3.0, 4.0]])
    array([[ 1.,  2.,  2.,  4.],
           [ 9., 12., 12., 16.]])
    """
    A = check_array(A, dtype=np.float64, input_name="A")
    if A.shape[1] > LARGEST_ORDER * 10:
        raise ValueError(f"A must have at most {LARGEST_ORDER * 10} columns; it has {A.shape[1]}.")
    # Q(A) = (A ⊗ 1ᵀ) ⊙ (1ᵀ ⊗ A), Theorem 2
    return (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)


@checked
def natural_parameters(mu: Any, Sigma: Any) -> Floats:
    """Return the natural parameters of N(mu, Sigma) for (x, vech(xx')) (Eq. 4).

    Parameters
    ----------
    mu : array-like of shape (d,)
        Mean.
    Sigma : array-like of shape (d, d)
        Covariance, positive definite.

    Returns
    -------
    eta : ndarray of shape (d + d (d + 1) / 2,)
        Sigma^-1 mu, and -D' vec(Sigma^-1) / 2.

    Examples
    --------
    >>> from octavo.bayes import natural_parameters
    >>> natural_parameters([1.0, 0.0], [[0.5, 0.0], [0.0, 0.25]])
    array([ 2.,  0., -1., -0., -2.])
    """
    Sigma = _check_covariance(Sigma)
    mu = check_array(mu, dtype=np.float64, ensure_2d=False, input_name="mu")
    if mu.shape != (len(Sigma),):
        raise ValueError(f"mu must have shape ({len(Sigma)},); it has {mu.shape}.")
    if np.linalg.eigvalsh(Sigma)[0] <= 0:
        raise ValueError("Sigma must be positive definite; it is not.")
    precision = np.linalg.inv(Sigma)
    # D' adds up the two places of an off-diagonal entry.
    doubled = precision + precision.T - np.diag(np.diagonal(precision))
    # Eq. (4): η₁ = Σ⁻¹μ, η₂ = -½ Dᵀ vec(Σ⁻¹)
    return np.concatenate([precision @ mu, -0.5 * vech(doubled)])


@checked
def moment_parameters(eta: Any) -> tuple[Floats, Floats]:
    """Return mean and covariance from the natural parameters (Eq. 5).

    Parameters
    ----------
    eta : array-like of shape (d + d (d + 1) / 2,)
        As `natural_parameters` returns them.

    Returns
    -------
    mu : ndarray of shape (d,)
        Mean.
    Sigma : ndarray of shape (d, d)
        Covariance.

    Examples
    --------
    >>> from octavo.bayes import moment_parameters
    >>> moment_parameters([2.0, 0.0, -1.0, 0.0, -2.0])
    (array([1., 0.]), array([[0.5 , 0.  ],
           [0.  , 0.25]]))
    """
    eta = check_array(eta, dtype=np.float64, ensure_2d=False, input_name="eta")
    d = round((np.sqrt(9 + 8 * eta.size) - 3) / 2)  # d + d (d + 1) / 2 entries, solved for d
    if eta.ndim != 1 or d < 1 or d + d * (d + 1) // 2 != eta.size:
        raise ValueError(
            f"eta must be a vector of d + d(d + 1)/2 entries for a whole d; it has shape "
            f"{eta.shape}."
        )
    columns, rows = np.triu_indices(d)
    precision = np.zeros((d, d))
    precision[rows, columns] -= eta[d:]  # Σ⁻¹ = -2 vec⁻¹(D⁺ᵀ η₂): both lines add up on the diagonal
    precision[columns, rows] -= eta[d:]
    if np.linalg.eigvalsh(precision)[0] <= 0:
        raise ValueError("eta must belong to a positive definite covariance; it does not.")
    Sigma = np.linalg.inv(precision)
    Sigma = 0.5 * (Sigma + Sigma.T) + 0.0
    return Sigma @ eta[:d], Sigma  # Eq. (5): μ = Σ η₁
