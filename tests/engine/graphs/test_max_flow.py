"""Cuts against scipy, networkx, brute force and each other."""

import itertools

import networkx as nx
import numpy as np
import pytest

from octavo.engine.graphs import max_flow
from octavo.engine.graphs.max_flow import cut_value, flow_graph, minimum_cut

HAS_PYMAXFLOW = max_flow._maxflow() is not None
BACKENDS = ["numba", *(["pymaxflow"] if HAS_PYMAXFLOW else [])]


def random_graph(rng, n, m, high=12):
    tails, heads = rng.integers(n, size=(2, m))
    keep = tails != heads
    return flow_graph(
        rng.integers(high, size=n) * (rng.random(n) < 0.6),
        rng.integers(high, size=n) * (rng.random(n) < 0.6),
        tails[keep],
        heads[keep],
        rng.integers(high, size=m)[keep],
        rng.integers(high, size=m)[keep],
    )


@pytest.mark.parametrize("backend", [*BACKENDS, "scipy"])
def test_the_cut_is_the_least_of_all_and_its_source_side_the_largest(backend):
    rng = np.random.default_rng(0)
    for _ in range(40):
        graph = random_graph(rng, 7, 14, high=4)  # small numbers, so that cuts tie
        sides = np.array(list(itertools.product([False, True], repeat=7)))
        values = np.array([cut_value(graph, side) for side in sides])
        largest = sides[values == values.min()].any(axis=0)
        cut = minimum_cut(graph, backend=backend)
        assert cut.value == values.min() == cut_value(graph, cut.source_side)
        np.testing.assert_array_equal(cut.source_side, largest)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(6))
def test_large_integer_graphs_equal_scipy(backend, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 600))
    graph = random_graph(rng, n, int(rng.integers(2 * n, 6 * n)))
    cut, oracle = minimum_cut(graph, backend=backend), minimum_cut(graph, backend="scipy")
    assert cut.value == oracle.value == cut_value(graph, cut.source_side)
    np.testing.assert_array_equal(cut.source_side, oracle.source_side)


@pytest.mark.parametrize("backend", BACKENDS)
def test_real_capacities_equal_networkx(backend):
    rng = np.random.default_rng(1)
    for _ in range(5):
        n, m = 25, 80
        tails, heads = rng.integers(n, size=(2, m))
        keep = tails != heads
        graph = flow_graph(
            rng.random(n), rng.random(n), tails[keep], heads[keep], rng.random(keep.sum())
        )
        other = nx.DiGraph()
        for i in range(n):
            other.add_edge("s", i, capacity=graph.source[i])
            other.add_edge(i, "t", capacity=graph.sink[i])
        for u, v, c in zip(graph.tails, graph.heads, graph.capacities):
            before = other.get_edge_data(u, v, {"capacity": 0.0})["capacity"]
            other.add_edge(int(u), int(v), capacity=before + c)
        cut = minimum_cut(graph, backend=backend)
        assert cut.value == pytest.approx(nx.maximum_flow_value(other, "s", "t"), rel=1e-12)
        assert cut_value(graph, cut.source_side) == pytest.approx(cut.value, rel=1e-12)


@pytest.mark.parametrize("backend", [*BACKENDS, "scipy"])
def test_infinite_capacities(backend):
    open_chain = flow_graph([np.inf, 0], [0, 3], [0], [1], [5], [np.inf])
    cut = minimum_cut(open_chain, backend=backend)
    assert cut.value == 3.0
    assert cut.source_side.all()
    no_cut = flow_graph([np.inf, 0], [0, np.inf], [0], [1], [np.inf])
    assert minimum_cut(no_cut, backend=backend).value == np.inf
    assert minimum_cut(flow_graph([np.inf], [np.inf], [], [], []), backend=backend).value == np.inf


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5, 1e150])
def test_scale_does_not_matter(backend, scale):
    graph = random_graph(np.random.default_rng(3), 60, 200)
    plain = minimum_cut(graph, backend=backend)
    scaled = graph._replace(
        source=graph.source * scale,
        sink=graph.sink * scale,
        capacities=graph.capacities * scale,
        reverse=graph.reverse * scale,
    )
    cut = minimum_cut(scaled, backend=backend)
    assert cut.value == pytest.approx(plain.value * scale, rel=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_loops_empty_and_unlinked_graphs(backend):
    assert minimum_cut(flow_graph([], [], [], [], []), backend=backend).value == 0.0
    alone = minimum_cut(flow_graph([1, 0, 2], [3, 0, 1], [], [], []), backend=backend)
    assert alone.value == 2.0
    np.testing.assert_array_equal(alone.source_side, [False, True, True])
    if backend == "numba":
        loop = minimum_cut(flow_graph([2.0], [1.0], [0], [0], [5.0], [5.0]), backend=backend)
        assert loop.value == 1.0


def test_a_missing_pymaxflow_is_said(monkeypatch):
    monkeypatch.setattr(max_flow, "_maxflow", lambda: None)
    graph = flow_graph([1.0], [2.0], [], [], [])
    assert minimum_cut(graph).value == 1.0
    with pytest.raises(ImportError, match=r"octavo\[cuts\]"):
        minimum_cut(graph, backend="pymaxflow")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0], [], [], []), "one capacity for each node"),
        (([1.0], [1.0], [0], [1], [1.0]), "join nodes 0 to 0"),
        (([-1.0], [1.0], [], [], []), "source capacity"),
        (([1.0], [np.nan], [], [], []), "sink capacity"),
        (([1.0, 1.0], [1.0, 1.0], [0], [1], [-2.0]), "arc capacity"),
        (([1.0, 1.0], [1.0, 1.0], [0], [1], [2.0, 1.0]), "one entry for each arc"),
    ],
)
def test_bad_graphs(arguments, message):
    with pytest.raises(ValueError, match=message):
        flow_graph(*arguments)


def test_bad_backends():
    graph = flow_graph([1.5], [2.0], [], [], [])
    with pytest.raises(ValueError, match="backend must be one of"):
        minimum_cut(graph, backend="luck")
    with pytest.raises(ValueError, match="whole capacities"):
        minimum_cut(graph, backend="scipy")
