"""Views and comparisons of digits hold what they say."""

import numpy as np
import pytest

from octavo.data import flip_comparisons, make_digit_views, make_taxonomy_comparisons
from octavo.metric import ComparisonGraph


def test_views_are_kernels_and_noise_has_three_dimensions():
    views = make_digit_views(4, 2, random_state=0)
    assert len(views.kernels) == len(views.names) == 7
    assert np.bincount(views.labels).tolist() == [4] * 10
    for K in views.kernels:
        assert np.linalg.eigvalsh(K).min() > -1e-8
    for K in views.kernels[5:]:
        assert np.linalg.matrix_rank(K, tol=1e-8) == 3
        np.testing.assert_allclose(np.diagonal(K), 1.0)


def test_comparisons_follow_the_taxonomy_and_have_no_cycle():
    views = make_digit_views(4, 0, random_state=0)
    C = make_taxonomy_comparisons(views.labels, views.groups, 9, random_state=0)
    i, j, _, k = C.T

    def ancestor(a, b):  # 0 class, 1 group, 2 root
        return (views.labels[a] != views.labels[b]) + 1 * (views.groups[a] != views.groups[b])

    assert (ancestor(i, k) - ancestor(i, j) == 1).all()
    assert ComparisonGraph(C).stats().n_cyclic == 0
    turned = flip_comparisons(C, 0.25, random_state=0)
    moved = (turned != C).any(axis=1)
    np.testing.assert_array_equal(turned[moved], C[moved][:, [2, 3, 0, 1]])
    assert abs(moved.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / len(C))
    with pytest.raises(ValueError, match="no comparison"):
        make_taxonomy_comparisons([0, 0], [0, 0])
    with pytest.raises(ValueError, match="same length"):
        make_taxonomy_comparisons([0, 0], [0])
