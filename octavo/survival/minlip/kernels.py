"""Kernels that are sums over features (Section 3.3), and feature maps of any kernel.

With K(x, z) = Σ_p k(x_p, z_p) the utility is a sum of functions of one feature each, which can be
drawn and read. Low-rank kernels become features: that of degree two has 2 a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import Kernel

__all__ = ["ComponentwiseKernel"]


class ComponentwiseKernel:
    """A kernel that adds up one kernel for each feature: an additive model.

    Parameters
    ----------
    base : {"poly2", "poly3", "linear", "rbf", "laplacian"}, default="poly2"
        The kernel of one feature: (coef0 + xz)², (coef0 + xz)³, xz, exp(-gamma (x - z)²) or
        exp(-gamma |x - z|).
    gamma : float, default=1.0
        Width of "rbf" and "laplacian", for features of unit variance.
    coef0 : float, default=1.0
        The paper's τ.

    Examples
    --------
    >>> from octavo.survival import ComponentwiseKernel
    >>> ComponentwiseKernel("poly2")([[1.0, 2.0]], [[1.0, 0.5]])
    array([[8.]])
    """

    BASES = ("poly2", "poly3", "linear", "rbf", "laplacian")

    def __init__(self, base: str = "poly2", gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.base = base
        self.gamma = gamma
        self.coef0 = coef0

    def __repr__(self) -> str:
        return f"ComponentwiseKernel({self.base!r}, gamma={self.gamma!r}, coef0={self.coef0!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComponentwiseKernel) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.base, self.gamma, self.coef0))

    def _checked(self) -> None:
        if self.base not in self.BASES:
            raise ValueError(f"base must be one of {', '.join(self.BASES)}; got {self.base!r}.")
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be positive and finite; got {self.gamma!r}.")
        if not (np.isfinite(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 must be non-negative and finite; got {self.coef0!r}.")

    def _one(self, x: Floats, z: Floats) -> Floats:
        """Return the kernel of one feature: x of shape (n, 1), z of shape (1, m)."""
        if self.base == "rbf":
            return np.exp(-self.gamma * (x - z) ** 2)
        if self.base == "laplacian":
            return np.exp(-self.gamma * np.abs(x - z))
        if self.base == "linear":
            return x * z
        return (self.coef0 + x * z) ** int(self.base[-1])  # (τ + x z)^2 or ^3

    def __call__(self, X: Any, Z: Any) -> Floats:
        """Return K(x, z) for every row x of X and z of Z.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows.
        Z : array-like of shape (m, n_features)
            Rows.

        Returns
        -------
        K : ndarray of shape (n, m)
            The sums.
        """
        self._checked()
        X, Z = np.asarray(X, np.float64), np.asarray(Z, np.float64)
        if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
            raise ValueError(
                f"X and Z must be tables with as many columns; got {X.shape} and {Z.shape}."
            )
        total = np.zeros((len(X), len(Z)))
        for p in range(X.shape[1]):
            total += self._one(X[:, p : p + 1], Z[:, p : p + 1].T)
        return total

    def features(self, X: Any) -> Floats | None:
        """Return φ(X) with φ(x)·φ(z) = K(x, z) up to a constant, or None where it is endless.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n, n_features * degree) or None
            Powers of the features; constants are left out, since utilities have no offset.
        """
        self._checked()
        X = np.asarray(X, np.float64)
        tau = self.coef0
        if self.base == "linear":
            return X
        if self.base == "poly2":
            return np.hstack([np.sqrt(2.0 * tau) * X, X**2])  # (τ + xz)² - τ², as φ(x)·φ(z)
        if self.base == "poly3":
            # (τ + xz)³ - τ³
            return np.hstack([np.sqrt(3.0) * tau * X, np.sqrt(3.0 * tau) * X**2, X**3])
        return None

    def partial(self, x: Any, z: Any, feature: int) -> Floats:
        """Return the kernel of one feature between values x and rows z.

        Parameters
        ----------
        x : array-like of shape (n,)
            Values of the feature.
        z : array-like of shape (m, n_features)
            Rows.
        feature : int
            Its number.

        Returns
        -------
        K : ndarray of shape (n, m)
            One term of the sum.
        """
        self._checked()
        z = np.asarray(z, np.float64)
        return self._one(np.asarray(x, np.float64)[:, None], z[:, feature][None])


def gram_factor(K: Floats) -> Floats:
    """Return L with LLᵀ = K, as many columns as K has rank.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        A positive semidefinite matrix.

    Returns
    -------
    factor : ndarray of shape (n, rank)
        By Cholesky's decomposition with pivots.
    """
    K = 0.5 * (K + K.T)
    largest = float(np.abs(K).max(initial=0.0))
    if not largest > 0:
        return np.zeros((len(K), 1))
    factor, pivots, rank, _ = dpstrf(K / largest, lower=1)  # pivoted Cholesky
    factor = np.tril(factor)[:, :rank]
    out = np.empty_like(factor)
    out[pivots - 1] = factor
    missing = np.abs(np.diagonal(K) / largest - np.einsum("ij,ij->i", out, out)).max()
    if missing > 1e-6:
        raise ValueError(
            "The kernel must be positive semidefinite; its Gram matrix has no Cholesky factor "
            f"(a share of {missing:.2g} of the largest entry is left over)."
        )
    return out * np.sqrt(largest)


def kernel_block(kernel: Kernel | Callable[..., Any], X: Any, Z: Any) -> Floats:
    """Return k(X, Z) as a dense array."""
    block = kernel.block(X, Z) if isinstance(kernel, Kernel) else kernel(X, Z)
    block = np.asarray(block, dtype=np.float64)
    if block.shape != (X.shape[0], Z.shape[0]):
        raise ValueError(
            f"A kernel of {X.shape[0]} and {Z.shape[0]} rows must give a matrix of that shape; "
            f"got {block.shape}."
        )
    return block
