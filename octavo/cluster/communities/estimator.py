"""Clusters of a graph by the quality function of one's choice.

T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions. The search
is local moving with refinement (Leiden), without it (Louvain), greedy merging, or exact.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.cluster.communities.qualities import (
    AdaptiveScaleModularity,
    ConnectedComponents,
    Modularity,
    ReichardtBornholdt,
    read_graph,
    terms_of,
)
from octavo.cluster.communities.searches import exhaustive_search, greedy_search
from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.local_moving import (
    Clustering,
    FlatGraph,
    flat_graph,
    move_locally,
    quality_of,
    renumbered,
)

__all__ = ["GraphClustering", "ResolutionProfile", "resolution_profile"]

FEW = 32  # nodes of which random labels are a start


class GraphClustering(CallbackSupportMixin, SoundEstimator):
    """Communities of a graph that make a quality function large.

    The default quality, adaptive scale modularity, is local: what is added at one end of a graph
    does not change clusters at the other, so that there is no resolution limit. With M = 0 a
    cluster of two that share links stands alone when three quarters of its weight are within;
    where no part of the graph is that well separated, one cluster is the answer. Give it a scale
    (`advise_scale`) or take `Modularity()` or `ConstantPotts(gamma)` for weaker structure.

    Not for tables of points: build a graph of neighbours first, or take scikit-learn's
    `SpectralClustering` or `HDBSCAN`.

    Parameters
    ----------
    quality : quality function, default=None
        What is made large; ``AdaptiveScaleModularity()`` by default. One of your own has
        ``cluster_term(w, v, n)`` on arrays, which may also take ``total``, the volume of the graph,
        and ``score(graph, labels)`` where the quality is not the sum of these terms. It is not
        compiled: some ten thousand nodes a second are looked at.
    optimizer : {"leiden", "louvain", "greedy", "exact"}, default="leiden"
        Local moving with refinement, in which clusters can be taken apart again and are connected;
        without it; merging of pairs, without chance; or the best of all clusterings, for up to 16
        nodes (60 for modularity, Reichardt-Bornholdt and constant Potts).
    n_init : int, default=10
        Number of starts of "leiden" and "louvain", of which the best is kept; at most 10,000. On
        more than 32 nodes every other one goes on from the best so far, with half of its clusters
        cut into pieces, and the rest from clusters of modularity at several resolutions.
    random_state : int, RandomState or None, default=None
        Seed of the order of nodes.

    Attributes
    ----------
    labels_ : ndarray of shape (n_nodes,)
        The cluster of each node, 0, 1, ... by size, largest first.
    quality_ : float
        The quality of the clusters; larger is better.
    n_clusters_ : int
        How many there are.
    levels_ : list of ndarray of shape (n_nodes,)
        Labels after each level of the search, of rising quality; the last are `labels_`.
    nodes_ : list
        The nodes, in the order of the labels.

    See Also
    --------
    check_axioms : Which axioms a quality function violates.
    resolution_profile : Numbers of clusters over a range of scales.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, 193-215.

    V. A. Traag, L. Waltman and N. J. van Eck (2019). From Louvain to Leiden: guaranteeing
    well-connected communities. Scientific Reports 9.

    Examples
    --------
    >>> from octavo.cluster import GraphClustering, Modularity, make_ring_of_cliques
    >>> ring = make_ring_of_cliques(30, 5)
    >>> GraphClustering(random_state=0).fit(ring).n_clusters_
    30
    >>> GraphClustering(Modularity(), random_state=0).fit(ring).n_clusters_ < 20
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "quality": [HasMethods(["cluster_term"]), None],
        "optimizer": [StrOptions({"leiden", "louvain", "greedy", "exact"})],
        "n_init": [Interval(Integral, 1, 10_000, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        quality: Any = None,
        optimizer: str = "leiden",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.quality = quality
        self.optimizer = optimizer
        self.n_init = n_init
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, graph: Any, y: Any = None) -> Self:
        """Find the clusters of a graph.

        Parameters
        ----------
        graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
            Undirected, with weights of at least 0. A loop of a matrix is its diagonal entry and
            counts once in the degree; one of a list of links is one such entry.
        y : None
            Not used.

        Returns
        -------
        self : GraphClustering
            The fitted estimator.
        """
        quality = AdaptiveScaleModularity() if self.quality is None else self.quality
        if isinstance(quality, type):
            raise ValueError(
                f"quality must be an instance: {quality.__name__}(...), not the class."
            )
        if hasattr(quality, "warn_of_parameters"):
            quality.warn_of_parameters()
        links = read_graph(graph)
        levels = self._search(links.matrix, quality, graph)
        names = _by_size(levels[-1])
        if hasattr(quality, "score_links"):  # the matrix has been checked
            quality._validate_params()
            value = quality.score_links(links.matrix, names)
        elif hasattr(quality, "score"):
            value = float(quality.score(links.matrix, names))
        else:
            term = terms_of(quality, float(links.matrix.sum()))
            value = quality_of(flat_graph(links.matrix), names, term)
        if not np.isfinite(value):
            raise ValueError(
                f"The quality comes out as {value}: the links' weights and the parameters of "
                f"{type(quality).__name__} are too far apart."
            )
        self.labels_ = names
        self.levels_ = [*(_by_size(level) for level in levels[:-1]), names]
        self.quality_ = value
        self.n_clusters_ = int(names.max()) + 1
        self.nodes_ = links.nodes
        return self

    def _search(self, matrix: sp.csr_array, quality: Any, graph: Any) -> list[Indices]:
        if isinstance(quality, ConnectedComponents):  # nothing to search: they are the optimum
            found = [sp.csgraph.connected_components(matrix, directed=False)[1]]
        elif self.optimizer == "exact":
            found = [exhaustive_search(matrix, quality)]
        elif self.optimizer == "greedy":
            found = greedy_search(flat_graph(matrix), quality, float(matrix.sum()))
        else:
            return self._starts(matrix, quality, graph)
        with FitProgress(self, 1, graph, step_name="start") as progress:
            progress.step()
        return found

    def _starts(self, matrix: sp.csr_array, quality: Any, graph: Any) -> list[Indices]:
        """Return the levels of the best of n_init starts."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        flat, total = flat_graph(matrix), float(matrix.sum())
        if hasattr(quality, "compiled_term"):
            term = quality.compiled_term(total)
        else:
            term = terms_of(quality, total)
        best = Clustering(np.zeros(0, dtype=np.intp), -np.inf, [])
        with FitProgress(self, self.n_init, graph, step_name="start") as progress:
            for start in range(self.n_init):
                labels = None
                if start % 2:
                    labels = _disturbed(flat, total, best.labels, rng)
                elif start and len(best.labels) > FEW and not isinstance(quality, Modularity):
                    # where single nodes gain by joining anyone, moves end in one cluster; those of
                    # modularity, at this or that resolution, do not
                    resolution = 1.0 if start == 2 else _between(0.5, 4.0, rng)
                    labels = _usual_clusters(flat, total, resolution, rng)
                run = move_locally(
                    flat, term, refine=self.optimizer == "leiden", start=labels, rng=rng
                )
                if not best.levels or run.quality > best.quality:
                    best = run
                if progress.step():
                    break
        return best.levels

    def fit_predict(self, graph: Any, y: Any = None) -> Indices:
        """Find the clusters of a graph and return their labels.

        Parameters
        ----------
        graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
            As for `fit`.
        y : None
            Not used.

        Returns
        -------
        labels : ndarray of shape (n_nodes,)
            The cluster of each node.
        """
        return self.fit(graph).labels_

    def communities(self) -> list[list[Any]]:
        """Return the names of the nodes of each cluster, the largest cluster first.

        Returns
        -------
        communities : list of list
            Nodes as the graph calls them.
        """
        check_is_fitted(self, "labels_")
        order = np.argsort(self.labels_, kind="stable")
        ends = np.cumsum(np.bincount(self.labels_))[:-1]
        return [[self.nodes_[i] for i in group] for group in np.split(order, ends)]


def _disturbed(flat: FlatGraph, total: float, labels: Indices, rng: np.random.Generator) -> Indices:
    """Return labels to start again from: random, or, of many nodes, half the clusters in pieces.

    Pieces are what modularity makes at a higher resolution: of single nodes, most come together
    again as they were.
    """
    n = len(labels)
    if n <= FEW:
        return rng.integers(rng.integers(1, n + 1), size=n)
    pieces = _usual_clusters(flat, total, _between(1.0, 6.0, rng), rng).astype(np.int64)
    cut = (rng.random(n) < 0.5)[labels]
    return np.unique(labels + n * np.where(cut, 1 + pieces, 0), return_inverse=True)[1]


def _usual_clusters(
    flat: FlatGraph, total: float, resolution: float, rng: np.random.Generator
) -> Indices:
    """Return the clusters of modularity at a resolution, from one start."""
    term = ReichardtBornholdt(resolution).compiled_term(total)
    return move_locally(flat, term, refine=True, rng=rng).labels


def _between(low: float, high: float, rng: np.random.Generator) -> float:
    """Return a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _by_size(labels: Indices) -> Indices:
    """Return labels 0, 1, ... by size, largest first, ties by their first node."""
    names = np.array(labels, dtype=np.int32)
    count = renumbered(names)  # by their first node
    rank = np.empty(count, dtype=np.intp)
    rank[np.argsort(-np.bincount(names), kind="stable")] = np.arange(count)
    return rank[names]


class ResolutionProfile(NamedTuple):
    """Clusterings over scales: ``Ms``, and for each the number of clusters, quality and labels."""

    Ms: Floats
    n_clusters: Ints
    qualities: Floats
    labels: Ints


@checked
def resolution_profile(
    graph: Any,
    Ms: ArrayLike,
    *,
    gamma: float = 2.0,
    n_init: int = 3,
    random_state: Any = None,
) -> ResolutionProfile:
    """Return how the clusters of adaptive scale modularity change with the scale M.

    Numbers of clusters that last over a range of scales are the graph's own.

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
        Undirected, with weights of at least 0.
    Ms : array-like of shape (n_scales,)
        Scales, at least 0, in the units of the links' weights.
    gamma : float, default=2.0
        The other parameter of `AdaptiveScaleModularity`.
    n_init : int, default=3
        Starts for each scale. The labels of every other scale are tried too, so that no scale has a
        clustering worse than one that is known.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    profile : ResolutionProfile
        Scales, numbers of clusters, qualities and labels (a row for each scale).

    Examples
    --------
    >>> from octavo.cluster import make_ring_of_cliques, resolution_profile
    >>> ring = make_ring_of_cliques(12, 5)
    >>> resolution_profile(ring, [0.0, 100.0, 2000.0], random_state=0).n_clusters.tolist()
    [12, 12, 6]
    """
    scales = np.asarray(Ms, dtype=np.float64)
    if scales.ndim != 1 or not scales.size:
        raise ValueError(f"Ms must be a list of scales; got shape {scales.shape}.")
    if not np.isfinite(scales).all() or (scales < 0).any():
        raise ValueError("Ms must be finite and at least 0.")
    links = read_graph(graph)
    rng = check_random_state(random_state)
    model = GraphClustering(n_init=n_init, random_state=rng)
    found = [
        model.set_params(quality=AdaptiveScaleModularity(float(M), gamma)).fit_predict(links.matrix)
        for M in scales
    ]
    flat = flat_graph(links.matrix)
    labels, qualities = [], []
    for M in scales:
        term = AdaptiveScaleModularity(float(M), gamma).compiled_term(0.0)
        values = [quality_of(flat, known, term) for known in found]
        best = int(np.argmax(values))
        labels.append(found[best])
        qualities.append(values[best])
    rows = np.array(labels)
    return ResolutionProfile(scales, rows.max(axis=1) + 1, np.array(qualities), rows)
