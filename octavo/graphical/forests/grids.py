"""Sums over grids of bivariate densities, all pairs at once, by matrix products.

With H_k the kernels of column k at its grid points (rows x points), the density of a pair on its
grid is H_i^T H_j / n. Columns go through in blocks: one product gives the grids of all pairs of
two blocks, which are summed and forgotten, so that no more than one block of grids is in memory.
The lines are those of Algorithm 6 of the paper in another order, and are the same for NumPy on the
host and for PyTorch on a card.

Sums in which the grid of a pair meets something of one column alone need no grid: with r_j[s] the
sum of row s of H_j, the sum over a grid of p_ij times f_i is the mean over rows of r_j (H_i f_i).

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, section 6.1 and appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.graphical.forests.kernels import KernelSample

ROOT_2PI = float(np.sqrt(2 * np.pi))
HOST_ROWS = 1024  # grid points of a block of columns on the host: its grids stay in the cache
CARD_ROWS = 8192  # and on a card
BASIS_BYTES = 2**28  # kernels at grid points that are kept at a time on the host
CARD_BASIS_BYTES = 2**31


class Backend(NamedTuple):
    """Where arrays live: the functions, the device and the type of numbers."""

    xp: Any
    device: Any
    dtype: Any

    @property
    def is_host(self) -> bool:
        """Whether it is NumPy."""
        return self.xp is np

    def put(self, array: Any) -> Any:
        """Return an array there."""
        if self.is_host:
            return np.asarray(array, dtype=self.dtype)
        return self.xp.as_tensor(array, dtype=self.dtype, device=self.device)

    def take(self, array: Any) -> Floats:
        """Return an array on the host in double precision."""
        return np.asarray(array if self.is_host else array.cpu(), dtype=np.float64)

    @property
    def tiny(self) -> float:
        """The least density that a logarithm is taken of."""
        return 1e-300 if self.dtype in (np.float64, getattr(self.xp, "float64", None)) else 1e-30


HOST = Backend(np, "cpu", np.float64)


def backend_of(device: str) -> Backend:
    """Return where to compute: "cpu", "cuda" in single precision, or "auto".

    A card has single precision at many times the rate of double; sums of 128 x 128 terms keep
    five digits in it.
    """
    if device == "cpu":
        return HOST
    try:
        import torch
    except ImportError:
        torch = None  # type: ignore[assignment]
    if torch is not None and torch.cuda.is_available():
        return Backend(torch, "cuda", torch.float32)
    if device == "auto":
        return HOST
    why = "PyTorch is not installed" if torch is None else "PyTorch sees no card"
    raise ValueError(f"device='cuda' needs PyTorch (octavo[gpu]) and an NVIDIA card, but {why}.")


class Block(NamedTuple):
    """Some columns of one kind at their grid points.

    Attributes
    ----------
    columns : ndarray of shape (b,)
        Their numbers.
    H : array of shape (n, b * width)
        Kernels of the rows at the grid points of each.
    width : int
        Grid points of a column.
    cell : float
        What a grid point weighs in a sum that stands for an integral: 1 for a category.
    """

    columns: Indices
    H: Any
    width: int
    cell: float

    def part(self, at: slice) -> Block:
        """Return some of the columns."""
        points = slice(at.start * self.width, at.stop * self.width)
        return Block(self.columns[at], self.H[:, points], self.width, self.cell)


def kernel_block(
    sample: KernelSample, columns: Indices, grid: int, backend: Backend, pair: bool, smooth: bool
) -> Block:
    """Return the kernels of columns of one kind at their grid points.

    `pair` asks for the bandwidths of pairs, `smooth` for the smoothed frequencies of categories
    that densities are made of instead of the frequencies that a mutual information is made of.
    """
    xp = backend.xp
    x = backend.put(sample.values[:, columns])[:, :, None]
    h = backend.put(sample.h[int(pair), columns])[None, :, None]
    K = int(sample.n_categories[columns].max())
    if K:
        points = backend.put(np.arange(K))[None, None, :]
        H = 1.0 * (x == points)
        if smooth:
            sizes = backend.put(sample.n_categories[columns])[None, :, None]
            H = (1.0 - h) * H + (h / sizes) * (points < sizes)  # columns of fewer are padded
        return Block(columns, backend.put(H).reshape(len(x), -1), K, 1.0)
    points = backend.put(np.linspace(0.0, 1.0, grid))[None, None, :]
    u = (x - points) / h
    H = xp.exp(-0.5 * u * u) / (h * ROOT_2PI)
    return Block(columns, H.reshape(len(x), -1), grid, 1.0 / (grid - 1))


def column_groups(sample: KernelSample, grid: int, backend: Backend) -> list[Indices]:
    """Return groups of columns of one kind whose kernels fit into memory together."""
    groups = []
    allowed = BASIS_BYTES if backend.is_host else CARD_BASIS_BYTES
    for columns in (np.flatnonzero(sample.n_categories == 0), np.flatnonzero(sample.n_categories)):
        if not len(columns):
            continue
        width = max(grid, int(sample.n_categories[columns].max()))
        size = max(1, allowed // (8 * width * len(sample.values)))
        groups += [columns[at : at + size] for at in range(0, len(columns), size)]
    return groups


def _parts(block: Block, batch_size: int | None, backend: Backend) -> Iterator[slice]:
    wanted = (HOST_ROWS if backend.is_host else CARD_ROWS) // block.width
    size = max(1, wanted if batch_size is None else min(batch_size, len(block.columns)))
    for at in range(0, len(block.columns), size):
        yield slice(at, min(at + size, len(block.columns)))


def block_sums(weight: tuple[Block, Block], logs: tuple[Block, Block], tiny: float, xp: Any) -> Any:
    """Return Σ P log Q of all pairs of two blocks: P on the first, Q on the second kernels."""
    A, B = weight
    P = A.H.T @ B.H  # Eq. (6) on the grid, all pairs at once
    P /= len(A.H)
    if logs is weight:
        Q = P.clip(tiny)
    else:
        Q = logs[0].H.T @ logs[1].H
        Q /= len(logs[0].H)
        Q = Q.clip(tiny)
    terms = xp.log(Q)
    terms *= P
    terms = terms.reshape(len(A.columns), A.width, len(B.columns), B.width)
    return terms.sum(axis=3).sum(axis=1) * (A.cell * B.cell)  # Eq. (8); m points have m - 1 gaps


def pair_sums(
    weight: KernelSample,
    logs: KernelSample | None,
    grid: int,
    backend: Backend = HOST,
    batch_size: int | None = None,
    step: Callable[[], Any] | None = None,
) -> Floats:
    """Return ∫ p_ij log q_ij of all pairs: p of one sample, q of another or of the same.

    Parameters
    ----------
    weight : KernelSample
        Of p.
    logs : KernelSample or None
        Of q, with smoothed categories; None: q is p.
    grid : int
        Points of a column of numbers.
    backend : Backend
        Where to compute.
    batch_size : int or None
        Columns of a block; None chooses.
    step : callable, optional
        Called after each row of blocks.

    Returns
    -------
    ndarray of shape (d, d)
        Symmetric; the diagonal means nothing.
    """
    d = weight.values.shape[1]
    sums = np.zeros((d, d))
    groups = column_groups(weight, grid, backend)

    def blocks(columns: Indices) -> tuple[Block, Block]:
        own = kernel_block(weight, columns, grid, backend, True, False)
        other = own if logs is None else kernel_block(logs, columns, grid, backend, True, True)
        return own, other

    for a, first in enumerate(groups):
        A = blocks(first)
        for second in groups[a:]:
            B = A if second is first else blocks(second)
            for i in _parts(A[0], batch_size, backend):
                for j in _parts(B[0], batch_size, backend):
                    if second is first and j.start < i.start:
                        continue
                    own = (A[0].part(i), B[0].part(j))
                    other = own if logs is None else (A[1].part(i), B[1].part(j))
                    found = backend.take(block_sums(own, other, backend.tiny, backend.xp))
                    sums[np.ix_(own[0].columns, own[1].columns)] = found
                    sums[np.ix_(own[1].columns, own[0].columns)] = found.T
                if step is not None:
                    step()
    return sums


def grid_log_densities(
    sample: KernelSample, columns: Indices, grid: int, backend: Backend, pair: bool, smooth: bool
) -> Any:
    """Return log p_k at the grid points of columns of one kind: (b, width)."""
    block = kernel_block(sample, columns, grid, backend, pair, smooth)
    p = block.H.sum(axis=0).reshape(len(columns), block.width) / len(sample.values)
    return backend.xp.log(p.clip(backend.tiny))


def column_sums(
    weight: KernelSample, logs: KernelSample, grid: int, backend: Backend, pair: bool, smooth: bool
) -> Floats:
    """Return C with C[i, j] = ∫ p_ij log q_i: p of one sample, q_i of single columns of another."""
    n, d = weight.values.shape
    U, R = np.empty((n, d)), np.empty((n, d))
    for columns in column_groups(weight, grid, backend):
        block = kernel_block(weight, columns, grid, backend, True, False)
        H = block.H.reshape(n, len(columns), block.width)
        log_q = grid_log_densities(logs, columns, grid, backend, pair, smooth)
        U[:, columns] = backend.take((H * log_q[None]).sum(axis=2) * block.cell)
        R[:, columns] = backend.take(H.sum(axis=2) * block.cell)
    return U.T @ R / n  # the sums over both grids fall apart into a product


def column_entropies(sample: KernelSample, grid: int, backend: Backend) -> Floats:
    """Return ∫ p_k log p_k of single columns by their own bandwidths."""
    found = np.empty(sample.values.shape[1])
    for columns in column_groups(sample, grid, backend):
        log_p = grid_log_densities(sample, columns, grid, backend, False, False)
        cell = 1.0 / (grid - 1) if sample.n_categories[columns[0]] == 0 else 1.0
        found[columns] = backend.take((backend.xp.exp(log_p) * log_p).sum(axis=1) * cell)
    return found


def marginal_entropies(sample: KernelSample, grid: int, backend: Backend) -> Floats:
    """Return M with M[i, j] = ∫ m log m, m the marginal of p_ij on column i, by the grid of j."""
    n, d = sample.values.shape
    found, R = np.empty((d, d)), np.empty((n, d))
    groups = column_groups(sample, grid, backend)
    for columns in groups:
        block = kernel_block(sample, columns, grid, backend, True, False)
        H = block.H.reshape(n, len(columns), block.width)
        R[:, columns] = backend.take(H.sum(axis=2) * block.cell)
    R_there = backend.put(R)
    for columns in groups:
        block = kernel_block(sample, columns, grid, backend, True, False)
        for at in _parts(block, None, backend):
            part = block.part(at)
            m = part.H.T @ R_there / n
            terms = m * backend.xp.log(m.clip(backend.tiny))
            sums = terms.reshape(len(part.columns), part.width, d).sum(axis=1)
            found[part.columns] = backend.take(sums * part.cell)
    return found
