"""The pictures of subspaces show the numbers that they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo import plot


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_hinton_has_areas_of_the_entries_in_the_order_of_blocks():
    matrix = np.array([[1.0, -0.25], [0.5, 0.0]])
    ax = plot.plot_hinton(matrix, [[1], [0]], [[0], [1]])
    areas = np.array([p.get_width() * p.get_height() for p in ax.patches]).reshape(2, 2)
    np.testing.assert_allclose(areas, 0.95**2 * np.abs(matrix[[1, 0]]), atol=1e-12)
    assert ax.patches[3].get_facecolor()[:3] == (0.0, 0.0, 0.0)  # the negative one is black
    assert ax.patches[2].get_facecolor()[:3] == (1.0, 1.0, 1.0)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["1", "0"]
    assert len(ax.lines) == 2


def test_hinton_of_a_complex_matrix_shows_sizes():
    ax = plot.plot_hinton(np.array([[3 + 4j, 0], [0, 5]]))
    assert ax.patches[0].get_width() == pytest.approx(ax.patches[3].get_width())


def test_sources_are_points_or_a_histogram():
    S = np.random.default_rng(0).normal(size=(50, 3))
    axes = plot.plot_sources(S, [[2, 0], [1]])
    np.testing.assert_allclose(axes[0].lines[0].get_xydata(), S[:, [2, 0]])
    assert sum(bar.get_height() for bar in axes[1].patches) == 50
