"""The nearest positive semidefinite matrix: eigenvalues below zero set to zero."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from octavo.engine.estimators.arrays import Floats


def project_positive_semidefinite(M: Floats) -> Floats:
    """Return the positive semidefinite matrix nearest to M in Frobenius norm.

    Parameters
    ----------
    M : ndarray of shape (d, d)
        Its symmetric part is projected.

    Returns
    -------
    ndarray of shape (d, d)
        Symmetric, with no eigenvalue below zero but for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.projections.positive_semidefinite import project_positive_semidefinite
    >>> project_positive_semidefinite(np.diag([4.0, -1.0])).round(9).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = eigh(0.5 * (M + M.T))
    kept = values > 0.0
    if kept.all():
        return 0.5 * (M + M.T)
    root = vectors[:, kept] * np.sqrt(values[kept])
    return root @ root.T


def project_rank_one_down(M: Floats) -> Floats:
    """Return the projection of a matrix with at most one negative eigenvalue.

    That is what a positive semidefinite matrix less a matrix of rank one is: one extreme
    eigenpair in place of all of them.

    Parameters
    ----------
    M : ndarray of shape (d, d)
        Symmetric.

    Returns
    -------
    ndarray of shape (d, d)
        M itself where nothing is negative.
    """
    value, vector = eigh(M, subset_by_index=[0, 0])
    if value[0] >= 0.0:
        return M
    return M - value[0] * np.outer(vector[:, 0], vector[:, 0])
