"""Canonical form of sparse tables: the matrix is kept, the caller's arrays are not touched."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.estimators import sparse_rows
from octavo.engine.estimators.sparse_rows import canonical_csr


def stored(entries, shape, kind=sp.csr_matrix, index=np.int32):
    """Return a CSR matrix with these (row, column, value) entries, repeats and order kept."""
    entries = sorted(entries, key=lambda e: e[0])
    rows = np.array([e[0] for e in entries], dtype=int)
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(index)
    indices = np.array([e[1] for e in entries], dtype=index)
    X = kind((shape[0], shape[1]))
    X.data = np.array([e[2] for e in entries], dtype=float)
    X.indices, X.indptr = indices, indptr
    return X


@settings(max_examples=80, deadline=None)
@given(
    entries=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-3, 3)), max_size=25
    ),
    kind=st.sampled_from([sp.csr_matrix, sp.csr_array]),
    index=st.sampled_from([np.int32, np.int64]),
    narrow=st.booleans(),
)
def test_the_same_matrix_in_one_form(entries, kind, index, narrow):
    X = stored(entries, (4, 3), kind, index)
    before = [X.data.copy(), X.indices.copy(), X.indptr.copy()]
    dense = np.zeros((4, 3))
    for i, j, v in entries:
        dense[i, j] += v
    found = canonical_csr(X, narrow=narrow)
    np.testing.assert_array_equal(found.toarray(), dense)
    for row in range(4):
        columns = found.indices[found.indptr[row] : found.indptr[row + 1]]
        assert (np.diff(columns) > 0).all()
    if narrow:
        assert found.indices.dtype == found.indptr.dtype == np.int32
    assert type(found) is kind
    for array, now in zip(before, (X.data, X.indices, X.indptr)):
        np.testing.assert_array_equal(array, now)
        assert array.dtype == now.dtype


def test_what_is_canonical_is_not_copied():
    X = sp.random(20, 10, 0.3, format="csr", random_state=0)
    assert canonical_csr(X) is X
    dense = np.eye(2)
    assert canonical_csr(dense) is dense


def test_a_stale_flag_is_not_believed():
    X = sp.csr_matrix(np.array([[1.0, 2.0, 3.0]]))
    assert X.has_canonical_format  # remembered from here on
    X.indices[:] = [2, 2, 0]
    np.testing.assert_array_equal(canonical_csr(X).toarray(), [[3.0, 0.0, 3.0]])
    np.testing.assert_array_equal(X.indices, [2, 2, 0])


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr", "dia"])
def test_other_formats_are_converted(form):
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    X = sp.csr_matrix(dense).asformat(form)
    found = canonical_csr(X)
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), dense)


def test_repeats_of_a_csc_matrix_are_added_up():
    X = sp.csc_matrix(([1.0, 2.0, 4.0], [0, 0, 1], [0, 3, 3]), shape=(2, 2))
    found = canonical_csr(X)
    np.testing.assert_array_equal(found.data, [3.0, 4.0])
    np.testing.assert_array_equal(X.data, [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: X.indices.__setitem__(0, 7), "between 0 and 2; got 0 to 7"),
        (lambda X: X.indices.__setitem__(0, -1), "got -1 to"),
        (lambda X: X.indptr.__setitem__(1, 9), "row pointers"),
        (lambda X: X.indptr.__setitem__(0, 1), "row pointers"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(spoil, words):
    X = sp.csr_matrix(np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]))
    spoil(X)
    with pytest.raises(ValueError, match=words):
        canonical_csr(X)


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=6),
    tidy=st.booleans(),
    chunk=st.integers(1, 7),
)
def test_chunks_do_not_hide_disorder(rows, tidy, chunk):
    """The same verdict as scipy's walk over the rows, wherever chunks are cut."""
    rows = [sorted(set(row)) for row in rows] if tidy else rows
    entries = [(i, j, 1.0) for i, row in enumerate(rows) for j in row]
    X = stored(entries, (len(rows), 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_rows, "CHUNK", chunk)
        kept = canonical_csr(X) is X
    assert kept == stored(entries, (len(rows), 5)).has_canonical_format
