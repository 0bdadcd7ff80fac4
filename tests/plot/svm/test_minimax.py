"""Pictures of minimax probability machines show the guarantees of the machines they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.plot import (
    plot_accuracy_by,
    plot_guarantee_by_uncertainty,
    plot_guarantee_curve,
    plot_moment_ellipsoids,
)
from octavo.svm import BiasedMPM, HighProbabilityMPM, MinimaxProbabilityMachine


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(60, 2)), rng.normal(size=(20, 2)) * [0.5, 1.5] + [4.0, 1.0]]
    return X, np.repeat(["a", "b"], [60, 20])


@pytest.mark.parametrize(
    "machine",
    [MinimaxProbabilityMachine(), HighProbabilityMPM(), BiasedMPM(0.5)],
    ids=["plain", "robust", "biased"],
)
def test_ellipsoids_touch_the_line_and_do_not_cross_it(machine, rows):
    X, y = rows
    model = machine.fit(X, y)
    ax = plot_moment_ellipsoids(model, X, y)
    w = model.coef_.ravel()
    for ellipse, side in zip(ax.patches, (-1, 1)):
        turn = np.deg2rad(np.linspace(0, 360, 100_001))
        points = np.c_[np.cos(turn) * ellipse.width / 2, np.sin(turn) * ellipse.height / 2]
        angle = np.deg2rad(ellipse.angle)
        rotate = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        reached = (points @ rotate + ellipse.center) @ w + model.intercept_[0]
        # The extreme of 100,000 points of the outline is within 1e-8 of the true extreme.
        assert_allclose((side * reached).min(), 0.0, atol=1e-6 * np.abs(reached).max())
    (line,) = [child for child in ax.lines if isinstance(child, matplotlib.lines.AxLine)]
    for point in (line.get_xy1(), line.get_xy2()):
        assert_allclose(model.decision_function([point]), 0.0, atol=1e-9)


def test_ellipsoids_need_two_features(rows):
    X, y = rows
    with pytest.raises(ValueError, match="2 features"):
        plot_moment_ellipsoids(
            MinimaxProbabilityMachine().fit(np.c_[X, X**2], y), np.c_[X, X**2], y
        )


def test_guarantees_fall_to_nothing(rows):
    ax = plot_guarantee_by_uncertainty(HighProbabilityMPM(), *rows, n_points=8)
    kappa, error, edge = (line.get_ydata() for line in ax.lines[:3])
    assert np.all(np.diff(kappa) < 0)
    assert_allclose(error, 1 / (1 + np.asarray(kappa) ** 2))
    assert error[-1] > 0.99
    assert len(edge) == 2


def test_bands_are_two_standard_errors():
    scores = np.array([[0.7, 0.9, 0.8], [0.8, 0.8, 0.8]])
    ax = plot_accuracy_by([0.1, 0.2], {"machine": scores}, xlabel="rate")
    assert_allclose(ax.lines[0].get_ydata(), [0.8, 0.8])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose(band.max() - 0.8, 2 * 0.1 / np.sqrt(3))
    assert ax.get_xlabel() == "rate"


def test_curve_holds_every_machine(rows):
    X, y = rows
    frontier = [BiasedMPM(a).fit(X, y) for a in (0.7, 0.1, 0.4)]
    marked = {"minimax": MinimaxProbabilityMachine().fit(X, y)}
    ax = plot_guarantee_curve(frontier, marked)
    assert_allclose(ax.lines[0].get_xdata(), [0.1, 0.4, 0.7])
    assert np.all(np.diff(ax.lines[0].get_ydata()) < 0)
    assert_allclose(ax.lines[1].get_xydata()[0], marked["minimax"].worst_case_accuracy_)
    assert ax.get_xlabel().endswith("a")
