"""The exact proximal map of two penalties on one matrix, for anyone who needs it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.checked import checked
from octavo.engine.kernels.namespaces import namespace_of
from octavo.engine.proximal.nuclear_l1 import shrink_both
from octavo.network.autoregressive.snapshots import read_matrix

__all__ = ["prox_nuclear_l1"]

NEAR = 1e-9  # of the norm of Y: both faces of an answer are nearer than this, or it is said


@checked
def prox_nuclear_l1(Y: Any, tau: float, gamma: float, nonneg: bool = False) -> Any:
    """Return the X of least ``½‖X − Y‖² + tau ‖X‖_* + gamma ‖X‖₁``.

    Soft thresholds one after the other are not this map; they only circle around it.

    Parameters
    ----------
    Y : array-like of shape (n, m)
        A matrix; under scikit-learn's ``array_api_dispatch`` an array of any namespace, on whose
        device the answer is found.
    tau : float
        Penalty on the singular values, at least 0.
    gamma : float
        Penalty on the entries, at least 0.
    nonneg : bool, default=False
        Whether X must not be negative.

    Returns
    -------
    X : array of shape (n, m)
        With exact zeros; singular values that vanish do so to 1e-12 of the norm of Y. Where
        thousands of steps end further off, which happens with `nonneg` where most entries
        vanish, a warning says how far.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), "Link Prediction in Graphs with Autoregressive Features",
    Section 4.1.

    Examples
    --------
    >>> from octavo.network import prox_nuclear_l1
    >>> prox_nuclear_l1([[3.0, 0.0], [0.0, 1.0]], 0.5, 0.2).round(6).tolist()
    [[2.3, 0.0], [0.0, 0.3]]
    """
    matrix = read_matrix(Y, "Y")
    for name, value in (("tau", tau), ("gamma", gamma)):
        if not (0.0 <= value < np.inf):
            raise ValueError(f"{name} must be a finite number of at least 0; got {value!r}.")
    xp = namespace_of(matrix).xp
    tol = max(1e-12, 200.0 * float(xp.finfo(matrix.dtype).eps))
    found = shrink_both(matrix, float(tau), float(gamma), bool(nonneg), tol=tol)
    size = float(xp.linalg.vector_norm(matrix))
    if found.residual > max(tol, NEAR) * size:
        warnings.warn(
            f"The answer is not exact: its low-rank and its sparse form are still "
            f"{found.residual / size:.1e} of the norm of Y apart after {found.n_iter} steps.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found.sparse
