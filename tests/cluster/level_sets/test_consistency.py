"""Growing samples settle, as Theorems 4 and 7 say."""

import numpy as np
import pytest

from octavo.cluster import compact_kernel, consistency_curve
from octavo.cluster.level_sets.consistency import plane_waves, walk_of, widest_cluster


def two_normals(n, rng):
    y = rng.randint(2, size=n)
    return rng.normal(6.0 * y)[:, None], y


def test_the_walk_of_a_sample_is_a_weighted_mean():
    rng = np.random.RandomState(0)
    points, places = rng.normal(size=(40, 2)), rng.normal(size=(5, 2))
    kernel = compact_kernel("triweight")
    waves = plane_waves(points, 1.0, rng)
    found = walk_of(points, places, waves, 1.5, kernel)
    for x, row in zip(places, found):
        weights = kernel(np.linalg.norm(points - x, axis=1) / 1.5)
        np.testing.assert_allclose(row, weights @ waves(points) / weights.sum(), atol=1e-12)


def test_test_functions_have_norm_at_most_one():
    """Sup norm plus sup of the gradient, by differences on a line."""
    rng = np.random.RandomState(1)
    x = np.linspace(-5, 5, 4001)[:, None]
    values = plane_waves(x, 1.0, rng)(x)
    slopes = np.abs(np.diff(values, axis=0)) / (x[1] - x[0])
    assert (np.abs(values).max(axis=0) + slopes.max(axis=0)).max() <= 1.0 + 1e-9


def test_gaps_fall_and_scores_rise():
    curve = consistency_curve(two_normals, [200, 3200], n_clusters=2, h=1.5, random_state=0)
    assert curve.operator_gaps[1] < curve.operator_gaps[0]
    assert curve.adjusted_rand[1] > 0.99
    assert curve.sizes.tolist() == [200, 3200]


def test_the_widest_cluster():
    features = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
    assert widest_cluster(features, np.array([0, 0, 1])) == 5.0


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="sizes and n_reference must be at least 2"):
        consistency_curve(two_normals, [1])
