"""Rows of dense and sparse tables against numpy, and lazy means against plain ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.streams import passes as streams


def tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 5)) * (rng.random((7, 5)) > 0.4)
    X[3] = 0.0
    csr = sp.csr_matrix(X)
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return X, {
        "C": X,
        "F": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "csr": csr,
        "csr64": wide,
        "csr32": csr.astype(np.float32),
    }


@pytest.mark.parametrize("form", list(tables()[1]))
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_row_operations(form, bias):
    X, forms = tables()
    table = np.hstack([X, np.full((7, 1), bias)]) if bias else X
    if form in ("float32", "csr32"):
        table = table.astype(np.float32).astype(np.float64)
    order = np.array([4, 0, 3, 3, 6])
    w = np.random.default_rng(1).normal(size=table.shape[1])
    seen = []
    for rows, local, visited in streams.row_blocks(forms[form], order, bias):
        for i, k in zip(local, visited, strict=True):
            x, plain = streams.row_of(rows, i), table[k]
            np.testing.assert_allclose(streams.dot(x, w), plain @ w, atol=1e-12)
            np.testing.assert_allclose(streams.squared_norm(x), plain @ plain, atol=1e-12)
            np.testing.assert_allclose(streams.p_norm(x, 3.0), np.linalg.norm(plain, 3))
            assert streams.is_zero(x) == (not plain.any())
            moved = w.copy()
            streams.axpy(0.5, x, moved)
            np.testing.assert_allclose(moved, w + 0.5 * plain, atol=1e-12)
            many, out = np.outer(w, [1.0, -2.0, 0.5]).ravel(), np.empty(3)
            streams.dots(x, many, out)
            np.testing.assert_allclose(out, (plain @ w) * np.array([1, -2, 0.5]), atol=1e-12)
            streams.axpy_strided(2.0, x, many, 3, 1)
            np.testing.assert_allclose(many.reshape(-1, 3)[:, 1], -2 * w + 2 * plain, atol=1e-12)
            seen.append(k)
    assert seen == order.tolist()


@pytest.mark.parametrize("size", range(10))
def test_products_of_rows_of_every_length(size):
    rng = np.random.default_rng(size)
    X = np.zeros((1, 12))
    X[0, rng.choice(12, size, replace=False)] = rng.normal(size=size)
    w, strided = rng.normal(size=12), np.zeros((12, 2))
    strided[:, 1] = w
    x = streams.row_of(streams.as_rows(sp.csr_matrix(X)), 0)
    assert streams.dot(x, w) == pytest.approx(X[0] @ w, abs=1e-14)
    assert streams.dot(x, strided[:, 1]) == pytest.approx(X[0] @ w, abs=1e-14)


def test_tables_that_can_be_read_in_place_are_not_copied():
    X, forms = tables()
    (rows, _, _), *rest = streams.row_blocks(X)
    assert not rest
    assert np.shares_memory(rows.values, X)
    (rows, _, _), *rest = streams.row_blocks(forms["csr"], np.array([2, 1]))
    assert np.shares_memory(rows.values, forms["csr"].data)
    assert np.shares_memory(rows.indices, forms["csr"].indices)


def test_other_tables_are_copied_a_block_at_a_time(monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 10)
    X, forms = tables()
    blocks = list(streams.row_blocks(forms["float32"]))
    assert [len(local) for _, local, _ in blocks] == [2, 2, 2, 1]
    assert all(rows.values.dtype == np.float64 for rows, _, _ in blocks)


def test_a_row_whose_square_would_underflow_counts_as_zero():
    X = np.array([[1e-160, -1e-170], [1e-140, 0.0]])
    rows = streams.as_rows(X)
    assert streams.is_zero(streams.row_of(rows, 0))
    assert not streams.is_zero(streams.row_of(rows, 1))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(-2, 2), st.floats(-1.5, 1.5)),
        min_size=1,
        max_size=40,
    )
)
def test_lazy_mean_is_the_mean_over_rounds(steps):
    """Any mixture of rounds that rest, add a row, scale the weights, or set them to zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(steps), 4))
    rows = streams.as_rows(X)
    weights, drift, clock = np.zeros(4), np.zeros(4), streams.new_clock()
    plain, total = np.zeros(4), np.zeros(4)
    for t, (what, step, factor) in enumerate(steps):
        clock[streams.ROUND] += 1
        if what > 0:
            factor = 1e-9 if abs(factor) < 0.05 else factor
            streams.rescale(factor, weights, drift, clock)
            plain = factor * plain
        if what > 1:
            streams.add(step, streams.row_of(rows, t), weights, drift, clock, 1, 0)
            plain = plain + step * X[t]
        total += plain
    scale = max(1.0, np.abs(total).max())
    np.testing.assert_allclose(streams.current(weights, clock), plain, atol=1e-9 * scale)
    mean = streams.averaged(weights, drift, clock)
    np.testing.assert_allclose(mean, total / len(steps), atol=1e-8 * scale)
