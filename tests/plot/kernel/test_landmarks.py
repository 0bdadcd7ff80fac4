"""Pictures of landmarks."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.kernel import select_landmarks
from octavo.plot import plot_error_and_time, plot_landmarks, plot_lift


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_lift_draws_means_against_logarithms():
    ax = plot_lift([0.01, 1.0], {"ours": [[2.0, 4.0], [1.0, 1.0]]})
    assert_allclose(ax.lines[0].get_xdata(), [-2.0, 0.0])
    assert_allclose(ax.lines[0].get_ydata(), [3.0, 1.0])
    band = ax.collections[0].get_paths()[0].vertices
    assert_allclose([band[:, 1].min(), band[:, 1].max()], [1.0, 4.0])


def test_error_and_time_draws_a_point_a_strategy():
    ax = plot_error_and_time({"a": [1.0, 3.0], "b": [4.0]}, {"a": [5.0, 7.0], "b": [2.0]})
    x, y = ax.containers[0].lines[0].get_data()
    assert_allclose([x[0], y[0]], [2.0, 6.0])
    assert len(ax.containers) == 2
    assert ax.get_xscale() == "log"


def test_landmarks_are_drawn_over_the_rows():
    X = np.random.default_rng(0).standard_normal((30, 2))
    chosen = select_landmarks(X, 4, random_state=0)
    ax = plot_landmarks(X, chosen)
    rows, marks = ax.collections
    assert_allclose(rows.get_offsets(), X)
    assert_allclose(marks.get_offsets(), chosen.points)
    assert f"{chosen.potential:.3g}" in ax.get_title()
