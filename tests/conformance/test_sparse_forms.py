"""One sparse matrix, many ways to store it: every estimator sees the matrix, not the storage.

A CSR matrix may name a column twice in a row, in any order, and count in 64 bits. Each estimator
that takes sparse tables must give the same model for all of them, and must leave the caller's
arrays as they were.
"""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

from tests.conformance.discovery import table_cases

ANSWERS = ("decision_function", "transform", "predict", "score_samples")


def takes_sparse(case):
    return get_tags(case.make()).input_tags.sparse


CASES = [case for case in table_cases() if takes_sparse(case)]
assert len(CASES) > 20, "the walk over estimators with sparse input found too few of them"


def table():
    """Return rows of mixed sparsity, with classes that a linear model tells apart."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.0, (40, 6)) * (rng.uniform(size=(40, 6)) < 0.6)
    y = np.arange(40) % 2
    X[:, 0] = np.where(y == 1, 0.9, 0.0) + 0.05 * rng.uniform(size=40)
    X[:, 1] = np.where(y == 1, 0.0, 0.7)
    return sp.csr_matrix(X), y


def repeated(X):
    """Return the same matrix with every entry v stored as 3v and -2v, columns out of order."""
    rng = np.random.default_rng(1)
    rows, columns, values = [], [], []
    for i in range(X.shape[0]):
        own = slice(X.indptr[i], X.indptr[i + 1])
        column = np.repeat(X.indices[own], 2)
        value = np.repeat(X.data[own], 2) * np.tile([3.0, -2.0], len(column) // 2)
        order = rng.permutation(len(column))
        rows.append(len(column))
        columns.append(column[order])
        values.append(value[order])
    indptr = np.concatenate([[0], np.cumsum(rows)])
    arrays = (np.concatenate(values), np.concatenate(columns).astype(np.int32), indptr)
    return sp.csr_matrix(arrays, shape=X.shape)


def long_counted(X):
    """Return the same matrix with 64-bit indices, as large stacks of matrices have them."""
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


FORMS = {"repeated": repeated, "64-bit": long_counted}


def seeded(case):
    model = clone((case.full or case.make)())  # the tighter one: answers are compared by digits
    for name, value in model.get_params().items():
        if name.rpartition("__")[2] == "random_state" and value is None:
            model.set_params(**{name: 0})
    return model


def fitted(case, X, y):
    model = seeded(case)
    required = "y" in inspect.signature(model.fit).parameters
    target = y.astype(float) if is_regressor(model) else y
    return model.fit(X, target) if required else model.fit(X)


def answers(model, X):
    found = {name: getattr(model, name)(X) for name in ANSWERS if hasattr(model, name)}
    return {k: v.toarray() if sp.issparse(v) else np.asarray(v) for k, v in found.items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{case.name}" for k, case in enumerate(CASES)])
def test_the_matrix_counts_and_not_its_storage(case, form):
    X, y = table()
    stored = FORMS[form](X)
    before = {name: getattr(stored, name).copy() for name in ("data", "indices", "indptr")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = answers(fitted(case, X, y), X)
        model = fitted(case, stored, y)
        seen = answers(model, stored)
    for name, array in before.items():
        now = getattr(stored, name)
        assert now.dtype == array.dtype
        np.testing.assert_array_equal(now, array, err_msg=f"the caller's {name} was changed")
    assert seen.keys() == expected.keys()
    for name, value in expected.items():
        if value.dtype.kind == "f":
            # 3v - 2v differs from v by rounding, which iterations may carry to their tolerance
            scale = np.abs(value).max()
            np.testing.assert_allclose(seen[name], value, rtol=1e-5, atol=1e-5 * scale)
        else:
            np.testing.assert_array_equal(seen[name], value)
