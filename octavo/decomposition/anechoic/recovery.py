"""How well sources were found: the largest cross-correlations after matching, and log-polar maps.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, sections 5.1 and 5.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
from scipy.ndimage import map_coordinates
from scipy.optimize import linear_sum_assignment

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array

__all__ = ["log_polar", "shifted_match"]


@checked
def shifted_match(estimates: Any, sources: Any) -> float:
    """Return how well sources were found, up to order, sign, scale and shift.

    The P_e of section 5.1: the largest absolute cross-correlation of each source with the estimate
    that it is matched to, averaged over sources, for the best matching.

    Parameters
    ----------
    estimates : array-like of shape (n_sources, n_times), or (n_sources, height, width)
        Sources that were found.
    sources : array-like of the same shape
        True sources.

    Returns
    -------
    match : float
        Between 0 and 1; 1 is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import shifted_match
    >>> sources = np.random.default_rng(0).normal(size=(2, 50))
    >>> print(round(shifted_match(-3.0 * np.roll(sources[::-1], 7, axis=1), sources), 6))
    1.0
    """
    found, true = real_array(estimates, "estimates"), real_array(sources, "sources")
    if true.ndim not in (2, 3) or true.size == 0 or found.shape[1:] != true.shape[1:]:
        raise ValueError(
            "estimates and sources must have rows, or images, of one size, got "
            f"{found.shape} and {true.shape}."
        )
    if len(found) == 0:
        raise ValueError("estimates must hold at least one source.")
    check_squares(found, "estimates")
    check_squares(true, "sources")
    axes = tuple(range(1, true.ndim))

    def unit(x: Floats) -> Floats:
        x = x / np.maximum(np.abs(x).max(axis=axes, keepdims=True), np.finfo(float).tiny)
        norms = np.sqrt((x**2).sum(axis=axes, keepdims=True))
        return np.asarray(scipy.fft.rfftn(x / np.where(norms > 0, norms, 1.0), axes=axes))

    one, two = unit(found), unit(true)
    products = two[:, None] * one[None].conj()
    places = tuple(a + 1 for a in axes)
    c = scipy.fft.irfftn(products, s=true.shape[1:], axes=places)
    largest = np.abs(c).max(axis=places)
    rows, columns = linear_sum_assignment(-largest)
    return float(min(largest[rows, columns].sum() / len(true), 1.0))


@checked
def log_polar(image: Any, *, n_radii: int = 64, n_angles: int = 128, center: Any = None) -> Floats:
    """Return an image in log-polar coordinates, where rotations and scalings are shifts.

    Parameters
    ----------
    image : array-like of shape (height, width)
        The image.
    n_radii : int, default=64
        Number of rows: logarithms of the radius, from 1 pixel to the farthest corner.
    n_angles : int, default=128
        Number of columns: angles, a full turn.
    center : pair of float, default=None
        Row and column of the origin; the mean place of the intensities by default.

    Returns
    -------
    mapped : ndarray of shape (n_radii, n_angles)
        The image at those places, linear between pixels and zero outside. A turn by 360/n_angles
        degrees, counter-clockwise, moves it by a column to the left, and a scaling by the ratio
        of two radii by a row.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import log_polar
    >>> image = np.zeros((65, 65))
    >>> image[32, 40:60] = 1.0
    >>> for picture in (image, np.rot90(image)):
    ...     print(log_polar(picture, n_angles=8, center=(32, 32)).sum(axis=0).argmax())
    0
    6
    """
    values = real_array(image, "image")
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"image must be of shape (height, width), got {values.shape}.")
    for name, count in (("n_radii", n_radii), ("n_angles", n_angles)):
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 2:
            raise ValueError(f"{name} must be a whole number, at least 2, got {count!r}.")
        if count > 100_000:
            raise ValueError(f"{name} must be at most 100000, got {count}.")
    if center is None:
        mass = np.abs(values) / max(float(np.abs(values).max()), np.finfo(float).tiny)
        total = mass.sum()
        rows, columns = np.indices(values.shape)
        middle = (
            np.array([(mass * rows).sum(), (mass * columns).sum()]) / total
            if total > 0
            else (np.array(values.shape) - 1) / 2.0
        )
    else:
        middle = real_array(center, "center")
        if middle.shape != (2,):
            raise ValueError(f"center must be a row and a column, got {center!r}.")
    farthest = np.hypot(*np.maximum(middle, np.array(values.shape) - 1 - middle))
    radii = np.exp(np.linspace(0.0, np.log(max(farthest, 2.0)), n_radii))
    angles = 2 * np.pi * np.arange(n_angles) / n_angles
    down = middle[0] + radii[:, None] * np.sin(angles)
    right = middle[1] + radii[:, None] * np.cos(angles)
    return np.asarray(map_coordinates(values, [down, right], order=1, mode="constant"))
