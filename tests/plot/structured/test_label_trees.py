"""Pictures of label trees show the numbers of the models they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.data import make_label_chain
from octavo.plot import (
    plot_certified_share,
    plot_label_graph,
    plot_label_losses,
    plot_tree_gaps,
)
from octavo.structured import SpanningTreeMultiLabel


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, Y, edges = make_label_chain(100, n_labels=4, random_state=0)
    model = SpanningTreeMultiLabel(update="closed", tol=1e-2, random_state=0)
    return model.fit(X, Y), X, edges


def test_widths_are_weights(fitted):
    model, _, edges = fitted
    ax = plot_label_graph(model.edge_weights_, names=list("abcd"), true_edges=edges)
    widths = sorted(line.get_linewidth() for line in ax.lines if line.get_color() == "C1")
    expected = sorted(5 * model.edge_weights_[i, j] for i, j in edges)
    assert_allclose(widths, expected)
    with pytest.raises(ValueError, match="square"):
        plot_label_graph(np.ones((2, 3)))


def test_gaps_and_shares_are_those_of_the_model(fitted):
    model, X, _ = fitted
    drawn = plot_tree_gaps(model).lines[0].get_ydata()
    assert_allclose(drawn, model.duality_gaps_ / model.objectives_)
    shares = plot_certified_share(model, X, lengths=(1, 16)).lines[0].get_ydata()
    assert shares[-1] == 1.0  # all 16 label sets are in the lists
    assert model.k_best == "auto"


def test_bars_are_losses():
    ax = plot_label_losses({"a": (0.5, 0.1), "b": (0.4, 0.2)})
    assert_allclose([bar.get_height() for bar in ax.patches], [0.5, 0.4, 0.1, 0.2])
    with pytest.raises(ValueError, match="two numbers"):
        plot_label_losses({"a": (0.5,)})
