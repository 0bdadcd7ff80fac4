"""What the pictures of a search show."""

import matplotlib

matplotlib.use("agg")

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_anytime_curves,
    plot_classifier_errors,
    plot_search_losses,
    plot_search_trajectory,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_curves_by_step_and_by_time():
    ax = plot_anytime_curves({"lds": [0.5, 0.6], "flipbit": [(0.0, 0.5), (0.2, 0.55)]})
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0, 0.5], [1, 0.6]])
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[0, 0.5], [0.2, 0.55]])


def test_changed_labels_are_framed():
    ax = plot_search_trajectory([["a", "b"], ["a", "c"], ["b", "c"]], truth=["a", "c"])
    frames = [patch for patch in ax.patches if not patch.get_fill()]
    assert [(round(f.get_x() + 0.45), round(f.get_y() + 0.45)) for f in frames] == [(1, 1), (0, 2)]
    assert [t.get_text() for t in ax.texts] == ["a", "b", "a", "c", "b", "c", "a", "c"]
    with pytest.raises(ValueError, match="one sequence"):
        plot_search_trajectory([[1, 2], [1]])
    with pytest.raises(ValueError, match="truth has 1"):
        plot_search_trajectory([[1, 2]], truth=[1])


def test_bars_are_stacked_and_errors_are_points():
    report = SimpleNamespace(
        generation_loss=0.1,
        selection_loss=0.2,
        initial_loss=0.5,
        imitation_errors=np.array([0.1, 0.1, 0.5]),
        recurrent_errors=np.array([0.2, 0.2, 0.5]),
    )
    ax = plot_search_losses({"lds": report})
    low, high = ax.patches
    assert low.get_height() == 0.1
    np.testing.assert_allclose([high.get_y(), high.get_height()], [0.1, 0.2])
    ax = plot_classifier_errors(report)
    assert len(ax.collections[0].get_offsets()) == 2  # equal points are one, drawn larger
