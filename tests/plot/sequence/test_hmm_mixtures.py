"""The pictures of HMM clusters show what the models hold."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Ellipse, FancyArrowPatch

from octavo import plot
from octavo.sequence import (
    HierarchicalHMMClustering,
    HMMClustering,
    HMMParams,
    hmm_distance_matrix,
)
from tests.sequence.models import random_hmm


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def hmms():
    means = (0.0, 0.2, 4.0, 4.2, 20.0, 20.2)
    return [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in means]


def test_responsibilities_are_sorted_by_class(hmms):
    model = HMMClustering(3, n_init=2, random_state=0).fit(hmms)
    image = plot.plot_responsibilities(model, ["c", "c", "a", "a", "b", "b"]).images[0]
    np.testing.assert_allclose(image.get_array(), np.repeat(np.eye(3), 2, axis=0), atol=1e-6)


def test_the_tree_has_a_bar_for_each_class_in_each_cluster(hmms):
    tree = HierarchicalHMMClustering((3, 2), n_init=2, random_state=0).fit(hmms)
    ax = plot.plot_hmm_tree(tree, list("aabbcc"))
    bars = [patch for patch in ax.patches if patch.get_width() > 0]
    assert len(bars) == 6 + 3 + 3  # HMMs; pure clusters; one of two classes and one of one
    areas = sum(bar.get_height() for bar in bars)
    np.testing.assert_allclose(areas, 0.7 * (6 + 3 + 2))


def test_an_hmm_shows_states_and_transitions():
    hmm = random_hmm(np.random.default_rng(0), 3, 2, 3, "full")
    hmm.transmat = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    ax = plot.plot_hmm(hmm, features=(0, 2))
    centres = sorted(patch.center for patch in ax.patches if isinstance(patch, Ellipse))
    means = hmm.means[:, :, [0, 2]].reshape(-1, 2).tolist()  # a component of each state
    np.testing.assert_allclose(centres, sorted(means))
    assert sum(isinstance(patch, FancyArrowPatch) for patch in ax.patches) == 3
    line = random_hmm(np.random.default_rng(1), 2, 1, 1, "spherical")
    assert len(plot.plot_hmm(line).lines) == 2


def test_the_map_keeps_distances_of_points_on_a_line(hmms):
    ax = plot.plot_hmm_map(hmm_distance_matrix(hmms), [0, 0, 1, 1, 2, 2])
    points = np.concatenate([c.get_offsets() for c in ax.collections])
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    means = np.array([0.0, 0.2, 4.0, 4.2, 20.0, 20.2])
    # The divergence of two unit Gaussians over ten positions is 5 times the squared distance.
    np.testing.assert_allclose(gaps, np.sqrt(5) * np.abs(means[:, None] - means), atol=1e-6)


def test_the_history_is_the_bound_of_each_iteration(hmms):
    model = HMMClustering(2, n_init=1, random_state=0).fit(hmms)
    line = plot.plot_bound_history(model).lines[0]
    np.testing.assert_array_equal(line.get_ydata(), model.lower_bounds_)
