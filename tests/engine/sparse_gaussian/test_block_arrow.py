"""Block arrows against the dense matrix they stand for."""

import numpy as np
import pytest

from octavo.engine.sparse_gaussian.block_arrow import BlockArrowFactor
from octavo.engine.sparse_gaussian.factor import NotPositiveDefinite


def blocks(m, k, p, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, k + p, k + p + 2))
    whole = A @ np.swapaxes(A, 1, 2)
    return whole[:, :k, :k], whole[:, :k, k:], whole[:, k:, k:].sum(axis=0)


def dense(D, B, C):
    m, k, p = B.shape
    Q = np.zeros((m * k + p, m * k + p))
    for i in range(m):
        s = slice(i * k, (i + 1) * k)
        Q[s, s], Q[s, m * k :], Q[m * k :, s] = D[i], B[i], B[i].T
    Q[m * k :, m * k :] = C
    return Q


@pytest.mark.parametrize(("m", "k", "p"), [(5, 1, 2), (4, 3, 2), (1, 2, 1), (7, 2, 4)])
def test_equals_dense_algebra(m, k, p):
    D, B, C = blocks(m, k, p)
    Q = dense(D, B, C)
    inverse = np.linalg.inv(Q)
    tolerance = 1e-13 * np.linalg.cond(Q) * abs(inverse).max()
    factor = BlockArrowFactor(D, B, C)
    assert factor.log_det == pytest.approx(np.linalg.slogdet(Q)[1], rel=1e-12)
    right = np.random.default_rng(1).standard_normal(m * k + p)
    groups, shared = factor.solve(right[: m * k].reshape(m, k), right[m * k :])
    found = np.concatenate([groups.ravel(), shared])
    assert abs(found - inverse @ right).max() < 10 * tolerance
    parts = factor.inverse_blocks()
    for i in range(m):
        s = slice(i * k, (i + 1) * k)
        assert abs(parts.diagonal[i] - inverse[s, s]).max() < tolerance
        assert abs(parts.border[i] - inverse[s, m * k :]).max() < tolerance
    assert abs(parts.corner - inverse[m * k :, m * k :]).max() < tolerance


@pytest.mark.parametrize("k", [1, 2])
def test_names_what_is_not_positive_definite(k):
    D, B, C = blocks(4, k, 2)
    with pytest.raises(NotPositiveDefinite, match=f"row {4 * k}"):
        BlockArrowFactor(D, B, -C)
    D = D.copy()
    D[2] *= -1
    with pytest.raises(NotPositiveDefinite, match=f"row {2 * k} "):
        BlockArrowFactor(D, B, C)
