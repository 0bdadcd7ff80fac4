"""A low-rank matrix plus a sparse one behaves as the dense matrix does."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.spectral.low_rank_sparse import (
    LowRankPlusSparse,
    entries_of_product,
    truncated_svd,
)


def draw(n=60, m=45, rank=4, seed=0):
    rng = np.random.RandomState(seed)
    S = sp.random_array((n, m), density=0.1, rng=np.random.default_rng(seed), format="csr")
    return LowRankPlusSparse(rng.standard_normal((n, rank)), rng.standard_normal((m, rank)), S)


def test_products_are_those_of_the_dense_matrix():
    operator, rng = draw(), np.random.RandomState(1)
    dense = operator.to_dense()
    X, Y = rng.standard_normal((45, 3)), rng.standard_normal((60, 2))
    assert operator.matmat(X) == pytest.approx(dense @ X)
    assert operator.rmatmat(Y) == pytest.approx(dense.T @ Y)
    assert operator.matvec(X[:, 0]) == pytest.approx(dense @ X[:, 0])
    assert operator.rmatvec(Y[:, 0]) == pytest.approx(dense.T @ Y[:, 0])


@pytest.mark.parametrize("shape", [(60, 45), (300, 200), (100, 260), (5, 7)])
@pytest.mark.parametrize("rank", [1, 4, 5])
def test_leading_triples_are_lapacks(shape, rank):
    operator = draw(*shape)
    found = truncated_svd(operator, rank)
    U, values, Vt = np.linalg.svd(operator.to_dense(), full_matrices=False)
    assert found.values == pytest.approx(values[:rank], rel=1e-9, abs=1e-9 * values[0])
    best = (U[:, :rank] * values[:rank]) @ Vt[:rank]
    assert (found.U * found.values) @ found.V.T == pytest.approx(best, abs=1e-6 * values[0])
    assert found.residual <= 1e-6 * values[0]


def test_a_good_start_needs_no_luck():
    operator = draw(200, 150)
    V = np.linalg.svd(operator.to_dense())[2][:4].T
    calls = []
    plain = LowRankPlusSparse(operator.U, operator.V, operator.S)
    multiply = plain._matmat
    plain._matmat = lambda X: calls.append(1) or multiply(X)
    truncated_svd(plain, 4, start=V, oversampling=0)
    assert len(calls) <= 3  # the scale, one step and the image


def test_zero_and_tiny_matrices_have_an_answer():
    zero = LowRankPlusSparse(np.zeros((4, 1)), np.zeros((3, 1)), sp.csr_array((4, 3)))
    assert truncated_svd(zero, 2).values.tolist() == [0.0, 0.0]
    operator = draw(300, 200)
    small = LowRankPlusSparse(operator.U * 1e-150, operator.V, operator.S * 1e-150)
    values = np.linalg.svd(operator.to_dense(), compute_uv=False)[:3]
    assert truncated_svd(small, 3).values * 1e150 == pytest.approx(values, rel=1e-8)


def test_entries_of_a_product():
    operator = draw()
    entries = entries_of_product(operator.U, operator.V, operator.S)
    expected = (operator.U @ operator.V.T) * (operator.S.toarray() != 0)
    assert entries.toarray() == pytest.approx(expected)
