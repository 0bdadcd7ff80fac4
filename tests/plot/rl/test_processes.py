"""What the pictures of value functions show is what they are given."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.rl import garnet_evaluators, garnet_study, lasso_td_path

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_value_map_shows_values_row_by_row_and_marks():
    ax = plot.plot_value_map(np.arange(6.0), (2, 3), marks={"*": [4]})
    np.testing.assert_array_equal(ax.images[0].get_array(), [[0, 1, 2], [3, 4, 5]])
    (mark,) = ax.texts
    assert (mark.get_text(), mark.get_position()) == ("*", (1, 1))


def test_spectral_radius_draws_medians_and_the_line_at_one():
    table = np.array([[0.2, 0.4], [0.6, 0.8], [0.5, 1.3]])
    ax = plot.plot_spectral_radius([0.0, 1.0], {"many": table, "one": [0.1, 0.2]})
    many, one, line = ax.get_lines()
    np.testing.assert_allclose(many.get_ydata(), [0.5, 0.8])
    np.testing.assert_allclose(one.get_ydata(), [0.1, 0.2])
    assert set(line.get_ydata()) == {1.0}
    assert len(ax.collections) == 1


def test_error_by_lambda_takes_the_best_other_settings():
    grid = {"lam": [0.0, 0.5], "learning_rate": [0.001, 0.1]}
    methods = {"TD": (garnet_evaluators()["TD"][0], grid)}
    study = garnet_study(methods=methods, n_tune=2, n_test=0, tune_steps=300)
    ax = plot.plot_error_by_lambda(study.tuning, statistic="mean")
    (line,) = ax.get_lines()
    best = [
        min(s.mean for s in study.tuning["TD"] if s.settings["lam"] == lam) for lam in (0.0, 0.5)
    ]
    np.testing.assert_allclose(line.get_ydata(), best)
    assert ax.get_yscale() == "log"


def test_lasso_path_draws_every_coefficient():
    path = lasso_td_path(np.diag([2.0, 1.0]), np.array([4.0, 1.0]))
    ax = plot.plot_lasso_td_path(path, names=["a", "b"])
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), path.coefs[:, 0])
    assert ax.xaxis_inverted()


def test_state_features_draws_a_curve_each():
    ax = plot.plot_state_features([1, 2, 3], np.eye(3))
    drawn = np.array([line.get_xydata() for line in ax.get_lines()])
    np.testing.assert_array_equal(drawn[:, :, 1], np.eye(3))
    np.testing.assert_array_equal(drawn[:, :, 0], [[1, 2, 3]] * 3)
