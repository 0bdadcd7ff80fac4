"""The exact proximal map of two penalties on one matrix, for anyone who needs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.proximal.nuclear_l1 import shrink_both
from octavo.network.autoregressive.snapshots import dense, read_snapshot

__all__ = ["prox_nuclear_l1"]


@checked
def prox_nuclear_l1(Y: Any, tau: float, gamma: float, nonneg: bool = False) -> Floats:
    """Return the X of least ``½‖X − Y‖² + tau ‖X‖_* + gamma ‖X‖₁``.

    Soft thresholds one after the other are not this map; they only circle around it.

    Parameters
    ----------
    Y : array-like of shape (n, m)
        A matrix.
    tau : float
        Penalty on the singular values, at least 0.
    gamma : float
        Penalty on the entries, at least 0.
    nonneg : bool, default=False
        Whether X must not be negative.

    Returns
    -------
    X : ndarray of shape (n, m)
        With exact zeros; singular values that vanish do so to 1e-12 of the norm of Y.

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
    matrix = dense(read_snapshot(Y, "Y"))
    for name, value in (("tau", tau), ("gamma", gamma)):
        if not (0.0 <= value < np.inf):
            raise ValueError(f"{name} must be a finite number of at least 0; got {value!r}.")
    return shrink_both(matrix, float(tau), float(gamma), bool(nonneg), tol=1e-12).sparse
