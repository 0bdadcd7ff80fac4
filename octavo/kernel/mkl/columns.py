"""Columns of many kernels at once, for solvers that keep no kernel matrix.

A source adds Σ_j δ_j k_m(·, x_j) to the gradients of all kernels m, for the few samples j whose
coefficients changed. `MatrixColumns` reads matrices in memory; `StackColumns` computes the columns
of a fitted `KernelStack` and keeps those used last. For RBF kernels on the same features it keeps
distances, one column for the whole ladder, and takes exponentials on the fly.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.kernels.exponential import exp_nonpositive
from octavo.engine.kernels.gram import squared_distances
from octavo.kernel.mkl.kernel_stack import KernelStack, find_ladders, member_block

_TILE = 1024  # samples whose distances and gradients stay in the first cache


class ColumnSource(Protocol):
    """Columns of all kernels, as the interleaved solver asks for them."""

    n_kernels: int
    n_samples: int

    def add(self, G: Floats, indices: Indices, delta: Floats) -> None:
        """Add K_m[:, indices] @ delta to row m of G."""

    def block(self, theta: Floats, indices: Indices) -> Floats:
        """Return Σ θ_m K_m among the samples `indices`."""


@njit(cache=True, nogil=True)
def _add_rows(K, indices, delta, G):
    """Add Σ delta_q K[m, indices_q] to G[m]."""
    for m in range(K.shape[0]):
        for q in range(indices.shape[0]):
            row, weight = K[m, indices[q]], delta[q]
            for i in range(row.shape[0]):
                G[m, i] += weight * row[i]


@njit(cache=True, nogil=True)
def _block_sum(K, theta, indices, out):
    """Add Σ theta_m K[m] among the samples `indices`, the lower triangle mirrored."""
    size = indices.shape[0]
    for m in range(K.shape[0]):
        if theta[m] == 0.0:
            continue
        for q in range(size):
            row = K[m, indices[q]]
            for r in range(q + 1):
                out[q, r] += theta[m] * row[indices[r]]
    for q in range(size):
        for r in range(q):
            out[r, q] = out[q, r]


@njit(cache=True, nogil=True)
def _add_ladder(D, gammas, delta, out):
    """Add Σ_q delta[m, q] exp(-gamma_m D[q]) to out[m], a tile of samples at a time."""
    n = D.shape[1]
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        for m in range(gammas.shape[0]):
            gamma, total = gammas[m], out[m, start:stop]
            for q in range(D.shape[0]):
                weight, near = delta[m, q], D[q, start:stop]
                for i in range(total.shape[0]):
                    # k_m = exp(-γ_m |x - y|²) of the ladder
                    total[i] += weight * exp_nonpositive(-gamma * near[i])


@njit(cache=True, nogil=True)
def _ladder_sum(D, gammas, theta, out):
    """Add Σ_m theta_m exp(-gamma_m D) to a symmetric block."""
    for q in range(D.shape[0]):
        for m in range(gammas.shape[0]):
            gamma, weight = gammas[m], theta[m]
            if weight == 0.0:
                continue
            for i in range(q + 1):
                out[q, i] += weight * exp_nonpositive(-gamma * D[q, i])


class MatrixColumns:
    """Columns of kernel matrices that are in memory.

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        The matrices.
    """

    def __init__(self, K: Floats) -> None:
        self.K = K
        self.n_kernels, self.n_samples = K.shape[:2]

    def add(self, G: Floats, indices: Indices, delta: Floats) -> None:
        """Add K_m[:, indices] @ delta to row m of G."""
        _add_rows(self.K, indices, delta, G)

    def block(self, theta: Floats, indices: Indices) -> Floats:
        """Return Σ θ_m K_m among the samples `indices`."""
        total = np.zeros((len(indices), len(indices)))
        _block_sum(self.K, theta, indices, total)
        return total


class StackColumns:
    """Columns of the kernels of a stack, computed when needed, the last used kept.

    Parameters
    ----------
    stack : KernelStack
        A fitted stack of kernels on a table.
    megabytes : float
        Memory that the kept columns may take.

    Attributes
    ----------
    n_computed, n_found : int
        How many columns were computed, and how many were found in the cache.
    """

    def __init__(self, stack: KernelStack, megabytes: float) -> None:
        self.stack, self.X = stack, stack._X
        self.n_kernels, self.n_samples = stack.n_kernels_, stack.n_samples_
        self.ladders = find_ladders(stack.members_)
        self.others = [m for m, one in enumerate(stack.members_) if one.kernel.name != "rbf"]
        self.n_parts = len(self.ladders) + len(self.others)
        room = megabytes * 2**20 / (8.0 * self.n_samples * self.n_parts)
        self.capacity = int(max(room, 2))
        self.n_computed = self.n_found = 0
        self._kept: OrderedDict[int, Floats] = OrderedDict()

    def _compute(self, indices: Indices) -> Floats:
        """Return distances of every ladder and values of every other kernel, (n_parts, q, n)."""
        parts = np.empty((self.n_parts, len(indices), self.n_samples))
        for k, ladder in enumerate(self.ladders):
            seen = self.X if ladder.columns is None else self.X[:, ladder.columns]
            parts[k] = squared_distances(seen[indices], seen)
            parts[k][np.arange(len(indices)), indices] = 0.0  # rounding left a distance to oneself
        for k, m in enumerate(self.others, start=len(self.ladders)):
            member = self.stack.members_[m]
            seen = self.X if member.columns is None else self.X[:, member.columns]
            parts[k] = member_block(member, seen[indices], seen)
        return parts

    def _parts(self, indices: Indices) -> Floats:
        """Return the same from the cache where it has them."""
        missing = np.array([i for i in indices.tolist() if i not in self._kept], dtype=np.intp)
        self.n_computed += len(missing)
        self.n_found += len(indices) - len(missing)
        fresh: dict[int, Floats] = {}
        if len(missing):
            computed = self._compute(missing)
            fresh = {i: computed[:, k] for k, i in enumerate(missing.tolist())}
        out = np.empty((self.n_parts, len(indices), self.n_samples))
        for k, i in enumerate(indices.tolist()):
            if i in fresh:
                out[:, k] = fresh[i]
            else:
                out[:, k] = self._kept[i]
                self._kept.move_to_end(i)
        for i, part in fresh.items():
            self._kept[i] = part.copy()  # a view would keep all that were computed with it
        while len(self._kept) > self.capacity:
            self._kept.popitem(last=False)
        return out

    def add(self, G: Floats, indices: Indices, delta: Floats) -> None:
        """Add K_m[:, indices] @ delta to row m of G."""
        stack, parts = self.stack, self._parts(indices)
        each = np.tile(delta, (self.n_kernels, 1))  # what every raw column is multiplied by
        if stack.normalize == "spherical":
            each *= stack._inverse_lengths[:, indices]
        elif stack.normalize in ("multiplicative", "trace"):
            each *= stack.scales_[:, None]
        simple = not stack.center and stack.normalize != "spherical"
        out = G if simple else np.zeros_like(G)
        for k, (_, places, gammas) in enumerate(self.ladders):
            rows = out[places]
            _add_ladder(parts[k], gammas, each[places], rows)
            out[places] = rows
        for k, m in enumerate(self.others, start=len(self.ladders)):
            out[m] += each[m] @ parts[k]
        if simple:
            return
        if stack.center:
            means = stack.column_means_
            total = each.sum(axis=1)[:, None]
            # Centred: k(x, y) - mean_x - mean_y + the mean of all, by columns of what is added.
            out -= np.einsum("mq,mq->m", each, means[:, indices])[:, None]
            out -= total * (means - stack.grand_means_[:, None])
        if stack.normalize == "spherical":
            out *= stack._inverse_lengths
        G += out

    def block(self, theta: Floats, indices: Indices) -> Floats:
        """Return Σ θ_m K_m among the samples `indices`."""
        stack, parts = self.stack, self._parts(indices)[:, :, indices]
        if not stack.center and stack.normalize != "spherical":
            weights = theta * stack.scales_
            total = np.zeros((len(indices), len(indices)))
            for k, (_, places, gammas) in enumerate(self.ladders):
                _ladder_sum(np.ascontiguousarray(parts[k]), gammas, weights[places], total)
            total = np.tril(total) + np.tril(total, -1).T
            for k, m in enumerate(self.others, start=len(self.ladders)):
                total += weights[m] * parts[k]
            return total
        total = np.zeros((len(indices), len(indices)))
        for m in np.flatnonzero(theta).tolist():
            total += theta[m] * self._normalized(m, self._raw(m, parts), indices)
        return total

    def _raw(self, m: int, parts: Floats) -> Floats:
        if m in self.others:
            return parts[len(self.ladders) + self.others.index(m)]
        k = next(k for k, ladder in enumerate(self.ladders) if m in ladder.places)
        return np.exp(-self.stack.members_[m].kernel.gamma * parts[k])

    def _normalized(self, m: int, block: Floats, indices: Indices) -> Floats:
        stack = self.stack
        if stack.center:
            means = stack.column_means_[m, indices]
            # centred in feature space
            block = block - means[:, None] - means[None, :] + stack.grand_means_[m]
        if stack.normalize == "spherical":
            lengths = stack._inverse_lengths[m, indices]
            return block * lengths[:, None] * lengths[None, :]  # Eq. (23)
        return block * stack.scales_[m]


def _warmup() -> None:
    D, ones = np.ones((1, 2)), np.ones(1)
    _add_rows(np.ones((1, 2, 2)), np.array([0]), ones, np.zeros((1, 2)))
    _block_sum(np.ones((1, 2, 2)), ones, np.array([0]), np.zeros((1, 1)))
    _add_ladder(D, ones, np.ones((1, 1)), np.zeros((1, 2)))
    _ladder_sum(D, ones, ones, np.zeros((1, 2)))
