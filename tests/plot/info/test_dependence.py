"""The pictures of dependence show the numbers that they are given."""

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


def test_copula_gap_of_equal_variables_is_min_minus_product():
    x = np.random.default_rng(0).standard_normal(200)
    image = plot.plot_copula_gap(x, x, n_grid=20).images[0].get_array()
    u = np.arange(1, 21) / 20
    np.testing.assert_allclose(image, np.minimum.outer(u, u) - np.outer(u, u), atol=1e-12)


def test_copula_gap_has_x_across():
    x = np.arange(100.0)
    y = np.where(x < 50, 0, 1) * 100 + np.random.default_rng(0).permutation(100)
    image = plot.plot_copula_gap(x, y, n_grid=4).images[0].get_array()
    # At x ≤ 1/4 all y lie in the lower half: C(1/4, 1/2) = 1/4 against 1/8.
    assert image[1, 0] == pytest.approx(1 / 8)


def test_tail_association_draws_both_tails_and_the_truth():
    ax = plot.plot_tail_association([0.1, 0.5], [0.2, 0.3], [0.4, 0.5], truth=[0.1, 0.2])
    curves = [line.get_ydata() for line in ax.lines[:3]]
    np.testing.assert_allclose(curves, [[0.2, 0.3], [0.4, 0.5], [0.1, 0.2]])


def test_gram_spectrum_counts_negative_eigenvalues():
    grams = {"good": np.eye(3), "bad": np.diag([1.0, 0.5, -0.25])}
    ax = plot.plot_gram_spectrum(grams)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["good: 0 negative", "bad: 1 negative"]
    np.testing.assert_allclose(ax.lines[3].get_ydata(), [0.25])


def test_estimate_spread_marks_the_truth():
    ax = plot.plot_estimate_spread({"a": [1, 2, 3], "b": [2, 3, 4]}, truth=2.5)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert any(np.allclose(line.get_xdata(), 2.5) for line in ax.lines)


def test_registration_profile_scales_each_curve():
    ax = plot.plot_registration_profile([0, 1, 2], {"a": [1, 3, 2], "flat": [1, 1, 1]}, truth=1.0)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0, 1, 0.5])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 0.0)
