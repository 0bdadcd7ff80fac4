"""Pictures of conditional machines show the numbers they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_frame_scores,
    plot_hidden_activity,
    plot_horizon_errors,
    plot_imputed_channels,
    plot_style_blend,
)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_activity_has_a_row_for_each_unit():
    shown = np.random.RandomState(0).random_sample((20, 5))
    image = plot_hidden_activity(shown).images[0].get_array()
    assert image.shape == (5, 20)
    np.testing.assert_allclose(np.sort(image.sum(axis=1)), np.sort(shown.sum(axis=0)))


def test_imputed_stretches_alone_are_drawn():
    truth = np.random.RandomState(0).standard_normal((30, 4))
    missing = np.zeros((30, 4), dtype=bool)
    missing[10:20, 1] = True
    ax = plot_imputed_channels(truth, {"model": truth + 1}, missing)
    assert len(ax.lines) == 2
    drawn = ax.lines[1].get_ydata()
    assert np.isnan(drawn[:10]).all()
    np.testing.assert_allclose(drawn[10:20], truth[10:20, 1] + 1)


def test_horizons_start_at_one():
    ax = plot_horizon_errors({"a": [1.0, 2.0], "b": [0.5, 3.0]})
    assert ax.lines[0].get_xdata().tolist() == [1, 2]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_blend_is_coloured_by_share():
    styles = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    ax = plot_style_blend(np.arange(6.0).reshape(3, 2), styles)
    np.testing.assert_allclose(ax.collections[0].get_array(), [0, 0.5, 1])


def test_scores_and_marks():
    ax = plot_frame_scores([1.0, 2.0, 0.0], marked=[False, True, True])
    assert ax.lines[0].get_ydata().tolist() == [1, 2, 0]
    assert len(ax.collections) == 1
