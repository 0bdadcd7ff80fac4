"""What one task contributes: energies that switches guard, decision values, and curvature.

Variables of a task are signed, β = yλ, and every feature or kernel d of it has an energy
q_d = ½ β'K_dβ. `FeatureBlock` never forms K_d = x(d)x(d)'; `KernelBlock` holds the matrices.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 6, 7 and 10.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from octavo.engine.estimators.arrays import Floats

Places = np.ndarray[Any, np.dtype[np.intp]]

KEPT_ROWS = 1000  # of a task: up to them the product of all features is kept
MANY_FEATURES = 200  # from which on four in five may share a weight in the curvature
ALIKE = 3.0  # times the mean that such weights may be
MATRIX_ROWS = 6000  # of a task: beyond, columns of its curvature are computed when asked for


class ColumnCurvature:
    """ZZ' + shift, one column at a time.

    Parameters
    ----------
    Z : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Scaled rows.
    """

    def __init__(self, Z: Any) -> None:
        self.Z, self.shift = Z, 0.0
        squares = Z.multiply(Z).sum(axis=1) if sp.issparse(Z) else np.einsum("ij,ij->i", Z, Z)
        self._diagonal = np.asarray(squares, dtype=np.float64).ravel()

    def __call__(self, i: int) -> Floats:
        row = self.Z[i].toarray().ravel() if sp.issparse(self.Z) else self.Z[i]
        return np.asarray(self.Z @ row).ravel() + self.shift

    def __iadd__(self, shift: float) -> Self:
        self.shift += shift
        return self

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return self._diagonal + self.shift


class Block(Protocol):
    """One task's data."""

    n: int
    places: Places

    def respond(self, beta: Floats) -> Floats:
        """Return K_d β in the block's own form."""

    def energies(self, response: Floats, beta: Floats) -> Floats:
        """Return ½ β'K_dβ."""

    def products(self, response: Floats, other: Floats, beta: Floats) -> Floats:
        """Return β'K_dβ' for the β' whose response is `other`."""

    def values(self, weights: Floats, response: Floats) -> Floats:
        """Return Σ_d weights_d K_d β, a value a row."""

    def curvature(
        self, first: Floats, second: Floats, response: Floats, *, exact: bool = True
    ) -> Any:
        """Return Σ_d first_d K_d + second_d h_d h_d' with h_d = K_d β, or nearly so."""


class FeatureBlock:
    """Rows whose features are switched: K_d = x(d)x(d)', and a response is Σ_t β_t x_t(d).

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows of the task.
    places : ndarray of shape (n_features,)
        The switch of each feature.
    """

    def __init__(self, X: Any, places: Places) -> None:
        self.X, self.places, self.n = X, places, X.shape[0]
        self._gram: Floats | None = None

    def respond(self, beta: Floats) -> Floats:
        """Return a_d = Σ_t β_t x_t(d)."""
        return np.asarray(self.X.T @ beta).ravel()

    def energies(self, response: Floats, beta: Floats) -> Floats:
        """Return ½ a_d²."""
        return 0.5 * response * response

    def products(self, response: Floats, other: Floats, beta: Floats) -> Floats:
        """Return a_d a'_d."""
        return response * other

    def values(self, weights: Floats, response: Floats) -> Floats:
        """Return X (weights ∘ a)."""
        return np.asarray(self.X @ (weights * response)).ravel()

    def curvature(
        self, first: Floats, second: Floats, response: Floats, *, exact: bool = True
    ) -> Any:
        """Return X diag(first + second a²) X': a linear machine on features that are rescaled.

        Unless it must be exact: of many features most have about the same small weight, and XX'
        times its mean stands for them. Newton's steps are searched along a line, so that J rises
        all the same.
        """
        # step 3b's K_d + G_d h_d h_d' is x(d)x(d)' (1 + G_d a_d²)
        weights = first + second * response * response
        root = np.sqrt(weights)
        if sp.issparse(self.X):
            scaled = self.X.multiply(root[None, :]).tocsr()
            if self.n > MATRIX_ROWS:
                return ColumnCurvature(scaled)
            return (scaled @ scaled.T).toarray()
        if not exact and self.n <= KEPT_ROWS and weights.size >= MANY_FEATURES:
            order = np.argpartition(weights, -(weights.size // 5))
            above, rest = order[-(weights.size // 5) :], weights[order[: -(weights.size // 5)]]
            mean = float(rest.mean())
            if float(rest.max()) <= ALIKE * mean:
                if self._gram is None:
                    self._gram = _outer(self.X)
                extra = np.sqrt(np.maximum(weights[above] - mean, 0.0))
                return mean * self._gram + _outer(self.X[:, above] * extra)
        scaled = self.X * root
        if self.n > MATRIX_ROWS:
            return ColumnCurvature(scaled)
        return _outer(scaled)


def _outer(Z: Floats) -> Floats:
    """Return ZZ', by half of a product."""
    # Of a C-ordered table the transpose is BLAS's order: no copy.
    half = dsyrk(1.0, np.ascontiguousarray(Z).T, trans=1, lower=0)
    whole = half + half.T  # below the diagonal the half is zero
    whole.flat[:: len(whole) + 1] *= 0.5
    return whole


class KernelBlock:
    """Kernel matrices of a task's rows, one a switch.

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        The matrices.
    places : ndarray of shape (n_kernels,)
        The switch of each kernel.
    """

    def __init__(self, K: Floats, places: Places) -> None:
        self.K, self.places, self.n = K, places, K.shape[1]
        self._flat = K.reshape(len(K), -1)

    def respond(self, beta: Floats) -> Floats:
        """Return h_d = K_d β, of shape (n_kernels, n_samples)."""
        return self.K @ beta

    def energies(self, response: Floats, beta: Floats) -> Floats:
        """Return ½ β'h_d; rounding may not make it negative."""
        return np.maximum(0.5 * (response @ beta), 0.0)

    def products(self, response: Floats, other: Floats, beta: Floats) -> Floats:
        """Return β'h'_d."""
        return other @ beta

    def values(self, weights: Floats, response: Floats) -> Floats:
        """Return Σ_d weights_d h_d."""
        return weights @ response

    def curvature(
        self, first: Floats, second: Floats, response: Floats, *, exact: bool = True
    ) -> Floats:
        """Return the weighted sum of the matrices, and the rank-one term of each."""
        total = (first @ self._flat).reshape(self.n, self.n)  # Algorithm 1, step 3b
        total += (second[:, None] * response).T @ response
        return total
