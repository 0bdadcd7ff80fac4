"""Groups that like their own and dislike the others, from the eigenvectors of a network."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.base import ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.network.signed.completion import SignedCompletion
from octavo.network.signed.groups import correlation_clustering_cost
from octavo.network.signed.signs import undirected_signs

__all__ = ["SignedSpectralClustering"]

DENSE_NODES = 1000


def leading_eigenvectors(W: Floats, H: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the eigenvalues of ``(W Hᵀ + H Wᵀ) / 2`` largest in size, and their vectors.

    Parameters
    ----------
    W, H : ndarray of shape (n, rank)
    count : int

    Returns
    -------
    values : ndarray of shape (count,)
    vectors : ndarray of shape (n, count)
    """
    rank = W.shape[1]
    Q, R = np.linalg.qr(np.hstack([W, H]))
    small = R[:, :rank] @ R[:, rank:].T
    # the span of W and H holds every eigenvector
    values, turn = np.linalg.eigh((small + small.T) / 2.0)
    # Algorithm 2, step 2; A* has negative eigenvalues, too: the top are by size
    order = np.argsort(-np.abs(values))[:count]
    return values[order], Q @ turn[:, order]


def laplacian_eigenvectors(
    matrix: sp.csr_array, count: int, normalized: bool, rng: np.random.RandomState
) -> Floats:
    """Return the eigenvectors of the signed Laplacian D - A with the least eigenvalues.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric, of 1 and -1.
    count : int
    normalized : bool
        Whether of I - D^(-1/2) A D^(-1/2).
    rng : RandomState
        Start of the iteration.

    Returns
    -------
    vectors : ndarray of shape (n, count)
    """
    n = matrix.shape[0]
    degrees = np.asarray(abs(matrix).sum(axis=1)).ravel()
    if normalized:
        root = sp.diags_array(1.0 / np.sqrt(np.maximum(degrees, 1.0)))
        above = sp.csr_array(root @ matrix @ root)  # its largest are the Laplacian's least
    else:
        above = sp.csr_array(matrix - sp.diags_array(degrees))
    if n <= max(DENSE_NODES, 3 * count):
        return np.linalg.eigh(above.toarray())[1][:, ::-1][:, :count]
    return eigsh(above, count, which="LA", v0=rng.standard_normal(n), maxiter=100 * n)[1]


class SignedSpectralClustering(ClusterMixin, SoundEstimator):
    """Split a signed network into groups that like their own and dislike the others.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of groups.
    method : {"completion", "signed_laplacian", "normalized"}, default="completion"
        Eigenvectors of the completed matrix (Algorithm 2), of the signed Laplacian of Kunegis and
        others (2010), or of its normalised form.
    completion : SignedCompletion, default=None
        How to complete; by default of rank `n_clusters` with ``alpha=1.0``.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, RandomState instance or None, default=None
        Of the completion and of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_nodes,)
        Group of each node.
    embedding_ : ndarray of shape (n_nodes, n_clusters)
        The eigenvectors.
    cost_ : int
        Links that contradict the groups (`correlation_clustering_cost`).
    n_conflicts_ : int
        Pairs whose two directions disagree; they are dropped.
    completion_ : SignedCompletion
        The fitted completion, for ``method="completion"``.

    See Also
    --------
    is_weakly_balanced : Whether groups explain all signs, and which.

    Notes
    -----
    The completed matrix of k > 2 groups has a large negative eigenvalue beside the positive ones,
    so eigenvectors are taken by the size of their eigenvalues. Of a Laplacian, the least count,
    where the paper says "top".

    References
    ----------
    Chiang, Hsieh, Natarajan, Dhillon and Tewari (2014), "Prediction and Clustering in Signed
    Networks: A Local to Global Perspective", Section 4.5.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import SignedSpectralClustering
    >>> network = make_weakly_balanced([30, 30, 40], 0.3, random_state=0)
    >>> model = SignedSpectralClustering(3, random_state=0).fit(network.A)
    >>> model.cost_
    0
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"completion", "signed_laplacian", "normalized"})],
        "completion": [HasMethods(["fit", "set_params"]), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_clusters=2, method="completion", completion=None, n_init=10, random_state=None
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.completion = completion
        self.n_init = n_init
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # a network
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, A: Any, y: Any = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        A : graph
            Links of 1 and -1: matrix (0 is unknown), networkx graph, list of links.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : SignedSpectralClustering
            The fitted estimator.
        """
        links, self.n_conflicts_ = undirected_signs(A)
        matrix = links.matrix
        if self.n_clusters > matrix.shape[0]:
            raise ValueError(
                f"n_clusters={self.n_clusters} exceeds the {matrix.shape[0]} nodes of the network."
            )
        linked = np.diff(matrix.indptr) > 0
        if not linked.all():
            warnings.warn(
                f"{(~linked).sum()} of {len(linked)} nodes have no links (the first is node "
                f"{int(linked.argmin())}): nothing tells their groups. Leave them out, or do not "
                "read their labels.",
                UserWarning,
                stacklevel=2,
            )
        if linked.sum() < self.n_clusters:
            linked[:] = True
        rng = check_random_state(self.random_state)
        if self.method == "completion":
            self.completion_ = self._completion(rng).fit(matrix)
            factors = self.completion_.W_, self.completion_.H_
            self.embedding_ = leading_eigenvectors(*factors, self.n_clusters)[1]
        else:
            # eigenvectors of nodes without links would come first and say nothing of the others
            normalized, among = self.method == "normalized", matrix[linked][:, linked]
            self.embedding_ = np.zeros((len(linked), self.n_clusters))
            self.embedding_[linked] = laplacian_eigenvectors(
                among, self.n_clusters, normalized, rng
            )
        means = KMeans(self.n_clusters, n_init=self.n_init, random_state=rng)
        self.labels_ = means.fit(self.embedding_[linked]).predict(self.embedding_)
        self.cost_ = correlation_clustering_cost(matrix, self.labels_)
        return self

    def _completion(self, rng: np.random.RandomState) -> SignedCompletion:
        if self.completion is None:
            return SignedCompletion(
                self.n_clusters, alpha=1.0, max_iter=200, tol=1e-3, random_state=rng
            )
        return clone(self.completion)
