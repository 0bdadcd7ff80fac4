"""Ensembles: limits where they equal their members, and the weights that cancel bias."""

import math

import numpy as np
import pytest

from octavo.info import (
    EnsembleEntropy,
    KnnRenyiEntropy,
    KnnShannonEntropy,
    Normal,
    RandomProjectionEntropy,
    VasicekEntropy,
    WeightedKnnRenyiEntropy,
    quick_test,
)
from octavo.info.entropies.ensembles import cancelling_weights, random_frame

X = np.random.default_rng(0).normal(size=(300, 3))


def test_one_subset_of_everything_is_the_estimator():
    found = EnsembleEntropy(n_subsets=1, subset_size=1.0, random_state=0).estimate(X)
    assert found == pytest.approx(KnnShannonEntropy().estimate(X), rel=1e-12)


def test_mean_over_the_subsets_drawn():
    ensemble = EnsembleEntropy(VasicekEntropy(), n_subsets=3, subset_size=0.4, random_state=5)
    rng = np.random.RandomState(5)
    parts = [X[rng.permutation(300)[:120], :1] for _ in range(3)]
    expected = np.mean([VasicekEntropy().estimate(part) for part in parts])
    assert ensemble.estimate(X[:, :1]) == pytest.approx(expected, rel=1e-12)


def test_full_projections_are_rotations():
    found = RandomProjectionEntropy(n_components=3, n_projections=2, random_state=0).estimate(X)
    assert found == pytest.approx(KnnShannonEntropy().estimate(X), rel=1e-9)


def test_frames_are_orthonormal():
    frame = random_frame(7, 3, np.random.RandomState(0))
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)


def test_projections_of_a_round_normal_are_round_normals():
    Z = np.random.default_rng(1).normal(size=(4000, 8))
    found = RandomProjectionEntropy(n_components=1, random_state=0).estimate(Z)
    truth = 0.5 * math.log(2 * math.pi * math.e)
    assert abs(found - truth) < 4 * math.sqrt(1 / 4000)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_weights_sum_to_one_and_cancel_powers(d):
    scales = np.linspace(0.3, 3.0, 20)
    weights = cancelling_weights(scales, d)
    assert weights.sum() == pytest.approx(1.0)
    for i in range(1, d + 1):
        assert weights @ scales ** (i / d) == pytest.approx(0.0, abs=1e-9)


def test_weights_cancel_a_bias_that_plain_neighbours_have():
    """At the same k range the weighted estimate has a far smaller bias than its middle member."""
    p = Normal(np.zeros(2), np.eye(2))
    n = 2000
    plain = quick_test(
        KnnRenyiEntropy(0.8, n_neighbors=int(1.5 * math.sqrt(n))), p, n=n, n_repeats=8
    )
    weighted = quick_test(WeightedKnnRenyiEntropy(0.8), p, n=n, n_repeats=8)
    assert abs(weighted.bias) < 0.5 * abs(plain.bias)


def test_bad_input():
    with pytest.raises(ValueError, match=r"smallest=2.* must be below largest=1"):
        WeightedKnnRenyiEntropy(smallest=2.0, largest=1.0).estimate(X)
    with pytest.raises(ValueError, match="subset_size"):
        EnsembleEntropy(subset_size=1.5).estimate(X)
    with pytest.raises(ValueError, match="entropy"):
        EnsembleEntropy(entropy="knn").estimate(X)
    with pytest.raises(ValueError, match="n_neighbors=3 neighbours need"):
        EnsembleEntropy(subset_size=0.01).estimate(X)
    with pytest.raises(ValueError, match="alpha=1 is the limit"):
        WeightedKnnRenyiEntropy(alpha=1).estimate(X)
    # 0.3 √40 is 1.9: the nearest of the neighbours is the second, which gives powers below 2
    with pytest.raises(ValueError, match=r"alpha=3 .* must exceed 2"):
        WeightedKnnRenyiEntropy(alpha=3.0).estimate(X[:40])
