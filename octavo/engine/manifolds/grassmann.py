"""Subspaces: the Grassmann manifold as orthonormal bases up to rotation.

Reference: Meyer, Bonnabel and Sepulchre (2011), Section 4; Absil, Mahony and Sepulchre (2004).
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats


def orthonormal_factor(Y: Floats) -> tuple[Floats, Floats]:
    """Return qf(Y) and its triangular factor, whose diagonal is not negative.

    Parameters
    ----------
    Y : ndarray of shape (d, r)
        Of full column rank.

    Returns
    -------
    Q : ndarray of shape (d, r)
        Orthonormal columns.
    T : ndarray of shape (r, r)
        Upper triangular; Y = Q T.
    """
    Q, T = np.linalg.qr(Y)
    signs = np.where(np.diagonal(T) < 0.0, -1.0, 1.0)
    return Q * signs, signs[:, None] * T


class GrassmannQF:
    """Subspaces of dimension r in d dimensions, with the retraction by QR.

    A point is an orthonormal basis U (d, r), the same subspace for every rotation of its columns; a
    tangent vector is a (d, r) array with Uᵀξ = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import GrassmannQF
    >>> line = np.array([[1.0], [0.0]])
    >>> GrassmannQF().retract(line, np.array([[0.0], [1.0]])).round(3).ravel().tolist()
    [0.707, 0.707]
    """

    transport = None  # gradient descent needs none

    def proj(self, U: Floats, D: Floats) -> Floats:
        """Return the horizontal part (I - UUᵀ) D of a direction.

        Parameters
        ----------
        U : ndarray of shape (d, r)
            Orthonormal basis.
        D : ndarray of shape (d, r)
            Any direction.

        Returns
        -------
        ndarray of shape (d, r)
            The tangent vector, Eq. (5).
        """
        return D - U @ (U.T @ D)

    def norm(self, U: Floats, xi: Floats) -> float:
        """Return the length of a tangent vector.

        Parameters
        ----------
        U : ndarray of shape (d, r)
            Orthonormal basis; the metric is the same everywhere.
        xi : ndarray of shape (d, r)
            Tangent vector.

        Returns
        -------
        float
            Its Frobenius norm.
        """
        return float(np.linalg.norm(xi))

    def retract(self, U: Floats, xi: Floats, step: float = 1.0) -> Floats:
        """Return qf(U + step ξ).

        Parameters
        ----------
        U : ndarray of shape (d, r)
            Orthonormal basis.
        xi : ndarray of shape (d, r)
            Tangent vector.
        step : float, default=1.0
            How far.

        Returns
        -------
        ndarray of shape (d, r)
            Orthonormal basis, Eq. (7).
        """
        return orthonormal_factor(U + step * xi)[0]

    def exp(self, U: Floats, xi: Floats, step: float = 1.0) -> Floats:
        """Return the end of the geodesic that leaves U along ξ.

        Parameters
        ----------
        U : ndarray of shape (d, r)
            Orthonormal basis.
        xi : ndarray of shape (d, r)
            Tangent vector.
        step : float, default=1.0
            How far.

        Returns
        -------
        ndarray of shape (d, r)
            Orthonormal basis, Eq. (6) completed by Vᵀ on the right.
        """
        Z, angles, Vt = np.linalg.svd(step * xi, full_matrices=False)
        return (U @ Vt.T) * np.cos(angles) @ Vt + Z * np.sin(angles) @ Vt  # Eq. (6)
