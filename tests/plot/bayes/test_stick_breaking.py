"""Pictures of segments show the fitted numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.bayes import HierarchicalLSBP, LogisticStickBreakingMixture
from octavo.plot import (
    plot_atom_usage,
    plot_gate_panels,
    plot_gate_weights,
    plot_membership_entropy,
    plot_segmentation,
    plot_set_similarity,
    plot_similar_sets,
    plot_stick_bounds,
    plot_truncation_bounds,
)

T = np.arange(36.0)
GRID = np.indices((6, 6)).reshape(2, -1).T.astype(float)
X = 5.0 * (T[:, None] >= 18) + np.random.RandomState(0).normal(size=(36, 1))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def line():
    return LogisticStickBreakingMixture([2, 3], n_centers=8, random_state=0).fit(X, T)


@pytest.fixture(scope="module")
def square():
    return LogisticStickBreakingMixture(3, n_centers=8, random_state=0).fit(X, GRID)


@pytest.fixture(scope="module")
def shared():
    return HierarchicalLSBP(4, 2, n_centers=6, n_init=1, random_state=0).fit([X, X[::-1]], [T, T])


def test_lines(line):
    ax = plot_segmentation(line, T)
    assert len(ax.lines) == line.active_components_.size
    k = line.active_components_[0]
    assert_allclose(ax.lines[0].get_ydata(), line.gate_proba(T)[:, k])
    assert_allclose(plot_gate_weights(line, T).lines[0].get_ydata(), line.gate_proba(T)[:, 0])
    panels = plot_gate_panels(line, T)
    assert_allclose(panels[0].lines[0].get_ydata(), line.gate_coef_[0, 1:])
    assert_allclose(panels[2].lines[0].get_ydata(), line.gate_proba(T)[:, 0], rtol=1e-6)
    assert_allclose(plot_stick_bounds(line).lines[0].get_ydata(), line.lower_bounds_)
    assert plot_truncation_bounds(line).lines[0].get_xdata().tolist() == [2, 3]


def test_images_and_maps(square):
    ax = plot_segmentation(square, GRID)
    assert_allclose(ax.images[0].get_array().ravel(), square.labels_)
    doubt = plot_membership_entropy(square, GRID).images[0].get_array()
    assert doubt.min() >= 0
    assert len(plot_segmentation(square, GRID + 0.3).collections) == 1
    assert len(plot_gate_weights(square, GRID + 0.3).collections) == 1
    with pytest.raises(ValueError, match="along a line"):
        plot_gate_panels(square, GRID)
    with pytest.raises(ValueError, match="36 places"):
        plot_segmentation(square, GRID[:3])


def test_several_sets(shared):
    assert_allclose(plot_set_similarity(shared).images[0].get_array(), shared.similarity())
    assert len(plot_atom_usage(shared, names=["a", "b"]).get_yticklabels()) == 2
    axes = plot_similar_sets(shared, [np.zeros((3, 3))] * 2, 0)
    assert len(axes) == 2
