"""A robust inverse covariance as its eigenvalues and eigenvectors.

Reference: Zhang and Lerman (2014), "A novel M-estimator for robust PCA", JMLR 15:749-808,
Sections 3.3 and 6.5.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

__all__ = ["RobustPrecision"]


class RobustPrecision:
    """What a solution Q says of the data: robust principal axes, scales and distances.

    Q is an inverse covariance up to scale, of trace one. It is kept by its eigenvectors, so that
    data of many features and few samples need no square matrix of that size.

    Parameters
    ----------
    eigenvalues : ndarray of shape (rank,)
        Eigenvalues of Q, increasing: the first belongs to the direction of largest variance.
    eigenvectors : ndarray of shape (rank, n_features)
        The directions, one a row. Directions in which the data do not vary are left out.
    location : ndarray of shape (n_features,)
        The centre.

    Attributes
    ----------
    rank : int
        Dimension of what the data span.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import GeometricMedianSubspace
    >>> X = np.random.default_rng(0).standard_normal((400, 3)) * [4.0, 2.0, 1.0]
    >>> view = GeometricMedianSubspace().fit(X).robust_precision_
    >>> np.abs(view.principal_axes(2)).argmax(axis=1)
    array([0, 1])
    >>> view.covariance().diagonal().round(1)
    array([0.8, 0.2, 0. ])
    """

    def __init__(self, eigenvalues, eigenvectors, location):
        self.eigenvalues = eigenvalues
        self.eigenvectors = eigenvectors
        self.location = location

    @property
    def rank(self) -> int:
        """Dimension of what the data span."""
        return len(self.eigenvalues)

    @property
    def matrix(self) -> np.ndarray:
        """Q of shape (n_features, n_features)."""
        return (self.eigenvectors.T * self.eigenvalues) @ self.eigenvectors

    def covariance(self) -> np.ndarray:
        """Return the robust covariance Q⁻¹, scaled to trace one, on the span of the data.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The covariance. Directions in which Q is zero share the trace by themselves.
        """
        floor = np.finfo(float).eps * self.eigenvalues[-1]
        # Q⁻¹ is the robust covariance, up to scale (Section 3.3)
        variances = 1.0 / np.maximum(self.eigenvalues, floor)
        return (self.eigenvectors.T * (variances / variances.sum())) @ self.eigenvectors

    def principal_axes(self, n_axes: int | None = None) -> np.ndarray:
        """Return the directions of largest robust variance.

        Parameters
        ----------
        n_axes : int, default=None
            How many; all by default.

        Returns
        -------
        ndarray of shape (n_axes, n_features)
            Orthonormal rows, by decreasing variance.
        """
        return self.eigenvectors[:n_axes]

    def residuals(self, X) -> np.ndarray:
        """Return ‖Q(x − location)‖ for each row.

        What lies outside the span of the training data counts with the largest eigenvalue.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The residuals whose sum the estimate makes small.
        """
        inside, squared_off = self._split(X)
        squared = ((inside * self.eigenvalues) ** 2).sum(axis=1)  # what Eq. (4) sums
        return np.sqrt(squared + self.eigenvalues[-1] ** 2 * squared_off)

    def mahalanobis(self, X) -> np.ndarray:
        """Return the squared distances (x − location)ᵀ Q (x − location).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Squared distances in the metric of Q, which has trace one.
        """
        inside, squared_off = self._split(X)
        return (inside**2 * self.eigenvalues).sum(axis=1) + self.eigenvalues[-1] * squared_off

    def _split(self, X):
        """Return coordinates on the eigenvectors, and the squared norm of what they miss."""
        if issparse(X):
            X = X.toarray() if self.rank < X.shape[1] or np.any(self.location) else X
        centred = X if issparse(X) else np.asarray(X) - self.location
        inside = centred @ self.eigenvectors.T
        if self.rank == self.eigenvectors.shape[1]:
            return inside, np.zeros(len(inside))
        off = centred - inside @ self.eigenvectors
        return inside, np.einsum("ij,ij->i", off, off)
