"""The picture of a reduced mixture shows every component, and the outlines of those kept."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from octavo import plot
from octavo.bayes import GMMReduction


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_components_are_shaded_and_those_kept_outlined(kind):
    X = np.random.default_rng(2).normal(size=(60, 3)) * [1.0, 3.0, 1.0]
    mixture = GaussianMixture(5, covariance_type=kind, random_state=0).fit(X)
    reduced = GMMReduction(2, random_state=0).fit(mixture)
    patches = plot.plot_gmm_reduction(mixture, reduced).patches
    assert [patch.get_fill() for patch in patches] == [True] * 5 + [False] * 2
    np.testing.assert_allclose([p.center for p in patches[:5]], mixture.means_[:, :2])
    np.testing.assert_allclose([p.center for p in patches[5:]], reduced.means_[:, :2])
    covars = reduced.covariances_
    for j, patch in enumerate(patches[5:]):
        matrix = covars[j][:2, :2] if covars.ndim == 3 else np.eye(2) * np.resize(covars[j], 2)
        axes = 4 * np.sqrt(np.linalg.eigvalsh(matrix))  # two standard deviations each way
        np.testing.assert_allclose(sorted([patch.width, patch.height]), axes)


def test_one_feature_cannot_be_drawn():
    flat = ([1.0], [[0.0]], [[1.0]])
    with pytest.raises(ValueError, match="two features at least is needed, got 1"):
        plot.plot_gmm_reduction(flat, GMMReduction(1).fit(flat))
