"""Pictures of searches show what they are given."""

import matplotlib.pyplot as plt
import networkx as nx
import pytest

from octavo.plot import plot_construction, plot_dispersion, plot_found_graphs


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_curves_and_the_proposals():
    ax = plot_construction({"a": [0, 1, 1, 2], "b": [1, 1]}, rate=0.25)
    assert [list(line.get_ydata()) for line in ax.lines] == [[0, 1, 1, 2], [1, 1], [0, 1.0]]
    assert list(ax.lines[0].get_xdata()) == [1, 2, 3, 4]


def test_spread_beside_the_ideal():
    ax = plot_dispersion({"a": [0.0, 0.5]})
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.0, 0.5], [1.0, 1.0]]


def test_graphs_stand_side_by_side():
    graphs = [nx.path_graph(3), nx.complete_graph(5), nx.cycle_graph(4)]
    ax = plot_found_graphs(graphs, n_columns=2)
    assert len(ax.lines) == 2 + 10 + 4
    assert [len(points.get_offsets()) for points in ax.collections] == [3, 5, 4]
