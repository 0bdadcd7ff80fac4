"""Pictures of policy evaluation show what they are given."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_evaluation_curves,
    plot_objective_paths,
    plot_parameter_map,
    plot_trace_weights,
    plot_value_band,
)
from octavo.rl import GPTD, make_boyan


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_curves_are_means_with_bands():
    errors = np.array([[1.0, 0.5], [3.0, 1.5]])
    ax = plot_evaluation_curves({"many": ([10, 20], errors), "one": ([10, 20], [1.0, 0.1])})
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.0, 1.0])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1.0, 0.1])
    assert len(ax.collections) == 1
    assert ax.get_yscale() == "log"
    assert plot_evaluation_curves({"a": ([1], [1.0])}, log=False).get_yscale() == "linear"


def test_the_map_marks_the_best_and_hides_divergence():
    ax = plot_parameter_map([[3.0, np.inf], [1.0, 2.0]], [10.0, 1.0], [0.0, 0.5])
    assert (ax.lines[0].get_xdata()[0], ax.lines[0].get_ydata()[0]) == (0, 1)
    assert ax.images[0].get_array().mask.sum() == 1
    assert [text.get_text() for text in ax.get_yticklabels()] == ["10", "1"]


def test_paths_end_where_they_end():
    ax = plot_objective_paths(
        lambda t: t @ t, {"a": [[1.0, 1.0], [0.0, 0.2]]}, other=lambda t: abs(t).sum()
    )
    ends = [line for line in ax.lines if line.get_marker() == "o"]
    assert (ends[0].get_xdata()[0], ends[0].get_ydata()[0]) == (0.0, 0.2)


def test_the_band_is_two_standard_deviations_wide():
    problem = make_boyan()
    model = GPTD(problem.gamma).fit(problem.sample(100, random_state=0))
    ax = plot_value_band(model, problem.features_, value=problem.value_)
    mean, std = model.predict(problem.features_, return_std=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), mean)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((mean + 2 * std).max())
    assert band.min() == pytest.approx((mean - 2 * std).min())


def test_weights_are_counted():
    ax = plot_trace_weights({"a": [1.0, 1.0, 1.0, 1.0], "b": [4.0, 0.0, 0.0, 0.0]})
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == ["a: effective size 4 of 4", "b: effective size 1 of 4"]
    assert len(plot_trace_weights([1.0, 2.0]).get_legend().get_texts()) == 1
