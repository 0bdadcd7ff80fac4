"""Generators have the shapes and variances that their papers give."""

import numpy as np
import pytest
from scipy.stats import norm

from octavo.data import make_g241, make_hidden_clusters


def test_clusters_differ_in_the_thin_direction_alone():
    X, cluster = make_hidden_clusters(2000, random_state=0)
    means = np.array([X[cluster == k].mean(axis=0) for k in range(3)])
    assert np.allclose(means[:, 2], [1.0, 0.0, -1.0], atol=0.02)
    assert np.allclose(means[:, :2], 0.0, atol=0.3)
    within = np.mean([X[cluster == k].var(axis=0).sum() for k in range(3)])
    assert within > 10 * means.var(axis=0).sum()


def test_g241c_has_its_bayes_error():
    # Two unit Gaussians 2.5 apart: the midpoint of the true centres errs in Φ(−1.25) = 10.6 %.
    X, y = make_g241("c", n_samples=20_000, n_features=20, random_state=0)
    direction = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    # Standardising shrinks directions with variance; weigh them back.
    error = np.mean(np.sign((X * X.std(axis=0)) @ direction) != y)
    assert error == pytest.approx(norm.cdf(-1.25), abs=0.015)
    assert np.allclose(X.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(X.std(axis=0), 1.0)
    assert np.sum(y == 1) == 10_000


def test_g241d_hides_its_classes_from_the_first_component():
    X, y = make_g241("d", n_samples=4000, n_features=30, random_state=0)
    assert np.sum(y == 1) == 2000
    first = np.linalg.svd(X, full_matrices=False)[0][:, 0]
    agreement = np.mean(np.sign(first) == y)
    assert abs(agreement - 0.5) < 0.1


def test_seeds():
    for make in (make_g241, make_hidden_clusters):
        one, same, other = (make(random_state=seed)[0] for seed in (0, 0, 1))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)


def test_bad_input():
    with pytest.raises(ValueError, match="'kind'"):
        make_g241("e")
    with pytest.raises(ValueError, match="'n_per_cluster'"):
        make_hidden_clusters(1)
