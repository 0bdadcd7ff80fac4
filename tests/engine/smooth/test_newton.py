"""The Newton solver beyond small dense problems: sparse rows and many features."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.smooth import newton
from octavo.engine.smooth.losses import make_loss
from octavo.engine.smooth.newton import newton_linear


def problem(seed, n, d, density=0.2):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=density, rng=rng, format="csr")
    y = np.where(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("name", ["log", "huber", "smooth_hinge", "squared"])
def test_sparse_rows_give_the_dense_answer(name):
    X, y = problem(0, 80, 12)
    dense = newton_linear(X.toarray(), y, make_loss(name), 1e-3)
    sparse = newton_linear(X, y, make_loss(name), 1e-3)
    assert sparse.converged
    # Two points with ‖∇‖ ≤ 1e-10 lie within 2e-10/alpha of each other.
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=2e-7)


def test_unsorted_rows_with_duplicates_are_added_up_and_left_alone():
    indices, values = np.array([2, 0, 2, 1]), np.array([1.0, -2.0, 0.5, 3.0])
    X = sp.csr_array((values, indices, np.array([0, 3, 4])), shape=(2, 3))
    y = np.array([1.0, -1.0])
    found = newton_linear(X, y, make_loss("log"), 0.1)
    dense = newton_linear(np.array([[-2.0, 0, 1.5], [0, 3.0, 0]]), y, make_loss("log"), 0.1)
    np.testing.assert_allclose(found.coef, dense.coef, atol=1e-9)
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])


@pytest.mark.parametrize("name", ["log", "huber", "smooth_hinge"])
@pytest.mark.parametrize("sparse", [True, False])
def test_conjugate_gradients_reach_what_cholesky_reaches(name, sparse, monkeypatch):
    X, y = problem(1, 100, 30)
    X = X if sparse else X.toarray()
    tilt = np.linspace(-0.02, 0.02, 30)
    factored = newton_linear(X, y, make_loss(name), 1e-3, linear=tilt)
    monkeypatch.setattr(newton, "DENSE_LIMIT", 0)
    iterated = newton_linear(X, y, make_loss(name), 1e-3, linear=tilt)
    assert iterated.converged
    np.testing.assert_allclose(iterated.coef, factored.coef, atol=2e-7)


def test_more_features_than_the_limit():
    X, y = problem(2, 60, newton.DENSE_LIMIT + 100, density=0.01)
    found = newton_linear(X, y, make_loss("log"), 1e-2)
    slope = -y / (1 + np.exp(y * (X @ found.coef)))
    assert np.linalg.norm(X.T @ slope / 60 + 1e-2 * found.coef) <= 1e-10


def test_rounding_does_not_stall_the_line_search():
    """A tilt makes the value much smaller than its terms; their rounding is what counts."""
    rng = np.random.default_rng(2)
    X = np.clip(rng.normal(size=(40, 1)), -1, 1)
    y = np.where(X @ rng.normal(size=1) + 0.2 * rng.normal(size=40) > 0, 1.0, -1.0)
    start = newton_linear(X, y, make_loss("log"), 0.05).coef
    for tilt in np.linspace(-0.6, 0.6, 1001):
        found = newton_linear(
            X, y, make_loss("log"), 0.05, linear=np.array([tilt]), start=start, max_iter=30
        )
        assert found.converged, (tilt, found)
