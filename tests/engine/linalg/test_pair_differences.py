"""Products with differences that are never formed equal products with those that are."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.linalg.pair_differences import PairDifferences, TableRows, principal_directions


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_products_equal_those_of_formed_differences(form):
    rng = np.random.default_rng(0)
    X, pairs = rng.standard_normal((9, 5)), rng.integers(0, 9, (40, 2))
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    G, V = rng.standard_normal((5, 3)), rng.standard_normal((40, 3))
    rows = PairDifferences(form(X), pairs)
    np.testing.assert_allclose(rows.dot(G), D @ G, atol=1e-13)
    np.testing.assert_allclose(rows.transposed_dot(V), D.T @ V, atol=1e-13)
    np.testing.assert_allclose(rows.squared_lengths(), (D**2).sum(axis=1), atol=1e-13)
    for chosen in (np.array([3, 3, 17]), rng.integers(0, 40, 300)):
        part, W = rows.take(chosen), rng.standard_normal((len(chosen), 3))
        np.testing.assert_allclose(part.dot(G), D[chosen] @ G, atol=1e-12)
        np.testing.assert_allclose(part.transposed_dot(W), D[chosen].T @ W, atol=1e-12)


def test_a_number_of_items_stands_for_unit_vectors():
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 6, (20, 2))
    units, table = PairDifferences(6, pairs), PairDifferences(np.eye(6), pairs)
    G, V = rng.standard_normal((6, 2)), rng.standard_normal((20, 2))
    np.testing.assert_allclose(units.dot(G), table.dot(G))
    np.testing.assert_allclose(units.transposed_dot(V), table.transposed_dot(V))
    np.testing.assert_allclose(units.squared_lengths(), table.squared_lengths())
    np.testing.assert_allclose(units.take(slice(2, 5)).dot(G), table.dot(G)[2:5])


@pytest.mark.parametrize("shape", [(30, 6), (6, 30), (700, 650)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_principal_directions_are_those_of_the_svd(shape, form):
    rng = np.random.default_rng(2)
    X = rng.standard_normal(shape) + 3.0
    X[:, 0] *= 40.0
    X[:, 1] *= 20.0
    V = principal_directions(form(X), 2, center=True)
    expected = np.linalg.svd(X - X.mean(axis=0))[2][:2].T
    np.testing.assert_allclose(V @ V.T, expected @ expected.T, atol=1e-6)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)


def test_a_table_with_fewer_directions_than_asked_for():
    A = np.outer(np.ones(3), np.arange(1.0, 8.0))
    V = TableRows(A).principal_directions(4)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(A @ V @ V.T, A, atol=1e-10)
