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


class Regression(NamedTuple):
    """A `Removal`, the covariance of what it predicts, and the second moments of its functions."""

    removal: Removal
    explained: Floats
    second: Floats


def fit_removal(
    S: Floats, Z: Floats, degree: int, var_threshold: float, before: Floats | None = None
) -> Regression:
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
    before : ndarray, default=None
        `second` of all sources but the last, whose polynomials stay what they were.

    Returns
    -------
    Regression
        Polynomials and coefficients, with moments.
    """
    functions, box = expansion(S.shape[1], degree), box_of(S)
    width = len(functions.parents)
    removal = Removal(functions, box, np.zeros(width), np.empty((width, 0)))
    is_new = functions.exponents[:, -1] > 0 if before is not None else np.ones(width, dtype=bool)
    # polynomials are at most one: their second moments lose no digit that a variance above the
    # threshold has, and centring each block would cost as much as the products
    fresh, shared = np.zeros((is_new.sum(), width)), np.zeros((width, Z.shape[1]))
    mean = np.zeros(width)
    for rows in blocks_of(len(S), width + Z.shape[1]):
        values = functions(removal.inside(S[rows]))
        fresh += (values if before is None else values[:, is_new]).T @ values
        shared += values.T @ Z[rows]
        mean += values.sum(axis=0)
    fresh, shared, mean = fresh / len(S), shared / len(S), mean / len(S)
    second = np.empty((width, width))
    second[is_new], second[:, is_new] = fresh, fresh.T
    if before is not None:
        second[np.ix_(~is_new, ~is_new)] = before
    variances, vectors = eigh(second - np.outer(mean, mean))
    keep = variances > max(var_threshold, width * EPS * variances[-1])
    whitening = vectors[:, keep] / np.sqrt(variances[keep])  # step 5
    # step 6: cov(z_j, n_k) n_k, summed over k; Z has zero mean, so that no mean is subtracted
    covariances = whitening.T @ shared
    removal = Removal(functions, box, mean, whitening @ covariances)
    return Regression(removal, covariances.T @ covariances, second)


def remove(Z: Floats, S: Floats, removal: Removal, lengths: Ints) -> Floats:
    """Subtract the prediction from Z, in place, and return the mean products of differences."""
    moments, episodes = StreamingMoments(), episodes_of(lengths)
    for rows in blocks_of(len(Z), Z.shape[1] + len(removal.mean)):
        Z[rows] -= removal.predict(S[rows])  # step 6
        moments.add_steps(Z[rows], episodes[rows])
    velocity: Floats = moments.velocity_covariance
    return velocity


def slowest(covariance: Floats, velocity: Floats, var_threshold: float) -> SlowDirections:
    """Return linear SFA of signals whose variances are compared as they are."""
    return slow_directions(covariance, velocity, var_threshold, standardize=False)


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
