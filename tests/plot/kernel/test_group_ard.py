"""Pictures of group relevance show the numbers that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.kernel import (
    GroupARDRegression,
    ImpulseResponseSelector,
    group_sparse_study,
    group_variance_path,
    make_group_sparse,
)
from octavo.plot import (
    plot_group_relevance,
    plot_impulse_responses,
    plot_relative_errors,
    plot_variance_path,
    plot_zero_tradeoff,
)

X, Y, THETA, GROUPS, _ = make_group_sparse(random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("what", ["lambdas", "norms"])
def test_paths_have_a_line_per_group(what):
    path = group_variance_path(X, Y, GROUPS, gammas=np.logspace(-5, 1, 7))
    ax = plot_variance_path(path, true_groups=[1, 3, 6], what=what)
    assert len(ax.lines) == 10
    assert_allclose(ax.lines[3].get_ydata(), getattr(path, what)[:, 3])
    assert len(ax.get_legend().get_texts()) == 3
    assert len(plot_variance_path(path).get_legend().get_texts()) == 10


def test_bars_are_deviations_and_crosses_are_out():
    model = GroupARDRegression(GROUPS).fit(X, Y)
    ax = plot_group_relevance(model)
    heights = [bar.get_height() for bar in ax.patches]
    assert_allclose(heights, np.sqrt(model.lambda_[model.active_groups_]))
    assert len(ax.lines[0].get_xdata()) == 10 - len(model.active_groups_)


def test_boxes_are_those_of_the_errors():
    study = group_sparse_study(5, random_state=0)
    ax = plot_relative_errors(study)
    medians = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1]
    for value in np.median(study.errors, axis=0):
        assert np.isclose(medians, value).any()


def test_tradeoff_has_a_line_per_method():
    ax = plot_zero_tradeoff({"a": ([1, 2], [0.1, 0.5]), "b": ([1, 2], [0.2, 0.3])})
    assert [line.get_label() for line in ax.lines] == ["a", "b"]


def test_responses_of_inputs_that_act():
    rng = np.random.default_rng(0)
    U = rng.normal(size=(200, 3))
    y = np.convolve(U[:, 1], [1.0, 0.5])[:200] + 0.1 * rng.normal(size=200)
    model = ImpulseResponseSelector(3, delay=0, gamma=1e6).fit(U, y)
    ax = plot_impulse_responses(model, names=["a", "b", "c"])
    assert ax.lines[0].get_label() == "b"
    assert_allclose(ax.lines[0].get_ydata(), model.impulse_responses_[1])
