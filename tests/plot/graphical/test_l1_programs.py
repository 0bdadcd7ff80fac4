"""What the pictures of paths and graphs show is what the objects hold."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.graphical import DantzigSelector, clime_path, make_sparse_precision, parametric_simplex

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


def test_edge_count_counts(sample):
    path = clime_path(sample.X, 0.1, None)
    ax = plot.plot_edge_count(path, n_edges=9, n_points=5)
    line = ax.get_lines()[0]
    for alpha, count in zip(*line.get_data()):
        assert path.n_edges(alpha) == count


def test_graph_tells_found_from_missed_and_made_up():
    truth = np.zeros((4, 4), dtype=bool)
    truth[0, 1] = truth[1, 0] = truth[1, 2] = truth[2, 1] = True
    found = np.zeros((4, 4), dtype=bool)
    found[0, 1] = found[1, 0] = found[0, 3] = found[3, 0] = found[2, 3] = found[3, 2] = True
    ax = plot.plot_graph(found, truth=truth)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["found (1)", "missed (1)", "not in the graph (2)"]
    assert len(plot.plot_graph(found).get_lines()) == 3


def test_roc_shows_the_two_rates():
    truth = np.zeros((3, 3))
    truth[0, 1] = truth[1, 0] = 1.0
    full = np.ones((3, 3))
    ax = plot.plot_graph_roc({"a": [np.eye(3), truth, full]}, truth)
    np.testing.assert_allclose(ax.get_lines()[0].get_data(), [[0, 0, 1], [0, 1, 1]])


def test_times_are_drawn_on_two_logarithmic_axes():
    ax = plot.plot_time_by_size({"a": ([10, 20], [1.0, 4.0])})
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [1.0, 4.0])


def test_lp_path_is_drawn_with_its_jumps():
    """max (2 - λ) x1 + (1 - λ/4) x2 on a simplex: x is constant, then jumps at λ = 4/3."""
    from octavo.graphical import parametric_simplex
    from octavo.plot import plot_lp_path

    path = parametric_simplex([[1.0, 1.0]], [1.0], [2.0, 1.0], [0.0], [-1.0, -0.25])
    ax = plot_lp_path(path)
    line = next(line for line in ax.lines if line.get_label() == "x1")
    alpha, x = line.get_xdata(), line.get_ydata()
    np.testing.assert_allclose(x[alpha < 4 / 3], 1.0)
    np.testing.assert_allclose(x[alpha > 4 / 3], 0.0)
