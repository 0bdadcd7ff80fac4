"""Where points lie: coordinates, centres of kernels, and the library of widths."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares

N_WIDTHS = 8
CACHE_BYTES = 1 << 30  # of kernel matrices that are kept; beyond it they are computed again


def check_coords(coords: Any, n: int | None = None, n_columns: int | None = None) -> Floats:
    """Return coordinates as (n, q); refuse those that do not fit the data.

    Parameters
    ----------
    coords : array-like of shape (n,) or (n, q)
        Where each row lies.
    n : int, optional
        How many rows there must be.
    n_columns : int, optional
        How many columns there must be.

    Returns
    -------
    coords : ndarray of shape (n, q)
        Checked.
    """
    if coords is None:
        raise ValueError("Coordinates are needed, one place per row of X; got None.")
    found = np.asarray(coords)
    if found.ndim == 1 and found.dtype != object:
        found = found[:, None]
    out = check_array(found, dtype=np.float64, input_name="coords")
    check_squares(out, "coords")
    if n is not None and len(out) != n:
        raise ValueError(
            f"Coordinates must have one place per row of X; got {len(out)} places and {n} rows."
        )
    if n_columns is not None and out.shape[1] != n_columns:
        raise ValueError(
            f"Coordinates must have {n_columns} columns as in fit; got {out.shape[1]}."
        )
    return np.asarray(out)


def choose_centers(centers: Any, n_centers: int, coords: Floats) -> Floats:
    """Return the centres of the kernels: those given, or places of the data that cover it.

    Parameters
    ----------
    centers : "subsample" or array-like of shape (n_centers, q)
        What the user asked for.
    n_centers : int
        How many to take from the places of the data.
    coords : ndarray of shape (n, q)
        Places of the data.

    Returns
    -------
    centers : ndarray of shape (n_centers, q)
        None at all where all points lie at one place: gates are constant then.
    """
    if not isinstance(centers, str):
        found = check_coords(centers, n_columns=coords.shape[1])
        return found
    _, first = np.unique(coords, axis=0, return_index=True)
    places = coords[np.sort(first)]  # in the order in which they come
    if len(places) == 1:
        warnings.warn(
            "All points lie at one place: the weights of the mixture cannot depend on it.",
            UserWarning,
            stacklevel=4,
        )
        return places[:0]
    if n_centers > len(coords):
        warnings.warn(
            f"n_centers={n_centers} is more than the {len(coords)} points; each place is a centre.",
            UserWarning,
            stacklevel=4,
        )
    if n_centers >= len(places):
        return places
    if coords.shape[1] == 1:
        places = places[np.argsort(places[:, 0], kind="stable")]
        picked = np.floor((np.arange(n_centers) + 0.5) * len(places) / n_centers).astype(int)
        return np.asarray(places[picked])
    return spread_places(places, n_centers)


def spread_places(places: Floats, n: int) -> Floats:
    """Return n of the places, each the farthest from those before; the first nearest the middle."""
    if n == 0:
        return places[:0]
    picked = [int(((places - places.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    near = ((places - places[picked[0]]) ** 2).sum(axis=1)
    while len(picked) < n:
        # farthest first: no two centres close together before all is covered
        picked.append(int(near.argmax()))
        near = np.minimum(near, ((places - places[picked[-1]]) ** 2).sum(axis=1))
    return np.asarray(places[np.sort(picked)])


def width_library(bandwidths: Any, units: str, coords: Floats, centers: Floats) -> Floats:
    """Return the widths to choose from, in the user's units.

    Parameters
    ----------
    bandwidths : "auto", float or sequence of float
        What the user asked for.
    units : {"squared", "length"}
        Whether a width is ψ in exp(-d² / ψ), or its root.
    coords, centers : ndarray of shape (n, q), (n_centers, q)
        Places of the data and of the kernels.

    Returns
    -------
    widths : ndarray of shape (n_widths,)
        By default a geometric grid of 8 lengths from twice the median distance between
        neighbouring centres to half the extent of the data.
    """
    if isinstance(bandwidths, str):
        lengths = _default_lengths(coords, centers)
        return lengths if units == "length" else lengths**2
    widths = np.atleast_1d(np.asarray(bandwidths, dtype=np.float64))
    if widths.ndim != 1 or widths.size == 0:
        raise ValueError(
            "Bandwidths must be 'auto' or a list of at least one number; got an array of shape "
            f"{widths.shape}."
        )
    if not (np.isfinite(widths).all() and (widths > 0).all()):
        raise ValueError(f"Bandwidths must be positive numbers; got {widths.min():g} among them.")
    return widths


def _default_lengths(coords: Floats, centers: Floats) -> Floats:
    away = coords - coords.mean(axis=0)
    high = float(np.sqrt((away**2).sum(axis=1).max()))  # half the extent, however places are turned
    if len(centers) < 2 or high == 0.0:
        return np.array([high or 1.0])
    distances = cdist(centers, centers)
    np.fill_diagonal(distances, np.inf)
    near = distances.min(axis=1)
    low = 2.0 * float(np.median(near[near > 0])) if (near > 0).any() else high
    # lengths from neighbouring centres' to half the extent; ψ is their square
    return np.geomspace(low, high, N_WIDTHS) if high > low else np.array([low])


class KernelBank:
    """Rows (1, exp(-d² / ψ_j)) of all points for each width of the library.

    Parameters
    ----------
    coords, centers : ndarray of shape (n, q), (n_centers, q)
        Places.
    psi : ndarray of shape (n_widths,)
        Squared widths.
    """

    def __init__(self, coords: Floats, centers: Floats, psi: Floats) -> None:
        self.squares = cdist(coords, centers, "sqeuclidean")
        self.psi = psi
        self.n_points, self.n_columns = len(coords), 1 + len(centers)
        self._keep = 8 * psi.size * self.n_points * self.n_columns <= CACHE_BYTES
        self._kept: dict[int, Floats] = {}

    def rows(self, j: int) -> Floats:
        """Return the matrix (n, 1 + n_centers) of width j."""
        found = self._kept.get(j)
        if found is None:
            found = np.empty((self.n_points, self.n_columns))
            found[:, 0] = 1.0
            np.exp(self.squares / -self.psi[j], out=found[:, 1:])  # K(s, ŝ_i; ψ) of Eq. (3)
            if self._keep:
                self._kept[j] = found
        return found
