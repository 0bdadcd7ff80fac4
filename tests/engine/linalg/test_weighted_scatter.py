"""Weighted scatter in whitened coordinates equals the plain one, and outlives it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from octavo.engine.linalg import weighted_scatter as ws


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((700, 6))


@pytest.fixture
def factor():
    return np.asfortranarray(np.triu(np.random.default_rng(1).standard_normal((6, 6))))


def weight(r):
    return 1.0 / np.maximum(r, 0.1)


@pytest.mark.parametrize("triangular", [True, False])
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("form", ["dense", "sparse", "float32", "fortran"])
def test_scatter_is_the_definition(rows, factor, triangular, squared, form):
    Q = factor @ factor.T
    X = {
        "dense": rows,
        "sparse": csr_array(rows),
        "float32": rows.astype(np.float32),
        "fortran": np.asfortranarray(rows),
    }[form]
    dense = np.asarray(X.toarray() if form == "sparse" else X, dtype=np.float64)
    r = np.einsum("ij,ij->i", dense @ Q, dense) if squared else np.linalg.norm(dense @ Q, axis=1)
    A = (dense.T * weight(r)) @ dense
    B, residuals = ws.whitened_scatter(X, factor, weight, squared=squared, triangular=triangular)
    np.testing.assert_allclose(residuals, r, rtol=1e-10)
    expected = factor.T @ A @ factor
    np.testing.assert_allclose(ws.symmetric(B), expected, rtol=0, atol=1e-11 * abs(expected).max())


def test_blocks_do_not_change_the_result(rows, factor, monkeypatch):
    whole = ws.whitened_scatter(rows, factor, weight)
    monkeypatch.setattr(ws, "BLOCK_BYTES", 1)  # the smallest blocks: 256 rows
    assert len(list(ws.row_blocks(rows))) == 3
    split = ws.whitened_scatter(rows, factor, weight)
    np.testing.assert_allclose(split[0], whole[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(split[1], whole[1])


def test_both_factors_agree(rows, factor):
    B, r = ws.whitened_scatter(rows, factor, weight)
    by_cholesky = ws.upper_factor(B)
    by_rows = ws.scatter_factor(rows, factor, weight(r))
    np.testing.assert_allclose(by_rows.T @ by_rows, by_cholesky.T @ by_cholesky, rtol=1e-9)


def test_thin_factors_are_refused():
    assert ws.upper_factor(np.asfortranarray(np.diag([1.0, 1e-13]))) is None
    assert ws.upper_factor(np.asfortranarray(np.diag([1.0, -1.0]))) is None


def test_an_inverse_that_cannot_be_formed_is_reached_in_factors():
    """Rows on a line weigh 1e12: the scatter has a condition of 1e13, its factor 1e6.5."""
    rng = np.random.default_rng(0)
    line = np.outer(rng.standard_normal(40), [1.0, 2.0, 3.0])
    X = np.vstack([line, rng.standard_normal((40, 3))])
    w = np.r_[np.full(40, 1e12), np.ones(40)]
    Z = np.asfortranarray(np.eye(3))
    for _ in range(2):  # the first step whitens, the second is then well conditioned
        B = np.asfortranarray(np.triu((X @ Z).T * w @ (X @ Z)))
        U = ws.upper_factor(B)
        U = ws.scatter_factor(X, Z, w) if U is None else U
        Z = ws.advance(Z, np.asfortranarray(U))
    # In the limit Q is the inverse of the other rows' scatter on the complement of the line.
    outside = np.linalg.svd(line)[2][1:].T
    inverse = np.linalg.inv(outside.T @ X[40:].T @ X[40:] @ outside)
    expected = outside @ (inverse / np.trace(inverse)) @ outside.T
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-9)


def test_span():
    rng = np.random.default_rng(0)
    assert ws.span(rng.standard_normal((30, 5))) is None
    flat = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 5))
    basis = ws.span(flat)
    assert basis.shape == (5, 2)
    np.testing.assert_allclose(flat @ basis @ basis.T, flat, atol=1e-12)
    assert ws.span(csr_array(flat)).shape == (5, 2)
    wide = rng.standard_normal((3, 8))
    assert ws.span(wide).shape == (8, 3)


def test_badly_scaled_columns_are_not_taken_for_dependent_ones():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1.0, 1e-5, 1e-8]
    assert ws.span(X) is None


def test_row_norms(rows):
    expected = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(ws.row_norms(rows), expected)
    np.testing.assert_allclose(ws.row_norms(csr_array(rows)), expected)


def test_dependent_rows_raise_instead_of_returning_noise():
    with pytest.raises(np.linalg.LinAlgError, match="do not span"):
        ws.advance(np.asfortranarray(np.eye(2)), np.asfortranarray(np.diag([1.0, 0.0])))


def test_off_identity():
    B = np.asfortranarray([[2.0, 1.0], [0.0, 4.0]])
    expected = np.linalg.norm(np.array([[2.0, 1.0], [1.0, 4.0]]) / 2.0 - np.eye(2))
    assert ws.off_identity(B, 2.0) == pytest.approx(expected, rel=1e-14)


def test_off_identity_keeps_its_digits():
    """A tiny entry off the diagonal is seen beside large ones on it."""
    B = np.asfortranarray(1e6 * np.eye(50))
    B[0, 1] = 1e-5
    assert ws.off_identity(B, 1e6) == pytest.approx(np.sqrt(2.0) * 1e-11, rel=1e-6)
