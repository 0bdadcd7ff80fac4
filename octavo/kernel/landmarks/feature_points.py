"""Rows seen as points of a kernel's feature space: their squared distances to landmarks.

Landmark selection compares the same rows with a few landmarks over and over. What depends on
the rows alone (the diagonal of the Gram matrix, for the Gaussian kernel the norms of centred
rows) is therefore computed once here; no block is larger than a few megabytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.kernels.gram import Kernel, row_chunks
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy

_CACHED = 1.0  # megabytes of a block on the host: it should stay in the cache of a core
_DEVICE = 256.0  # and on an accelerator, where launching costs more than memory


class Targets(NamedTuple):
    """Points to measure distances to: their rows (or indices, if precomputed) and k(z, z)."""

    points: Any
    indices: np.ndarray | None
    diagonal: Any


class FeaturePoints:
    """The rows of X as points of the feature space of a kernel.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n_samples, n_features)
        Rows; with a precomputed kernel the Gram matrix.
    kernel : Kernel
        What compares two rows.

    Attributes
    ----------
    diagonal : array of shape (n_samples,)
        k(x, x), in the namespace of X.
    noise : float
        Squared distances below this are rounding.
    """

    def __init__(self, X: Any, kernel: Kernel) -> None:
        self.X, self.kernel, self.n = X, kernel, X.shape[0]
        self.xp, self.device, self.is_numpy = namespace_of(X)
        self.diagonal = to_namespace(kernel.diagonal(X), X)
        largest = float(self.xp.max(self.diagonal))
        self.noise = 16.0 * float(self.xp.finfo(self.diagonal.dtype).eps) * abs(largest)
        self._smallest = 0.0
        self._rows = X
        self._gaussian = kernel.name == "rbf" and not sp.issparse(X)
        if self._gaussian:
            self._centre()

    def _centre(self) -> None:
        """Keep the norms of the rows, centred first if an offset would take their digits."""
        middle = self.xp.mean(self.X, axis=0)
        sample = self.X[: min(self.n, 1000), :]
        # Far from the origin the three terms of a distance are large and cancel.
        if float(self.xp.max(self.xp.abs(middle))) > float(self.xp.std(sample - middle)):
            self._rows = self.X - middle
        # -γ|x - z|² = -γ|x|² + 2γ x·z - γ|z|²
        self._exponents = -self.kernel.gamma * self._squares(self._rows)
        if not np.isfinite(4.0 * float(self.xp.min(self._exponents))):  # else exponents are NaN
            raise ValueError(
                "The rows are too large for the kernel 'rbf': their squared distances overflow. "
                "Scale them."
            )

    def _squares(self, rows: Any) -> Any:
        if self.is_numpy:
            return np.einsum("ij,ij->i", rows, rows)
        return self.xp.sum(rows * rows, axis=1)

    def take(self, indices: np.ndarray) -> Any:
        """Return rows of X (of the Gram matrix, if precomputed) by their indices."""
        if self.is_numpy:
            return self.X[indices]
        return self.xp.take(self.X, self._places(indices), axis=0)

    def _places(self, indices: np.ndarray) -> Any:
        return self.xp.asarray(np.asarray(indices, dtype=np.int64), device=self.device)

    def values(self, array: Any, indices: np.ndarray) -> np.ndarray:
        """Return entries or rows of an array of the namespace as NumPy floats."""
        if self.is_numpy:
            return np.asarray(array[indices], dtype=np.float64)
        found = self.xp.take(array, self._places(indices), axis=0)
        return to_numpy(found, self.xp).astype(np.float64)

    def chosen(self, indices: np.ndarray) -> Targets:
        """Return some of the rows as points to measure distances to."""
        indices = np.asarray(indices, dtype=np.int64)
        diagonal = self.xp.take(self.diagonal, self._places(indices))
        if self.kernel.name == "precomputed":
            return Targets(None, indices, diagonal)
        if self.is_numpy:
            return Targets(self._rows[indices], None, diagonal)
        return Targets(self.xp.take(self._rows, self._places(indices), axis=0), None, diagonal)

    def foreign(self, points: Any) -> Targets:
        """Return points that need not be rows of X."""
        if self._rows is not self.X:
            diagonal = self.xp.ones(points.shape[0], dtype=self.X.dtype, device=self.device)
            return Targets(points - self.xp.mean(self.X, axis=0), None, diagonal)
        return Targets(points, None, to_namespace(self.kernel.diagonal(points), self.X))

    def chunks(self, n_columns: int) -> Iterator[slice]:
        """Cut the rows so that a block of so many columns stays small."""
        width = n_columns + (0 if sp.issparse(self.X) else self.X.shape[1] // 4)
        yield from row_chunks(self.n, width, megabytes=_CACHED if self.is_numpy else _DEVICE)

    def gram(self, rows: slice, targets: Targets) -> Any:
        """Return k(z, x) for every target z and the rows x of a slice: one row a target."""
        if targets.indices is not None:
            if self.is_numpy:
                return self.X[rows][:, targets.indices].T
            return self.xp.take(self.X[rows, :], self._places(targets.indices), axis=1).T
        if not self._gaussian:
            part = self.X[rows] if self.is_numpy else self.X[rows, :]
            return self.kernel.block(targets.points, part)
        exponents = self._partial_exponents(rows, targets)
        if self.is_numpy:
            exponents += self._exponents[rows]
            np.minimum(exponents, 0.0, out=exponents)
            return np.exp(exponents, out=exponents)
        exponents = exponents + self._exponents[rows]
        zero = self.xp.zeros_like(exponents)
        return self.xp.exp(self.xp.where(exponents < 0.0, exponents, zero))

    def _partial_exponents(self, rows: slice, targets: Targets) -> Any:
        """Return 2γ x·z - γ|z|², one row a target: what is left is -γ|x|² of each row."""
        scaled = 2.0 * self.kernel.gamma * targets.points
        own = -self.kernel.gamma * self._squares(targets.points)
        if self.is_numpy:
            # BLAS is faster with the long side first, transposing included.
            exponents = np.ascontiguousarray((self._rows[rows] @ scaled.T).T)
            exponents += own[:, None]
            return exponents
        return scaled @ self._rows[rows, :].T + own[:, None]

    def closest(self, rows: slice, targets: Targets) -> Any:
        """Return the squared distance of each row of a slice to the nearest of the targets.

        Under the Gaussian kernel the nearest target has the largest exponent, so that a row costs
        one exponential, however many targets there are.
        """
        xp = self.xp
        if not self._gaussian:
            return xp.min(self.distances(rows, targets), axis=0)
        largest = xp.max(self._partial_exponents(rows, targets), axis=0) + self._exponents[rows]
        zero = xp.zeros_like(largest)
        # k(x, x) + k(c, c) − 2k(x, c) where both are one
        apart = 2.0 - 2.0 * xp.exp(xp.where(largest < 0.0, largest, zero))
        return xp.where(apart > self.noise, apart, zero)

    def distances(self, rows: slice, targets: Targets) -> Any:
        """Return squared distances of the targets to the rows of a slice: one row a target.

        Rounding and negative values, which an indefinite kernel gives, become zero; the most
        negative one is remembered for `warn_if_indefinite`.
        """
        apart = self.gram(rows, targets)
        if self.is_numpy:
            apart = np.multiply(apart, -2.0, out=None if targets.indices is not None else apart)
            apart += self.diagonal[rows]
            # line 6 of Algorithm 4.1: k(x, x) + k(c, c) - 2 k(x, c)
            apart += targets.diagonal[:, None]
            self._smallest = min(self._smallest, float(apart.min(initial=0.0)))
            apart[apart <= self.noise] = 0.0
            return apart
        apart = self.diagonal[rows] + targets.diagonal[:, None] - 2.0 * apart
        self._smallest = min(self._smallest, float(self.xp.min(apart)))
        return self.xp.where(apart > self.noise, apart, self.xp.zeros_like(apart))

    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return squared distances of a few rows to a few others on the host."""
        if self.is_numpy or self.kernel.name == "precomputed":
            few = self.few(left)
            apart = few.distances(slice(0, len(left)), self.chosen(right))
            return to_numpy(apart, self.xp).T.astype(np.float64)
        # One transfer: each step of so small a computation costs a card a whole launch.
        rows = to_numpy(self.take(np.concatenate([left, right])), self.xp)
        there = FeaturePoints(rows, self.kernel)
        others = there.chosen(np.arange(len(left), len(rows)))
        return there.distances(slice(0, len(left)), others).T.astype(np.float64)

    def few(self, indices: np.ndarray) -> FeaturePoints:
        """Return some of the rows, with what is known of them."""
        other = object.__new__(FeaturePoints)
        other.__dict__.update(self.__dict__)
        other.n = len(indices)
        other.X = self.take(indices)
        other.diagonal = self.xp.take(self.diagonal, self._places(indices))
        if self._gaussian:
            other._rows = self.xp.take(self._rows, self._places(indices), axis=0)
            other._exponents = self.xp.take(self._exponents, self._places(indices))
        return other

    def nearest(self, targets: Targets) -> tuple[np.ndarray, float]:
        """Return the nearest target of every row and the clustering potential Σ min d."""
        n_targets = targets.diagonal.shape[0]
        labels, potential = [], 0.0
        for rows in self.chunks(n_targets):
            apart = self.distances(rows, targets)
            labels.append(to_numpy(self.xp.argmin(apart, axis=0)))
            potential += float(self.xp.sum(self.xp.min(apart, axis=0), dtype=self.xp.float64))
        return np.concatenate(labels), potential

    def warn_if_indefinite(self) -> None:
        """Warn when squared distances were negative beyond rounding."""
        if self._smallest < -10.0 * self.noise:
            warnings.warn(
                "The kernel is not positive semidefinite: a squared distance k(x,x) + k(z,z) - "
                f"2k(x,z) was {self._smallest:.3g}; negative ones were taken as 0.",
                UserWarning,
                stacklevel=4,
            )
