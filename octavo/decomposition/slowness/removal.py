"""What xSFA is made of: functions of the sources found so far, and signals without them.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Section 4.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from octavo.decomposition.slowness.directions import SlowDirections, slow_directions
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import EPS
from octavo.engine.spectral.expansions import (
    Box,
    Expansion,
    StreamingMoments,
    blocks_of,
    box_of,
    episodes_of,
    expansion,
)

STRIDED = 2000  # rows among which centres of radial functions are chosen


class RadialFunctions(NamedTuple):
    """The variables themselves, and Gaussians around centres."""

    centres: Floats
    width: float

    def __call__(self, U: Floats) -> Floats:
        """Return the functions at the rows of U."""
        squares = (U**2).sum(axis=1)[:, None] + (self.centres**2).sum(axis=1)
        distances = np.maximum(squares - 2.0 * U @ self.centres.T, 0.0)
        return np.hstack([U, np.exp(-distances / (2.0 * self.width**2))])


def radial_functions(U: Floats, n_centres: int) -> RadialFunctions:
    """Return Gaussians whose centres fill the rows of U evenly.

    Parameters
    ----------
    U : ndarray of shape (n_times, n_features)
        Rows in [-1, 1].
    n_centres : int
        How many; the farthest row from those so far is the next.

    Returns
    -------
    RadialFunctions
        Their width is twice the distance of the last centre from the others.
    """
    rows = U[:: max(1, len(U) // STRIDED)]
    centres = [rows[np.argmin((rows**2).sum(axis=1))]]
    nearest = ((rows - centres[0]) ** 2).sum(axis=1)
    for _ in range(1, min(n_centres, len(rows))):
        far = int(nearest.argmax())
        if nearest[far] == 0.0:
            break
        centres.append(rows[far])
        np.minimum(nearest, ((rows - rows[far]) ** 2).sum(axis=1), out=nearest)
    return RadialFunctions(np.array(centres), 2.0 * float(np.sqrt(max(nearest.max(), EPS))))


class Removal(NamedTuple):
    """Functions of the sources so far, and how each signal is predicted from them.

    The prediction is ``(functions(box(S)) - mean) @ coefficients``.
    """

    functions: Expansion
    box: Box
    mean: Floats
    coefficients: Floats

    def inside(self, S: Floats) -> Floats:
        """Return sources in their box; they count as at most the largest seen."""
        return np.clip(self.box(np.asfortranarray(S)), -1.0, 1.0)

    def predict(self, S: Floats) -> Floats:
        """Return what sources say of the signals, column by column of `coefficients`."""
        values = self.functions(self.inside(S)) @ self.coefficients
        values -= self.mean @ self.coefficients
        return values


def fit_removal(S: Floats, Z: Floats, degree: int, var_threshold: float) -> Removal:
    """Return the regression of signals on polynomials of the sources so far (steps 5 and 6).

    Parameters
    ----------
    S : ndarray of shape (n_times, n_found)
        Estimated sources.
    Z : ndarray of shape (n_times, n_signals)
        Signals of zero mean.
    degree : int
        Degree of the polynomials, products of sources included.
    var_threshold : float
        Combinations of polynomials of at most this variance are left out.

    Returns
    -------
    Removal
        Polynomials and coefficients.
    """
    functions, box = expansion(S.shape[1], degree), box_of(S)
    width = len(functions.parents)
    removal = Removal(functions, box, np.zeros(width), np.empty((width, 0)))
    # polynomials are at most one: their second moments lose no digit that a variance above the
    # threshold has, and centring each block would cost as much as the products
    second, shared, mean = np.zeros((width, width)), np.zeros((width, Z.shape[1])), np.zeros(width)
    for rows in blocks_of(len(S), width + Z.shape[1]):
        values = functions(removal.inside(S[rows]))
        second += values.T @ values
        shared += values.T @ Z[rows]
        mean += values.sum(axis=0)
    second, shared, mean = second / len(S), shared / len(S), mean / len(S)
    variances, vectors = eigh(second - np.outer(mean, mean))
    keep = variances > max(var_threshold, width * EPS * variances[-1])
    whitening = vectors[:, keep] / np.sqrt(variances[keep])  # step 5
    # step 6: cov(z_j, n_k) n_k, summed over k; Z has zero mean, so that no mean is subtracted
    return Removal(functions, box, mean, whitening @ (whitening.T @ shared))


def remove(Z: Floats, S: Floats, removal: Removal, lengths: Ints) -> StreamingMoments:
    """Subtract the prediction from Z, in place, and return the moments of what is left."""
    moments, episodes = StreamingMoments(), episodes_of(lengths)
    for rows in blocks_of(len(Z), Z.shape[1] + len(removal.mean)):
        Z[rows] -= removal.predict(S[rows])
        moments.update(Z[rows], episodes[rows])
    return moments


def slowest(moments: StreamingMoments, var_threshold: float) -> SlowDirections:
    """Return linear SFA of signals whose variances are compared as they are."""
    return slow_directions(
        moments.covariance, moments.velocity_covariance, var_threshold, standardize=False
    )


def shuffled_delta(
    Z: Floats, found: SlowDirections, lengths: Ints, n_shuffles: int, rng: Any
) -> float:
    """Return the least Δ of signals whose rows were put in a random order, over some orders.

    Parameters
    ----------
    Z : ndarray of shape (n_times, n_signals)
        Signals.
    found : SlowDirections
        Directions of unit variance in them.
    lengths : ndarray of int
        Lengths of the episodes.
    n_shuffles : int
        How many orders; the least of them is exceeded downwards by chance once in n_shuffles + 1.
    rng : RandomState
        Draws the orders.

    Returns
    -------
    delta : float
        The smallest Δ-value that appeared.
    """
    white, episodes = Z @ found.components.T, episodes_of(lengths)
    least = np.inf
    for _ in range(n_shuffles):
        order, moments = rng.permutation(len(white)), StreamingMoments()
        for rows in blocks_of(len(white), white.shape[1]):
            moments.update(white[order[rows]], episodes[rows])
        least = min(least, float(eigh(moments.velocity_covariance, eigvals_only=True)[0]))
    return least
