"""Names that come from data are drawn letter by letter, whatever they look like."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo import plot
from octavo.ranking import OnlineRanker

NAMES = [r"$\frac{1}$", "a$b$c", "$^$"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def drawn(ax):
    """Draw, which raised for half a formula; return all texts as they are drawn."""
    ax.figure.canvas.draw()
    found = ax.figure.findobj(plt.Text)
    return {text._preprocess_math(text.get_text())[0] for text in found}


@pytest.fixture(scope="module")
def ranker():
    ranker = OnlineRanker()
    for i, j in [(0, 1), (1, 2), (0, 2)] * 3:
        ranker.update([[NAMES[i]], [NAMES[j]]], [1, 2])
    return ranker


@pytest.mark.parametrize("name", ["plot_leaderboard", "plot_head_to_head"])
def test_players(ranker, name):
    assert drawn(getattr(plot, name)(ranker)) >= set(NAMES)


def test_nodes_of_a_network():
    from octavo.graphical import BayesianNetworkStructureLearner

    rows = np.random.default_rng(0).integers(0, 2, (60, 3))
    pd = pytest.importorskip("pandas")
    learner = BayesianNetworkStructureLearner().fit(pd.DataFrame(rows, columns=NAMES))
    assert drawn(plot.plot_bayesian_network(learner)) >= set(NAMES)


def test_differences_of_networks():
    precisions = np.array([np.eye(3), np.ones((3, 3)) + 3 * np.eye(3)])
    ax = plot.plot_network_difference(precisions, nodes=[0, 1, 2], names=NAMES)
    assert drawn(ax) >= set(NAMES)
