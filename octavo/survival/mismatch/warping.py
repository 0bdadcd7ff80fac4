"""Differences of two cycles: dynamic time warping with a band, a path's mean, or squares.

Reference: C. S. Myers and L. R. Rabiner (1981), "A comparative study of several dynamic
time-warping algorithms for connected-word recognition".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.event_logs.dtw import Ragged, Warping, one_to_many, ragged, warp

__all__ = ["dtw", "dtw_one_to_many"]

LARGEST = 1e140  # squares of larger samples add up to infinity


def one_cycle(values: Any, name: str) -> Floats:
    """Return a series of numbers; refuse one that is empty, huge or not finite."""
    series = real_array(values, name)
    if series.ndim != 1 or not len(series):
        raise ValueError(
            f"{name} must be a series of at least one number; got the shape {series.shape}."
        )
    if np.abs(series).max() > LARGEST:
        raise ValueError(f"{name} holds numbers beyond {LARGEST:g}; scale it.")
    return np.ascontiguousarray(series)


def many_cycles(series: Any, name: str = "beats", least: int = 1) -> list[Floats]:
    """Return cycles as a list of series; messages name the one that is wrong."""
    if hasattr(series, "tocsr"):
        raise TypeError(f"{name} is sparse; give a dense table or a list of series.")
    if hasattr(series, "to_numpy"):
        series = series.to_numpy()
    if isinstance(series, (str, bytes)) or not isinstance(series, Iterable):
        raise ValueError(f"{name} must be a list of series; got {type(series).__name__}.")
    found = list(series)
    if not _are_sound(found):
        found = [one_cycle(one, f"{name}[{i}]") for i, one in enumerate(found)]
    if len(found) < least:
        raise ValueError(f"{name} must hold at least {least} cycle(s); got {len(found)}.")
    return found


def _are_sound(series: list[Any]) -> bool:
    """Whether all are series of doubles that need no second look, by one look at all of them."""
    for one in series:
        if type(one) is not np.ndarray or one.ndim != 1 or one.dtype != np.float64 or not one.size:
            return False
    return bool(series) and bool(np.abs(np.concatenate(series)).max() <= LARGEST)


def warping(band: Any, normalize: Any, cost: str, metric: str = "dtw") -> Warping:
    """Return how cycles are compared; refuse what is no such choice."""
    if band is not None and (isinstance(band, (bool, str)) or not band >= 0):
        raise ValueError(f"band must be None or a share of at least 0; got {band!r}.")
    if normalize not in (None, "path"):
        raise ValueError(f"normalize must be None or 'path'; got {normalize!r}.")
    if cost not in ("absolute", "squared"):
        raise ValueError(f"cost must be 'absolute' or 'squared'; got {cost!r}.")
    share = 1.0 if band is None else min(1.0, float(band))  # no band: every path
    return Warping(share, cost == "squared", normalize == "path", metric == "euclidean")


def check_lengths(cycles: Ragged, how: Warping) -> None:
    """Refuse several lengths where samples are compared by position."""
    lengths = np.diff(cycles.starts)
    if how.straight and len(lengths) and lengths.min() != lengths.max():
        raise ValueError(
            "metric='euclidean' compares samples by position and needs cycles of one length; got "
            f"lengths from {lengths.min()} to {lengths.max()}. Use metric='dtw'."
        )


@checked
def dtw(
    x: Any, y: Any, band: float | None = None, normalize: str | None = None, cost: str = "absolute"
) -> float:
    """Return the cost of the best warping path between two series.

    Parameters
    ----------
    x, y : array-like of shape (length,)
        Two series; their lengths may differ.
    band : float, default=None
        How far the path may leave the diagonal, as a share of the longer series (at least the
        difference of the lengths). None, or 1 and more: as far as it wants.
    normalize : {None, "path"}, default=None
        "path" divides the least sum by the number of cells of its path; of several paths with
        that sum the shortest. It is not the least mean over all paths.
    cost : {"absolute", "squared"}, default="absolute"
        What two samples that are matched cost.

    Returns
    -------
    difference : float
        A sum of costs, or with ``normalize="path"`` a mean. The square root of a sum of squares,
        which other packages return, is left to the caller.

    Examples
    --------
    >>> from octavo.survival import dtw
    >>> dtw([0, 0, 1, 2], [0, 1, 2.5])
    0.5
    """
    how = warping(band, normalize, cost)
    return warp(one_cycle(x, "x"), one_cycle(y, "y"), how)


@checked
def dtw_one_to_many(
    x: Any,
    Y: Any,
    band: float | None = None,
    normalize: str | None = None,
    cost: str = "absolute",
    bounds: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return the costs of the best warping paths between one series and many.

    Parameters
    ----------
    x : array-like of shape (length,)
        The one.
    Y : list of array-like
        The many; lengths may differ.
    band : float, default=None
        As in `dtw`.
    normalize : {None, "path"}, default=None
        As in `dtw`.
    cost : {"absolute", "squared"}, default="absolute"
        As in `dtw`.
    bounds : array-like of shape (n_series,), default=None
        Differences above these are not needed: they may come back as infinity, and sooner.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    differences : ndarray of shape (n_series,)
        One for each of the many.

    Examples
    --------
    >>> from octavo.survival import dtw_one_to_many
    >>> dtw_one_to_many([0, 1, 2.0], [[0, 1, 2.5], [0.0, 0.0], [0, 2.0, 2.0]])
    array([0.5, 3. , 1. ])
    """
    how = warping(band, normalize, cost)
    many = ragged(many_cycles(Y, "Y", least=0))
    if bounds is not None:
        bounds = real_array(bounds, "bounds", finite=False).ravel()
        if bounds.shape != (len(many),) or np.isnan(bounds).any():
            raise ValueError(f"bounds must hold one number for each of {len(many)} series.")
    return one_to_many(one_cycle(x, "x"), many, how, bounds, n_jobs)
