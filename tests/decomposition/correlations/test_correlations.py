"""Canonical correlations against principal angles, least squares and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, subspace_angles
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel

from octavo.decomposition import ExactCCA, KernelCCA


def views(seed, n=80, dx=4, dy=3):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 2))
    X = np.hstack([shared, rng.normal(size=(n, dx - 2))]) @ rng.normal(size=(dx, dx))
    Y = np.hstack([shared + rng.normal(size=(n, 2)), rng.normal(size=(n, dy - 2))])
    return X, Y


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_correlations_are_cosines_of_angles(seed):
    X, Y = views(seed)
    angles = subspace_angles(X - X.mean(axis=0), Y - Y.mean(axis=0))
    found = ExactCCA().fit(X, Y).correlations_
    np.testing.assert_allclose(found, np.sort(np.cos(angles))[::-1], atol=1e-8)


def test_variates_have_unit_variance_and_these_correlations():
    X, Y = views(0)
    model = ExactCCA(2).fit(X, Y)
    u, v = model.transform(X, Y)
    both = np.corrcoef(np.hstack([u, v]).T)
    expected = np.eye(4)
    expected[[0, 1], [2, 3]] = expected[[2, 3], [0, 1]] = model.correlations_
    np.testing.assert_allclose(both, expected, atol=1e-10)
    np.testing.assert_allclose(np.var(u, axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(model.transform(X), u)


def test_equals_scikit_learns():
    X, Y = views(1)
    theirs = CCA(3, max_iter=10_000, tol=1e-14).fit(X, Y)
    u, v = theirs.transform(X, Y)
    found = [np.corrcoef(a, b)[0, 1] for a, b in zip(u.T, v.T, strict=True)]
    np.testing.assert_allclose(ExactCCA().fit(X, Y).correlations_, found, atol=1e-5)


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_invertible_maps_change_nothing(size):
    X, Y = views(2)
    A = np.random.default_rng(0).normal(size=(4, 4)) * size
    a, b = ExactCCA().fit(X, Y), ExactCCA().fit(X @ A + 7.0, Y * size)
    np.testing.assert_allclose(a.correlations_, b.correlations_, atol=1e-10)


@pytest.mark.parametrize(("dx", "dy"), [(4, 3), (3, 5)])
def test_all_components_predict_as_least_squares(dx, dy):
    X, Y = views(3, dx=dx, dy=dy)
    least = LinearRegression().fit(X, Y).predict(X)
    np.testing.assert_allclose(ExactCCA().fit(X, Y).predict(X), least, atol=1e-8)


def test_predictions_solve_the_notes_equations():
    X, Y = views(4)
    for how, shrink in (("regression", True), ("matched", False)):
        model = ExactCCA(2, prediction=how).fit(X, Y)
        found = model.predict(X)
        u, v = model.transform(X, found)
        np.testing.assert_allclose(v, u * model.correlations_ if shrink else u, atol=1e-9)


def test_dependent_columns_are_left_out():
    X, Y = views(5)
    more = np.hstack([X, X[:, :2] + X[:, 2:], np.ones((80, 1))])
    np.testing.assert_allclose(
        ExactCCA().fit(more, Y).correlations_, ExactCCA().fit(X, Y).correlations_, atol=1e-9
    )
    with pytest.raises(ValueError, match="smaller rank"):
        ExactCCA(4).fit(more, Y)


def test_ridge_is_the_generalised_eigenproblem():
    X, Y = views(6)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    Sx, Sy, C = Xc.T @ Xc + 5.0 * np.eye(4), Yc.T @ Yc + 5.0 * np.eye(3), Xc.T @ Yc
    squares = eigh(C @ np.linalg.solve(Sy, C.T), Sx, eigvals_only=True)[::-1][:3]
    np.testing.assert_allclose(ExactCCA(reg=5.0).fit(X, Y).correlations_ ** 2, squares, atol=1e-10)


def test_too_many_columns():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="set reg"):
        ExactCCA().fit(rng.normal(size=(10, 12)), rng.normal(size=(10, 2)))
    with pytest.warns(UserWarning, match="one by construction"):
        model = ExactCCA().fit(rng.normal(size=(10, 6)), rng.normal(size=(10, 5)))
    assert model.correlations_[0] == pytest.approx(1.0)
    wide = ExactCCA(reg=1.0).fit(rng.normal(size=(10, 30)), rng.normal(size=(10, 2)))
    assert wide.correlations_[0] < 1.0


@pytest.mark.parametrize("reg", [0.5, 20.0])
def test_linear_kernel_is_the_linear_method(reg):
    X, Y = views(7)
    linear, kernel = ExactCCA(2, reg).fit(X, Y), KernelCCA("linear", reg).fit(X, Y)
    np.testing.assert_allclose(kernel.correlations_, linear.correlations_, atol=1e-10)
    new, other = views(8)
    for ours, theirs in zip(
        kernel.transform(new, other), linear.transform(new, other), strict=True
    ):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-7)


def test_kernel_correlations_solve_their_eigenproblem():
    X, Y = views(9, n=30)
    kappa, H = 0.3, np.eye(30) - 1 / 30
    Kx, Ky = (H @ rbf_kernel(A, gamma=0.2) @ H for A in (X, Y))
    # (K_x + κI)⁻¹ K_y (K_y + κI)⁻¹ K_x α = ρ² α
    M = np.linalg.solve(Kx + kappa * np.eye(30), Ky) @ np.linalg.solve(Ky + kappa * np.eye(30), Kx)
    rho = np.sqrt(np.sort(np.linalg.eigvals(M).real)[::-1][:2])
    model = KernelCCA("rbf", kappa, gamma=0.2).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, rho, atol=1e-8)
    given_ = KernelCCA("precomputed", kappa).fit(rbf_kernel(X, gamma=0.2), rbf_kernel(Y, gamma=0.2))
    np.testing.assert_allclose(given_.correlations_, rho, atol=1e-8)


def test_kernel_cca_needs_a_ridge():
    X, Y = views(0)
    with pytest.raises(ValueError, match="'reg'"):
        KernelCCA("rbf", 0.0).fit(X, Y)
    with pytest.raises(ValueError, match="different rows"):
        KernelCCA().fit(np.ones((5, 2)), np.arange(5.0))
    with pytest.raises(ValueError, match="columns as in fit"):
        ExactCCA().fit(X, Y).transform(X, Y[:, :1])


def test_kernel_cca_with_a_linear_kernel_does_not_depend_on_the_origin():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    Y[:, 0] += X[:, 1]
    exact = ExactCCA(reg=0.5).fit(X, Y)
    model = KernelCCA("linear", reg=0.5, n_components=3).fit(X + 1e6, Y - 1e6)
    assert model.correlations_ == pytest.approx(exact.correlations_, abs=1e-8)
    u, v = model.transform(X[:5] + 1e6, Y[:5] - 1e6)
    near = KernelCCA("linear", reg=0.5, n_components=3).fit(X, Y).transform(X[:5], Y[:5])
    assert u == pytest.approx(near[0], abs=1e-6)
    assert v == pytest.approx(near[1], abs=1e-6)


@pytest.mark.parametrize("constant", [0, 1])
def test_constant_tables_are_refused(constant):
    tables = list(views(3))
    tables[constant] = np.ones_like(tables[constant])
    with pytest.raises(ValueError, match="at least two different rows"):
        ExactCCA().fit(*tables)
