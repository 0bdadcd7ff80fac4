"""Harmonics of one source: its slowest functions, from data or from its distribution.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Sections 3.2 to 3.5 and 4.2.4.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal

from octavo.decomposition.slowness.directions import slow_directions
from octavo.decomposition.slowness.episodes import stacked_rows
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.spectral.expansions import box_of, expansion, streamed

__all__ = ["Harmonics", "harmonics", "sturm_liouville"]

# Functions of one variable up to this degree are kept unless rounding hides them.
RANK_TOL = 1e-12
MOST_POINTS = 20_000


class Harmonics(NamedTuple):
    """``delta_values`` (n_harmonics,), ascending, and ``signals`` (n_points, n_harmonics)."""

    delta_values: Floats
    signals: Floats


def _whole(value: Any, name: str, least: int, most: int) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}.")
    return int(value)


@checked
def harmonics(
    s: Any,
    n_harmonics: int | None = None,
    *,
    degree: int = 11,
    lengths: ArrayLike | None = None,
) -> Harmonics:
    """Return the slowest polynomials of a source, which are its harmonics as far as data tell.

    The first is a monotone function of the source, and what nonlinear source separation can
    recover of it at best.

    Parameters
    ----------
    s : array-like of shape (n_times,), or list of such
        The source.
    n_harmonics : int, default=None
        How many; as many as the degree by default.
    degree : int, default=11
        Degree of the polynomials; 11 in the paper.
    lengths : array-like of int, default=None
        Lengths of the episodes that are stacked in s.

    Returns
    -------
    Harmonics
        Δ-values and signals, of unit variance, each positive where the source is largest.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_colored_noise
    >>> from octavo.decomposition import harmonics
    >>> s = make_colored_noise(20000, 400, random_state=0)
    >>> found = harmonics(s, 3)
    >>> print(f"{np.corrcoef(found.signals[:, 0], s)[0, 1]:.2f}")
    1.00
    """
    values, counts = stacked_rows(s, lengths, "s")
    if values.shape[1] != 1:
        raise ValueError(f"s must be one signal, got {values.shape[1]} columns.")
    degree = _whole(degree, "degree", 1, 100)
    wanted = degree if n_harmonics is None else _whole(n_harmonics, "n_harmonics", 1, degree)
    if len(np.unique(values)) <= degree or counts.max() < 2:
        raise ValueError(
            f"s needs more than degree={degree} different values in an episode of two or more, "
            f"got {len(np.unique(values))}."
        )
    box, functions = box_of(values), expansion(1, degree)
    moments = streamed(box(values), counts, functions.__call__, degree)
    # the slowest functions of one variable
    found = slow_directions(moments.covariance, moments.velocity_covariance, RANK_TOL)
    if found.rank < wanted:
        raise ValueError(
            f"n_harmonics={wanted}, but only {found.rank} polynomials of s can be told apart; ask "
            "for fewer or lower the degree."
        )
    signals = (functions(box(values)) - moments.mean) @ found.components[:wanted].T
    signals *= np.where(signals[np.argmax(values)] < 0, -1.0, 1.0)
    return Harmonics(found.delta_values[:wanted], signals)


def _on_grid(given: Any, points: Floats, name: str) -> Floats:
    values = real_array(given(points) if callable(given) else given, name)
    values = np.broadcast_to(values, points.shape) if values.ndim == 0 else values
    if values.shape != points.shape:
        raise ValueError(f"{name} must have the shape of grid, {points.shape}, got {values.shape}.")
    if not (values > 0).all():
        raise ValueError(f"{name} must be positive on all of grid, got {values.min():g}.")
    return values


@checked
def sturm_liouville(
    density: Any, velocity: Any, grid: ArrayLike, n_harmonics: int = 5
) -> Harmonics:
    """Return the harmonics that the distribution of a source gives it (equations 12 and 13).

    Solves (p K g')' + λ p g = 0, with p K g' = 0 at both ends, by finite differences.

    Parameters
    ----------
    density : callable or array-like of shape (n_points,)
        Density p of the source at the points of the grid; need not integrate to one.
    velocity : callable, float or array-like of shape (n_points,)
        Mean square K of its derivative, given its value.
    grid : array-like of shape (n_points,)
        Evenly spaced points, the midpoints of cells that fill the range of the source.
    n_harmonics : int, default=5
        How many; the constant is left out.

    Returns
    -------
    Harmonics
        Eigenvalues, and functions at the points, of unit variance under p, each positive at the
        last point. Errors shrink with the square of the spacing.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    A uniform source has cosines, with eigenvalues π² i²:

    >>> import numpy as np
    >>> from octavo.decomposition import sturm_liouville
    >>> found = sturm_liouville(np.ones_like, 1.0, (np.arange(1000) + 0.5) / 1000, 3)
    >>> print(np.round(found.delta_values / np.pi**2, 3))
    [1. 4. 9.]
    """
    points = real_array(grid, "grid")
    if points.ndim != 1 or not 3 <= points.size <= MOST_POINTS:
        raise ValueError(
            f"grid must be a vector of 3 to {MOST_POINTS} points, got shape {points.shape}."
        )
    spacing = (points[-1] - points[0]) / (points.size - 1)
    if not spacing > 0 or np.abs(np.diff(points) - spacing).max() > 1e-6 * spacing:
        raise ValueError("grid must ascend in even steps.")
    wanted = _whole(n_harmonics, "n_harmonics", 1, points.size - 1)
    p, K = _on_grid(density, points, "density"), _on_grid(velocity, points, "velocity")
    p = p / p.sum()
    flux = np.sqrt(p[1:] * K[1:] * p[:-1] * K[:-1]) / spacing**2  # p K between two points
    stiffness = np.concatenate([[0.0], flux]) + np.concatenate([flux, [0.0]])  # Eq. (13) at ends
    # in √p g, where the problem is symmetric
    values, vectors = eigh_tridiagonal(
        stiffness / p, -flux / np.sqrt(p[1:] * p[:-1]), select="i", select_range=(0, wanted)
    )
    functions = vectors[:, 1:] / np.sqrt(p)[:, None]  # back to g
    functions *= np.where(functions[-1] < 0, -1.0, 1.0)
    return Harmonics(values[1:], functions)
