"""Structures that are given: matrices, graphs and BIF files say the same."""

import gzip
from importlib.util import find_spec

import networkx as nx
import numpy as np
import pytest

from octavo.data import make_linear_dag

BIF = """network n { }
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 2 ] { yes, no }; }
variable c { type discrete [ 2 ] { yes, no }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a, c ) {
  (yes, yes) 0.1, 0.9; (no, yes) 0.2, 0.8; (yes, no) 0.3, 0.7; (no, no) 0.4, 0.6;
}
probability ( c ) { table 0.5, 0.5; }
"""
EDGES = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0]])


def test_a_bif_file_a_graph_and_a_matrix_say_the_same(tmp_path):
    plain, packed = tmp_path / "net.bif", tmp_path / "net.bif.gz"
    plain.write_text(BIF)
    packed.write_bytes(gzip.compress(BIF.encode()))
    graph = nx.DiGraph()
    graph.add_nodes_from("abc")
    graph.add_edges_from([("a", "b"), ("c", "b")])
    expected = make_linear_dag(n_samples=20, structure=EDGES, random_state=0)
    assert ((expected.B != 0) == EDGES).all()
    for structure in (plain, str(plain), packed, graph):
        found = make_linear_dag(n_samples=20, structure=structure, random_state=0)
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.B, expected.B)


@pytest.mark.skipif(find_spec("pgmpy") is None, reason="needs pgmpy's files")
@pytest.mark.parametrize(("name", "nodes", "edges"), [("alarm", 37, 46), ("insurance", 27, 52)])
def test_networks_of_the_repository(name, nodes, edges):
    drawn = make_linear_dag(n_samples=5, structure=name, random_state=0)
    assert drawn.X.shape == (5, nodes)
    assert (drawn.B != 0).sum() == edges


def test_what_is_no_structure_is_refused():
    with pytest.raises(ValueError, match="there is no file 'nowhere'"):
        make_linear_dag(structure="nowhere")
    with pytest.raises(ValueError, match="no cycle"):
        make_linear_dag(structure=nx.DiGraph([(0, 1), (1, 0)]))
