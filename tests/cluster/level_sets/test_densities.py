"""Densities against scikit-learn and brute force, exact, on a grid and from a part of the rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KernelDensity

from octavo.cluster.level_sets import densities
from octavo.cluster.level_sets.counting import (
    concentration,
    count_by_concentration,
    count_by_eigengap,
    count_near_one,
)
from octavo.cluster.level_sets.densities import (
    KernelDensities,
    NeighbourDensities,
    resolve_bandwidth,
)


def sample(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n // 2, d)), rng.normal(3, 0.3, size=(n - n // 2, d))])


def sklearn_density(X, points, bandwidth):
    return np.exp(KernelDensity(bandwidth=bandwidth, rtol=1e-10).fit(X).score_samples(points))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_all_pairs_equal_scikit_learn(d):
    X = sample(300, d)
    b = resolve_bandwidth(X, "scott")
    found = KernelDensities(X, b, np.random.RandomState(0))
    np.testing.assert_allclose(found.rows(), sklearn_density(X, X, b), rtol=1e-8)
    np.testing.assert_allclose(found(X[:20]), found.rows()[:20], rtol=1e-12)
    new = sample(10, d, seed=1)
    expected = sklearn_density(X, new, b) + found.height / len(X)  # as if it were a row
    np.testing.assert_allclose(found(new), expected, rtol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_grid_is_good_to_a_hundredth(d):
    """Linear bins of a sixth of a bandwidth: the error is of the order of 6^-4, tails included."""
    X = sample(2500, d)
    b = resolve_bandwidth(X, "scott")
    found = KernelDensities(X, b, np.random.RandomState(0))
    assert found.grid is not None
    np.testing.assert_allclose(found.rows(), sklearn_density(X, X, b), rtol=1e-2)


def test_far_outliers_go_to_a_tree():
    X = np.vstack([sample(2500, 2), [[1e6, 1e6]]])
    found = KernelDensities(X, 0.1, np.random.RandomState(0))
    assert found.grid is None
    np.testing.assert_allclose(found.rows(), sklearn_density(X, X, 0.1), rtol=1e-3)


def test_a_part_of_the_rows_estimates_the_same_density(monkeypatch):
    """Mean over 40 draws within four standard errors of the density of all rows."""
    X = sample(1200, 4)
    b = 0.7
    exact = KernelDensities(X, b, np.random.RandomState(0)).rows()
    monkeypatch.setattr(densities, "DIRECT_ROWS", 1000)
    monkeypatch.setattr(densities, "CENTRES", 300)
    draws = np.array([KernelDensities(X, b, np.random.RandomState(s)).rows() for s in range(40)])
    error = draws.std(axis=0) / np.sqrt(40)
    assert np.mean(np.abs(draws.mean(axis=0) - exact) <= 4 * error + 1e-12) > 0.99
    one = KernelDensities(X, b, np.random.RandomState(0))
    np.testing.assert_allclose(one(X), one.rows(), rtol=1e-12)


def test_neighbour_densities_are_k_over_n_times_the_ball():
    X = sample(100, 2)
    found = NeighbourDensities(X)
    r = np.sort(cdist(X, X), axis=1)[:, 10]
    np.testing.assert_allclose(found.rows(), 10 / (100 * np.pi * r**2))
    np.testing.assert_allclose(found(X), found.rows())
    new = sample(7, 2, seed=3)
    r_new = np.sort(cdist(new, X), axis=1)[:, 9]
    np.testing.assert_allclose(found(new), 10 / (100 * np.pi * r_new**2))


def test_bandwidths_follow_the_scale_and_cross_validation_sees_two_scales():
    X = sample(800, 2)
    for rule in ("scott", "silverman", "cv"):
        assert resolve_bandwidth(10 * X, rule) == pytest.approx(10 * resolve_bandwidth(X, rule))
    assert resolve_bandwidth(X, "scott") == pytest.approx(
        800 ** (-1 / 6) * np.sqrt(X.var(axis=0).mean())
    )
    # two narrow groups far apart: the overall variance is no guide, leaving one out is
    assert resolve_bandwidth(X, "cv") < resolve_bandwidth(X, "scott")


def test_modes_of_one_long_cluster_are_not_counted():
    """A string: 1 - λ in the ratios 1 : 4 : 9. A gap of a hundred is one."""
    string = 1.0 - 1e-4 * np.arange(8) ** 2
    assert count_near_one(string, 1, 1e-2) == 1
    assert count_near_one(np.append(np.ones(2), string[1:]), 2, 1e-2) == 2
    assert count_near_one(np.array([1, 1 - 1e-5, 1 - 2e-5, 0.95, 0.9]), 1, 1e-2) == 3
    assert count_near_one(np.array([1, 1 - 2e-2, 0.5]), 1, 1e-2) == 1  # not near 1
    assert count_near_one(np.array([1, 1 - 1e-5, 0.5]), 1, 0.0) == 1
    assert count_by_eigengap(np.array([1, 0.99, 0.98, 0.5, 0.4]), 1) == 3


def test_concentration_is_one_on_axes_however_they_are_turned():
    rng = np.random.default_rng(0)
    axes = np.eye(3)[rng.integers(3, size=200)]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert concentration(axes @ turn) == pytest.approx(1.0, abs=1e-12)
    assert concentration(rng.normal(size=(200, 3))) < 0.9
    blurred = np.hstack([axes @ turn, 0.4 * rng.normal(size=(200, 2))])
    assert count_by_concentration(blurred, 1) == 3
