"""Pictures of margins and phrases show the numbers they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.plot import (
    plot_jump_distances,
    plot_phrase_alignment,
    plot_priced_confusion,
    plot_score_by_size,
)
from octavo.structured import PhrasePair


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_confusions_are_counted_and_priced():
    prices = np.array([[0.0, 2.0], [1.0, 0.0]])
    ax = plot_priced_confusion([0, 0, 1, 1], [0, 1, 1, 0], prices)
    assert ax.get_title() == "mean price 0.75"
    assert_allclose(ax.images[0].get_array().filled(0.0), [[0, 2], [1, 0]])
    with pytest.raises(ValueError, match="below 2"):
        plot_priced_confusion([0, 2], [0, 1], prices)
    with pytest.raises(ValueError, match="square"):
        plot_priced_confusion([0], [0], [[0.0, 1.0]])


def test_bars_are_counts():
    ax = plot_jump_distances([0, 0, -1, 2])
    assert [bar.get_height() for bar in ax.patches] == [1, 2, 1]
    with pytest.raises(ValueError, match="no jump"):
        plot_jump_distances([])


def test_links_phrases_and_arrows_are_drawn():
    pairs = [PhrasePair((1, 2), (0, 1)), PhrasePair((0, 1), (1, 2))]
    ax = plot_phrase_alignment("a b", "B A", {(0, 1), (1, 0)}, pairs)
    assert len(ax.patches) == 4
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]
    assert len(ax.texts) == 1


def test_curves_are_scores():
    ax = plot_score_by_size([10, 20], {"a": [0.5, 0.7]})
    assert_allclose(ax.lines[0].get_ydata(), [0.5, 0.7])
    with pytest.raises(ValueError, match="one for each size"):
        plot_score_by_size([10, 20], {"a": [0.5]})
