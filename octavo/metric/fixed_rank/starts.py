"""What a fit starts from: checked sizes, and factors of the right rank and scale."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import real_array
from octavo.metric.fixed_rank.descent import FULL_RANK

_LARGEST, _SMALLEST = 1e60, 1e-60  # fourth powers must be doubles
_COLLAPSED = 1e-6  # ratio of singular values of G: the condition of GᵀG is 1e12


def check_rank(rank: int | None, d: int, geometry: str, what: str = "n_features") -> int:
    """Return the rank, d where None is given; refuse one that W cannot have."""
    if rank is None:
        return d
    if rank > d:
        raise ValueError(
            f"rank={rank} is larger than {what}={d}: a matrix of that size has no such rank."
        )
    if geometry in FULL_RANK and rank != d:
        raise ValueError(
            f"geometry={geometry!r} is one of matrices of full rank: rank must be None or {d}, "
            f"got {rank}. 'polar' and 'flat' take any rank."
        )
    return int(rank)


def check_magnitude(A: Any, name: str) -> None:
    """Refuse rows whose fourth powers, which the cost holds, are no doubles."""
    values = A.data if sp.issparse(A) else A
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > _LARGEST or 0.0 < largest < _SMALLEST:
        raise ValueError(
            f"{name} is too {'large' if largest > 1.0 else 'small'} for doubles: the cost holds "
            f"fourth powers of it. Its largest absolute value is {largest:.3g}; scale it."
        )


def check_targets(y: Floats, relation: Ints | None, name: str = "y") -> None:
    """Refuse targets whose squares overflow; warn of those that nothing can reach."""
    largest = float(np.max(np.abs(y), initial=0.0))
    if largest > 1e120:
        raise ValueError(f"{name} is too large: its squares overflow. It holds {largest:.3g}.")
    wanted = y if relation is None else y[relation != -1]
    below = int(np.sum(wanted < 0.0))
    if below:
        warnings.warn(
            f"{below} targets are negative: aᵀWa of a positive semidefinite W never is, so that "
            "they cannot be met.",
            UserWarning,
            stacklevel=4,
        )


def fitted_scale(predicted: Floats, y: Floats, relation: Ints | None) -> float:
    """Return the factor by which W best fits its equalities; 1 where there are none."""
    if relation is not None:
        chosen = relation == 0
        predicted, y = predicted[chosen], y[chosen]
    square = float(predicted @ predicted)
    if not square > 0.0 or not np.isfinite(square):
        return 1.0
    # Least squares of y on ŷ, W only scaled
    best, size = float(predicted @ y) / square, float(predicted @ np.abs(y)) / square
    scale = max(best, 1e-3 * size)  # targets below zero would ask for W = 0, which is a saddle
    return scale if scale > 0.0 and np.isfinite(scale) else 1.0


def start_factor(
    rows: Any, r: int, init: Any, y: Floats, relation: Ints | None, rng: np.random.RandomState
) -> Floats:
    """Return G (d, r) to start from.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    r : int
        The rank.
    init : {"pca", "identity", "random"} or array-like of shape (d, r)
        Principal directions, unit vectors or Gaussian numbers, scaled to fit the equalities;
        an array is taken as it is.
    y, relation : ndarray of shape (n,)
        Targets.
    rng : RandomState
        For "random", and for columns that an array lacks.

    Returns
    -------
    ndarray of shape (d, r)
        Of full column rank.
    """
    d = rows.shape[1]
    if not isinstance(init, str):
        return _given_factor(init, d, r, rng)
    if init == "random" or (init == "pca" and r == d):
        G = np.eye(d) if init == "pca" else rng.standard_normal((d, r)) / np.sqrt(r)
    else:
        G = rows.principal_directions(r) if init == "pca" else np.eye(d)[:, :r]
    P = rows.dot(G)
    return np.sqrt(fitted_scale(np.einsum("ij,ij->i", P, P), y, relation)) * G


def _given_factor(init: Any, d: int, r: int, rng: np.random.RandomState) -> Floats:
    G = np.array(real_array(init, "init"))
    if G.shape != (d, r):
        raise ValueError(f"init must have shape (n_features, rank) = {(d, r)}, got {G.shape}.")
    values = np.linalg.svd(G, compute_uv=False)
    if values[-1] <= _COLLAPSED * values[0]:
        warnings.warn(
            "init has a rank below the one asked for; noise was added, since no step would ever "
            "leave that rank.",
            UserWarning,
            stacklevel=5,
        )
        G += 1e-3 * (values[0] if values[0] > 0.0 else 1.0) * rng.standard_normal((d, r))
    return G


def warn_of_collapse(G: Floats) -> None:
    """Warn where a factor has lost rank."""
    values = np.linalg.svd(G, compute_uv=False)
    lost = int(np.sum(values <= _COLLAPSED * values[0]))
    if values[0] == 0.0 or lost:
        warnings.warn(
            f"The matrix has rank {len(values) - lost if values[0] > 0 else 0} up to rounding, "
            f"below the {len(values)} asked for: the targets need no more. Fit with a lower rank.",
            UserWarning,
            stacklevel=4,
        )
