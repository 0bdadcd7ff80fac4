"""What the pictures of paths show is what the paths hold."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.graphical import clime_path, make_sparse_precision
from octavo.linear import DantzigSelector, parametric_simplex

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def sample():
    return make_sparse_precision(12, 80, random_state=0)


def test_l1_path_draws_each_coefficient(sample):
    path = clime_path(sample.X, 0.1, None).columns[3]
    ax = plot.plot_l1_path(path)
    drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_allclose(drawn["3"], path.coefs.toarray()[:, 3])
    assert ax.xaxis_inverted()


def test_l1_path_says_where_nothing_smaller_is_feasible():
    X = make_sparse_precision(12, 8, random_state=0).X
    path = clime_path(X, 0.0, None).columns[0]
    assert f"{path.alpha_end:.3g}" in plot.plot_l1_path(path, log=True).get_title()


def test_paths_that_never_leave_zero_are_drawn():
    X = np.random.default_rng(0).standard_normal((20, 4))
    model = DantzigSelector(alpha=100.0).fit(X, X[:, 0])
    assert plot.plot_l1_path(model.path_, names=list("abcd")).get_ylabel() == "coefficient"


def test_lp_path_draws_the_solution():
    path = parametric_simplex([[-1.0], [1.0]], [-3.0, 1.0], [-1.0], b_star=[1, 0])
    ax = plot.plot_lp_path(path, names=["only"])
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [0.0, 1.0], atol=1e-8)
    assert ax.get_title() == "infeasible below λ = 2"


def test_lp_path_is_drawn_with_its_jumps():
    """max (2 - λ) x1 + (1 - λ/4) x2 on a simplex: x is constant, then jumps at λ = 4/3."""
    path = parametric_simplex([[1.0, 1.0]], [1.0], [2.0, 1.0], [0.0], [-1.0, -0.25])
    ax = plot.plot_lp_path(path)
    line = next(line for line in ax.lines if line.get_label() == "x1")
    alpha, x = line.get_xdata(), line.get_ydata()
    np.testing.assert_allclose(x[alpha < 4 / 3], 1.0)
    np.testing.assert_allclose(x[alpha > 4 / 3], 0.0)
