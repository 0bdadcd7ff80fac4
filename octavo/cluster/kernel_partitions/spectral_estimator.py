"""`DoublyStochasticSpectral`: spectral clustering after one of four normalisations.

References: A. Shashua (2008), "Introduction to Machine Learning", section 6.3; R. Zass and A.
Shashua (2007), "Doubly stochastic normalization for spectral clustering".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state

from octavo.cluster.kernel_partitions.scaled_affinity import (
    NORMALIZATIONS,
    doubly_stochastic,
    read_affinity,
    scaled_both_sides,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import resolve_kernel
from octavo.engine.kernels.whole_gram import gram_of
from octavo.engine.spectral.embedding import DENSE_NODES, leading_eigenpairs

__all__ = ["DoublyStochasticSpectral"]


def ratio_cut_matrix(A: Any) -> Any:
    """Return K' = K - D + I, whose eigenvectors are those of the Laplacian D - K (§6.3.1)."""
    degrees = np.asarray(A.sum(axis=1)).ravel()
    if sp.issparse(A):
        # −L + I: largest where the Laplacian L is least
        return sp.csr_array(A + sp.diags_array(1.0 - degrees))
    return A + np.diag(1.0 - degrees)


def normalized_cut_matrix(A: Any) -> Any:
    """Return D^(-1/2) K D^(-1/2), one step of the full scaling (§6.3.2)."""
    return scaled_both_sides(A, 1.0 / np.sqrt(np.asarray(A.sum(axis=1)).ravel()))  # K' of Eq. (6.8)


def n_components_of(A: Any) -> int:
    """Return how many parts of an affinity have no link between them."""
    if not sp.issparse(A):
        hub = int((A > 0.0).sum(axis=1).argmax())
        if np.count_nonzero(A[hub]) >= A.shape[0] - (A[hub, hub] == 0.0):
            return 1  # one node is linked to all
    return int(connected_components(sp.csr_array(A), directed=False)[0])


def top_eigenvectors(matrix: Any, k: int, *, connected: bool = True) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues in falling order, and their eigenvectors.

    Lanczos' method from one vector may miss an eigenvalue that several parts share: a dense matrix
    that is not ``connected`` goes to LAPACK.
    """
    n = matrix.shape[0]
    small = n <= DENSE_NODES or 2 * k >= n
    if sp.issparse(matrix) and not small:
        found = leading_eigenpairs(matrix, k)
        return found.values, found.vectors
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    if connected and not small:
        start = np.random.RandomState(0).standard_normal(n)
        try:
            values, vectors = eigsh(
                dense, k, which="LA", v0=start, ncv=min(n, 2 * k + 20), maxiter=20, tol=1e-10
            )
            order = np.argsort(-values, kind="stable")
            return values[order], vectors[:, order]
        except ArpackNoConvergence:
            pass  # eigenvalues lie too close
    values, vectors = eigh(dense, subset_by_index=(n - k, n - 1))
    return values[::-1], vectors[:, ::-1]


class DoublyStochasticSpectral(ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster by eigenvectors of an affinity that is first made doubly stochastic.

    K-means with a kernel asks for a partition whose normalised membership matrix G maximises
    tr GᵀKG. Two of its properties survive relaxation: GᵀG = I, and that GGᵀ is doubly stochastic.
    Bringing K itself close to such a matrix takes care of the second.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors.
    affinity : str or callable, default="rbf"
        A kernel without negative values by scikit-learn's name, a function of (X, Y),
        ``"nearest_neighbors"``, or ``"precomputed"`` for a symmetric matrix, dense or sparse.
    normalization : {"kl", "ncut", "l1", "none"}, default="kl"
        The doubly stochastic matrix nearest in relative entropy; one step towards it,
        D^(-1/2) K D^(-1/2) (normalised cuts); the nearest in the sum of absolute differences,
        K - D + I (ratio cuts); or K itself.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of the kernel.
    n_neighbors : int, default=10
        For ``"nearest_neighbors"``.
    n_init : int, default=10
        Starts of k-means on the rows of eigenvectors.
    tol : float, default=1e-12
        Largest deviation of a row sum from one under ``"kl"``.
    max_iter : int, default=10_000
        Most products of the affinity with a vector under ``"kl"``.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        K.
    scaled_affinity_ : ndarray or csr_array of shape (n_samples, n_samples)
        K after normalisation.
    eigenvalues_ : ndarray of shape (n_clusters,) or (n_clusters + 1,)
        The largest of `scaled_affinity_`, with one more for the gap where there is one.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Eigenvectors.
    residual_ : float
        Largest deviation of a row sum of `scaled_affinity_` from one.
    n_iter_ : int
        Products with the affinity that the scaling took; 1 for those in closed form.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    KernelKMeans : The partition problem without relaxation.
    symmetric_sinkhorn : The scaling on its own.

    Notes
    -----
    Whether the full scaling helps depends on the affinity; where degrees hardly differ all
    normalisations agree. `sklearn.cluster.SpectralClustering` has ``"ncut"``.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 6.3.
    .. [2] Zass and Shashua (2007). Doubly stochastic normalization for spectral clustering. NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from octavo.cluster import DoublyStochasticSpectral
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> model = DoublyStochasticSpectral(2, "nearest_neighbors", random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_), model.residual_ < 1e-10
    (1.0, True)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "affinity": [str, callable],
        "normalization": [StrOptions(set(NORMALIZATIONS))],
        "gamma": [str, Interval(Real, 0, None, closed="neither"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        affinity="rbf",
        normalization="kl",
        *,
        gamma="scale",
        n_neighbors=10,
        n_init=10,
        tol=1e-12,
        max_iter=10_000,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.normalization = normalization
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _affinity(self, X: Any) -> Any:
        if self.affinity == "precomputed":
            return read_affinity(X, "The affinity")
        check_squares(X)
        if self.affinity == "nearest_neighbors":
            k = min(self.n_neighbors, X.shape[0])
            graph = kneighbors_graph(X, k, include_self=True)
            return read_affinity(sp.csr_array(0.5 * (graph + graph.T)), "The affinity")
        kernel = resolve_kernel(self.affinity, X, gamma=self.gamma)
        return read_affinity(gram_of(kernel, X), "The affinity")

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster rows, or the nodes of an affinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or the affinity where it is precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : DoublyStochasticSpectral
            Fitted.
        """
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        n = X.shape[0]
        if n < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} must be at most the number of rows; n_samples={n}."
            )
        A = self.affinity_matrix_ = self._affinity(X)
        n_parts = n_components_of(A)
        if n_parts > self.n_clusters:
            warnings.warn(
                f"The affinity falls into {n_parts} parts without a link, more than the "
                f"{self.n_clusters} clusters: which of them share one is arbitrary.",
                UserWarning,
                stacklevel=2,
            )
        k, rng = self.n_clusters, check_random_state(self.random_state)
        with FitProgress(self, 3, X) as progress:  # scaling, eigenvectors, clusters
            self.scaled_affinity_, self.n_iter_ = self._scaled(A)
            sums = np.asarray(self.scaled_affinity_.sum(axis=1)).ravel()
            self.residual_ = float(np.abs(sums - 1.0).max())
            progress.step()
            self.eigenvalues_, vectors = top_eigenvectors(  # Eq. (6.7) without G ≥ 0
                self.scaled_affinity_, min(k + 1, n), connected=n_parts == 1
            )
            self.embedding_ = np.ascontiguousarray(vectors[:, :k])
            progress.step()
            means = KMeans(k, n_init=self.n_init, random_state=rng)
            self.labels_ = means.fit_predict(self.embedding_)
            progress.step()
        return self

    def _scaled(self, A: Any) -> tuple[Any, int]:
        """Return the normalised affinity, and the iterations that it took."""
        if self.normalization == "kl":
            scaled, found = doubly_stochastic(
                A, tol=float(self.tol), max_iter=self.max_iter, name="The affinity"
            )
            return scaled, found.n_iter
        make = {"ncut": normalized_cut_matrix, "l1": ratio_cut_matrix, "none": lambda K: K}
        return make[self.normalization](A), 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags
