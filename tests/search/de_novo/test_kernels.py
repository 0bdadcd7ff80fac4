"""Kernels of graphs, vectors and sets against their definitions."""

import networkx as nx
import numpy as np
import pytest
from networkx.generators.atlas import graph_atlas_g
from scipy.spatial.distance import cdist

from octavo.search import (
    UnlabeledGraphSampler,
    label_intersection_kernel,
    random_walk_kernel,
    relevance_gaussian_kernel,
    relevance_scale,
    weisfeiler_lehman_kernel,
)
from octavo.search.de_novo import graph_kernels

RNG = np.random.default_rng(0)
GRAPHS = [UnlabeledGraphSampler(n)(None, RNG) for n in (1, 4, 6, 6, 7)] + [nx.empty_graph(3)]


def kronecker(g, h, decay):
    A, B = (nx.to_numpy_array(x, weight=None) for x in (g, h))
    E = np.kron(A, B)
    return np.linalg.solve(np.eye(len(E)) - decay * E, np.ones(len(E))).sum()


def test_common_walks_by_the_product_graph():
    exact = np.array([[kronecker(g, h, 0.02) for h in GRAPHS] for g in GRAPHS])
    np.testing.assert_allclose(random_walk_kernel(GRAPHS, decay=0.02), exact, rtol=1e-12)
    np.testing.assert_allclose(
        random_walk_kernel(GRAPHS[:2], GRAPHS, decay=0.02), exact[:2], rtol=1e-12
    )


def test_both_sums_agree(monkeypatch):
    series = random_walk_kernel(GRAPHS, decay=0.02)
    monkeypatch.setattr(graph_kernels, "MOST_TERMS", 0)
    np.testing.assert_allclose(random_walk_kernel(GRAPHS, decay=0.02), series, rtol=1e-12)


def test_labels_cut_the_product_graph():
    one = [g.copy() for g in GRAPHS[1:4]]
    for g in one:
        nx.set_node_attributes(g, {v: "CNO"[v % 3] for v in g}, "label")
    K = random_walk_kernel(one, decay=0.02)
    for i, g in enumerate(one):
        for j, h in enumerate(one):
            pairs = [(u, v) for u in g for v in h if "CNO"[u % 3] == "CNO"[v % 3]]
            E = np.array(
                [[g.has_edge(a, c) and h.has_edge(b, d) for c, d in pairs] for a, b in pairs]
            )
            exact = np.linalg.solve(np.eye(len(E)) - 0.02 * E, np.ones(len(E))).sum()
            assert K[i, j] == pytest.approx(exact, rel=1e-12)


def test_a_decay_that_diverges_is_refused():
    full = [nx.complete_graph(10)]
    assert np.isfinite(random_walk_kernel(full, decay=1 / 82)).all()
    with pytest.raises(ValueError, match=r"diverges.*below 0\.0123457"):
        random_walk_kernel(full, decay=1 / 80)
    for wrong in (-0.1, np.nan, "x", None):
        with pytest.raises(ValueError, match="decay"):
            random_walk_kernel(full, decay=wrong)


def subtrees(graph, height, label):
    """The patterns, written out as nested tuples."""
    code = {v: label(v) for v in graph}
    found = list(code.values())
    for _ in range(height):
        code = {v: (code[v], tuple(sorted((code[u] for u in graph[v]), key=repr))) for v in graph}
        found += code.values()
    return found


@pytest.mark.parametrize("labelled", [False, True])
def test_subtree_patterns_by_nested_tuples(labelled):
    graphs = [g.copy() for g in GRAPHS]
    if labelled:
        for g in graphs:
            nx.set_node_attributes(g, {v: "CNO"[v % 3] for v in g}, "label")
    lists = [subtrees(g, 3, lambda v: "CNO"[v % 3] if labelled else "") for g in graphs]
    exact = [[sum(a.count(x) * b.count(x) for x in set(a)) for b in lists] for a in lists]
    np.testing.assert_array_equal(weisfeiler_lehman_kernel(graphs), exact)
    np.testing.assert_array_equal(weisfeiler_lehman_kernel(graphs[:2], graphs), exact[:2])
    sizes = [g.number_of_nodes() for g in graphs]
    if not labelled:
        np.testing.assert_array_equal(
            weisfeiler_lehman_kernel(graphs, n_iter=0), np.outer(sizes, sizes)
        )


def test_names_of_vertices_do_not_matter():
    graphs = [g for g in graph_atlas_g() if g.number_of_nodes() == 5]
    turned = [nx.relabel_nodes(g, dict(zip(range(5), "ecadb"))) for g in graphs]
    for kernel in (random_walk_kernel, weisfeiler_lehman_kernel):
        K = kernel(graphs)
        np.testing.assert_allclose(kernel(graphs, turned), K, rtol=1e-13)
        assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()


@pytest.mark.parametrize("kernel", [random_walk_kernel, weisfeiler_lehman_kernel])
def test_other_things_than_graphs_are_refused(kernel):
    for wrong in ("x", None, [1], nx.path_graph(3), [nx.DiGraph()]):
        with pytest.raises(ValueError, match="networkx graph"):
            kernel(wrong)


def test_relevance_gaussian():
    X = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.1, 0.0, 0.9], [1.0, 0.0, 0.0]])
    m = 2 * np.sqrt(4 / 7) / np.array([1.0, 0.5, 0.9])
    np.testing.assert_allclose(relevance_scale(X), m)
    exact = np.exp(-0.5 * cdist(X, X[:2], "seuclidean", V=1 / m**2) ** 2)
    np.testing.assert_allclose(relevance_gaussian_kernel(X, X[:2]), exact, rtol=1e-12)
    np.testing.assert_allclose(relevance_gaussian_kernel(1e5 * X), relevance_gaussian_kernel(X))
    assert (relevance_gaussian_kernel(np.ones((3, 2))) == 1.0).all()
    with pytest.raises(ValueError, match="entries"):
        relevance_gaussian_kernel(X, X[:, :2])


def test_shared_labels():
    sets = [{"a", "b"}, {"b"}, set(), {"c", "a", "b"}]
    exact = [[len(a & b) for b in sets] for a in sets]
    np.testing.assert_array_equal(label_intersection_kernel(sets), exact)
    with pytest.raises(ValueError, match="must be a set"):
        label_intersection_kernel([{"a"}, 3])
