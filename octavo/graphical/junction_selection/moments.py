"""Correlations of a table, and partial correlations by the thousand.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array

__all__ = ["partial_correlation"]

Bools = NDArray[np.bool_]
CHUNK = 1 << 16  # partial correlations at a time: some tens of megabytes


class Moments(NamedTuple):
    """Means, standard deviations and correlations of n rows."""

    n: int
    location: Floats
    scale: Floats
    R: Floats


def moments(X: Floats) -> Moments:
    """Return the moments of a table; refuse columns that do not vary."""
    check_squares(X)
    location = X.mean(axis=0)
    centered = X - location
    largest = np.abs(centered).max(axis=0)
    flat = np.flatnonzero(largest <= 1e-13 * np.abs(location))
    if flat.size:
        raise ValueError(
            f"Column {flat[0]} is constant ({X[0, flat[0]]:g} throughout): it has no correlation "
            "with others. Drop it."
        )
    centered /= largest  # squares of very small numbers would vanish
    lengths = np.sqrt(np.einsum("ni,ni->i", centered, centered))
    centered /= lengths
    R = centered.T @ centered
    np.clip(R, -1.0, 1.0, out=R)
    np.fill_diagonal(R, 1.0)
    return Moments(len(X), location, largest * lengths / np.sqrt(len(X)), R)


def batched_partials(R: Floats, pairs: Indices, given: Indices) -> Floats:
    """Return the partial correlation of each pair given the variables of its row in `given`.

    Where the variables determine each other it is undefined, and comes out as 1: dependent.
    """
    found = np.empty(len(pairs))
    for begin in range(0, len(pairs), CHUNK):
        part = slice(begin, begin + CHUNK)
        found[part] = _partials(R, pairs[part], given[part])
    return found


def _partials(R: Floats, pairs: Indices, given: Indices) -> Floats:
    i, j = pairs[:, 0], pairs[:, 1]
    if given.shape[1] == 0:
        return R[i, j]
    if given.shape[1] == 1:
        s = given[:, 0]
        cross, own_i, own_j = R[i, s], 1.0 - R[i, s] ** 2, 1.0 - R[j, s] ** 2
        top = R[i, j] - cross * R[j, s]  # (ρ_ij - ρ_is ρ_js) / √((1 - ρ_is²)(1 - ρ_js²))
    else:
        among = R[given[:, :, None], given[:, None, :]]
        ends = R[given[:, :, None], pairs[:, None, :]]
        among = among + 1e-12 * np.eye(given.shape[1])  # twins among them cost a digit, no more
        slopes = np.linalg.solve(among, ends)
        # Σ_{A,B|S} of section 6
        top = R[i, j] - np.einsum("mk,mk->m", ends[:, :, 0], slopes[:, :, 1])
        own_i = 1.0 - np.einsum("mk,mk->m", ends[:, :, 0], slopes[:, :, 0])
        own_j = 1.0 - np.einsum("mk,mk->m", ends[:, :, 1], slopes[:, :, 1])
    spread = own_i * own_j
    usable = (own_i > 1e-10) & (own_j > 1e-10)
    # a variance of nothing: dependent on the set, and the pair is kept
    return np.clip(np.where(usable, top / np.sqrt(np.where(usable, spread, 1.0)), 1.0), -1.0, 1.0)


def smaller_sides(adjacency: Bools, pairs: Indices) -> list[Indices]:
    """Return for each pair the neighbours of one end, the one with fewer, without the pair."""
    degree = adjacency.sum(axis=1)
    around = [np.flatnonzero(row) for row in adjacency]
    sides = []
    for i, j in pairs.tolist():
        end, other = (i, j) if degree[i] <= degree[j] else (j, i)
        near = around[end]
        sides.append(near[near != other])
    return sides


def local_partials(
    R: Floats, adjacency: Bools, pairs: Indices, most: int
) -> tuple[Floats, Indices]:
    """Return the partial correlation of each pair given the neighbours of one of its ends.

    Two variables that are not joined are independent given the neighbours of either; those of the
    end with fewer are taken, at most `most` of them: those that correlate most with the ends.

    Returns
    -------
    partials : ndarray of shape (n_pairs,)
    sizes : ndarray of shape (n_pairs,)
        How many variables each is conditioned on.
    """
    sides = smaller_sides(adjacency, pairs)
    for m, ((i, j), near) in enumerate(zip(pairs.tolist(), sides, strict=True)):
        if len(near) > most:
            size = np.maximum(np.abs(R[i, near]), np.abs(R[j, near]))
            # the most correlated ones, where rows do not allow all
            sides[m] = near[np.argsort(-size, kind="stable")[: max(most, 0)]]
    sizes = np.array([len(near) for near in sides], dtype=np.intp)
    found = np.empty(len(pairs))
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        given = np.array([sides[m] for m in which], dtype=np.intp).reshape(len(which), size)
        found[which] = batched_partials(R, pairs[which], given)
    return found, sizes


def likelihood_gain(partials: Any, n: int) -> Any:
    """Return n times -log(1 - ρ²): twice the log-likelihood that an edge is worth."""
    return -n * np.log1p(-np.minimum(np.square(partials), 1.0 - 1e-15))


def edge_price(n: int, size: Any, gamma: float) -> Any:
    """Return what an edge costs in the extended Bayesian information criterion."""
    return np.log(n) + 4.0 * gamma * np.log(np.maximum(size, 1))


def refuse_covariance(S: Any) -> Floats:
    """Return a covariance matrix as doubles; refuse what cannot be one."""
    S = real_array(S, "S")
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not len(S):
        raise ValueError(f"S must be a square matrix, got shape {S.shape}.")
    low = np.flatnonzero(~(np.diag(S) > 0))
    if low.size:
        raise ValueError(
            f"S must have a positive diagonal: variable {low[0]} has the variance "
            f"{S[low[0], low[0]]:g}."
        )
    units = np.sqrt(np.diag(S))
    if not np.allclose(S / units[:, None] / units, S.T / units[:, None] / units, atol=1e-8, rtol=0):
        raise ValueError("S must be symmetric.")
    largest = np.abs(S / units[:, None] / units).max()
    if largest > 1.0 + 1e-8:
        raise ValueError(
            f"S must be a covariance matrix: a correlation in it is {largest:g}, above one."
        )
    return (S + S.T) / 2


@checked
def partial_correlation(S, i, j, given):
    """Return the partial correlation of two variables given others.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        Covariance or correlation matrix.
    i, j : int
        The two variables.
    given : sequence of int
        The others; without any it is the correlation.

    Returns
    -------
    float
        From -1 to 1.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 6.

    Examples
    --------
    A chain: given the middle, the ends know nothing of each other.

    >>> import numpy as np
    >>> from octavo.graphical import partial_correlation
    >>> S = np.linalg.inv([[1.0, 0.4, 0.0], [0.4, 1.0, 0.4], [0.0, 0.4, 1.0]])
    >>> round(partial_correlation(S, 0, 2, []), 3), abs(round(partial_correlation(S, 0, 2, [1]), 3))
    (0.19, 0.0)
    """
    S = refuse_covariance(S)
    chosen = [i, j, *_as_columns(given)]
    for v in chosen:
        if isinstance(v, bool) or not isinstance(v, (int, np.integer)) or not 0 <= v < len(S):
            raise ValueError(f"i, j and given must be columns 0 to {len(S) - 1} of S, got {v!r}.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"i, j and given must be different variables, got {chosen}.")
    units = np.sqrt(np.diag(S))[chosen]
    R = S[np.ix_(chosen, chosen)] / units[:, None] / units
    values = np.linalg.eigvalsh(R)
    if len(chosen) > 2 and values[0] <= 1e-12 * values[-1]:
        raise ValueError(
            f"The partial correlation of {i} and {j} is undefined: they and what is given "
            "determine each other."
        )
    precision = np.linalg.inv(R) if len(chosen) > 2 else np.array([[1.0, -R[0, 1]], [0.0, 1.0]])
    return float(np.clip(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]), -1.0, 1.0))


def _as_columns(given: Any) -> Sequence[Any]:
    return [int(v) if isinstance(v, np.integer) else v for v in given]
