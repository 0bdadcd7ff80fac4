"""Pictures show what the fitted objects hold."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons

from octavo.plot import (
    plot_dual_ascent,
    plot_offset_boundaries,
    plot_strategies,
    plot_svm_grid,
    plot_warm_starts,
)
from octavo.svm import NoOffsetSVC, NoOffsetSVCCV


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.3, random_state=0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def search(moons):
    return NoOffsetSVCCV(n_alphas=3, n_gammas=4, cv=2, random_state=0).fit(*moons)


def test_ascent_shows_the_trace(moons):
    machine = NoOffsetSVC(trace=True, random_state=0).fit(*moons)
    ax = plot_dual_ascent(machine)
    gap = ax.lines[0].get_ydata()
    assert np.array_equal(gap, machine.trace_[0][:, 1])
    assert ax.get_yscale() == "log"
    assert (ax.lines[1].get_ydata() > 0).all()


def test_strategies_show_totals_a_cell(search):
    axes = plot_strategies({"7": search, "again": search})
    widths = [bar.get_width() for bar in axes[0].patches]
    assert widths == [search.n_iter_grid_.sum() / 12] * 2
    assert axes[1].patches[0].get_width() == pytest.approx(search.time_grid_.sum() / 12)


def test_grid_shows_error_and_best(search):
    axes = plot_svm_grid(search)
    shown = axes[0].collections[0].get_array()
    assert np.allclose(np.asarray(shown).reshape(3, 4), 100 * search.cv_error_)
    (best,) = axes[0].lines
    assert best.get_xdata()[0] == search.best_gamma_
    assert best.get_ydata()[0] == search.best_alpha_


def test_warm_starts_show_sums_along_lambda(search):
    given = plt.subplots(1, 2)[1]
    axes = plot_warm_starts({"I1-W4": search}, axes=given)
    assert axes is given
    assert np.array_equal(axes[0].lines[0].get_xdata(), search.alphas_)
    expected = np.maximum(search.n_iter_grid_.sum(axis=1), 1)
    assert np.array_equal(axes[0].lines[0].get_ydata(), expected)
    assert axes[0].xaxis_inverted()


def test_boundaries_pass_between_the_classes(moons):
    X, y = moons
    machine = NoOffsetSVC(gamma=2.0).fit(X, y)
    ax = plot_offset_boundaries({"ours": machine}, X, y, ax=plt.subplots()[1])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["class 0", "class 1", "ours"]
    contour = ax.collections[-1].get_paths()[0].vertices
    assert np.abs(machine.decision_function(contour)).max() < 0.05
