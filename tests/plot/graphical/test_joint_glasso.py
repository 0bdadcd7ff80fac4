"""What the pictures of networks show is what the objects hold."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

from octavo import plot

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


NETWORKS = np.arange(18.0).reshape(2, 3, 3)


def test_networks_are_sorted_by_score():
    axes = plot.plot_networks(NETWORKS, scores=[1.0, 3.0, 2.0], labels=["a", "b"])
    order = [1, 2, 0]
    for ax, A, name in zip(axes, NETWORKS, "ab"):
        np.testing.assert_array_equal(ax.images[0].get_array(), A[np.ix_(order, order)])
        assert ax.get_title() == name
    given = plot.plot_networks(NETWORKS[:1], axes=matplotlib.pyplot.subplots()[1])
    np.testing.assert_array_equal(given[0].images[0].get_array(), NETWORKS[0])


def test_difference_names_the_perturbed_rows():
    ax = plot.plot_network_difference(NETWORKS, nodes=[2], names=["x", "y", "z"])
    np.testing.assert_array_equal(ax.images[0].get_array(), NETWORKS[0] - NETWORKS[1])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["z"]


def test_scores_with_threshold():
    scores = np.array([0.0, 1.0, 5.0])
    ax = plot.plot_node_scores(scores, perturbed=[2], cohubs=[1], n_deviations=1.0)
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["perturbed"].get_data(), [[2], [5.0]])
    np.testing.assert_array_equal(lines["co-hub"].get_data(), [[1], [1.0]])
    assert lines["mean + 1 sd"].get_ydata()[0] == pytest.approx(scores.mean() + scores.std())


def test_recovery_is_drawn_in_order():
    ax = plot.plot_edge_recovery({"a": ([3, 1, 2], [30, 10, 20])})
    np.testing.assert_array_equal(ax.get_lines()[0].get_data(), [[1, 2, 3], [10, 20, 30]])


def test_surface_marks_the_choice():
    model = SimpleNamespace(
        alphas_l1_=np.array([0.3, 0.1]),
        alphas_joint_=np.array([3.0, 2.0, 1.0]),
        alpha_l1_=0.1,
        alpha_joint_=2.0,
        cv_results_={"ebic": np.arange(6.0).reshape(2, 3)},
    )
    ax = plot.plot_penalty_surface(model)
    np.testing.assert_array_equal(ax.get_lines()[0].get_data(), [[1], [1]])
    np.testing.assert_array_equal(ax.images[0].get_array(), model.cv_results_["ebic"])


def test_screening_speed():
    ax = plot.plot_screening_speed([1, 5], [1.0, 0.2], label="PNJGL")
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1.0, 0.2])
    assert ax.get_ylim()[0] == 0.0
