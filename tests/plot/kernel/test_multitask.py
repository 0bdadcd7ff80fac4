"""What the pictures of switches show."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.data import make_ising, make_shared_sparse_tasks
from octavo.kernel import MEDAdaptivePoolingSVC, med_penalty

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_the_path_has_a_line_a_switch_and_the_floor():
    alphas, switches = np.array([0.0, 1.0, 10.0]), np.array([[1.0, 1.0], [0.9, 0.6], [0.8, 0.2]])
    ax = plot.plot_switch_path(alphas, switches, truth=[0])
    assert len(ax.lines) == 3
    np.testing.assert_allclose(ax.lines[1].get_ydata(), switches[1:, 0])  # the true one on top
    np.testing.assert_allclose(ax.lines[2].get_ydata(), [0.5, 1 / 11])


def test_tasks_have_bars():
    tasks = make_shared_sparse_tasks(3, 20, 5, random_state=0)
    model = MEDAdaptivePoolingSVC(alpha=5.0).fit(tasks.X, tasks.y, tasks.task)
    ax = plot.plot_task_switches(model)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], model.switches_)


def test_penalties_are_one_at_one():
    w = np.linspace(-1, 1, 5)
    ax = plot.plot_switch_penalty(w, {str(a): med_penalty(w, a) for a in (1.0, 100.0)})
    for line in ax.lines:
        assert line.get_ydata()[-1] == pytest.approx(1.0)
    expected = med_penalty(0.5, 100.0) / med_penalty(1.0, 100.0)
    assert ax.lines[1].get_ydata()[3] == pytest.approx(float(expected))


def test_edges_are_ringed():
    sample = make_ising(random_state=0)
    ax = plot.plot_edge_scores(sample.couplings**2, truth=sample.adjacency)
    assert len(ax.lines[0].get_xdata()) == sample.adjacency.sum()
