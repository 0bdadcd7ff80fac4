"""Hold-out error of a ridge model on features with parameters, and its gradient in them.

Features z(x; θ) are fitted by ridge regression on one part of the rows, ``c = P⁻¹ Zᵀy`` with
``P = ZᵀZ + nλI``, and judged by the mean squared error on the others. The gradient in θ needs two
coefficient vectors only: c, and t = P⁻¹ · mean over held-out rows of (c·z − y) z. With them every
row i has two weights, and

    ∂error/∂θ = Σ_i [ a_i ∂(c·z_i)/∂θ + b_i ∂(t·z_i)/∂θ ],

where a_i = 2 (c·z_i − y_i) / n_held on held-out rows, a_i = −2 t·z_i and b_i = 2 (y_i − c·z_i) on
training rows. What is fitted and judged depends on the rows through sums alone (`Moments`), so
that all folds of a cross-validation cost one pass over the data.

Reference: S. S. Keerthi, V. Sindhwani and O. Chapelle (2007). An efficient method for
gradient-based adaptation of hyperparameters in SVM models. NIPS 19.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import row_chunks

_BLOCK = 0.5  # megabytes of features in a block of rows
_FLOOR = 1e-12  # of the mean diagonal of P: collinear features keep a solution


class Moments(NamedTuple):
    """Sums over the rows of every fold: their number, ΣZZᵀ, ΣZy and Σy².

    The arrays have the folds along their first axis: ``size`` (k,), ``gram`` (k, p, p),
    ``cross`` (k, p), ``square`` (k,).
    """

    size: Floats
    gram: Floats
    cross: Floats
    square: Floats

    def others(self) -> Moments:
        """Return, for every fold, the sums over all other folds."""
        return Moments(*(part.sum(axis=0, keepdims=True) - part for part in self))


class HoldoutFit(NamedTuple):
    """Ridge models of all folds: errors, coefficients c and t (k, p), and ∂error/∂λ, each (k,)."""

    error: Floats
    c: Floats
    t: Floats
    slope: Floats


def fold_moments(Z: Floats, y: Floats, starts: NDArray[np.intp]) -> Moments:
    """Return the sums of every fold; fold j is the rows ``starts[j]`` to ``starts[j + 1]``."""
    parts = [(Z[a:b], y[a:b]) for a, b in pairwise(starts)]
    return Moments(
        np.diff(starts).astype(np.float64),
        np.stack([z.T @ z for z, _ in parts]),
        np.stack([z.T @ v for z, v in parts]),
        np.array([v @ v for _, v in parts]),
    )


def fit_and_judge(train: Moments, held: Moments, alpha: float) -> HoldoutFit:
    """Fit a ridge model on some sums and judge it on others, for all folds at once.

    Parameters
    ----------
    train, held : Moments
        Sums over training rows and over held-out rows, a fold each.
    alpha : float
        λ; the penalty is n_train · λ.

    Returns
    -------
    HoldoutFit
        The mean squared error on held-out rows, c, t, and the error's slope in λ.
    """
    p = train.gram.shape[-1]
    trace = np.trace(train.gram, axis1=1, axis2=2)
    # nλ, and a floor that keeps P positive definite
    ridge = train.size * alpha + _FLOOR * (trace / p + train.size * alpha)
    P = train.gram + ridge[:, None, None] * np.eye(p)
    c = np.linalg.solve(P, train.cross[..., None])[..., 0]
    inner = np.einsum("kij,kj->ki", held.gram, c)
    pull = (inner - held.cross) / held.size[:, None]  # mean of (c·z − y) z
    squares = np.einsum("ki,ki->k", c, inner - 2.0 * held.cross) + held.square
    t = np.linalg.solve(P, pull[..., None])[..., 0]
    # ∂P/∂λ = nI moves c by -P⁻¹ n c; the thesis prints this without its factor -2.
    slope = -2.0 * train.size * np.einsum("ki,ki->k", t, c)
    return HoldoutFit(np.maximum(squares, 0.0) / held.size, c, t, slope)


def weight_blocks(
    Z: Floats, y: Floats, starts: NDArray[np.intp], fit: HoldoutFit, n_held: Floats, *, one: bool
) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows with their part of G, where ∂(mean error)/∂θ = Σ_ij G_ij ∂Z_ij/∂θ.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,)
        Targets.
    starts : ndarray of shape (k + 1,)
        Where folds begin.
    fit : HoldoutFit
        What `fit_and_judge` returned.
    n_held : ndarray of shape (k,)
        Number of rows each model was judged on.
    one : bool
        Whether model j was trained on fold j alone, or on all folds but j.

    Yields
    ------
    rows : slice
        Rows of one fold, few enough to stay in a cache.
    G : ndarray of shape (rows, p)
        Of rank 2k at most: Σ_j a_j c_jᵀ + b_j t_jᵀ.
    """
    k, p = fit.c.shape
    coefs = np.vstack([fit.c, fit.t])
    for j, (first, last) in enumerate(pairwise(starts)):
        trained = (np.arange(k) == j) == one
        for part in row_chunks(last - first, p, megabytes=_BLOCK):
            rows = slice(first + part.start, first + part.stop)
            residual, tilt = np.hsplit(Z[rows] @ coefs.T, 2)
            residual -= y[rows, None]
            # A training row moves c through P and Zᵀy, a held-out row only through its own
            # residual.
            a = np.where(trained, -tilt, residual / n_held)
            b = np.where(trained, -residual, 0.0)
            yield rows, np.hstack([a, b]) @ (coefs * (2.0 / k))


class HoldoutGradient(NamedTuple):
    """Mean cross-validated ``error``, its row ``weights`` G (n, p), and its ``slope`` in λ."""

    error: float
    weights: Floats
    slope: float


def holdout_gradient(
    Z: Floats, y: Floats, starts: NDArray[np.intp], alpha: float, *, train_on: str = "rest"
) -> HoldoutGradient:
    """Return the cross-validated error of ridge on features, and what its gradient needs.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Features at the current parameters; the rows of a fold stand together.
    y : ndarray of shape (n,)
        Targets.
    starts : ndarray of shape (k + 1,)
        Fold j is the rows ``starts[j]`` to ``starts[j + 1]``.
    alpha : float
        λ; the penalty is n_train · λ.
    train_on : {"rest", "one"}, default="rest"
        Whether a model is trained on all folds but one and judged on that one, or the other way
        round, which is cheaper to please and keeps a flexible feature honest.

    Returns
    -------
    HoldoutGradient
        For a parameter θ of the features, ∂error/∂θ = Σ_ij ``weights``_ij ∂Z_ij/∂θ.
    """
    moments = fold_moments(Z, y, starts)
    train, held = moments.others(), moments
    if train_on == "one":
        train, held = held, train
    fit = fit_and_judge(train, held, alpha)
    weights = np.empty_like(Z)
    for rows, block in weight_blocks(Z, y, starts, fit, held.size, one=train_on == "one"):
        weights[rows] = block
    return HoldoutGradient(float(fit.error.mean()), weights, float(fit.slope.mean()))


def fold_starts(n: int, n_folds: int) -> NDArray[np.intp]:
    """Return where folds of nearly equal size begin, with n at the end."""
    return np.linspace(0, n, n_folds + 1).round().astype(np.intp)
