"""Training data with what is learned from λ: coefficients, predictions and their variances.

`LinearDesign` is a table with groups of columns, `KernelDesign` a stack of kernels. Both centre
where an intercept is asked for, estimate the noise by least squares, and split into parts.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from sklearn.base import clone

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.kernel.group_ard.evidence import Evidence, GramEvidence, KernelEvidence, WideEvidence
from octavo.kernel.group_ard.solvers import Solution
from octavo.kernel.mkl.kernel_stack import KernelStack

_DEPENDENT = 1e-10  # a squared pivot below this share of its column is rounding


class Design(Protocol):
    """Training data of one of two kinds."""

    evidence: Evidence
    n: int

    def residual_variance(self) -> float:
        """Return the residual sum of squares over its degrees of freedom."""

    def split(self, train: Indices, test: Indices) -> tuple[Design, Any, Floats]:
        """Return the design of some rows, and queries with the targets of others."""

    def predict(self, queries: Any, solution: Solution) -> Floats:
        """Return predictions for queries."""


class Posterior(NamedTuple):
    """N(coef, σ² R B⁻¹ R) of the coefficients in use; B = LLᵀ, R their prior deviations."""

    columns: Indices
    root: Floats
    factor: Floats
    sigma2: float

    def covariance(self) -> Floats:
        """Return the covariance of the columns in use."""
        # cov(θ | y) = σ² R B⁻¹ R, without the inverse
        half = solve_triangular(self.factor, np.diag(self.root), lower=True)
        return self.sigma2 * half.T @ half

    def spread(self, rows: Floats) -> Floats:
        """Return the variance of x·θ for (centred) rows of the columns in use."""
        if not len(self.columns):
            return np.zeros(len(rows))
        half = solve_triangular(self.factor, self.root[:, None] * rows.T, lower=True)
        return self.sigma2 * np.einsum("ij,ij->j", half, half)


def freedom(n: int, rank: int, fit_intercept: bool, what: str) -> int:
    """Return n - rank (less one for an intercept), or refuse where nothing is left."""
    left = n - rank - fit_intercept
    if left < 1:
        raise ValueError(
            f'noise="ls" needs more samples than {what}: it divides the residual by '
            f"n_samples - {rank}{' - 1' if fit_intercept else ''}, and n_samples={n}. Use "
            'noise="ml", or give the variance.'
        )
    return left


class LinearDesign:
    """A table X, dense or sparse, with groups of columns."""

    def __init__(self, X: Any, y: Floats, groups: list[Indices], fit_intercept: bool) -> None:
        self.raw, self.target, self.groups, self.fit_intercept = X, y, groups, fit_intercept
        self.n, m = X.shape
        self.y_mean = float(y.mean()) if fit_intercept else 0.0
        self.y = y - self.y_mean
        self.x_mean = np.zeros(m)
        if fit_intercept:
            self.x_mean = np.asarray(X.mean(axis=0)).ravel()
        if sp.issparse(X):
            self.X = X
            gram = (X.T @ X).toarray() - self.n * np.outer(self.x_mean, self.x_mean)
        else:
            self.X = X - self.x_mean
            # What centring leaves of a constant column is rounding.
            sizes = np.einsum("ij,ij->j", X, X)
            left = np.einsum("ij,ij->j", self.X, self.X)
            self.X[:, left <= 1e-28 * self.n * sizes] = 0.0
            gram = self.X.T @ self.X if m <= self.n else None
        self.evidence: GramEvidence | WideEvidence
        if gram is None:
            self.evidence = WideEvidence(self.X, self.y, groups)
        else:
            moments, energy = self._transposed(self.y), float(self.y @ self.y)
            self.evidence = GramEvidence(gram, moments, energy, self.n, groups)

    def _transposed(self, v: Floats) -> Floats:
        """Return GᵀV of the centred table."""
        found = self.X.T @ v
        return found - self.x_mean * v.sum() if sp.issparse(self.X) else found

    def _image(self, theta: Floats) -> Floats:
        """Return Gθ of the centred table."""
        found = self.X @ theta
        return found - self.x_mean @ theta if sp.issparse(self.X) else found

    def residual_variance(self) -> float:
        """Return the least squares residual over n - rank (- 1)."""
        m = self.raw.shape[1]
        freedom(self.n, m, self.fit_intercept, "columns")
        assert isinstance(self.evidence, GramEvidence)
        gram = self.evidence.gram
        try:
            factor = cholesky(gram, lower=True)
            if (factor.diagonal() ** 2 <= _DEPENDENT * gram.diagonal()).any():
                raise LinAlgError
        except LinAlgError:  # dependent columns
            dense = self.X.toarray() - self.x_mean if sp.issparse(self.X) else self.X
            theta, _, rank, _ = np.linalg.lstsq(dense, self.y, rcond=None)
            residual, m = self.y - dense @ theta, int(rank)
        else:
            order = self.evidence.columns.order
            residual = self.y
            for _ in range(2):  # the second time for the digits that the Gram matrix lost
                theta = np.empty(m)
                theta[order] = cho_solve((factor, True), self._transposed(residual)[order])
                residual = residual - self._image(theta)
        left = freedom(self.n, m, self.fit_intercept, "columns")
        return float(residual @ residual) / left  # σ̂² by least squares, as in Section 4.2

    def split(self, train: Indices, test: Indices) -> tuple[Self, Any, Floats]:
        """Return the design of some rows, and other rows with their targets."""
        part = type(self)(self.raw[train], self.target[train], self.groups, self.fit_intercept)
        return part, self.raw[test], self.target[test]

    def coef(self, solution: Solution) -> Floats:
        """Return the posterior mean ΛGᵀWy, Eq. (5)."""
        slopes = solution.point.slopes or self.evidence.slopes(solution.point.factored)
        columns = self.evidence.columns
        theta = np.empty(len(columns.order))
        theta[columns.order] = solution.lam[columns.codes] * slopes.parts[-1]
        return theta

    def predict(self, queries: Any, solution: Solution) -> Floats:
        """Return predictions for rows."""
        theta = self.coef(solution)
        return queries @ theta + (self.y_mean - self.x_mean @ theta)

    def posterior(self, solution: Solution) -> Posterior:
        """Return the posterior of the coefficients in use."""
        at, columns = solution.point.factored, self.evidence.columns.order
        if isinstance(self.evidence, GramEvidence):
            return Posterior(columns[at.columns], at.root, at.factor, solution.sigma2)
        scaled = self.evidence.G[:, at.columns] * at.root
        B = scaled.T @ scaled  # B = σ²I + R GᵀG R, m × m in place of Σ's n × n
        B.flat[:: len(B) + 1] += solution.sigma2
        return Posterior(columns[at.columns], at.root, cholesky(B, lower=True), solution.sigma2)


class KernelDesign:
    """Samples seen through a stack of kernels; X is a table, or the kernels themselves."""

    def __init__(self, stack: KernelStack, X: Any, y: Floats, fit_intercept: bool) -> None:
        self.raw, self.target, self.fit_intercept = X, y, fit_intercept
        self.stack = clone(stack)
        self.precomputed = isinstance(stack.kernels, str) and stack.kernels == "precomputed"
        self.y_mean = float(y.mean()) if fit_intercept else 0.0
        self.n = len(y)
        self.evidence = KernelEvidence(self.stack.fit_transform(X), y - self.y_mean)

    def residual_variance(self) -> float:
        """Return what lies outside the range of all kernels together, over its dimension."""
        values, vectors = np.linalg.eigh(self.evidence.kernels.sum(axis=0))
        used = values > self.n * np.finfo(float).eps * max(float(values[-1]), 0.0)
        rank = int(used.sum())
        left = freedom(self.n, rank, self.fit_intercept, "dimensions of the kernels")
        residual = self.evidence.y - vectors[:, used] @ (vectors[:, used].T @ self.evidence.y)
        return float(residual @ residual) / left

    def split(self, train: Indices, test: Indices) -> tuple[Self, Any, Floats]:
        """Return the design of some samples, and the kernels of others with these."""
        if self.precomputed:
            own, cross = self.raw[:, train][:, :, train], self.raw[:, test][:, :, train]
        else:
            own, cross = self.raw[train], self.raw[test]
        part = type(self)(self.stack, own, self.target[train], self.fit_intercept)
        return part, part.stack.transform(cross), self.target[test]

    def weights(self, solution: Solution) -> Floats:
        """Return Wy."""
        at = solution.point.factored
        return cho_solve((at.factor, True), self.evidence.y)

    def predict(self, queries: Floats, solution: Solution) -> Floats:
        """Return predictions from the kernels of queries with the training samples."""
        # Σ λ_i K_i(x, ·) Σ⁻¹y: Eq. (5) in kernels
        return np.tensordot(solution.lam, queries, axes=1) @ self.weights(solution) + self.y_mean


def warn_of_duplicates(evidence: Evidence) -> None:
    """Warn where two groups have the same K up to scale: only the sum of variances is known."""
    if isinstance(evidence, GramEvidence):
        columns = evidence.columns
        products = columns.block_sums(evidence.gram**2, np.arange(evidence.n_groups))
    elif isinstance(evidence, KernelEvidence):
        flat = evidence.kernels.reshape(evidence.n_groups, -1)
        products = flat @ flat.T
    else:
        return
    lengths = np.sqrt(products.diagonal())
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = products / lengths / lengths[:, None]
    pairs = np.argwhere(np.triu(alike > 1.0 - 1e-12, 1))
    if len(pairs):
        i, j = pairs[0]
        warnings.warn(
            f"Groups {i} and {j} are the same up to scale and rotation: the likelihood depends on "
            f"the sum of their variances alone, and which of them is active is arbitrary "
            f"({len(pairs)} such pair{'s' * (len(pairs) > 1)}).",
            UserWarning,
            stacklevel=4,
        )
