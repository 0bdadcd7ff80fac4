"""Pictures of ground metrics show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_grouped_histograms
from octavo.metric import GroundMetricLearner, transport_plan
from octavo.plot import (
    plot_bin_map,
    plot_criterion_descent,
    plot_error_by_neighbors,
    plot_ground_metric,
    plot_transport_flow,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


LINE = np.abs(np.subtract.outer(np.array([0.0, 5.0, 1.0, 6.0]), np.array([0.0, 5.0, 1.0, 6.0])))


def test_close_bins_stand_side_by_side():
    ax = plot_ground_metric(LINE, ["a", "b", "c", "d"])
    labels = [tick.get_text() for tick in ax.get_xticklabels()]
    assert labels in (
        ["a", "c", "b", "d"],
        ["d", "b", "c", "a"],
        ["c", "a", "d", "b"],
        list("acdb"),
    )
    drawn = np.asarray(ax.images[0].get_array())
    order = ["abcd".index(label) for label in labels]
    np.testing.assert_array_equal(drawn, LINE[np.ix_(order, order)])


def test_a_map_keeps_distances_of_a_line():
    ax = plot_bin_map(LINE, groups=[0, 1, 0, 1])
    points = ax.collections[0].get_offsets()
    found = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(found, LINE, atol=1e-6)


def test_descents_and_errors_hold_their_numbers():
    X, y, _ = make_grouped_histograms(20, n_groups=4, group_size=2, random_state=0)
    model = GroundMetricLearner(random_state=0).fit(X, y)
    ax = plot_criterion_descent(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.history_[:, 2])
    assert len(ax.lines[1].get_xdata()) == len(model.objectives_) - 1
    ax = plot_error_by_neighbors([1, 3], {"l1": [5.0, 4.0]})
    assert ax.lines[0].get_ydata().tolist() == [5.0, 4.0]


def test_flows_are_as_thick_as_their_mass():
    plan = transport_plan([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], 1.0 - np.eye(3))
    ax = plot_transport_flow(plan)
    assert len(ax.lines) == np.count_nonzero(plan)
    assert all(line.get_linewidth() == 8.0 for line in ax.lines)
