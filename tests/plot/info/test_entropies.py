"""Pictures of information estimators show the numbers that they are given."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.info import accuracy_table
from octavo.plot import (
    plot_accuracy,
    plot_bias_map,
    plot_dependence_matrix,
    plot_distribution_gram,
    plot_estimate_by_size,
)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_estimates_and_truth_are_drawn():
    ax = plot_estimate_by_size({"a": [[1.0, 3.0], [2.0, 2.0]]}, [10, 100], 2.5)
    means = ax.containers[0].lines[0].get_ydata()
    np.testing.assert_allclose(means, [2.0, 2.0])
    assert [2.5, 2.5] in [list(line.get_ydata()) for line in ax.lines]


def test_bias_map_shows_every_number_on_a_symmetric_scale():
    ax = plot_bias_map([[0.1, -0.4], [0.2, 0.0]], [1, 3], [2, 5])
    assert {text.get_text() for text in ax.texts} == {"0.10", "-0.40", "0.20", "0.00"}
    assert ax.images[0].get_clim() == (-0.4, 0.4)


def test_gram_with_names():
    gram = np.array([[1.0, 0.2], [0.2, 1.0]])
    ax = plot_distribution_gram(gram, ["p", "q"])
    np.testing.assert_array_equal(ax.images[0].get_array(), gram)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["p", "q"]


def test_dependence_is_ordered_by_blocks_which_are_framed():
    matrix = np.arange(9.0).reshape(3, 3)
    ax = plot_dependence_matrix(matrix, [[2, 0], [1]])
    assert ax.images[0].get_array()[0, 1] == matrix[2, 0]
    assert [patch.get_width() for patch in ax.patches] == [2, 1]
    assert matrix[0, 0] == 0.0  # the input is left alone
    assert np.isnan(np.asarray(ax.images[0].get_array().filled(np.nan))[0, 0])


def test_accuracy_has_a_line_for_each_row():
    table = accuracy_table("cross_entropy", n=100, n_repeats=3)
    ax = plot_accuracy(table)
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.name for row in table]
    assert f"bias {table[0].bias:+.4f}" in ax.texts[0].get_text()
