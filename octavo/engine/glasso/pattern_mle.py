"""The Gaussian likelihood under a given pattern of zeros in the precision matrix.

Column by column, a variable is regressed on its neighbours under the current covariance, which
makes the covariance agree with the sample on the pattern; the precision has exact zeros off it.

References: A. P. Dempster (1972), "Covariance selection"; T. Hastie, R. Tibshirani and J. Friedman
(2009), "The Elements of Statistical Learning", Algorithm 17.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats

__all__ = ["PatternFit", "pattern_mle"]


class PatternFit(NamedTuple):
    """A fit under a pattern of zeros.

    Attributes
    ----------
    precision, covariance : ndarray of shape (d, d)
        Inverses of each other; the first is zero off the pattern.
    residual : float
        Largest difference of covariance and sample on the pattern, in units of standard deviations:
        zero at the maximum.
    n_iter : int
        Sweeps over the columns.
    """

    precision: Floats
    covariance: Floats
    residual: float
    n_iter: int


def pattern_mle(
    S: Floats, adjacency: NDArray[np.bool_], tol: float = 1e-9, max_iter: int = 1000
) -> PatternFit:
    """Maximise log det Θ - tr SΘ over the positive definite Θ with zeros off a pattern.

    Parameters
    ----------
    S : ndarray of shape (d, d)
        Sample covariance, with a positive diagonal.
    adjacency : ndarray of shape (d, d) of bool
        Pairs that may differ from zero; symmetric, the diagonal is not read.
    tol : float, default=1e-9
        Stop at this residual.
    max_iter : int, default=1000
        Most sweeps.

    Returns
    -------
    PatternFit
        Its `residual` above `tol` says that the sweeps did not suffice.
    """
    d = len(S)
    scale = np.sqrt(np.diag(S))
    correlation = S / np.outer(scale, scale)
    pattern = adjacency & ~np.eye(d, dtype=bool)
    around = [np.flatnonzero(row) for row in pattern]
    # A start that has the zeros is nearer; it may be indefinite, the correlation matrix is not.
    W = np.where(pattern, correlation, 0.0) + np.eye(d)
    if np.linalg.eigvalsh(W)[0] <= 0:
        W = correlation.copy()
    precision = np.eye(d)
    residual = np.inf
    sweep = 0
    for sweep in range(1, max_iter + 1):  # noqa: B007
        for j, near in enumerate(around):
            if not near.size:
                W[:, j] = W[j, :] = 0.0
                W[j, j] = 1.0
                continue
            # θ_22 and β of the algorithm's step (b), on the pattern's columns alone
            coefficients = np.linalg.solve(W[np.ix_(near, near)], correlation[near, j])
            column = W[:, near] @ coefficients
            column[j] = 1.0
            W[:, j] = W[j, :] = column
            spare = 1.0 - column[near] @ coefficients  # 1/θ_jj
            if not spare > 0:
                raise ValueError(
                    f"The likelihood has no maximum under this pattern: variable {j} is determined "
                    f"by its {near.size} neighbours in the sample."
                )
            precision[j, j] = 1.0 / spare
            precision[near, j] = -coefficients / spare
        symmetric = (precision + precision.T) / 2
        covariance = np.linalg.inv(symmetric)
        off = np.abs(covariance - correlation)
        residual = float(np.max(off[pattern], initial=np.abs(np.diag(off)).max()))
        if residual <= tol:
            break
    return PatternFit(
        symmetric / np.outer(scale, scale), covariance * np.outer(scale, scale), residual, sweep
    )
