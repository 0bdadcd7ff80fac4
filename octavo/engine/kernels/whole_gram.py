"""Whole Gram matrices and their centring: for methods that need every entry at once.

A method that diagonalises the Gram matrix, or sums over its blocks, holds all n² entries. `gram_of`
gives them from what a user wrote as a kernel, `cross_gram` those of new rows, and `CentredGram`
moves the origin of feature space to the mean of the training rows, for both.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import Kernel, check_gram, resolve_kernel

# What an estimator with kernel, gamma, degree, coef0 and kernel_params declares of them.
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [str, callable],
    "gamma": [str, Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


def gram_of(kernel: Kernel, X: Any) -> Floats:
    """Return k(x, x') for all pairs of rows, symmetric to the last bit; X itself if precomputed."""
    if kernel.name == "precomputed":
        check_gram(X, definite=False)
        K = np.asarray(X, dtype=np.float64)
    else:
        K = cross_gram(kernel, X, X)
    return 0.5 * (K + K.T)


def cross_gram(kernel: Kernel, X: Any, rows: Any) -> Floats:
    """Return k(x, r) for new rows x and training rows r; X itself if precomputed."""
    if kernel.name == "precomputed":
        return np.asarray(X, dtype=np.float64)
    K = kernel.block(X, rows)
    return np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)


class CentredGram(NamedTuple):
    """The means that centring takes away: of each column, and of all entries."""

    columns: Floats
    total: float

    @classmethod
    def of(cls, K: Floats) -> tuple[Floats, CentredGram]:
        """Return the Gram matrix of the rows less their mean, and what was taken away."""
        means = cls(K.mean(axis=0), float(K.mean()))
        return K - means.columns[:, None] - means.columns[None, :] + means.total, means

    def rows(self, K: Floats) -> Floats:
        """Return ⟨φ(x) - m, φ(r) - m⟩ for rows k(x, ·) of new points x."""
        return K - K.mean(axis=1)[:, None] - self.columns[None, :] + self.total

    def squares(self, diagonal: Floats, K: Floats) -> Floats:
        """Return ‖φ(x) - m‖² of new points from k(x, x) and the rows k(x, ·)."""
        return diagonal - 2.0 * K.mean(axis=1) + self.total


class KernelRows:
    """Mixin of estimators that compare rows by a kernel and hold the whole Gram matrix.

    The estimator has parameters ``kernel``, ``gamma``, ``degree``, ``coef0`` and
    ``kernel_params``.
    """

    def _settle(self, X: Any) -> Kernel:
        """Return the kernel with its parameters settled on the training rows."""
        model: Any = self
        return resolve_kernel(
            model.kernel,
            X,
            gamma=model.gamma,
            degree=model.degree,
            coef0=model.coef0,
            params=model.kernel_params,
        )

    def _rows(self, X: Any, *y: Any, **options: Any) -> Any:
        """Validate rows, or a square of kernel values."""
        precomputed = getattr(self, "kernel", None) == "precomputed"
        found = validate_rows(
            self,
            X,
            *y,
            accept_sparse=False if precomputed else "csr",
            dtype=np.float64,
            **options,
        )
        check_squares(found[0] if isinstance(found, tuple) else found)
        return found

    def _from_mean(self, X: Any, *, reset: bool = True, origin: str = "_origin") -> Any:
        """Return rows less the training mean where the kernel is linear, else as they are.

        For methods that depend on differences in feature space alone: inner products of rows far
        from zero round away what tells the rows apart. ``origin`` names where the mean is kept.
        """
        if reset:
            linear = getattr(self, "kernel", None) == "linear" and not sp.issparse(X)
            setattr(self, origin, X.mean(axis=0) if linear else None)
        mean = getattr(self, origin)
        if mean is None:
            return X
        return (X.toarray() if sp.issparse(X) else X) - mean

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        precomputed = getattr(self, "kernel", None) == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags
