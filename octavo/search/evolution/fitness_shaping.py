"""Utilities of ranks (Section 3.1): what makes a search blind to the scale of its function."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.smooth.natural_gradient import log_utilities

__all__ = ["rank_utilities"]


@checked
def rank_utilities(n: int, kind: Any = "log") -> np.ndarray:
    """Return the utilities of `n` ranks, best first; they sum to zero.

    Parameters
    ----------
    n : int
        Number of points that are ranked.
    kind : {"log", "linear"} or array-like of shape (n,), default="log"
        The logarithmic utilities of the paper, utilities that fall linearly with the rank, or
        your own.

    Returns
    -------
    utilities : ndarray of shape (n,)
        They sum to zero, and the positive ones of the named kinds sum to at most one.

    Examples
    --------
    >>> from octavo.search import rank_utilities
    >>> print(rank_utilities(4).round(3))
    [ 0.48  0.02 -0.25 -0.25]
    """
    if isinstance(kind, str):
        if kind == "log":
            return log_utilities(n)
        if kind == "linear":
            raw = (n - np.arange(1, n + 1)).astype(float)
            return raw / raw.sum() - 1.0 / n
        raise ValueError(f"utilities must be 'log', 'linear' or an array; got {kind!r}.")
    own = np.asarray(kind, dtype=float)
    if own.shape != (n,) or not np.isfinite(own).all():
        raise ValueError(f"utilities must be {n} finite numbers, one a rank; got {own!r}.")
    if (np.diff(own) > 0).any():
        raise ValueError("utilities must not increase from the best rank to the worst.")
    if abs(own.sum()) > 1e-8 * np.abs(own).sum():
        warnings.warn(
            f"The utilities sum to {own.sum():g}, not to zero: the scale of the search drifts.",
            UserWarning,
            stacklevel=3,
        )
    return own


def shared_utilities(utilities: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return each point's utility; tied points share the mean of the ranks that they fill."""
    order = np.argsort(ranks, kind="stable")
    given = np.empty(len(ranks))
    given[order] = utilities
    # Section 3.1 ranks without ties; averaging over them gives a plateau the gradient zero.
    ordered = ranks[order]
    if (ordered[1:] == ordered[:-1]).any():
        _, groups, counts = np.unique(ranks, return_inverse=True, return_counts=True)
        given = (np.bincount(groups, given) / counts)[groups]
    return given
