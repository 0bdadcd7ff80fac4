"""The space in which kernel maps live: K = VPVᵀ, exact or from a low-rank factor, centred.

Every map of n points is z = Vz̄ with z̄ of the length of the kernel's rank: duplicated points share
their row of V and can never be torn apart. A map is carried to new points by the coefficients
that its z̄ defines: on kernel values (exact) or on features (low rank).

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis),
Sections 2.3 and 2.5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import Kernel, check_gram, row_chunks
from octavo.engine.kernels.nystroem import nystroem_normalization

CUT = 1e-10  # eigenvalues below this part of the largest are rounding


@dataclass
class MapBasis:
    """Eigenvectors V (n, l) and eigenvalues p (l,), largest first, of a centred kernel.

    `extension` carries maps to new rows; `features` are the uncentred low-rank factor, and
    `gram` the uncentred kernel where there is none; `samples` the kernel and the rows where
    neighbours are those of the rows themselves. Row i of V belongs to training row i.
    """

    V: Floats
    p: Floats
    extension: KernelExtension | FactorExtension
    gram: Floats | None = None
    features: Floats | None = None
    samples: tuple[Kernel, Any] | None = None
    _neighbours: dict[int, Any] = field(default_factory=dict)
    _graphs: dict[int, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of points."""
        return self.V.shape[0]

    def plain(self, n_components: int) -> Floats:
        """Return the scores of kernel PCA, the largest entry of each column positive."""
        scores = self.V[:, :n_components] * np.sqrt(self.p[:n_components])  # z = √λ_s u_s
        return scores * signs_of(scores)

    def neighbours(self, n_neighbors: int) -> tuple[NDArray[np.intp], Floats]:
        """Return the nearest points of every point, (n, k), and their similarities."""
        k = min(n_neighbors, self.n - 1)
        if k not in self._neighbours:
            if self.gram is not None:
                self._neighbours[k] = _nearest_of_gram(self.gram, k)
            else:
                self._neighbours[k] = _nearest_of_features(self.features, k, self.samples)
        return self._neighbours[k]

    def neighbour_graph(self, n_neighbors: int) -> sp.csr_matrix:
        """Return G: symmetrised, row-normalised weights of nearest neighbours (Section 2.3.3)."""
        if n_neighbors not in self._graphs:
            columns, weights = self.neighbours(n_neighbors)
            self._graphs[n_neighbors] = symmetric_graph(columns, row_shares(weights))
        return self._graphs[n_neighbors]


def signs_of(scores: Floats) -> Floats:
    """Return ±1 a column so that its entry of largest magnitude becomes positive."""
    largest = scores[np.argmax(np.abs(scores), axis=0), np.arange(scores.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)


def row_shares(weights: Floats) -> Floats:
    """Return similarities as shares of their row; negative ones count nothing."""
    weights = np.maximum(weights, 0.0)
    weights[weights.sum(axis=1) <= 0.0] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


def symmetric_graph(columns: NDArray[np.intp], values: Floats) -> sp.csr_matrix:
    """Return (G + Gᵀ)/2 of the matrix with these values in these columns of its rows."""
    n, k = columns.shape
    rows = np.repeat(np.arange(n), k)
    graph = sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(n, n))
    return (graph + graph.T) / 2.0


def _nearest_of_gram(K: Floats, k: int) -> tuple[NDArray[np.intp], Floats]:
    n, diagonal = len(K), np.diagonal(K)
    columns = np.empty((n, k), dtype=np.intp)
    weights = np.empty((n, k))
    for chunk in row_chunks(n, n):
        apart = diagonal[None, :] - 2.0 * K[chunk]  # up to a constant of the row
        own = np.arange(chunk.start, chunk.stop)
        apart[own - chunk.start, own] = np.inf
        columns[chunk] = np.argpartition(apart, k - 1, axis=1)[:, :k]
        weights[chunk] = np.take_along_axis(K[chunk], columns[chunk], axis=1)
    return columns, weights


def _nearest_of_features(features: Any, k: int, samples: Any) -> tuple[NDArray[np.intp], Floats]:
    """Return neighbours in a low-rank factor; for an rbf kernel near rows are near images."""
    rows = features if samples is None else samples[1]
    n = rows.shape[0]
    apart, columns = NearestNeighbors(n_neighbors=k).fit(rows).kneighbors()
    if samples is not None:
        return columns, np.exp(-samples[0].gamma * apart**2)
    weights = np.empty((n, k))
    for chunk in row_chunks(n, k * features.shape[1]):
        weights[chunk] = np.einsum("ij,ikj->ik", features[chunk], features[columns[chunk]])
    return columns, weights


@dataclass
class KernelExtension:
    """f(x) = Σ αᵢ k_c(xᵢ, x), k_c centred with the means of the training kernel."""

    kernel: Kernel
    X: Any
    row_means: Floats
    total_mean: float

    def coefficients(self, V: Floats, p: Floats, z: Floats) -> Floats:
        """Return α = K⁺z for the map z̄ (l, r)."""
        return V @ (z / p[:, None])  # α = K⁺z on what is above CUT

    def map(self, X: Any, coefficients: Floats) -> Floats:
        """Return the map of new rows."""
        n_rows = X.shape[0]
        out = np.empty((n_rows, coefficients.shape[1]))
        for chunk in row_chunks(n_rows, len(self.row_means)):
            rows = X[chunk]
            K = rows if self.kernel.name == "precomputed" else self.kernel.block(rows, self.X)
            K = np.asarray(K, dtype=np.float64)
            # the training means centre new rows too
            centred = K - K.mean(axis=1, keepdims=True) - self.row_means + self.total_mean
            out[chunk] = centred @ coefficients
        return out


@dataclass
class FactorExtension:
    """f(x) = (ψ(x) − mean)·w for the features ψ of a low-rank factor."""

    features: Any
    mean: Floats
    right: Floats

    def coefficients(self, V: Floats, p: Floats, z: Floats) -> Floats:
        """Return the weights w of the features for the map z̄ (l, r)."""
        return self.right @ (z / np.sqrt(p)[:, None])  # w with Ψw = Vz̄, from Ψ = VΠUᵀ

    def map(self, X: Any, coefficients: Floats) -> Floats:
        """Return the map of new rows."""
        out = np.empty((X.shape[0], coefficients.shape[1]))
        for chunk in row_chunks(X.shape[0], len(self.mean)):
            out[chunk] = (_dense(self.features(X[chunk])) - self.mean) @ coefficients
        return out


@dataclass
class NystroemFeatures:
    """ψ(x) = k(x, Z)W for landmarks Z."""

    kernel: Kernel
    landmarks: Any
    indices: NDArray[np.intp]
    W: Floats

    def __call__(self, X: Any) -> Floats:
        return np.asarray(self.kernel.against(X, self.landmarks, self.indices)) @ self.W


@dataclass
class TransformerFeatures:
    """ψ(x) = transformer.transform(x)."""

    transformer: Any

    def __call__(self, X: Any) -> Any:
        return self.transformer.transform(X)


def _dense(A: Any) -> Floats:
    return np.asarray(A.toarray() if sp.issparse(A) else A, dtype=np.float64)


def exact_basis(kernel: Kernel, X: Any, top: int | None = None) -> MapBasis:
    """Return the basis of the whole centred kernel matrix, or its `top` directions alone."""
    if kernel.name == "precomputed":
        check_gram(X)
        K = np.array(X, dtype=np.float64)
        K = (K + K.T) / 2.0
    else:
        K = np.asarray(kernel.block(X, X), dtype=np.float64)
    means = K.mean(axis=0)
    total = float(means.mean())
    centred = K - means[None, :] - means[:, None] + total  # HKH, H = I - 11ᵀ/n
    n = len(K)
    values = np.empty(0)
    if top is not None and top < n / 4:
        values, vectors = eigh(centred, subset_by_index=(n - top, n - 1))
    if len(values) != top:  # LAPACK may find none of a cluster of equal eigenvalues
        values, vectors = np.linalg.eigh((centred + centred.T) / 2.0)
    kept = values > CUT * max(float(values[-1]), 0.0)
    extension = KernelExtension(kernel, X, means, total)
    # K⁺ in place of K⁻¹: maps live in the range of K.
    p, V = values[kept][::-1].copy(), np.ascontiguousarray(vectors[:, kept][:, ::-1])
    return MapBasis(V, p, extension, gram=K)


def low_rank_basis(kernel: Kernel, X: Any, low_rank: Any, random_state: Any) -> MapBasis:
    """Return the basis of K ≈ ΨΨᵀ: Nyström with so many landmarks, or a transformer's features."""
    make: Any
    if isinstance(low_rank, int | np.integer):
        n = X.shape[0]
        rng = check_random_state(random_state)
        chosen = np.sort(rng.permutation(n)[: min(int(low_rank), n)])
        landmarks = X[chosen]
        K_ZZ = np.asarray(kernel.against(landmarks, landmarks, chosen), dtype=np.float64)
        make = NystroemFeatures(kernel, landmarks, chosen, nystroem_normalization(K_ZZ))
    else:
        make = TransformerFeatures(clone(low_rank).fit(X))
    features = _dense(make(X))
    mean = features.mean(axis=0)
    # ΨΨᵀ = VΠ²Vᵀ, Section 2.5.2
    V, sizes, right = np.linalg.svd(features - mean, full_matrices=False)
    p = sizes**2
    kept = p > CUT * p[0]
    V = np.ascontiguousarray(V[:, kept])
    extension = FactorExtension(make, mean, right[kept].T.copy())
    near = (kernel, X) if kernel.name == "rbf" and isinstance(make, NystroemFeatures) else None
    return MapBasis(V, p[kept], extension, features=features, samples=near)
