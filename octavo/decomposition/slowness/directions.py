"""The slowest directions of rows in time: the generalised eigenproblem of slow feature analysis.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import EPS
from octavo.engine.spectral.expansions import episodes_of


class SlowDirections(NamedTuple):
    """Rows of weights by rising Δ, the Δ-values, and how many directions vary at all."""

    components: Floats
    delta_values: Floats
    rank: int


def _units(covariance: Floats, standardize: bool) -> Floats:
    """Return what columns are multiplied by before their variances are compared."""
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    if not standardize:
        return np.ones_like(spread)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


def slow_directions(
    covariance: Floats, velocity: Floats, rank_tol: float, *, standardize: bool = True
) -> SlowDirections:
    """Return the directions of unit variance that vary least from one time to the next.

    Parameters
    ----------
    covariance : ndarray of shape (n, n)
        Covariance C of the signals.
    velocity : ndarray of shape (n, n)
        Second moments of their differences in time.
    rank_tol : float
        Principal components of a variance up to this are left out.
    standardize : bool, default=True
        Whether signals count in units of their own deviation there.

    Returns
    -------
    SlowDirections
        Weights, of shape (rank, n), with their Δ-values.
    """
    units = _units(covariance, standardize)
    values, vectors = eigh(covariance * units[:, None] * units)
    keep = values > max(rank_tol, len(values) * EPS * max(values[-1], 0.0))
    whitening = vectors[:, keep] / np.sqrt(values[keep]) * units[:, None]
    # Eq. (5) in white coordinates, where C is the identity
    deltas, turn = eigh(whitening.T @ velocity @ whitening)
    return SlowDirections((whitening @ turn).T, np.maximum(deltas, 0.0), int(keep.sum()))


def slow_directions_svd(
    Z: Floats, lengths: Ints, rank_tol: float, *, lag: int = 1
) -> SlowDirections:
    """Return the same from the rows themselves, for variances that moments cannot hold.

    Squaring loses half of the digits: directions of a relative variance below 1e-12 drown in the
    rounding of a covariance matrix, but not in a singular value decomposition.

    Parameters
    ----------
    Z : ndarray of shape (n_times, n)
        Signals.
    lengths : ndarray of int
        Lengths of the episodes.
    rank_tol : float
        Principal components of a variance up to this are left out; signals count in units of
        their own deviation.
    lag : int, default=1
        Steps between the rows of a difference.

    Returns
    -------
    SlowDirections
        Weights, of shape (rank, n), with their Δ-values.
    """
    centred = Z - Z.mean(axis=0)
    spread = centred.std(axis=0)
    units = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    # of the rows, not of C: half the digits of a square are lost
    _, sizes, rows = svd(centred * units / np.sqrt(len(Z)), full_matrices=False)
    keep = sizes**2 > max(rank_tol, (len(sizes) * EPS * sizes[0]) ** 2)
    whitening = rows[keep].T / sizes[keep] * units[:, None]
    episodes = episodes_of(lengths)
    inside = np.flatnonzero(episodes[lag:] == episodes[:-lag])
    steps = (centred[inside + lag] - centred[inside]) @ whitening
    deltas, turn = eigh(steps.T @ steps / len(steps))  # Eq. (5)
    return SlowDirections((whitening @ turn).T, np.maximum(deltas, 0.0), int(keep.sum()))
