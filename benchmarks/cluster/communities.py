"""Communities of a million links beside leidenalg and networkx."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Contest
from octavo.cluster import ConstantPotts, GraphClustering, Modularity


def planted(n: int, m: int, k: int, mixing: float) -> sp.csr_array:
    """Return a graph of k groups in which a share of the links goes anywhere."""
    rng = np.random.default_rng(0)
    group = rng.integers(k, size=n)
    order = np.argsort(group)
    starts = np.searchsorted(group[order], np.arange(k + 1))
    u = rng.integers(n, size=m)
    low, high = starts[group[u]], starts[group[u] + 1]
    inside = order[low + (rng.random(m) * (high - low)).astype(int)]
    v = np.where(rng.random(m) < mixing, rng.integers(n, size=m), inside)
    keep = u != v
    half = sp.coo_array((np.ones(keep.sum()), (u[keep], v[keep])), shape=(n, n)).tocsr()
    graph = sp.csr_array(half + half.T)
    graph.data[:] = 1.0
    return graph


def compiled() -> None:
    """Compile the kernels: a run of the peers takes a minute, and is not made twice."""
    small = planted(100, 300, 5, 0.3)
    for optimizer in ("leiden", "louvain"):
        GraphClustering(Modularity(), optimizer, n_init=1, random_state=0).fit(small)


def with_igraph(n: int, m: int, k: int, mixing: float) -> Any:
    compiled()
    graph = planted(n, m, k, mixing)
    upper = sp.triu(graph, 1).tocoo()
    try:
        import igraph

        other = igraph.Graph(n, np.column_stack([upper.row, upper.col]).tolist())
    except ImportError:
        other = None
    return graph, other


def ours(problem: Any, quality: Any = None, optimizer: str = "leiden") -> Any:
    model = GraphClustering(quality or Modularity(), optimizer, n_init=1, random_state=0)
    return model.fit(problem[0]).labels_


def theirs(problem: Any, kind: str = "ModularityVertexPartition", **options: Any) -> Any:
    import leidenalg

    found = leidenalg.find_partition(problem[1], getattr(leidenalg, kind), seed=0, **options)
    return np.asarray(found.membership)


def no_lower(problem: Any, answers: dict[str, Any], quality: Any = None) -> str:
    score = (quality or Modularity()).score
    values = {name: score(problem[0], labels) for name, labels in answers.items()}
    mine = values["octavo GraphClustering"]
    assert mine >= max(values.values()) - 1e-3 * abs(mine)
    return "Quality: " + ", ".join(f"{name} {value:.6g}" for name, value in values.items()) + "."


def networkx_louvain(graph: Any) -> Any:
    import networkx as nx

    groups = nx.community.louvain_communities(graph[1], seed=0)
    labels = np.empty(graph[0].shape[0], dtype=int)
    for c, nodes in enumerate(groups):
        labels[list(nodes)] = c
    return labels


def with_networkx(n: int, m: int, k: int, mixing: float) -> Any:
    import networkx as nx

    compiled()
    graph = planted(n, m, k, mixing)
    return graph, nx.from_scipy_sparse_array(graph)


BESIDE_NETWORKX = {
    "octavo GraphClustering": ours,
    "octavo GraphClustering, louvain": functools.partial(ours, optimizer="louvain"),
    "networkx louvain": networkx_louvain,
}


LATENCY = "memory latency: the community of every neighbour of a node is read from a random place"

CONTESTS = [
    Contest(
        name="a million links, modularity",
        problem="Modularity of 100,000 nodes and 1,000,000 links, 1,000 groups, one start",
        setup=functools.partial(with_igraph, 100_000, 1_000_000, 1000, 0.4),
        solvers={"octavo GraphClustering": ours, "leidenalg": theirs},
        agree=no_lower,
        repeats=3,
        warm=False,
        target="Aim: 5 s, and within 3 times leidenalg's time.",
        limit="random reads of the labels of neighbours",
    ),
    Contest(
        name="a million links, constant Potts",
        problem="Constant Potts model, γ = 0.01, of the same graph, one start",
        setup=functools.partial(with_igraph, 100_000, 1_000_000, 1000, 0.4),
        solvers={
            "octavo GraphClustering": functools.partial(ours, quality=ConstantPotts(0.01)),
            "leidenalg": functools.partial(
                theirs, kind="CPMVertexPartition", resolution_parameter=0.01
            ),
        },
        agree=functools.partial(no_lower, quality=ConstantPotts(0.01)),
        repeats=3,
        warm=False,
        target="Aim: within 3 times leidenalg's time.",
        limit=LATENCY,
    ),
    Contest(
        name="networkx",
        problem="Modularity of 10,000 nodes and 100,000 links, 100 groups, 30 % mixing, one start",
        setup=functools.partial(with_networkx, 10_000, 100_000, 100, 0.3),
        solvers=BESIDE_NETWORKX,
        agree=no_lower,
        repeats=3,
        target="Aim: 30 times as fast.",
        limit=LATENCY,
    ),
    Contest(
        name="networkx, a million links",
        problem="Modularity of 100,000 nodes and 1,000,000 links beside networkx, one start",
        setup=functools.partial(with_networkx, 100_000, 1_000_000, 1000, 0.4),
        solvers=BESIDE_NETWORKX,
        agree=no_lower,
        repeats=2,
        warm=False,
        target="Aim: 30 times as fast.",
        limit=LATENCY,
    ),
]
