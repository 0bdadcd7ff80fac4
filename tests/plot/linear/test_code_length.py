"""What the pictures of description lengths show."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.data import make_shared_features
from octavo.linear import MICSelector, codelength

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def fitted():
    sample = make_shared_features(n_features=100, n_tasks=6, random_state=0)
    return MICSelector().fit(sample.X, sample.Y), sample


def test_the_path_is_split_into_data_and_model(fitted):
    model, _ = fitted
    ax = plot.plot_description_length(model)
    path = model.description_length_path_
    np.testing.assert_allclose(ax.lines[0].get_ydata(), path[:, 2] - path[0, 2])
    heights = [bar.get_height() for bar in ax.containers[0]]
    np.testing.assert_allclose(heights, path[:, 1])
    assert ax.get_title().endswith(f"step {len(model.order_)}")


def test_the_map_colours_right_missing_and_wrong(fitted):
    model, sample = fitted
    ax = plot.plot_support_map(model.support_, truth=sample.coef.T != 0)
    right = int((model.support_ & (sample.coef.T != 0)).sum())
    assert ax.get_title().startswith(f"{right} right")
    rows = ax.images[0].get_array().shape[0]
    assert rows == (model.support_ | (sample.coef.T != 0)).any(axis=1).sum()
    alone = plot.plot_support_map(model.support_, names=[f"g{j}" for j in range(100)])
    assert {t.get_text() for t in alone.get_yticklabels()} == {
        f"g{j}" for j in model.get_support(indices=True)
    }


def test_costs_are_drawn_from_one_task_on():
    ax = plot.plot_code_costs({"partial": codelength(np.arange(1, 21), 20, 2000)})
    assert ax.lines[0].get_xdata().tolist() == list(range(1, 21))


def test_scores_are_bars():
    ax = plot.plot_selection_scores({"a": (0.5, 1.0), "b": (0.25, 0.75)})
    heights = [bar.get_height() for group in ax.containers for bar in group]
    assert heights == [0.5, 0.25, 1.0, 0.75]
