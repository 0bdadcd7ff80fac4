"""Generators of fixed-rank targets and planted metrics hold what they say."""

import numpy as np
import pytest

from octavo.data import make_fixed_rank_targets, make_planted_metric


def test_targets_follow_the_model():
    A, y, W = make_fixed_rank_targets(5000, 6, 2, random_state=0)
    assert np.linalg.matrix_rank(W) == 2
    noise = y / np.einsum("ni,ij,nj->n", A, W, A) - 1
    assert abs(noise.std() - 0.1) < 0.005  # five standard errors of 0.1/√(2 · 5000)
    _, _, W = make_fixed_rank_targets(5, 3, eigenvalues=(4.0, 3.0, 0.01), random_state=0)
    np.testing.assert_allclose(np.linalg.eigvalsh(W), [0.01, 3.0, 4.0])
    for wrong in ({"rank": 7}, {"eigenvalues": [-1.0]}):
        with pytest.raises(ValueError, match=r"rank=7|none negative"):
            make_fixed_rank_targets(5, 6, **wrong)


def test_classes_differ_in_the_planted_directions_alone():
    X, y, basis = make_planted_metric(4000, 60, n_classes=4, random_state=0)
    np.testing.assert_allclose(basis.T @ basis, np.eye(10), atol=1e-12)
    centers = np.array([X[y == label].mean(axis=0) for label in range(4)])
    spread = centers - centers.mean(axis=0)
    inside = np.sum((spread @ basis) ** 2)
    assert inside > 0.9 * np.sum(spread**2)
    with pytest.raises(ValueError, match="do not fit"):
        make_planted_metric(10, 20)
