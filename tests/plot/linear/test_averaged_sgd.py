"""What the pictures of averaged SGD show."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_moons

from octavo import plot
from octavo.linear import KernelAveragedSGD

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def drawn(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_excess_risk_draws_means_bounds_and_the_best_rate():
    ax = plot.plot_excess_risk(
        [10, 1000], {"a": [[1.0, 3.0], [0.2, 0.4]]}, lines={"bound": [5.0, 1.0]}, dimension=4
    )
    lines = drawn(ax)
    np.testing.assert_allclose(lines["a"].get_ydata(), [2.0, 0.3])
    np.testing.assert_allclose(lines["d / (2N)"].get_ydata(), [0.2, 0.002])
    np.testing.assert_allclose(lines["bound"].get_ydata(), [5.0, 1.0])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_steps_are_drawn_in_the_order_given():
    ax = plot.plot_step_sensitivity([1.0, 4.0], {4.0: [2.0], 1.0: [1.0]}, {1.0: [3.0], 4.0: [5.0]})
    np.testing.assert_allclose(drawn(ax)["mean of the iterates"].get_ydata(), [1.0, 2.0])
    np.testing.assert_allclose(drawn(ax)["newest iterate"].get_ydata(), [3.0, 5.0])


def test_certificate_marks_where_nothing_is_known():
    ax = plot.plot_certificate([1, 2, 3], [np.inf, 0.5, 0.1], [0.3, 0.2, 0.05])
    np.testing.assert_allclose(drawn(ax)["certified bound"].get_xdata(), [2, 3])
    np.testing.assert_allclose(drawn(ax)["no bound"].get_xdata(), [1])
    assert "true excess" not in drawn(plot.plot_certificate([1], [0.5]))


def test_path_ends_at_the_optimum_that_is_given():
    ax = plot.plot_iterate_path([[0, 0], [1, 2]], [[0, 0], [0.5, 1]], optimum=[1, 1])
    np.testing.assert_allclose(drawn(ax)["iterates θ"].get_ydata(), [0, 2])
    assert "optimum" in drawn(ax)


def test_dual_weights_are_the_rows_kept():
    X, y = make_moons(60, random_state=0)
    model = KernelAveragedSGD(shuffle=False).fit(X, y)
    points = plot.plot_dual_weights(model, X).collections[-1].get_offsets()
    np.testing.assert_allclose(points, X[model.support_])
