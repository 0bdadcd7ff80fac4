"""Losses against their definitions, and the Newton solver against cvxpy and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge

from octavo.engine.smooth.losses import (
    LOSSES,
    CustomLoss,
    loss_curvature,
    loss_slope,
    loss_value,
    make_loss,
)
from octavo.engine.smooth.newton import newton_linear

SMOOTH = ["log", "huber", "smooth_hinge", "squared_hinge", "squared", "smooth_absolute"]
SMOOTH += ["logcosh", "sqrt"]


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(SMOOTH),
    p=st.floats(-8, 8),
    y=st.sampled_from([-1.0, 1.0]),
    h=st.sampled_from([0.25, 0.5, 1.0]),
)
def test_derivatives_are_those_of_the_value(name, p, y, h):
    loss, step = make_loss(name, h), 1e-5
    args = (loss.code, loss.h)
    slope = (loss_value(*args, p + step, y) - loss_value(*args, p - step, y)) / (2 * step)
    np.testing.assert_allclose(loss_slope(*args, p, y), slope, atol=1e-4)
    u = p - y if name == "smooth_absolute" else 1 - y * p
    if not any(abs(abs(u) - edge) < 2 * step for edge in (0.0, h)):  # away from kinks
        curvature = (loss_slope(*args, p + step, y) - loss_slope(*args, p - step, y)) / (2 * step)
        np.testing.assert_allclose(loss_curvature(*args, p, y), curvature, atol=1e-4)
    assert abs(loss_slope(*args, p, y)) <= loss.lipschitz + 1e-12
    assert 0 <= loss_curvature(*args, p, y) <= loss.curvature_bound + 1e-12


@pytest.mark.parametrize("name", ["huber", "smooth_hinge"])
@pytest.mark.parametrize("h", [0.25, 0.5])
def test_smoothed_hinges_join_the_hinge_continuously(name, h):
    loss = make_loss(name, h)
    for edge, value, slope in ((1 + h, 0.0, 0.0), (1 - h, h, -1.0)):
        for side in (-1e-9, 1e-9):
            assert abs(loss_value(loss.code, h, edge + side, 1.0) - value) < 1e-8
            assert abs(loss_slope(loss.code, h, edge + side, 1.0) - slope) < 1e-7
    # The largest curvature is reached at the kink's centre.
    assert loss_curvature(loss.code, h, 1.0, 1.0) == pytest.approx(loss.curvature_bound)


def test_hinge_and_quantile_by_hand():
    hinge, quantile = make_loss("hinge"), make_loss("quantile", 0.9)
    assert loss_value(hinge.code, 0.5, 0.25, 1.0) == 0.75
    assert loss_slope(hinge.code, 0.5, 1.0, 1.0) == 0.0
    assert loss_value(quantile.code, 0.9, 1.0, 3.0) == pytest.approx(1.8)
    assert loss_value(quantile.code, 0.9, 3.0, 1.0) == pytest.approx(0.2)
    assert quantile.lipschitz == 0.9


def test_smooth_absolute_is_the_absolute_error_outside_its_band():
    """Above it inside by h/2 at most, so that a smoothed objective bounds the true one."""
    loss = make_loss("smooth_absolute", 0.2)
    for r in (-3.0, -0.2, 0.2, 1.7):
        assert loss_value(loss.code, loss.h, r, 0.0) == abs(r)
    for r in np.linspace(-0.2, 0.2, 21):
        assert -1e-16 <= loss_value(loss.code, loss.h, r, 0.0) - abs(r) <= 0.1 + 1e-15


def test_log_loss_does_not_overflow():
    for p in (-1e4, 1e4):
        assert np.isfinite(loss_value(LOSSES["log"], 0.5, p, 1.0))
        assert np.isfinite(loss_slope(LOSSES["log"], 0.5, p, 1.0))


@pytest.mark.parametrize("name", ["log", "logcosh", "sqrt", "squared"])
def test_third_derivatives_are_bounded_by_second_ones(name):
    """The constant holds everywhere, and is the smallest that does (Bach 2014, Section 2.1)."""
    loss = make_loss(name)
    p, y, step = np.linspace(-9, 9, 3601), 1.0, 1e-4
    u = p + (y if name == "logcosh" else 0.0)
    third, second = np.empty(p.size), np.empty(p.size)
    for i, at in enumerate(u):
        args = (loss.code, loss.h)
        second[i] = loss_curvature(*args, at, y)
        third[i] = loss_curvature(*args, at + step, y) - loss_curvature(*args, at - step, y)
    ratio = np.abs(third) / (2 * step) / second
    assert ratio.max() <= loss.self_concordance + 1e-6
    assert ratio.max() >= 0.999 * loss.self_concordance - 1e-9


@pytest.mark.parametrize(("name", "radius"), [("log", 1.0), ("logcosh", 2.0), ("sqrt", 2.0)])
def test_radius_bounds_slopes_and_third_derivatives(name, radius):
    loss = make_loss(name)
    assert loss.radius == radius == max(loss.lipschitz, loss.self_concordance)
    for p in (-1e300, -40.0, 0.0, 40.0, 1e300):
        for y in (-1.0, 1.0):
            value, slope = (f(loss.code, loss.h, p, y) for f in (loss_value, loss_slope))
            assert np.isfinite(value)
            assert value >= 0
            assert abs(slope) <= loss.lipschitz
            assert loss_curvature(loss.code, loss.h, p, y) >= 0


def test_sqrt_loss_keeps_its_digits_where_it_is_small():
    loss = make_loss("sqrt")
    assert loss_value(loss.code, loss.h, 1e9, 1.0) == pytest.approx(5e-10, rel=1e-12)
    assert loss_value(loss.code, loss.h, 0.75, -1.0) == pytest.approx(2.0)


def problem(seed=0, n=120, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def test_newton_is_logistic_regression():
    X, y = problem()
    alpha = 0.03
    ours = newton_linear(X, y, make_loss("log"), alpha)
    theirs = LogisticRegression(C=1 / (len(y) * alpha), fit_intercept=False, tol=1e-12)
    np.testing.assert_allclose(ours.coef, theirs.fit(X, y).coef_[0], atol=1e-6)
    assert ours.converged
    assert ours.gradient_norm <= 1e-10


def test_newton_is_ridge_with_weights():
    X, y = problem(1)
    weight = np.random.default_rng(2).uniform(0.2, 2, len(y))
    ours = newton_linear(X, y, make_loss("squared"), 0.1, weight=weight)
    ridge = Ridge(alpha=0.1 * len(y), fit_intercept=False, tol=1e-12)
    np.testing.assert_allclose(ours.coef, ridge.fit(X, y, weight).coef_, atol=1e-9)


@pytest.mark.parametrize("name", ["huber", "smooth_hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_newton_reaches_a_stationary_point_with_a_tilt(name, sparse):
    X, y = problem(3)
    loss, tilt = make_loss(name), np.linspace(-0.2, 0.3, 6)
    found = newton_linear(sp.csr_array(X) if sparse else X, y, loss, 0.01, linear=tilt)
    slope = np.array([loss_slope(loss.code, loss.h, p, t) for p, t in zip(X @ found.coef, y)])
    gradient = X.T @ slope / len(y) + 0.01 * found.coef + tilt
    assert np.linalg.norm(gradient) < 1e-9
    assert found.converged


def test_huber_equals_cvxpy():
    cp = pytest.importorskip("cvxpy")
    X, y = problem(4, n=60, d=4)
    h, alpha = 0.5, 0.05
    f = cp.Variable(4)
    u = 1 - cp.multiply(y, X @ f)
    value = cp.sum(cp.huber(cp.pos(u + h), 2 * h)) / (4 * h)
    cp.Problem(cp.Minimize(value / 60 + alpha / 2 * cp.sum_squares(f))).solve(solver="CLARABEL")
    ours = newton_linear(X, y, make_loss("huber", h), alpha)
    np.testing.assert_allclose(ours.coef, f.value, atol=1e-5)


def test_custom_losses_take_the_same_path():
    X, y = problem(5)
    mine = CustomLoss(
        value=lambda p, t: np.logaddexp(0, -t * p),
        slope=lambda p, t: -t / (1 + np.exp(t * p)),
        curvature=lambda p, t: 1 / (2 + 2 * np.cosh(p)),
        lipschitz=1.0,
        curvature_bound=0.25,
    )
    ours, built_in = (newton_linear(X, y, loss, 0.1) for loss in (mine, make_loss("log")))
    np.testing.assert_allclose(ours.coef, built_in.coef, atol=1e-10)


def test_stopping_early_says_so():
    X, y = problem(6)
    stopped = newton_linear(X, y, make_loss("log"), 1e-6, max_iter=1)
    assert not stopped.converged
    assert stopped.gradient_norm > 1e-10
