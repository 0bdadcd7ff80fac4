"""What the pictures of label patterns show."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_accuracy_by_order,
    plot_label_marginals,
    plot_pattern_automaton,
    plot_top_patterns,
)
from octavo.sequence import HighOrderCRF, PatternAutomaton


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_accuracy_with_and_without_names():
    ax = plot_accuracy_by_order({2: 0.9, 1: 0.8}, {1: 3, 2: 9})
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[1, 0.8], [2, 0.9]])
    twin = next(other for other in ax.figure.axes if other is not ax)
    assert [bar.get_height() for bar in twin.patches] == [3, 9]
    named = plot_accuracy_by_order({"a": {1: 0.5}, "b": {1: 0.6, 3: 0.7}})
    assert [line.get_label() for line in named.lines] == ["a", "b"]
    assert named.get_xticks().tolist() == [1, 3]


def test_top_patterns_are_the_heaviest():
    weights = {("a",): 9.0, ("a", "b"): 2.0, ("b", "a"): -3.0, ("b", "b", "a"): 0.5}
    model = HighOrderCRF.from_weights("ab", np.zeros((1, 2)), weights)
    ax = plot_top_patterns(model, top=2)
    assert [bar.get_width() for bar in ax.patches] == [-3.0, 2.0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["ba", "ab"]
    everything = plot_top_patterns(model, min_order=0)
    assert len(everything.patches) == 4


def test_marginals_with_labels_or_segments():
    values = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    ax = plot_label_marginals(values, ["x", "y"], path=["x", "y", "y"], tokens="abc")
    np.testing.assert_allclose(ax.images[0].get_array(), values.T)
    assert ax.lines[0].get_ydata().tolist() == [0, 1, 1]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    cut = plot_label_marginals(values, ["x", "y"], path=[(0, 1, "x"), (1, 3, "y")])
    assert len(cut.lines) == 2
    left, right = cut.lines[1].get_xdata()[[0, -1]]
    assert 0.5 < left < 1
    assert 2 < right < 2.5


def test_automata_of_few_states():
    automaton = PatternAutomaton("POL", [("L", "O", "L")])
    ax = plot_pattern_automaton(automaton)
    names = {text.get_text() for text in ax.texts}
    assert {"ε", "P", "O", "L", "LO"} <= names
    with pytest.raises(ValueError, match="5 states are too many"):
        plot_pattern_automaton(automaton, max_states=4)
