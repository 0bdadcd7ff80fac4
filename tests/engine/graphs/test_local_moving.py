"""Local moving: aggregation keeps the quality, moves only raise it, clusters are connected."""

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.graphs import local_moving
from octavo.engine.graphs.local_moving import (
    ADAPTIVE,
    QUADRATIC,
    Term,
    aggregated,
    cluster_terms,
    flat_graph,
    move_locally,
    quality_of,
    renumbered,
)

TERMS = [
    Term(QUADRATIC, 1.0, 0.1, 0.05),
    Term(ADAPTIVE, 0.0, 2.0, 0.0),
    Term(ADAPTIVE, 20.0, 2.0, 0.0),
]


def random_graph(n, seed, loops=True):
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(3, size=(n, n)) * (rng.random((n, n)) < 0.15), 0 if loops else 1)
    return (half + np.triu(half, 1).T).astype(float)


def plain_quality(E, labels, term):
    total = 0.0
    for c in np.unique(labels):
        inside = labels == c
        w, v, n = E[np.ix_(inside, inside)].sum(), E[inside].sum(), inside.sum()
        if term.kind == QUADRATIC:
            total += term.first * w - (term.second * v) ** 2 - term.third * n**2
        elif (d := term.first + term.second * v) > 0:
            total += w / d - (v / d) ** 2
    return total


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("seed", range(3))
def test_quality_is_the_sum_over_clusters(term, seed):
    E = random_graph(30, seed)
    labels = np.random.default_rng(seed).integers(6, size=30)
    assert quality_of(flat_graph(sp.csr_array(E)), labels, term) == pytest.approx(
        plain_quality(E, labels, term), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize("term", TERMS)
def test_aggregation_keeps_the_quality(term):
    E = random_graph(30, 0)
    graph = flat_graph(sp.csr_array(E))
    fine = np.random.default_rng(1).integers(8, size=30).astype(np.int32)
    count = renumbered(fine)
    coarse = np.random.default_rng(2).integers(3, size=count).astype(np.int32)
    small = aggregated(graph, fine, count)
    assert quality_of(small, coarse, term) == pytest.approx(
        plain_quality(E, coarse[fine], term), rel=1e-12
    )


@pytest.mark.parametrize("term", TERMS)
def test_no_single_node_gains_by_moving(term):
    E = random_graph(25, 3)
    found = move_locally(flat_graph(sp.csr_array(E)), term, rng=np.random.default_rng(0))
    assert found.quality == pytest.approx(plain_quality(E, found.labels, term), rel=1e-12)
    for node in range(25):
        neighbours = found.labels[E[node] > 0]
        for target in {*neighbours.tolist(), 25}:
            labels = found.labels.copy()
            labels[node] = target
            # the last pass may leave gains below the share at which passes end
            assert plain_quality(E, labels, term) <= found.quality + 1e-5 * abs(found.quality)


@pytest.mark.parametrize("term", TERMS)
def test_levels_rise_and_end_in_the_labels(term):
    E = random_graph(60, 4)
    found = move_locally(flat_graph(sp.csr_array(E)), term, rng=np.random.default_rng(0))
    values = [plain_quality(E, level, term) for level in found.levels]
    assert all(b >= a - 1e-12 for a, b in itertools.pairwise(values))
    np.testing.assert_array_equal(found.levels[-1], found.labels)


def test_leiden_clusters_are_connected():
    graph = nx.barabasi_albert_graph(400, 2, seed=0)
    E = nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    V = E.sum()
    found = move_locally(
        flat_graph(sp.csr_array(E)),
        Term(QUADRATIC, 1 / V, 1 / V, 0.0),
        rng=np.random.default_rng(0),
    )
    for c in np.unique(found.labels):
        assert nx.is_connected(graph.subgraph(np.flatnonzero(found.labels == c).tolist()))


def test_terms_on_arrays_are_the_kernels():
    rng = np.random.default_rng(0)
    v = rng.uniform(0, 5, size=20) * (rng.random(20) < 0.8)
    w, n = v * rng.random(20), rng.integers(1, 5, size=20).astype(float)
    for term in TERMS:
        one = [local_moving._term.py_func(*term, *row) for row in zip(w, v, n)]
        np.testing.assert_allclose(cluster_terms(term, w, v, n), one, rtol=1e-14)


def test_a_callback_ends_the_search():
    E = sp.csr_array(random_graph(60, 4))
    seen = []
    move_locally(
        flat_graph(E),
        TERMS[0],
        rng=np.random.default_rng(0),
        on_pass=lambda x: seen.append(x) or True,
    )
    assert len(seen) == 1
