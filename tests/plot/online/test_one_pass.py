"""What the pictures of online learners show."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.online import AROW, NHERD, OnlinePerceptron, compare_online
from octavo.plot import plot_feature_confidence, plot_final_rates, plot_online_curves
from tests.online.one_pass.learners import noisy_stream


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def comparison():
    X, y = noisy_stream()
    return compare_online([AROW(), OnlinePerceptron()], X, y, 3, random_state=0, ticks=4)


@pytest.mark.parametrize("value", ["mistake_rate", "n_updates", "cpu_time"])
def test_curves_are_the_means_over_orders(comparison, value):
    ax = plot_online_curves(comparison, value)
    assert [line.get_label() for line in ax.lines] == comparison.names
    for line, runs in zip(ax.lines, getattr(comparison, value), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), comparison.n_seen)
        np.testing.assert_allclose(line.get_ydata(), runs.mean(axis=0))
    _, given = plt.subplots()
    assert plot_online_curves(comparison, ax=given) is given


def test_unknown_curves_are_refused(comparison):
    with pytest.raises(ValueError, match="value must be one of"):
        plot_online_curves(comparison, "accuracy")


def test_bars_are_sorted_with_the_best_on_top(comparison):
    ax = plot_final_rates(comparison)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True)
    final = comparison.mistake_rate[:, :, -1].mean(axis=1)
    assert ax.get_yticklabels()[-1].get_text() == comparison.names[int(np.argmin(final))]


@pytest.mark.parametrize("make", [AROW, NHERD])
@pytest.mark.parametrize("covariance", ["full", "diag"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_confidence_is_one_over_the_deviation(make, covariance, n_classes):
    X, y = noisy_stream(n_classes=n_classes)
    model = make(covariance=covariance).fit(X, y)
    row = n_classes - 2
    ax = plot_feature_confidence(model, row=row, annotate=3)
    points = ax.collections[0].get_offsets()
    sigma = model.covariance_
    if make is NHERD and n_classes == 3:
        sigma = sigma[row]
    variances = np.diag(sigma) if covariance == "full" else sigma
    np.testing.assert_allclose(points[:, 0], 1 / np.sqrt(variances[:7]))
    np.testing.assert_allclose(points[:, 1], model.coef_[row])
    assert len(ax.texts) == 3
