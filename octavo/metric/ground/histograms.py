"""Histograms: rows of numbers, none negative, that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sparse_rows import canonical_csr

SUM_TOLERANCE = 1e-5  # sums of single precision; anything closer to one is rounding


def as_histograms(R: Any, name: str = "R", *, normalize: bool = False) -> Floats:
    """Return rows as float64 histograms whose sums are one to the last bit.

    Parameters
    ----------
    R : {array-like, sparse matrix} of shape (n, d)
        Rows.
    name : str, default="R"
        What messages call them.
    normalize : bool, default=False
        Whether rows of any positive sum are divided by it, or refused.

    Returns
    -------
    ndarray of shape (n, d)
        A copy.
    """
    rows = canonical_csr(R).toarray() if sp.issparse(R) else R
    rows = np.array(real_array(rows, name), order="C")
    if rows.ndim != 2 or rows.shape[1] < 1:
        raise ValueError(f"{name} must be a table with a row a histogram; got shape {rows.shape}.")
    negative = np.flatnonzero((rows < 0.0).any(axis=1))
    if negative.size:
        raise ValueError(
            f"Negative values in data passed as {name}: row {negative[0]} has "
            f"{rows[negative[0]].min():.3g}; histograms have none."
        )
    top = rows.max(axis=1, initial=0.0)
    empty = np.flatnonzero(top == 0.0)
    if empty.size:
        raise ValueError(f"Row {empty[0]} of {name} is all zero; a histogram has mass somewhere.")
    if normalize:
        rows /= top[:, None]  # so that sums of huge entries are finite
    sums = rows.sum(axis=1)
    off = np.flatnonzero(~(np.abs(sums - 1.0) <= SUM_TOLERANCE))
    if off.size and not normalize:
        raise ValueError(
            f"Histograms sum to one; row {off[0]} of {name} sums to {sums[off[0]]:.6g}. "
            "Divide rows by their sums, or ask for it with normalize=True."
        )
    return rows / sums[:, None]


def as_ground_metric(M: Any, d: int | None = None, name: str = "M") -> Floats:
    """Return a square, symmetric matrix with zero diagonal and no negative entry, as float64.

    Triangle inequalities are not asked for: transport has a cost without them.
    """
    M = np.ascontiguousarray(real_array(M, name))
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size:
        raise ValueError(f"{name} must be a square matrix of bins by bins; got shape {M.shape}.")
    if d is not None and M.shape[0] != d:
        raise ValueError(f"{name} has {M.shape[0]} bins; the histograms have {d}.")
    top = float(np.abs(M).max())
    if float(np.abs(M - M.T).max()) > 1e-8 * top:
        raise ValueError(f"{name} must be symmetric; it is not.")
    if float(np.abs(M.diagonal()).max()) > 1e-8 * top:
        raise ValueError(f"{name} must have a zero diagonal; it has {M.diagonal().max():.3g}.")
    if float(M.min()) < -1e-8 * top:
        raise ValueError(f"{name} must have no negative entry; the least is {M.min():.3g}.")
    M = np.maximum(0.5 * M + 0.5 * M.T, 0.0)
    np.fill_diagonal(M, 0.0)
    return M


def uniform_metric(d: int) -> Floats:
    """Return M₁ with sum one: all bins equally far apart, which is total variation."""
    return (1.0 - np.eye(d)) / max(d * (d - 1), 1)
