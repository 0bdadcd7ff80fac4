"""Pictures of recordings show the numbers that they were given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_group_survival,
    plot_maxmin_curve,
    plot_mismatch_matrix,
    plot_mismatch_spectrum,
    plot_prototypes,
)
from octavo.survival import MaxMinSymbolizer, SpectrumTransform, risk_report

RNG = np.random.default_rng(0)
BEATS = [np.sin(np.arange(12) / (1 + i % 3)) + 0.01 * RNG.normal(size=12) for i in range(30)]
X = RNG.normal(size=15)
PSI = np.abs(X - X[:, None]) + 0.1


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_prototypes_are_drawn_by_frequency():
    model = MaxMinSymbolizer(threshold=0.2).fit(BEATS)
    ax = plot_prototypes(model)
    first = np.argmax(model.frequencies_)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.prototypes_[first])
    assert ax.get_xticklabels()[0].get_text() == f"{model.frequencies_[first]:.1%}"
    assert len(plot_prototypes(model.symbols_, n_symbols=2).lines) == 2


def test_the_curve_and_its_end():
    model = MaxMinSymbolizer().fit(BEATS)
    ax = plot_maxmin_curve(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.maxmin_curve_)
    assert ax.lines[1].get_ydata()[0] == model.threshold_
    assert ax.lines[1].get_xdata()[0] == len(model.prototypes_)


def test_the_map_holds_all_pairs():
    ax = plot_mismatch_matrix(PSI, marked=X > 1)
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(np.sort(shown.ravel()), np.sort(PSI.ravel()))
    assert len(ax.lines[0].get_ydata()) == (X > 1).sum()


def test_the_spectrum_before_and_after():
    model = SpectrumTransform(on="paper").fit(PSI)
    ax = plot_mismatch_spectrum(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.eigenvalues_)
    np.testing.assert_allclose(
        ax.lines[1].get_ydata(), np.maximum(model.eigenvalues_, 0), atol=1e-12
    )


def test_curves_of_both_groups():
    high = np.arange(60) % 3 == 0
    time = RNG.exponential(np.where(high, 1.0, 2.0))
    report = risk_report(high, time, np.ones(60))
    ax = plot_group_survival(report, durations=time, high_risk=high)
    grid = ax.lines[0].get_xdata()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 1 - report.high_curve(grid))
    assert ax.get_xticklabels()[0].get_text().split("\n")[1:] == ["20", "40"]
    assert f"{report.hazard_ratio:.2f}" in ax.get_title()
