"""Pictures of partial order embeddings show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.metric import ComparisonGraph, MultipleKernelPOE, MultipleKernelPOECV
from octavo.plot import (
    plot_beta_scores,
    plot_comparison_graph,
    plot_kernel_shares,
    plot_landmark_weights,
    plot_order_embedding,
    plot_view_accuracy,
)

X = np.arange(6.0)[:, None]
C = [[i, j, k] for i in range(6) for j in range(6) for k in range(6) if 0 < abs(i - j) < abs(i - k)]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_weights_are_drawn_as_they_are():
    ax = plot_kernel_shares([3.0, 1.0], ["a", "b"])
    assert [bar.get_width() for bar in ax.patches] == [0.75, 0.25]
    model = MultipleKernelPOE("linear", "diagonal", beta=10.0, random_state=0).fit([X, X**2], C)
    figure = plot_landmark_weights(model, ["x", "square"])
    for ax, W in zip(figure.axes, model.W_, strict=True):
        assert [bar.get_height() for bar in ax.patches] == np.diagonal(W).tolist()


def test_accuracies_points_and_scores():
    ax = plot_view_accuracy({"a": (0.5, 0.7), "b": (0.6, 0.9)})
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.6, 0.7, 0.9]
    ax = plot_order_embedding([[0.0, 1.0], [2.0, 3.0]], [0, 1], [[5.0, 6.0]])
    assert ax.lines[-1].get_xydata().tolist() == [[5.0, 6.0]]
    model = MultipleKernelPOECV("linear", betas=[1.0, 10.0], random_state=0).fit([X], C)
    line = plot_beta_scores(model).lines[0]
    assert line.get_ydata().tolist() == model.cv_scores_.mean(axis=1).tolist()


def test_what_lies_on_a_cycle_is_red():
    ax = plot_comparison_graph(ComparisonGraph([[0, 1, 2], [0, 2, 1], [0, 1, 3]]))
    arrows = [t.arrow_patch for t in ax.texts if getattr(t, "arrow_patch", None) is not None]
    red = [arrow.get_edgecolor()[:3] == (1.0, 0.0, 0.0) for arrow in arrows]
    assert sorted(red) == [False, True, True]
