"""Pictures of representative sets show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_redundant_classes
from octavo.plot import (
    plot_accuracy_against_time,
    plot_hull_errors,
    plot_reduction,
    plot_representatives,
    plot_training_times,
)
from octavo.svm import AESVC, ApproximateExtremePoints, run_grid


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def data(n=300):
    return make_redundant_classes(n, kind="rings", random_state=0)


def test_representatives_are_drawn_once_a_class_with_their_weights():
    X, y = data()
    points = ApproximateExtremePoints(gamma=4.0).fit(X, y)
    ax = plot_representatives(points, X, y)
    assert len(ax.collections) == 4
    drawn = sum(len(c.get_offsets()) for c in ax.collections)
    assert drawn == 300 + points.n_selected_
    sizes = np.concatenate([ax.collections[i].get_sizes() for i in (1, 3)])
    order = np.concatenate([np.flatnonzero(y[points.indices_] == label) for label in (0, 1)])
    assert np.argmax(sizes) == np.argmax(points.weights_[order])
    model = AESVC(gamma=4.0).fit(X, y)
    assert len(plot_representatives(model, X).collections) == 2


def test_histogram_counts_every_row_and_marks_eps():
    X, y = data()
    ax = plot_hull_errors(ApproximateExtremePoints(gamma=4.0).fit(X, y))
    assert sum(patch.get_height() for patch in ax.patches) == 300
    assert ax.lines[0].get_xdata()[0] == 1e-2


def test_lines_are_what_was_given():
    ax = plot_reduction([1e-2, 1e-3], {"a": [0.1, 0.2]}, {"a": [0.9, 0.95]}, name="eps")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.1, 0.2])
    assert len(ax.figure.axes) == 2
    assert len(plot_reduction([1.0], {"a": [0.1]}).figure.axes) == 1
    ax = plot_training_times([10, 20], {"one": [1.0, 2.0], "two": [3.0, 4.0]})
    assert [line.get_label() for line in ax.lines] == ["one", "two"]
    assert ax.get_xscale() == "log"


def test_a_dot_a_cell():
    X, y = data(120)
    found = run_grid(AESVC(), X, y, {"C": [1.0, 2.0, 4.0], "gamma": [1.0]}, cv=2)
    ax = plot_accuracy_against_time({"AESVC": found})
    assert len(ax.collections[0].get_offsets()) == 3
