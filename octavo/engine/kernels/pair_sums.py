"""Sums of kernels over all pairs of points, block by block: O(n²) time, O(n) memory.

Kernel and distance statistics (maximum mean discrepancy, Hilbert-Schmidt independence,
distance covariance, Parzen integrals) need sums and row sums of kernel matrices, and sums
of their elementwise products, never the matrices. A block lives in the cache, is summed and
forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

BLOCK = 512  # a block of doubles is 2 MB: the size of a core's second-level cache
DIRECT_DIMENSIONS = 16  # above it a matrix product beats differences
MEDIAN_POINTS = 1000  # points whose pairs give the median distance

KERNELS = ("gaussian", "laplacian", "inverse_multiquadric", "linear", "distance")


class PairKernel(NamedTuple):
    """A kernel of two points: its `name`, its `scale`, or a `function` of two arrays.

    With r = ‖x − y‖ and s the scale: ``gaussian`` exp(−r²/2s²), ``laplacian`` exp(−r/s),
    ``inverse_multiquadric`` (1 + r²/s²)^(−1/2), ``linear`` x'y and ``distance`` −r^s, which is
    conditionally positive definite for 0 < s < 2. A function takes arrays of shapes (n, d)
    and (m, d) to their kernel matrix.
    """

    name: str = "gaussian"
    scale: float = 1.0
    function: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the squared distances of the rows of A from those of B."""
    if A.shape[1] <= DIRECT_DIMENSIONS:
        return cdist(A, B, "sqeuclidean")
    # Centring first: what cancels in |a|² + |b|² − 2a'b is then of the size of the distances.
    centre = A.mean(axis=0)
    A, B = A - centre, B - centre
    norms = np.einsum("ij,ij->i", A, A)[:, None], np.einsum("ij,ij->i", B, B)
    squares = A @ B.T
    squares *= -2.0
    squares += norms[0]
    squares += norms[1]
    # Where most digits cancelled (a point and itself, or its neighbour) take differences.
    near = np.nonzero(squares < 1e-6 * (norms[0].max() + norms[1].max()))
    squares[near] = ((A[near[0]] - B[near[1]]) ** 2).sum(axis=1)
    return squares


def kernel_block(kernel: PairKernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the kernel matrix of the rows of A and those of B."""
    if kernel.function is not None:
        block = np.asarray(kernel.function(A, B), dtype=np.float64)
        if block.shape != (len(A), len(B)):
            raise ValueError(
                f"The kernel function must return an array of shape {(len(A), len(B))} for arrays "
                f"of shapes {A.shape} and {B.shape}; it returned shape {block.shape}."
            )
        return block
    if kernel.name == "linear":
        return A @ B.T
    block = squared_distances(A, B)
    if kernel.name == "gaussian":
        block *= -0.5 / kernel.scale**2
        return np.exp(block, out=block)
    if kernel.name == "inverse_multiquadric":
        block *= 1.0 / kernel.scale**2
        block += 1.0
        np.sqrt(block, out=block)
        return np.reciprocal(block, out=block)
    if kernel.name == "laplacian":
        np.sqrt(block, out=block)
        block *= -1.0 / kernel.scale
        return np.exp(block, out=block)
    if kernel.name == "distance":
        np.sqrt(block, out=block)
        if kernel.scale != 1.0:
            np.power(block, kernel.scale, out=block)
        return np.negative(block, out=block)
    raise ValueError(f"kernel must be one of {KERNELS} or a function, got {kernel.name!r}.")


def kernel_diagonal(kernel: PairKernel, A: np.ndarray) -> np.ndarray:
    """Return k(a, a) for the rows of A."""
    if kernel.function is not None:
        return np.array([kernel_block(kernel, a[None], a[None])[0, 0] for a in A])
    if kernel.name == "linear":
        return np.einsum("ij,ij->i", A, A)
    return np.zeros(len(A)) if kernel.name == "distance" else np.ones(len(A))


def kernel_rows(kernel: PairKernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return k(aᵢ, bᵢ) for the rows of A and B, one by one."""
    if kernel.function is not None:
        return np.array([kernel_block(kernel, a[None], b[None])[0, 0] for a, b in zip(A, B)])
    if kernel.name == "linear":
        return np.einsum("ij,ij->i", A, B)
    squares = np.einsum("ij,ij->i", A - B, A - B)
    # A kernel of the distance alone is the same for points on a line at those distances.
    return kernel_block(kernel, np.sqrt(squares)[:, None], np.zeros((1, 1)))[:, 0]


def slices(n: int, size: int = BLOCK) -> list[slice]:
    """Return consecutive slices of at most `size` that cover ``range(n)``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def upper_blocks(n: int, size: int = BLOCK) -> Iterator[tuple[slice, slice]]:
    """Yield the blocks on and above the diagonal of a square of `n` rows."""
    cuts = slices(n, size)
    for i, rows in enumerate(cuts):
        for columns in cuts[i:]:
            yield rows, columns


def cross_sum(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return Σᵢⱼ k(xᵢ, yⱼ)."""
    return float(
        sum(
            kernel_block(kernel, X[rows], Y[columns]).sum()
            for rows in slices(len(X))
            for columns in slices(len(Y))
        )
    )


def cross_row_sums(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return Σⱼ k(xᵢ, yⱼ) for every i."""
    sums = np.zeros(len(X))
    for rows in slices(len(X)):
        for columns in slices(len(Y)):
            sums[rows] += kernel_block(kernel, X[rows], Y[columns]).sum(axis=1)
    return sums


def self_sum(kernel: PairKernel, X: np.ndarray) -> float:
    """Return Σᵢⱼ k(xᵢ, xⱼ), the diagonal included; each pair is computed once."""
    total = 0.0
    for rows, columns in upper_blocks(len(X)):
        block = kernel_block(kernel, X[rows], X[columns]).sum()
        # symmetric: blocks off the diagonal count twice
        total += block if rows == columns else 2.0 * block
    return float(total)


class PairMoments(NamedTuple):
    """Sums over the pairs of points of several kernel matrices K₁ … K_M of one sample.

    ``product`` is Σᵢⱼ ∏ₘ Kₘ[i, j], ``rows`` of shape (M, n) the row sums and ``diagonal`` of
    shape (M, n) the diagonals. Squares, where asked for: Σᵢⱼ Kₘ[i, j]² of shape (M,).
    """

    product: float
    rows: np.ndarray
    diagonal: np.ndarray
    squares: np.ndarray

    @property
    def n(self) -> int:
        """The number of points."""
        return self.rows.shape[1]

    @property
    def totals(self) -> np.ndarray:
        """The sum of each matrix."""
        return self.rows.sum(axis=1)


def pair_moments(
    kernels: Sequence[PairKernel], samples: Sequence[np.ndarray], *, size: int = BLOCK
) -> PairMoments:
    """Return the sums of the kernel matrices of `samples` that dependence measures need."""
    n = len(samples[0])
    rows, squares, product = np.zeros((len(samples), n)), np.zeros(len(samples)), 0.0
    for here, there in upper_blocks(n, size):
        weight = 1.0 if here == there else 2.0
        joint = None
        for m, (kernel, X) in enumerate(zip(kernels, samples)):
            block = kernel_block(kernel, X[here], X[there])
            rows[m, here] += block.sum(axis=1)
            if here != there:
                rows[m, there] += block.sum(axis=0)
            squares[m] += weight * np.einsum("ij,ij->", block, block)
            joint = block if joint is None else np.multiply(joint, block, out=joint)
        product += weight * float(joint.sum())  # type: ignore[union-attr]
    diagonal = np.array([kernel_diagonal(k, X) for k, X in zip(kernels, samples)])
    return PairMoments(product, rows, diagonal, squares)


def off_diagonal(moments: PairMoments) -> PairMoments:
    """Return the moments of the same matrices with their diagonals set to zero."""
    diagonal = moments.diagonal
    return PairMoments(
        moments.product - float(diagonal.prod(axis=0).sum()),
        moments.rows - diagonal,
        np.zeros_like(diagonal),
        moments.squares - (diagonal**2).sum(axis=1),
    )


def centred_inner(moments: PairMoments) -> float:
    """Return the V-statistic of joint dependence of the matrices; (1/n²) tr(KHLH) for two.

    E∏k + ∏E k − 2 E∏E[k|·], the squared distance between the embeddings of the joint
    distribution and of the product of its margins.
    """
    n = moments.n
    joint = moments.product / n**2
    product = float((moments.totals / n**2).prod())
    cross = float((moments.rows / n).prod(axis=0).mean())
    return joint + product - 2.0 * cross


def unbiased_inner(moments: PairMoments) -> float:
    """Return the U-statistic of tr(KHLH)/n² for two matrices; unbiased, so it may be negative."""
    n = moments.n
    product, rows, *_ = off_diagonal(moments)
    totals = rows.sum(axis=1)
    cross = float(rows[0] @ rows[1])
    return (product + totals[0] * totals[1] / ((n - 1) * (n - 2)) - 2.0 * cross / (n - 2)) / (
        n * (n - 3)
    )


def centred_product_sum(
    kernels: Sequence[PairKernel],
    samples: Sequence[np.ndarray],
    rows: np.ndarray,
    *,
    size: int = BLOCK,
) -> float:
    """Return Σᵢⱼ ∏ₘ K̃ₘ[i, j] of the doubly centred matrices K̃ = HKH, given their row sums."""
    n = len(samples[0])
    means, grand = rows / n, rows.sum(axis=1) / n**2
    total = 0.0
    for here, there in upper_blocks(n, size):
        joint = np.ones((here.stop - here.start, there.stop - there.start))
        for m, (kernel, X) in enumerate(zip(kernels, samples)):
            block = kernel_block(kernel, X[here], X[there])
            block -= means[m, here, None]
            block -= means[m, there] - grand[m]
            joint *= block
        total += (1.0 if here == there else 2.0) * float(joint.sum())
    return total


def median_distance(X: np.ndarray) -> float:
    """Return the median distance of two different points; 1 where most points coincide.

    Samples of more than a thousand points are thinned evenly: the bandwidth that the median
    gives is a rule of thumb, and its error is far below that of the rule.
    """
    if len(X) > MEDIAN_POINTS:
        X = X[np.linspace(0, len(X) - 1, MEDIAN_POINTS).astype(int)]
    upper = np.triu_indices(len(X), 1)
    squares = squared_distances(X, X)[upper]
    median = float(np.sqrt(np.median(squares))) if len(squares) else 0.0
    if median > 0.0:
        return median
    positive = squares[squares > 0.0]
    return float(np.sqrt(np.median(positive))) if len(positive) else 1.0
