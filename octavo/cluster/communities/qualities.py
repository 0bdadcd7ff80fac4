"""Quality functions of clusterings of graphs, each a sum over clusters of a term q(w, v, n).

T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions. Sections 2,
4.2, 5 and 6. E is symmetric and not negative; w_c = Σ_{i,j in c} E_ij has each link twice and a
loop once, v_c = Σ_{i in c, j} E_ij, and n_c counts nodes: a loop adds its weight to a degree once.
"""

from __future__ import annotations

import inspect
import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.links import LinkMatrix, read_links
from octavo.engine.graphs.local_moving import (
    ADAPTIVE,
    QUADRATIC,
    FreeTerm,
    Term,
    cluster_sums,
    cluster_terms,
    flat_graph,
)

__all__ = [
    "AdaptiveScaleModularity",
    "ConnectedComponents",
    "ConstantPotts",
    "FixedScaleModularity",
    "Modularity",
    "NormalizedCut",
    "ReichardtBornholdt",
    "UnnormalizedCut",
]


def read_graph(graph: Any) -> LinkMatrix:
    """Return an undirected graph with weights of at least 0; loops are kept.

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
        As `octavo.engine.graphs.links.read_links` takes it.

    Returns
    -------
    links : LinkMatrix
    """
    links = read_links(graph, nonnegative=True)
    if links.matrix.shape[0] == 0:
        raise ValueError("The graph is empty: it needs at least one node.")
    with np.errstate(over="ignore"):
        if not np.isfinite(2.0 * links.matrix.sum()):
            raise ValueError("The weights of the graph's links are too large to be added up.")
    return links


def read_labels(labels: Any, links: LinkMatrix) -> Indices:
    """Return labels as whole numbers from 0, one a node.

    Parameters
    ----------
    labels : array-like of shape (n_nodes,) or dict
        A cluster for each node, by place or by name.
    links : LinkMatrix
        The graph.

    Returns
    -------
    labels : ndarray of int
    """
    if isinstance(labels, dict):
        missing = [node for node in links.nodes if node not in labels]
        if missing:
            raise ValueError(f"labels must have every node of the graph; {missing[0]!r} is absent.")
        labels = [labels[node] for node in links.nodes]
    values = np.asarray(labels)
    n = links.matrix.shape[0]
    if values.shape != (n,):
        raise ValueError(f"labels must be one a node: shape ({n},); got {values.shape}.")
    if values.dtype.kind not in "biufUSO" or (
        values.dtype.kind == "f" and not np.isfinite(values).all()
    ):
        raise ValueError("labels must be whole numbers or words, without NaN.")
    try:
        return np.unique(values, return_inverse=True)[1].astype(np.int32)
    except TypeError:
        raise ValueError("labels must be of one kind: whole numbers or words.") from None


def terms_of(quality: Any, total: Any) -> FreeTerm:
    """Return the cluster term of any quality as a function of arrays, its answers checked.

    Parameters
    ----------
    quality : object
        With ``cluster_term(w, v, n)``, which may also take ``total``, the volume of the graph.
    total : float or ndarray
        That volume, or one for each cluster.

    Returns
    -------
    term : callable
        q(w, v, n) of arrays of one shape.
    """
    known = inspect.signature(quality.cluster_term).parameters
    takes_total = "total" in known or any(p.kind is p.VAR_KEYWORD for p in known.values())
    more = {"total": total} if takes_total else {}

    def term(w: Floats, v: Floats, n: Floats) -> Floats:
        found = np.asarray(quality.cluster_term(w, v, n, **more), dtype=np.float64)
        if found.shape != np.shape(w):
            raise ValueError(
                f"cluster_term of {type(quality).__name__} must return a term for each cluster: "
                f"shape {np.shape(w)} for arrays w, v and n of that shape; got {found.shape}."
            )
        if np.isnan(found).any():
            at = int(np.flatnonzero(np.isnan(found.ravel()))[0])
            raise ValueError(
                f"cluster_term of {type(quality).__name__} is NaN at w={np.ravel(w)[at]:g}, "
                f"v={np.ravel(v)[at]:g}, n={np.ravel(n)[at]:g}."
            )
        return found

    return term


class QualityFunction(SoundEstimator):
    """What all quality functions share: a sum over clusters of `cluster_term`."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants, given v_V."""
        raise NotImplementedError

    def compiled_term(self, total: float) -> Term:
        """Return the cluster term for local moving on a graph of that volume."""
        self._validate_params()
        kind, *constants = self.constants(total)
        return Term(kind, *(float(value) for value in constants))

    def rescaled(self, factor: float) -> QualityFunction:
        """Return the member of the family that orders clusterings of factor · G as this one G."""
        return self

    def warn_of_parameters(self) -> None:
        """Say what the parameters cost, where they cost an axiom that users expect."""

    def cluster_term(
        self, w: ArrayLike, v: ArrayLike, n: ArrayLike, *, total: ArrayLike | None = None
    ) -> Floats:
        """Return what clusters contribute to the quality.

        Parameters
        ----------
        w, v, n : array-like of one shape
            Weight within (links twice, loops once), volume and number of nodes of each cluster.
        total : float or array-like, default=None
            The volume of the whole graph; by default Σ v, as when all clusters are given.

        Returns
        -------
        terms : ndarray of that shape
        """
        self._validate_params()
        w, v, n = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (w, v, n)))
        if not all(np.isfinite(x).all() and (x >= 0).all() for x in (w, v, n)):
            raise ValueError("w, v and n must be finite and at least 0.")
        volume = v.sum() if total is None else np.asarray(total, dtype=np.float64)
        kind, *constants = self.constants(volume)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(cluster_terms(Term(kind, *constants), w, v, n))

    def score(self, graph: Any, labels: Any) -> float:
        """Return the quality of a clustering; larger is better.

        Parameters
        ----------
        graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
            Undirected, with weights of at least 0. A loop of a matrix is its diagonal entry.
        labels : array-like of shape (n_nodes,) or dict
            The cluster of each node, in the graph's order, or by the node's name.

        Returns
        -------
        quality : float
        """
        self._validate_params()
        self.warn_of_parameters()
        links = read_graph(graph)
        return self.score_links(links.matrix, read_labels(labels, links))

    def score_links(self, matrix: sp.csr_array, labels: Indices) -> float:
        """Return the quality of labels 0, 1, ... on a checked matrix."""
        sums = cluster_sums(flat_graph(matrix), labels)
        used = sums[2] > 0
        terms = self.cluster_term(*(x[used] for x in sums), total=matrix.sum())
        return float(terms.sum())

    def score_partitions(self, graphs: Floats, sums: Any, parts: Floats) -> Floats:
        """Return the qualities of all partitions of small graphs, given sums over subsets."""
        total = graphs.sum(axis=(1, 2))[:, None]
        w, v, n = sums
        terms = self.cluster_term(w, v, np.broadcast_to(n, w.shape), total=total)
        terms[:, 0] = 0.0
        return terms @ parts.T


class AdaptiveScaleModularity(QualityFunction):
    """Modularity whose scale grows with the cluster: local, monotonic, no resolution limit.

    Q = Σ_c w_c / (M + γ v_c) - (v_c / (M + γ v_c))². M sets the scale below which clusters merge,
    in the units of the links' weights; γ the share of its weight that a cluster must have within:
    (1 + 1/γ) / 2 for large ones, three quarters at γ = 2. With M = 0 it is a normalised cut with a
    price of 1/γ² a cluster; as M grows, M · Q becomes Σ w_c.

    Parameters
    ----------
    M : float, default=0.0
        The scale, at least 0; multiply it when weights are multiplied. `advise_scale` proposes one.
    gamma : float, default=2.0
        At least 2 for a monotonic quality, above 1 for a rich one; less than 1 is warned of.

    See Also
    --------
    advise_scale : M and gamma from a smallest cluster and the share of weight within.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 6.

    Examples
    --------
    >>> from octavo.cluster import AdaptiveScaleModularity
    >>> two_pairs = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]]
    >>> print(round(AdaptiveScaleModularity().score(two_pairs, [0, 0, 1, 1]), 4))
    0.1667
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "M": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, M: float = 0.0, gamma: float = 2.0) -> None:
        self.M = M
        self.gamma = gamma

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        return ADAPTIVE, self.M, self.gamma, 0.0

    def rescaled(self, factor: float) -> AdaptiveScaleModularity:
        """Return the quality with M in other units."""
        return AdaptiveScaleModularity(self.M * factor, self.gamma)

    def warn_of_parameters(self) -> None:
        """Warn of gamma below 1."""
        if self.gamma < 1:
            warnings.warn(
                f"gamma={self.gamma:g} is below 1: with M = 0 nothing but one cluster can be "
                "best, and more weight within a cluster can lower the quality. Take gamma >= 2, or "
                "FixedScaleModularity(M) for gamma = 0.",
                UserWarning,
                stacklevel=4,
            )


class FixedScaleModularity(QualityFunction):
    """Modularity with a constant in the place of the graph's volume: Σ_c w_c / M - (v_c / M)².

    Local, but not monotonic: a cluster whose volume exceeds M / 2 loses by weight within.

    Parameters
    ----------
    M : float
        The scale, above 0, in the units of the links' weights.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 6.

    Examples
    --------
    >>> from octavo.cluster import FixedScaleModularity
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0.0]]
    >>> print(round(FixedScaleModularity(12.0).score(triangle, [0, 0, 0]), 4))
    0.25
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "M": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, M: float) -> None:
        self.M = M

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        return ADAPTIVE, self.M, 0.0, 0.0

    def rescaled(self, factor: float) -> FixedScaleModularity:
        """Return the quality with M in other units."""
        return FixedScaleModularity(self.M * factor)


class Modularity(QualityFunction):
    """Modularity of Newman and Girvan: Σ_c w_c / v_V - (v_c / v_V)².

    Neither local nor monotonic: the rest of the graph decides how large clusters are. `networkx`
    counts a loop twice in a degree; here it counts once, so that values agree on graphs without
    loops.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Eq. (1).

    Examples
    --------
    >>> from octavo.cluster import Modularity
    >>> two_pairs = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]]
    >>> print(round(Modularity().score(two_pairs, [0, 0, 1, 1]), 4))
    0.1667
    """

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        inverse = _inverse(total)
        return QUADRATIC, inverse, inverse, 0.0  # Eq. (1)


class ReichardtBornholdt(QualityFunction):
    """Modularity with a resolution, not divided by the volume: Σ_c w_c - γ v_c² / v_V.

    It is M times fixed scale modularity with M = v_V / γ, and the value of `leidenalg`'s
    `RBConfigurationVertexPartition` on graphs without loops.

    Parameters
    ----------
    gamma : float, default=1.0
        The resolution, at least 0: more of it, more clusters.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 6.1.

    Examples
    --------
    >>> from octavo.cluster import ReichardtBornholdt
    >>> two_pairs = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]]
    >>> print(round(ReichardtBornholdt(gamma=1.0).score(two_pairs, [0, 0, 1, 1]), 4))
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        return QUADRATIC, 1.0, np.sqrt(self.gamma) * np.sqrt(_inverse(total)), 0.0


class ConstantPotts(QualityFunction):
    """The constant Potts model of Traag and others: Σ_c w_c - γ n_c².

    Free of the resolution limit, and the only one here that counts nodes. A cluster stands when its
    density of links, loops included, exceeds γ. `leidenalg` sums w_c - γ n_c (n_c - 1), which is
    more by γ times the number of nodes.

    Parameters
    ----------
    gamma : float, default=0.05
        The density of links that clusters must exceed, at least 0, in the units of the weights.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 6.1.

    Examples
    --------
    >>> from octavo.cluster import ConstantPotts
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0.0]]
    >>> print(ConstantPotts(gamma=0.5).score(triangle, [0, 0, 0]))
    1.5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, gamma: float = 0.05) -> None:
        self.gamma = gamma

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        return QUADRATIC, 1.0, 0.0, self.gamma

    def rescaled(self, factor: float) -> ConstantPotts:
        """Return the quality with gamma in other units."""
        return ConstantPotts(self.gamma * factor)


class NormalizedCut(QualityFunction):
    """The normalised cut, negated: Σ_c (w_c / v_c - 1), never above 0.

    One cluster for the whole graph is always best, so that it needs a number of clusters from
    outside; it is adaptive scale modularity with M = 0 and γ = 1. Clusters without links count 0.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 6.1.

    Examples
    --------
    >>> from octavo.cluster import NormalizedCut
    >>> two_pairs = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]]
    >>> print(round(NormalizedCut().score(two_pairs, [0, 0, 1, 1]), 4))
    -0.6667
    """

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        return ADAPTIVE, 0.0, 1.0, 0.0


class UnnormalizedCut(QualityFunction):
    """The weight within clusters, Σ_c w_c: the graph's volume less the cut.

    One cluster for the whole graph is always best. It is the limit of M times adaptive scale
    modularity as M grows.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 6.1.

    Examples
    --------
    >>> from octavo.cluster import UnnormalizedCut
    >>> two_pairs = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]]
    >>> print(UnnormalizedCut().score(two_pairs, [0, 0, 1, 1]))
    4.0
    """

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the family of the cluster term and its three constants."""
        return QUADRATIC, 1.0, 0.0, 0.0


class ConnectedComponents(QualityFunction):
    """1 for the connected components of the graph and 0 for every other clustering.

    A quality that satisfies every axiom but continuity. Its `cluster_term` is 1 for a cluster that
    no link leaves: the sum of these terms counts such clusters, and is largest for the components
    alone.

    References
    ----------
    T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
    Journal of Machine Learning Research 15, Section 4.2.

    Examples
    --------
    >>> from octavo.cluster import ConnectedComponents
    >>> pair_and_one = [[0, 1, 0], [1, 0, 0], [0, 0, 0.0]]
    >>> ConnectedComponents().score(pair_and_one, [0, 0, 1])
    1.0
    """

    def constants(self, total: Any) -> tuple[int, Any, Any, Any]:
        """Return the constants of weight within, which components make largest."""
        return QUADRATIC, 1.0, 0.0, 0.0

    def cluster_term(
        self, w: ArrayLike, v: ArrayLike, n: ArrayLike, *, total: ArrayLike | None = None
    ) -> Floats:
        """Return 1 for clusters that no link leaves, else 0.

        Parameters
        ----------
        w, v, n : array-like of one shape
            Weight within (links twice, loops once), volume and number of nodes of each cluster.
        total : float or array-like, default=None
            Not read.

        Returns
        -------
        terms : ndarray of that shape
        """
        w, v, n = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (w, v, n)))
        if not all(np.isfinite(x).all() and (x >= 0).all() for x in (w, v, n)):
            raise ValueError("w, v and n must be finite and at least 0.")
        # sums of the same weights in another order differ by rounding
        return (w >= v * (1.0 - 1e-12)).astype(np.float64)

    def score_links(self, matrix: sp.csr_array, labels: Indices) -> float:
        """Return 1.0 where the labels are the components."""
        count, components = sp.csgraph.connected_components(matrix, directed=False)
        pairs = np.unique(np.column_stack([components, labels]), axis=0)
        return float(len(pairs) == count == len(np.unique(labels)))

    def score_partitions(self, graphs: Floats, sums: Any, parts: Floats) -> Floats:
        """Return 1 for the components of each small graph, and 0 for other partitions."""
        w, v, n = sums
        # Components are exactly the partitions with the most parts that no link leaves.
        n_nodes = graphs.shape[1]
        reach = (graphs > 0) | np.eye(n_nodes, dtype=bool)
        for _ in range(max(1, int(np.ceil(np.log2(n_nodes))))):
            reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
        first = np.argmax(reach, axis=2)
        count = (first == np.arange(n_nodes)).sum(axis=1)
        closed = ((v - w) <= 1e-12 * v).astype(np.float64)
        closed[:, 0] = 0.0
        return (closed @ parts.T == count[:, None]).astype(np.float64)


def _inverse(total: Any) -> Any:
    """Return 1 / total, and 0 for a graph without links, whose quality is 0."""
    with np.errstate(divide="ignore"):
        return np.where(
            np.asarray(total) > 0, 1.0 / np.where(np.asarray(total) > 0, total, 1.0), 0.0
        )
