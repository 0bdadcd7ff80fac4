"""Ridge regression on features that are made chunk by chunk, its penalty by GCV.

Nothing of size n × m is held: the Gram matrix of the centred features is summed over chunks,
and one eigendecomposition of it gives the fit and its score by generalised cross-validation for
every penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import row_chunks


class RidgeFit(NamedTuple):
    """Coefficients (m,), intercept, penalty α (added to the Gram matrix) and GCV score."""

    coef: Floats
    intercept: float
    alpha: float
    score: float


def ridge_gcv(
    features: Callable[[Floats], Floats], X: Floats, y: Floats, alpha: float | str = "gcv"
) -> RidgeFit:
    """Fit ridge regression with an intercept on features of rows.

    Parameters
    ----------
    features : callable
        Maps rows (chunk, d) to features (chunk, m).
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Targets.
    alpha : float or "gcv"
        Penalty, or how to choose it.

    Returns
    -------
    RidgeFit
        The fit.
    """
    n, offset = len(y), float(y.mean())
    centred = y - offset
    m = features(X[:1]).shape[1]
    gram, cross, mean = np.zeros((m, m)), np.zeros(m), np.zeros(m)
    for rows in row_chunks(n, m, megabytes=16.0):
        Z = features(X[rows])
        gram += Z.T @ Z
        cross += Z.T @ centred[rows]
        mean += Z.sum(axis=0)
    mean /= n
    noise = 1e-14 * float(np.trace(gram))  # what centring leaves of a constant feature
    gram -= n * np.outer(mean, mean)
    values, vectors = np.linalg.eigh(gram)
    vectors, values = vectors[:, values > noise], values[values > noise]
    b = vectors.T @ cross
    square = float(centred @ centred)

    def score(log_alpha: float) -> float:
        ridge = np.exp(log_alpha)
        explained = float((b**2 * (values + 2 * ridge) / (values + ridge) ** 2).sum())
        freedom = 1.0 + float((values / (values + ridge)).sum())
        left = max(square - explained, 0.0)
        return n * left / max(n - freedom, 1e-8 * n) ** 2

    if alpha == "gcv":
        top = float(values.max(initial=1e-12))
        grid = np.log(top) + np.linspace(np.log(1e-13), np.log(1e2), 46)
        scores = [score(g) for g in grid]
        best = int(np.argmin(scores))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        refined = minimize_scalar(score, bounds=ends, method="bounded")
        chosen = refined.x if refined.fun < scores[best] else grid[best]
        ridge = float(np.exp(chosen))
    else:
        ridge = float(alpha)
    coef = vectors @ (b / (values + ridge))
    final = score(float(np.log(ridge))) if ridge > 0 else score(-700.0)
    return RidgeFit(coef, offset - float(mean @ coef), ridge, final)
