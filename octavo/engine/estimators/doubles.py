"""What doubles can hold: squares that overflow, tolerances that nothing reaches, real numbers.

A number of 1e155 is a fine double and its square is not. A tolerance of 1e-308 is a fine double
and no sum of doubles is that exact. Both end in NaN or in a loop without end unless someone says
so first, in one sentence: here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

EPS = float(np.finfo(np.float64).eps)
# LIBSVM sums gradients in doubles: below this, its stopping rule may never hold. scikit-learn took
# away the bound on its steps that the original has.
LIBSVM_TOL = 1e-10
LIBSVM_STEPS = 1_000_000


def libsvm_steps(n_samples: int) -> int:
    """Return how many steps LIBSVM may take: a million, or a thousand a row if that is more."""
    return max(LIBSVM_STEPS, 1000 * n_samples)


def has_small_squares(X: Any) -> bool:
    """Tell in one pass that all numbers are finite and that `check_squares` would accept them.

    Parameters
    ----------
    X : object
        A table that nobody has looked at yet; only arrays and CSR matrices of doubles, stored row
        by row, are known.

    Returns
    -------
    known : bool
        False says nothing: then look closer.
    """
    values = X.data if sp.issparse(X) and X.format == "csr" else X
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64):
        return False
    if not (values.flags.c_contiguous and values.size):
        return False
    flat = values.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(flat @ flat)  # at least the largest square
    return bool(np.isfinite(total * values.size))


def check_squares(X: Any, name: str = "X") -> None:
    """Refuse rows whose squared lengths overflow.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Finite numbers.
    name : str, default="X"
        What the message calls it.

    Raises
    ------
    ValueError
        If the sum of all squares may be infinite. Numbers below 1e140 always pass.
    """
    values = X.data if sp.issparse(X) else X
    if not values.size or has_small_squares(values):
        return
    largest = max(float(values.max()), -float(values.min()))
    if not np.isfinite(largest * largest * values.size):  # Python floats overflow in silence
        raise ValueError(
            f"{name} is too large: squared lengths of its rows overflow. Its largest value is "
            f"{largest:.3g}; scale it, for instance with sklearn.preprocessing.MaxAbsScaler."
        )


def check_finite_result(values: Any, what: str) -> None:
    """Refuse numbers computed from finite input that are not finite themselves.

    Parameters
    ----------
    values : ndarray
        What was computed.
    what : str
        What it is, with a capital: "The weights of AROW".
    """
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} are not finite: the numbers are too large for doubles. Scale X, or choose "
            "smaller parameters."
        )


def real_array(values: Any, name: str, *, finite: bool = True) -> np.ndarray:
    """Return an array of doubles; refuse complex numbers, text and, unless told not to, NaN.

    Parameters
    ----------
    values : array-like
        What a user gave.
    name : str
        What the message calls it.
    finite : bool, default=True
        Whether NaN and infinity are refused.

    Returns
    -------
    ndarray of float64
        A view where the values are such an array already.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise ValueError(f"{name} must hold real numbers, got complex ones.")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        if "complex" in str(error) and name in str(error):
            raise
        raise ValueError(
            f"{name} must be an array of real numbers, got {type(values).__name__}."
        ) from None
    if finite and not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers; it contains NaN or infinity.")
    return array


def reachable_tolerance(tol: float, *, floor: float = 16.0 * EPS) -> float:
    """Return a relative tolerance that doubles can reach: at least `floor`.

    Iterations that end when a relative change, gap or residual is below `tol` never end, or end
    by luck, when rounding alone is larger. Every loop of octavo whose only end is such a test takes
    its tolerance from here; the floor is part of its documentation.

    Parameters
    ----------
    tol : float
        What a user asked for, at least 0.
    floor : float, default=16 eps
        The smallest that can be reached, 3.6e-15 by default.

    Returns
    -------
    float
        The larger of both.
    """
    return max(float(tol), floor)
