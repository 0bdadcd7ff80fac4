"""Pictures of inverse methods hold what they are given."""

import matplotlib

matplotlib.use("Agg")

import numpy as np

from octavo.plot import plot_controller, plot_inverse_values, plot_reward_bars
from octavo.rl import FSCPolicy, make_maze1d

MAZE = make_maze1d()
EXPERT = FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)


def test_controller_names_actions_and_sights():
    texts = [t.get_text() for t in plot_controller(EXPERT, MAZE).texts]
    assert (texts.count("right"), texts.count("left")) == (2, 1)
    assert "goal" in texts


def test_bars_have_the_heights_of_the_rewards():
    axes = plot_reward_bars({"true": MAZE.rewards(), "other": -MAZE.rewards()})
    heights = [bar.get_height() for bar in axes[0].patches]
    np.testing.assert_allclose(heights, [0, 0, 1, 0, 0, 0, -1, 0])


def test_curves_are_means():
    ax = plot_inverse_values({"a": [[1, 3], [3, 5]]}, 4.0, at=[10, 20])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2, 4])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [10, 20])
