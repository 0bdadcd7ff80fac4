"""Pictures of rank aggregation show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_adherence,
    plot_ndcg_curves,
    plot_query_ranks,
    plot_score_forest,
    plot_variance_support,
    plot_weight_squares,
)
from octavo.ranking import MultinomialPreferenceModel

R = np.array([[1, 2, 1], [2, 1, 3], [3, 3, np.nan], [4, np.nan, 2]])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_forest_has_the_best_item_on_top():
    model = MultinomialPreferenceModel().fit(R)
    ax = plot_score_forest(model, ["a", "b", "c", "d"], top=3)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["abcd"[i] for i in model.ranking_[:3]]
    assert ax.yaxis_inverted()


def test_adherence_has_a_bar_an_expert():
    model = MultinomialPreferenceModel(adherence=True, alpha=1e-3).fit(R)
    heights = [bar.get_height() for bar in plot_adherence(model).patches]
    np.testing.assert_allclose(heights, model.adherence_)


def test_squares_have_areas_and_colours_of_the_weights():
    ax = plot_weight_squares([[4.0, -1.0]], ["w"], ["x", "y"])
    big, small = ax.patches
    assert big.get_width() == pytest.approx(2 * small.get_width())
    assert big.get_facecolor()[:3] == (1, 1, 1)
    assert small.get_facecolor()[:3] == (0, 0, 0)


def test_curves_points_and_heat():
    ax = plot_ndcg_curves({"one": [0.1, 0.2], "two": [0.3, 0.4]})
    assert [line.get_ydata()[1] for line in ax.lines] == [0.2, 0.4]
    points = plot_variance_support([1.0, 2.0], [10, 5]).collections[0].get_offsets()
    np.testing.assert_allclose(points, [[10, 1], [5, 2]])
    ax = plot_query_ranks(R, [0.1, 0.4, 0.3, 0.2], [2, 0, 1, 0])
    assert ax.get_yticklabels()[0].get_text() == "1 (0)"
    np.testing.assert_array_equal(np.asarray(ax.images[0].get_array().filled(np.nan))[0], R[1])
