"""What the pictures of cumulative networks show is what the networks say."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.graphical import CDN, CDNTeamRanker, LogisticCDF

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def chain():
    return CDN([((0, 1), LogisticCDF([1.0, 2.0])), ((1, 2), LogisticCDF([1.0, 1.0]))])


def test_graph_has_a_line_for_each_membership(chain):
    ax = plot.plot_cdn_graph(chain, names=["a", "b", "c"])
    diamonds = [line for line in ax.get_lines() if line.get_marker() == "D"]
    assert (len(diamonds), len(ax.get_lines())) == (2, 6)
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]


def test_conditional_curves_are_those_of_the_network(chain):
    at = np.linspace(-3, 3, 7)
    ax = plot.plot_conditional_cdf(chain, 0, {1: 0.5}, at)
    curves = [line.get_ydata() for line in ax.get_lines()]
    assert curves[1] == pytest.approx(chain.conditional_cdf({0: at}, {1: 0.5}))
    assert curves[2] == pytest.approx(chain.conditional_cdf({0: at}, {1: 0.5}, event="le"))


def test_joint_tail_of_the_model_is_near_that_of_its_draws(chain):
    pair = chain.marginal([0, 1])
    X = pair.sample(4000, random_state=0)
    ax = plot.plot_joint_tail({"true": pair}, X, levels=[0.5, 0.7, 0.9])
    data, model = (line.get_ydata() for line in ax.get_lines())
    assert data == pytest.approx(model, abs=0.06)


def test_density_and_skills_are_drawn(chain):
    assert plot.plot_cdn_density(chain.marginal([0, 1]), (-3, 3), (-3, 3), n_grid=20).collections
    ranker = CDNTeamRanker(n_grid=21).partial_fit([([["a"], ["b"]], [[20.0], [30.0]])])
    line = plot.plot_skill_functions(ranker, ["a", "b"], before=ranker).get_lines()[0]
    area = np.trapezoid(line.get_ydata(), line.get_xdata())
    assert area == pytest.approx(1.0, abs=0.01)
