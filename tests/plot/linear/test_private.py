"""What the pictures of privacy show."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.linear import PrivacyLedger, PrivateLogisticRegression
from octavo.plot import (
    plot_decision_regions,
    plot_error_by_epsilon,
    plot_error_by_penalty,
    plot_error_by_size,
    plot_privacy_budget,
    plot_privacy_loss,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("draw", "label"),
    [
        (plot_error_by_epsilon, "ε"),
        (plot_error_by_penalty, "penalty Λ"),
        (plot_error_by_size, "number of records"),
    ],
)
def test_curves_are_means_with_bands_of_one_deviation(draw, label):
    x = [1.0, 10.0, 100.0]
    draws = np.array([[0.4, 0.6], [0.3, 0.3], [0.1, 0.2]])
    _, given = plt.subplots()
    ax = draw(x, {"several": draws, "one": [0.5, 0.4, 0.3]}, lines={"constant": 0.25}, ax=given)
    assert ax is given
    several, one, constant = ax.get_lines()
    np.testing.assert_allclose(several.get_ydata(), draws.mean(axis=1))
    np.testing.assert_allclose(one.get_ydata(), [0.5, 0.4, 0.3])
    assert set(constant.get_ydata()) == {0.25}
    (band,) = ax.collections  # a single draw has none
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(0.1)
    assert heights.max() == pytest.approx(0.6)
    assert ax.get_xlabel() == label


def test_published_errors_are_crosses_in_the_colour_of_their_method():
    ax = plot_error_by_penalty(
        [0.1, 1.0], {"a": [0.3, 0.2], "b": [0.4, 0.1]}, published={"b": [0.35, 0.15]}
    )
    cross = ax.get_lines()[-1]
    assert cross.get_marker() == "x"
    assert cross.get_color() == ax.get_lines()[1].get_color()
    np.testing.assert_allclose(cross.get_ydata(), [0.35, 0.15])


def test_privacy_loss_lies_over_the_promised_band():
    ax = plot_privacy_loss([0.0, 1.0], {"audit": [-0.2, 0.4]}, 0.5)
    band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((-0.5, 0.5))
    np.testing.assert_allclose(ax.get_lines()[-1].get_ydata(), [-0.2, 0.4])


def test_budget_bars_are_the_releases():
    ledger = PrivacyLedger(1.0)
    ledger.spend(0.3, "first")
    ledger.spend(0.2)
    ledger.part("a").spend(0.4)
    ax = plot_privacy_budget(ledger)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.3, 0.2, 0.4])
    assert [bar.get_x() for bar in ax.patches] == pytest.approx([0.0, 0.3, 0.0])
    assert [line.get_xdata()[0] for line in ax.get_lines()] == pytest.approx([1.0, 0.9])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["all records", "a"]


def test_regions_change_where_the_score_does():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (400, 2))
    y = (X[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(np.inf).fit(X, y)
    ax = plot_decision_regions(model, X, y, n_grid=40)
    boundary = ax.collections[1].get_paths()[0].vertices
    np.testing.assert_allclose(model.decision_function(boundary), 0, atol=1e-6)
