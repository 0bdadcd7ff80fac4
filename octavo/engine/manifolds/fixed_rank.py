"""Positive semidefinite matrices of fixed rank, as two quotients.

`PSDFlat` holds W = GGᵀ by its factor G up to rotation, with the metric of plain arrays. `PSDPolar`
holds W = U RRᵀ Uᵀ by a subspace and a quadratic form within it, with the affine-invariant metric
on the form and a weight between both.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 5.1 and 6; Bonnabel and Sepulchre (2009).
The paper keeps R symmetric in its formulas; R exp(...) is not after one step. Here R is any
square root, RRᵀ stands for R², and Rᵀ on the left of exponents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_sylvester

from octavo.engine.estimators.arrays import Floats
from octavo.engine.manifolds.grassmann import GrassmannQF

_GRASSMANN = GrassmannQF()


class PolarPoint(NamedTuple):
    """W = U RRᵀ Uᵀ: an orthonormal basis U (d, r) and a square root R (r, r)."""

    U: Floats
    R: Floats


def polar_point(G: Floats) -> PolarPoint:
    """Return the polar factors of G: U = ZVᵀ and R = VΣVᵀ of its decomposition ZΣVᵀ.

    Parameters
    ----------
    G : ndarray of shape (d, r)
        A factor, W = GGᵀ.

    Returns
    -------
    PolarPoint
        With UR = G and R symmetric.
    """
    Z, values, Vt = np.linalg.svd(G, full_matrices=False)
    return PolarPoint(Z @ Vt, (Vt.T * values) @ Vt)


def symmetric_exp(S: Floats) -> Floats:
    """Return the exponential of a symmetric matrix."""
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    return (vectors * np.exp(values)) @ vectors.T


class PSDFlat:
    """W = GGᵀ of rank r with the flat metric of its factors.

    A point is G (d, r), the same W for every rotation of its columns; a tangent vector has the
    shape of G.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import PSDFlat
    >>> G = np.array([[1.0], [2.0]])
    >>> PSDFlat().retract(G, -G, 0.5).ravel().tolist()
    [0.5, 1.0]
    """

    transport = None

    def proj(self, G: Floats, D: Floats) -> Floats:
        """Return the horizontal part of a direction: what no rotation of G's columns makes.

        Parameters
        ----------
        G : ndarray of shape (d, r)
            A factor of full column rank.
        D : ndarray of shape (d, r)
            Any direction.

        Returns
        -------
        ndarray of shape (d, r)
            ξ with Gᵀξ symmetric.
        """
        gram, skew = G.T @ G, G.T @ D - D.T @ G
        return D - G @ solve_sylvester(gram, gram, skew)

    def gradient(self, G: Floats, MG: Floats) -> Floats:
        """Return the gradient of f(GGᵀ), where M is that of f.

        Parameters
        ----------
        G : ndarray of shape (d, r)
            A factor.
        MG : ndarray of shape (d, r)
            The symmetric gradient M of f at W, times G.

        Returns
        -------
        ndarray of shape (d, r)
            2MG, horizontal.
        """
        return 2.0 * MG

    def norm(self, G: Floats, xi: Floats) -> float:
        """Return the length of a tangent vector.

        Parameters
        ----------
        G : ndarray of shape (d, r)
            A factor; the metric is the same everywhere.
        xi : ndarray of shape (d, r)
            Tangent vector.

        Returns
        -------
        float
            Its Frobenius norm.
        """
        return float(np.linalg.norm(xi))

    def retract(self, G: Floats, xi: Floats, step: float = 1.0) -> Floats:
        """Return G + step ξ.

        Parameters
        ----------
        G : ndarray of shape (d, r)
            A factor.
        xi : ndarray of shape (d, r)
            Tangent vector.
        step : float, default=1.0
            How far.

        Returns
        -------
        ndarray of shape (d, r)
            A factor; straight lines are the geodesics.
        """
        return G + step * xi


class PSDPolar:
    """W = U RRᵀ Uᵀ of rank r: a subspace and a positive definite form within it.

    A point is a pair (U, R), a tangent vector a pair (ξ_U, ξ_R²) with Uᵀξ_U = 0 and ξ_R² symmetric.
    With a square U it is all of S+(d), in its affine-invariant metric.

    Parameters
    ----------
    lam : float, default=0.5
        The paper's λ, the weight of the subspace: 0 keeps the subspace, 1 moves nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import PSDPolar
    >>> U, R = np.array([[1.0], [0.0]]), np.array([[2.0]])
    >>> moved = PSDPolar().retract((U, R), (np.array([[0.0], [1.0]]), np.array([[0.0]])))
    >>> (moved[0] @ moved[1]).round(3).ravel().tolist()
    [1.414, 1.414]
    """

    transport = None

    def __init__(self, lam: float = 0.5) -> None:
        self.lam = lam

    def proj(
        self, point: tuple[Floats, Floats], direction: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return the horizontal part of a pair of directions.

        Parameters
        ----------
        point : tuple of ndarray
            U and R.
        direction : tuple of ndarray
            Arrays of the shapes of U and R.

        Returns
        -------
        tuple of ndarray
            (I - UUᵀ) of the first, the symmetric part of the second.
        """
        second = direction[1]
        return _GRASSMANN.proj(point[0], direction[0]), 0.5 * (second + second.T)

    def gradient(self, point: tuple[Floats, Floats], MU: Floats) -> tuple[Floats, Floats]:
        """Return the gradient of f(U RRᵀ Uᵀ), where M is that of f.

        Parameters
        ----------
        point : tuple of ndarray
            U and R.
        MU : ndarray of shape (d, r)
            The symmetric gradient M of f at W, times U.

        Returns
        -------
        tuple of ndarray
            2λ(I - UUᵀ)MU RRᵀ and (1 - λ) RRᵀ UᵀMU RRᵀ.
        """
        U, R = point
        square = R @ R.T
        inner = U.T @ MU
        return (
            2.0 * self.lam * (MU - U @ inner) @ square,
            (1.0 - self.lam) * square @ (0.5 * (inner + inner.T)) @ square,
        )

    def norm(self, point: tuple[Floats, Floats], tangent: tuple[Floats, Floats]) -> float:
        """Return the length of a tangent vector.

        Parameters
        ----------
        point : tuple of ndarray
            U and R, which is not singular.
        tangent : tuple of ndarray
            ξ_U and ξ_R².

        Returns
        -------
        float
            The root of ‖ξ_U‖²/λ + ‖R⁻¹ ξ_R² R⁻ᵀ‖²/(1 - λ), Eq. (17). A part whose weight is zero
            must be zero, and counts as zero.
        """
        R = point[1]
        inner = np.linalg.solve(R, np.linalg.solve(R, tangent[1]).T)
        parts = (float(np.sum(tangent[0] ** 2)), float(np.sum(inner**2)))
        total = 0.0
        for part, weight in zip(parts, (self.lam, 1.0 - self.lam), strict=True):
            if part > 0.0:
                total += part / weight if weight > 0.0 else np.inf
        return float(np.sqrt(total))

    def retract(
        self, point: tuple[Floats, Floats], tangent: tuple[Floats, Floats], step: float = 1.0
    ) -> PolarPoint:
        """Return qf(U + step ξ_U) and R exp(½ step R⁻¹ ξ_R² R⁻ᵀ).

        Parameters
        ----------
        point : tuple of ndarray
            U and R, which is not singular.
        tangent : tuple of ndarray
            ξ_U and ξ_R².
        step : float, default=1.0
            How far.

        Returns
        -------
        PolarPoint
            Of the same rank, Eqs. (18) and (19).
        """
        U, R = point
        inner = np.linalg.solve(R, np.linalg.solve(R, tangent[1]).T)
        return PolarPoint(
            _GRASSMANN.retract(U, tangent[0], step), R @ symmetric_exp(0.5 * step * inner)
        )
