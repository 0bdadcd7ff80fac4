"""What the pictures of paths and graphs show is what the objects hold."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.graphical import clime_path, make_sparse_precision

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def sample():
    return make_sparse_precision(12, 80, random_state=0)


def test_edge_count_counts(sample):
    path = clime_path(sample.X, 0.1, None)
    ax = plot.plot_edge_count(path, n_edges=9, n_points=5)
    line = ax.get_lines()[0]
    for alpha, count in zip(*line.get_data()):
        assert path.n_edges(alpha) == count


def test_graph_tells_found_from_missed_and_made_up():
    truth = np.zeros((4, 4), dtype=bool)
    truth[0, 1] = truth[1, 0] = truth[1, 2] = truth[2, 1] = True
    found = np.zeros((4, 4), dtype=bool)
    found[0, 1] = found[1, 0] = found[0, 3] = found[3, 0] = found[2, 3] = found[3, 2] = True
    ax = plot.plot_graph(found, truth=truth)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["found (1)", "missed (1)", "not in the graph (2)"]
    assert len(plot.plot_graph(found).get_lines()) == 3


def test_roc_shows_the_two_rates():
    truth = np.zeros((3, 3))
    truth[0, 1] = truth[1, 0] = 1.0
    full = np.ones((3, 3))
    ax = plot.plot_graph_roc({"a": [np.eye(3), truth, full]}, truth)
    np.testing.assert_allclose(ax.get_lines()[0].get_data(), [[0, 0, 1], [0, 1, 1]])


def test_times_are_drawn_on_two_logarithmic_axes():
    ax = plot.plot_time_by_size({"a": ([10, 20], [1.0, 4.0])})
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [1.0, 4.0])
