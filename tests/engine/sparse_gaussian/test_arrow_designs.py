"""Block arrows against the dense inverse."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.sparse_gaussian import arrow_designs
from octavo.engine.sparse_gaussian.arrow_designs import (
    arrow_design,
    positive_inverse,
    row_moments,
    solve_arrow,
)


def problem(rng, n, p, q, n_blocks, others):
    """Return a random arrow with crossed border columns, and its dense matrix, blocks last."""
    block = np.concatenate([np.arange(n_blocks), rng.integers(0, n_blocks, n - n_blocks)])
    rng.shuffle(block)
    x, z = rng.normal(size=(n, p)), rng.normal(size=(n, q))
    n_extra, columns, values = 0, [], []
    for size in others:
        columns.append(n_extra + rng.integers(0, size, n))
        values.append(rng.normal(size=n))
        n_extra += size
    columns = np.stack(columns, axis=1) if others else np.zeros((n, 0), dtype=np.int64)
    values = np.stack(values, axis=1) if others else np.zeros((n, 0))
    first = p + n_extra
    C = np.zeros((n, first + n_blocks * q))
    C[:, :p] = x
    for i in range(n):
        C[i, p + columns[i]] = values[i]
        C[i, first + block[i] * q : first + (block[i] + 1) * q] = z[i]
    return arrow_design(block, n_blocks, x, z, columns, values, n_extra), C


@pytest.mark.parametrize("chunk", [2**22, 7])
@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("others", [(), (4,), (3, 5)])
@pytest.mark.parametrize("p", [1, 3])
def test_equal_to_the_dense_inverse(p, q, others, chunk, monkeypatch):
    monkeypatch.setattr(arrow_designs, "CHUNK", chunk)
    rng = np.random.default_rng(p + 10 * q + len(others))
    design, C = problem(rng, 40, p, q, 6, others)
    n_border = design.n_border
    h, t = rng.random(40), rng.normal(size=40)
    root = rng.normal(size=(q, q))
    block_prior, border_prior = root @ root.T + np.eye(q), np.diag(rng.random(n_border) + 0.1)
    M = sp.block_diag([border_prior, *[block_prior] * 6]).toarray()
    precision = C.T @ (h[:, None] * C) + M
    cov = np.linalg.inv(precision)
    mean = cov @ C.T @ t
    found = solve_arrow(design, h, t, block_prior, border_prior)
    assert found is not None
    close = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(found.border_mean, mean[:n_border], **close)
    np.testing.assert_allclose(found.border_cov, cov[:n_border, :n_border], **close)
    np.testing.assert_allclose(found.block_mean.ravel(), mean[n_border:], **close)
    row_mean, row_variance, block_cov = row_moments(design, found)
    for g in range(6):
        at = slice(n_border + g * q, n_border + (g + 1) * q)
        np.testing.assert_allclose(block_cov[g], cov[at, at], **close)
    np.testing.assert_allclose(row_mean, C @ mean, **close)
    np.testing.assert_allclose(row_variance, np.einsum("ij,jk,ik->i", C, cov, C), **close)
    np.testing.assert_allclose(found.log_det, np.linalg.slogdet(precision)[1], **close)


def one_way(n_blocks, block):
    n = len(block)
    none = np.zeros((n, 0), dtype=np.int64)
    ones = np.ones((n, 1))
    return arrow_design(np.array(block), n_blocks, ones, ones, none, none.astype(float), 0)


def test_blocks_without_rows_keep_their_prior():
    design = one_way(3, [0, 0, 2])
    found = solve_arrow(design, np.ones(3), np.ones(3), np.eye(1) * 4, np.eye(1))
    assert found.block_mean[1, 0] == 0.0
    np.testing.assert_allclose(row_moments(design, found)[2][1, 0, 0], 0.25)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e6])
def test_what_is_not_positive_is_none(wrong):
    h = np.array([wrong, 1.0, 1.0])
    with np.errstate(all="ignore"):
        assert solve_arrow(one_way(2, [0, 0, 1]), h, np.ones(3), np.eye(1), np.eye(1)) is None


def test_columns_of_very_different_size():
    scale = np.array([1e-8, 1.0, 1e8])
    root = np.random.default_rng(0).normal(size=(3, 3))
    inner = root @ root.T + np.eye(3)
    factor, inverse = positive_inverse(np.tril(scale[:, None] * inner * scale))
    np.testing.assert_allclose(scale[:, None] * inverse * scale, np.linalg.inv(inner), rtol=1e-10)
    np.testing.assert_allclose(factor @ factor.T, scale[:, None] * inner * scale, rtol=1e-10)
