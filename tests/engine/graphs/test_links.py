"""Every form of a graph becomes the same matrix; what is no graph gets a sentence."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from octavo.engine.graphs.links import read_links

LINKS = [(0, 1, 2.0), (1, 2, -1.0), (0, 3, 0.5), (2, 2, 3.0)]
MATRIX = np.array([[0, 2, 0, 0.5], [2, 0, -1, 0], [0, -1, 3, 0], [0.5, 0, 0, 0]])


def forms():
    graph = nx.Graph()
    graph.add_nodes_from(range(4))
    graph.add_weighted_edges_from(LINKS)
    frame = pd.DataFrame(LINKS, columns=["source", "target", "weight"])
    yield "networkx", graph
    yield "tuples", LINKS
    yield "array of links", np.array([*LINKS, LINKS[3]])
    yield "frame", frame
    yield "frame with other names", frame.set_axis(["a", "b", "c"], axis=1)
    yield "square frame", pd.DataFrame(MATRIX)
    yield "matrix", MATRIX
    yield "nested lists", MATRIX.tolist()
    yield "csr", sp.csr_array(MATRIX)
    yield "csc", sp.csc_matrix(MATRIX)


@pytest.mark.parametrize(
    ("name", "graph"), forms(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_form_gives_the_same_matrix(name, graph):
    links = read_links(graph)
    expected = MATRIX.copy()
    if name == "array of links":
        expected[2, 2] *= 2  # given twice: links add up
    assert links.matrix.toarray() == pytest.approx(expected)
    assert links.nodes == [0, 1, 2, 3]
    assert links.matrix.indices.dtype == np.int32
    assert links.matrix.has_canonical_format


def test_igraph():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(n=4, edges=[link[:2] for link in LINKS])
    graph.es["weight"] = [link[2] for link in LINKS]
    graph.vs["name"] = list("abcd")
    links = read_links(graph)
    assert links.matrix.toarray() == pytest.approx(MATRIX)
    assert links.positions("db").tolist() == [3, 1]


def test_directed_links_keep_their_direction():
    links = read_links([("a", "b"), ("b", "c", 2.0)], directed=True)
    assert links.nodes == ["a", "b", "c"]
    assert links.matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    graph = nx.DiGraph([("a", "b")])
    assert read_links(graph, directed=True).matrix.toarray().tolist() == [[0, 1], [0, 0]]


def test_an_undirected_networkx_graph_is_symmetric_also_where_direction_counts():
    assert read_links(nx.Graph([(0, 1)]), directed=True).matrix.toarray().tolist() == [
        [0, 1],
        [1, 0],
    ]


def test_parallel_links_add_up_and_zeros_vanish():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert read_links(graph).matrix[0, 1] == 2
    stored = sp.csr_array(([1.0, -1.0, 0.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert read_links(stored, directed=True).matrix.nnz == 0
    assert stored.nnz == 3  # the caller's matrix is untouched


def test_the_number_of_nodes_may_exceed_the_links():
    assert read_links([(0, 1)], n_nodes=4).matrix.shape == (4, 4)
    with pytest.raises(ValueError, match="n_nodes=1, but the links join 2 nodes"):
        read_links([(0, 1)], n_nodes=1)
    with pytest.raises(ValueError, match="n_nodes=3, but the links join 2 nodes"):
        read_links([("a", "b")], n_nodes=3)


def test_loops_are_kept_once_dropped_or_refused():
    assert read_links([(0, 0, 3.0), (0, 1)]).matrix[0, 0] == 3
    assert read_links([(0, 0, 3.0), (0, 1)], self_loops="drop").matrix.diagonal().sum() == 0
    with pytest.raises(ValueError, match="no link from a node to itself; 'a' has"):
        read_links([("a", "a"), ("a", "b")], self_loops="raise")


@pytest.mark.parametrize(
    ("graph", "options", "sentence"),
    [
        (np.array([[0, 1.0], [2.0, 0]]), {}, r"from 0 to 1 it has 1, back 2"),
        (nx.DiGraph([("a", "b")]), {}, "from 'a' to 'b' it has 1, back 0"),
        (np.zeros((4, 5)), {}, r"A graph is a networkx .* got ndarray of shape \(4, 5\)"),
        (sp.csr_array((2, 3)), {}, r"must be square; got shape \(2, 3\)"),
        (5, {}, "got int"),
        ([(0, 1, 2, 3)], {}, r"A link is a tuple .* got \(0, 1, 2, 3\)"),
        ([(0, -1)], {}, "at least 0; got -1"),
        ([(0, 1, np.nan)], {}, "finite weight; that from 0 to 1 has nan"),
        ([(0, 1, "x")], {}, "must be real numbers"),
        ([(0, 1, -2.0)], {"nonnegative": True}, "at least 0; that from 0 to 1 has -2"),
        (pd.DataFrame({"a": [1]}), {}, "two columns of nodes"),
        (np.array([[0, 1j], [1j, 0]]), {}, "must be real numbers"),
    ],
)
def test_what_is_no_graph_gets_a_sentence(graph, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_links(graph, **options)


def test_an_unknown_node_is_named():
    with pytest.raises(ValueError, match="no node 'z'"):
        read_links([("a", "b")]).positions(["z"])


def test_empty_graphs_have_no_links():
    assert read_links([]).matrix.shape == (0, 0)
    assert read_links(nx.empty_graph(3)).matrix.nnz == 0
