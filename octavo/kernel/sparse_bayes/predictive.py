"""Averages over the draws of a chain at new points.

Each draw gives scores u + k_γ(x)'β, to which the noise adds a variance; a sparse Gaussian process
has its conditional mean and the variance that is left instead. Probabilities are averaged, not
scores: Section 3.3, and Section 4.2 with the sampled s* replaced by its expectation.

Reference: Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian Generalized Kernel Mixed Models",
Journal of Machine Learning Research 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import row_chunks
from octavo.kernel.sparse_bayes.active_sets import safe_cholesky, solve_lower
from octavo.kernel.sparse_bayes.sampler import Draw

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
DRAWS_AT_ONCE = 256
MEGABYTES = 64.0
# (rows of X, a draw) -> kernel values of the rows with the active vectors of the draw
CrossKernel = Callable[[Any, Draw], Floats]


def scores_of_draws(cross: CrossKernel, X: Any, draws: Sequence[Draw]) -> Floats:
    """Return u + k_γ(x)'β for every row and draw.

    Parameters
    ----------
    cross : callable
        Gives the kernel values of rows with the active vectors of a draw.
    X : array of shape (n_rows, ...)
        Rows, whatever `cross` takes.
    draws : sequence of Draw
        What a chain kept.

    Returns
    -------
    scores : ndarray of shape (n_rows, n_draws, n_outputs)
        Without noise.
    """
    m = len(draws[0].intercept)
    out = np.empty((len(X), len(draws), m))
    for t, draw in enumerate(draws):
        out[:, t] = draw.intercept
        if len(draw.indices):
            out[:, t] += cross(X, draw) @ draw.coef  # Section 3.3
    return out


def scores_of_matrix(K: Floats, draws: Sequence[Draw]) -> Floats:
    """Return the same from kernel values with all training samples, by a few large products."""
    n, m = K.shape[1], len(draws[0].intercept)
    out = np.empty((len(K), len(draws), m))
    for first in range(0, len(draws), DRAWS_AT_ONCE):
        some = draws[first : first + DRAWS_AT_ONCE]
        coef = np.zeros((n, len(some), m))
        for t, draw in enumerate(some):
            coef[draw.indices, t] = draw.coef
        part = (K @ coef.reshape(n, -1)).reshape(len(K), len(some), m)
        out[:, first : first + len(some)] = part + np.array([draw.intercept for draw in some])
    return out


def process_variances(
    cross: CrossKernel,
    train: Callable[[Draw], Floats],
    X: Any,
    draws: Sequence[Draw],
    jitter: float,
) -> Floats:
    """Return the variance 1/τ + k_γ(x)'(τ K_γ'K_γ + g K_γγ)⁻¹ k_γ(x) for every row and draw.

    Parameters
    ----------
    cross : callable
        As in `scores_of_draws`.
    train : callable
        Gives the rows of the training kernel matrix of a draw's active vectors.
    X : array of shape (n_rows, ...)
        Rows.
    draws : sequence of Draw
        What a chain kept.
    jitter : float
        What was added to the diagonal of K_γγ.

    Returns
    -------
    variances : ndarray of shape (n_rows, n_draws)
        Those of the noise included.
    """
    out = np.empty((len(X), len(draws)))
    for t, draw in enumerate(draws):
        out[:, t] = 1.0 / draw.tau
        if len(draw.indices):
            rows = train(draw)
            gram = rows[:, draw.indices] + jitter * np.eye(len(rows))
            L = safe_cholesky(draw.tau * (rows @ rows.T) + draw.g * gram)
            left = solve_lower(L, np.ascontiguousarray(cross(X, draw).T))
            # Section 4.2 by Woodbury's identity, in n_γ unknowns
            out[:, t] += np.einsum("ij,ij->j", left, left)
    return out


def class_probabilities(scores: Floats, contrasts: Floats) -> Floats:
    """Return the probability of every class for scores that were divided by their noise's sd.

    Class a wins where its utility, with noise of its own, is above those of all others: an
    integral over one normal variable, by Gauss-Hermite quadrature. Two classes need none.

    Parameters
    ----------
    scores : ndarray of shape (..., n_classes - 1)
        Contrasts of the utilities.
    contrasts : ndarray of shape (n_classes, n_classes - 1)
        As `class_contrasts` returns them.

    Returns
    -------
    probabilities : ndarray of shape (..., n_classes)
        They sum to one.
    """
    if contrasts.shape[0] == 2:
        first = ndtr(-scores[..., 0])
        return np.stack([first, ndtr(scores[..., 0])], axis=-1)
    utilities = scores @ contrasts.T
    gaps = utilities[..., :, None] - utilities[..., None, :]
    same = np.arange(contrasts.shape[0])
    total = np.zeros(utilities.shape)
    for node, weight in zip(NODES, WEIGHTS):
        wins = ndtr(gaps + node)  # one class's own noise is integrated out by quadrature
        wins[..., same, same] = 1.0
        total += weight * wins.prod(axis=-1)
    return total / total.sum(axis=-1, keepdims=True)


def chunks_of_rows(n_rows: int, n_draws: int, n_classes: int) -> Iterator[slice]:
    """Yield slices of rows whose scores, for all draws, fit in memory."""
    return row_chunks(n_rows, n_draws * max(1, n_classes) ** 2, megabytes=MEGABYTES)


def mixture_quantiles(means: Floats, sds: Floats, levels: Floats) -> Floats:
    """Return quantiles of equal mixtures of normal laws, by bisection.

    Parameters
    ----------
    means, sds : ndarray of shape (n_rows, n_draws)
        The parts of each row's mixture.
    levels : ndarray of shape (n_levels,)
        Between 0 and 1.

    Returns
    -------
    quantiles : ndarray of shape (n_rows, n_levels)
        To eight digits of the spread.
    """
    out = np.empty((len(means), len(levels)))
    for j, level in enumerate(levels):
        low = (means - 9.0 * sds).min(axis=1)
        high = (means + 9.0 * sds).max(axis=1)
        for _ in range(40):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - means) / sds).mean(axis=1) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        out[:, j] = 0.5 * (low + high)
    return out
