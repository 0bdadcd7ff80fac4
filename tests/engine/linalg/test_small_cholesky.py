"""Small factors against numpy."""

import numpy as np
import pytest

from octavo.engine.linalg.small_cholesky import (
    change_by_rank_one,
    factor_in_place,
    small_cholesky_steps,
)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_factor_rank_one_and_solve(d):
    rng = np.random.default_rng(d)
    B, x = rng.normal(size=(d, d)), rng.normal(size=d)
    A = B @ B.T + np.eye(d)
    L = A.copy()
    assert factor_in_place.py_func(L) == pytest.approx(np.linalg.slogdet(A)[1])
    assert np.allclose(np.tril(L), np.linalg.cholesky(A))
    change_by_rank_one.py_func(L, x, 1.0, np.empty(d))
    assert np.allclose(np.tril(L), np.linalg.cholesky(A + np.outer(x, x)))
    out = np.empty(d)
    small_cholesky_steps(A.copy(), x, out)
    assert np.allclose(A @ out, x)


def test_what_is_not_positive_definite_is_told():
    assert factor_in_place.py_func(np.array([[1.0, 0.0], [2.0, 1.0]])) == -np.inf
