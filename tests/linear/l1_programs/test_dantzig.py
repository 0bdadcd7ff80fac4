"""The Dantzig selector against cvxpy, soft thresholding and its own certificate."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression

from octavo.linear import DantzigSelector


def data(n, d, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.4 * rng.standard_normal((n, 1))
    coef = np.zeros(d)
    coef[:3] = [2.0, -1.0, 0.5]
    return X, X @ coef + 1.5 + noise * rng.standard_normal(n)


@pytest.mark.parametrize(("n", "d"), [(50, 10), (20, 40)])
@pytest.mark.parametrize("alpha", [0.3, 0.05])
def test_objective_equals_cvxpy(n, d, alpha):
    X, y = data(n, d)
    model = DantzigSelector(alpha=alpha).fit(X, y)
    centred, target = X - X.mean(axis=0), y - y.mean()
    beta = cp.Variable(d)
    constraint = cp.norm_inf(centred.T @ (target - centred @ beta)) / n <= alpha
    problem = cp.Problem(cp.Minimize(cp.norm1(beta)), [constraint])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert np.abs(model.coef_).sum() == pytest.approx(problem.value, abs=1e-7)
    residual = target - centred @ model.coef_
    assert np.abs(centred.T @ residual).max() / n <= alpha + 1e-9
    assert abs(model.duality_gap_) <= 1e-9
    assert residual.mean() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


def test_orthonormal_design_is_soft_thresholding():
    X = hadamard(32)[:, 1:11].astype(float)  # X'X = 32 I, columns of mean zero
    y = np.random.default_rng(0).standard_normal(32)
    correlation = X.T @ (y - y.mean()) / 32
    for alpha in (0.3, 0.1, 0.01):
        expected = np.sign(correlation) * np.maximum(np.abs(correlation) - alpha, 0.0)
        np.testing.assert_allclose(
            DantzigSelector(alpha=alpha).fit(X, y).coef_, expected, atol=1e-14
        )
        np.testing.assert_allclose(
            Lasso(alpha=alpha, tol=1e-12).fit(X, y).coef_, expected, atol=1e-8
        )


def test_at_zero_it_is_least_squares():
    X, y = data(60, 8)
    model, exact = DantzigSelector(alpha=0.0).fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-9)
    assert model.intercept_ == pytest.approx(exact.intercept_)


def test_lasso_is_feasible_and_never_shorter():
    X, y = data(40, 60, seed=4)
    for alpha in (0.5, 0.1):
        ours = np.abs(DantzigSelector(alpha=alpha).fit(X, y).coef_).sum()
        lasso = np.abs(Lasso(alpha=alpha, tol=1e-10, max_iter=100_000).fit(X, y).coef_).sum()
        assert ours <= lasso + 1e-6


def test_path_holds_every_lam_above():
    X, y = data(30, 50, seed=1)
    model = DantzigSelector(alpha=0.05).fit(X, y)
    centred = X - X.mean(axis=0)
    assert model.path_.alphas[0] == pytest.approx(np.abs(centred.T @ (y - y.mean())).max() / 30)
    assert model.path_.alphas[-1] == pytest.approx(0.05)
    for alpha in (0.07, 0.2, 0.6):
        np.testing.assert_allclose(
            model.path_.at(alpha), DantzigSelector(alpha=alpha).fit(X, y).coef_, atol=1e-9
        )
    assert not DantzigSelector(alpha=1e3).fit(X, y).coef_.any()


def test_without_intercept():
    X, y = data(50, 6)
    model = DantzigSelector(alpha=0.1, fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0.0
    assert np.abs(X.T @ (y - X @ model.coef_)).max() / 50 <= 0.1 + 1e-9


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_weights_are_repetitions(seed):
    X, y = data(15, 5, seed)
    counts = np.random.default_rng(seed).integers(0, 4, 15)
    counts[0] += 1
    weighted = DantzigSelector(alpha=0.1).fit(X, y, sample_weight=counts)
    repeated = DantzigSelector(alpha=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert np.abs(weighted.coef_).sum() == pytest.approx(np.abs(repeated.coef_).sum(), abs=1e-8)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), shift=st.floats(-100, 100))
def test_shifting_and_scaling_the_target(seed, shift):
    X, y = data(20, 6, seed)
    base = DantzigSelector(alpha=0.2).fit(X, y)
    moved = DantzigSelector(alpha=0.4).fit(X + 3.0, 2.0 * y + shift)
    np.testing.assert_allclose(moved.coef_, 2.0 * base.coef_, atol=1e-8)
    np.testing.assert_allclose(moved.predict(X + 3.0), 2.0 * base.predict(X) + shift, atol=1e-7)


def test_bad_input_is_named():
    X, y = data(10, 3)
    with pytest.raises(ValueError, match="'alpha' parameter of DantzigSelector"):
        DantzigSelector(alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        DantzigSelector().fit(X, y, sample_weight=np.zeros(10))


def test_hopeless_conditioning_warns_with_the_certificate():
    degree = np.vander(np.linspace(0, 1, 40), 25)
    with pytest.warns(ConvergenceWarning, match="duality gap is"):
        DantzigSelector(alpha=0.0, tol=1e-14).fit(degree, np.sin(9 * degree[:, -2]))
