"""Pictures of log-linear networks show the edges, weights and scores they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

from octavo.graphical import LogLinearMarkovNetwork
from octavo.plot import (
    plot_feature_lengths,
    plot_feature_weights,
    plot_interaction_graph,
    plot_relative_scores,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def network():
    features = [[(0, "==", 1), (1, "!=", 2)], [(2, "==", 0)], [(0, "==", 0), (2, "==", 1)]]
    return LogLinearMarkovNetwork(features, [2.0, -1.0, 0.5], [2, 3, 2])


def test_edges_are_as_wide_as_their_weights(network):
    ax = plot_interaction_graph(network)
    widths = sorted(line.get_linewidth() for line in ax.lines)
    assert widths == [1.0, 4.0]
    assert [t.get_text() for t in ax.texts] == ["0", "1", "2"]


def test_the_largest_weights_are_listed_last(network):
    ax = plot_feature_weights(network, n_features=2)
    assert [bar.get_width() for bar in ax.patches] == [-1.0, 2.0]
    assert ax.get_yticklabels()[1].get_text() == "0 = 1, 1 ≠ 2"


def test_lengths_are_counted(network):
    ax = plot_feature_lengths({"one": network})
    assert [bar.get_height() for bar in ax.patches] == [1, 2]


def test_scores_are_relative_to_the_reference():
    scores = {"DTSL": {"a": -0.3, "b": -0.2}, "L1": {"a": -0.4, "b": -0.15}}
    ax = plot_relative_scores(scores, "DTSL")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.1, -0.05])
    with pytest.raises(ValueError, match="reference must be one of"):
        plot_relative_scores(scores, "BLM")
