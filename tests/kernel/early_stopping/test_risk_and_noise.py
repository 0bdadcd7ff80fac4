"""Risk curves against simulation and direct sums; noise estimators against known noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.kernel import (
    bias_variance,
    exact_risk,
    gasser_variance,
    hall_marron_variance,
    rice_variance,
    ridge_exact_risk,
    ridge_variance,
    smoother_variance,
    sobolev_kernel,
    stop_on_curve,
    stopping_bounds,
    stopping_time,
    sure_curve,
)


def example(n=60):
    x = np.arange(1, n + 1) / n
    eigs, U = np.linalg.eigh(sobolev_kernel(1)(x[:, None], x[:, None]) / n)
    return x, np.maximum(eigs[::-1], 0.0), U[:, ::-1], np.abs(x - 0.5) - 0.5


def test_exact_risk_is_that_of_the_smoother_matrix():
    _, eigs, U, f_star = example()
    n, sigma, step = len(eigs), 0.7, 0.25
    curve = exact_risk(eigs, U.T @ f_star, sigma, np.full(40, step))
    for t in (0, 1, 5, 40):
        W = np.eye(n) - np.linalg.matrix_power(np.eye(n) - step * (U * eigs) @ U.T, t)
        bias = ((W @ f_star - f_star) ** 2).mean()
        assert curve[t] == pytest.approx(bias + sigma**2 * np.trace(W @ W.T) / n, rel=1e-11)
    curves = bias_variance(eigs, U.T @ f_star, sigma, np.full(40, step))
    np.testing.assert_allclose(curves.bias + curves.variance, curve)


def test_sure_is_unbiased():
    """The mean of 10,000 estimates is the exact risk: within 4 standard errors at each time."""
    _, eigs, U, f_star = example()
    sigma, steps, n = 0.7, np.full(30, 0.25), len(eigs)
    rng = np.random.default_rng(0)
    z_star = U.T @ f_star
    draws = np.array(
        [sure_curve(eigs, z_star + sigma * rng.normal(size=n), sigma, steps) for _ in range(10_000)]
    )
    error = draws.std(axis=0) / 100.0
    apart = np.abs(draws.mean(axis=0) - exact_risk(eigs, z_star, sigma, steps))
    assert (apart < 4.0 * error).all()


def test_ridge_risk_is_that_of_its_smoother():
    _, eigs, U, f_star = example()
    K, n, nu = (U * eigs) @ U.T, len(eigs), 9.0
    W = K @ np.linalg.inv(K + np.eye(n) / nu)
    expected = ((W @ f_star - f_star) ** 2).mean() + 0.25 * np.trace(W @ W.T) / n
    found = ridge_exact_risk(eigs, U.T @ f_star, 0.5, [nu])[0]
    assert found == pytest.approx(expected, rel=1e-10)


@settings(max_examples=100, deadline=None)
@given(
    eigs=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=10),
    share=st.floats(0.05, 1.0),
    decay=st.floats(0.0, 1.0),
    t=st.integers(1, 60),
)
def test_lemma_8(eigs, share, decay, t):
    """½ min(1, ηλ) <= 1 - S <= min(1, ηλ) and S² <= 1/(2eηλ), through the public curves."""
    lam = np.array(eigs)
    steps = share / (1.0 + np.arange(t)) ** decay
    eta = steps.sum()
    for value in lam:
        S = float(np.prod(1.0 - steps * value))
        variance = bias_variance([value], [0.0], 1.0, steps).variance[-1]
        # 1 - S itself is exact to about 60 roundings of 1
        assert np.sqrt(variance) == pytest.approx(1.0 - S, abs=60 * 2.3e-16)
        low, high = 0.5 * min(1.0, eta * value), min(1.0, eta * value)
        assert low**2 - 1e-12 <= variance <= high**2 + 1e-12
        if value > 1e-9:
            assert 1.0 / (2.0 * np.e * eta * value) + 1e-12 >= S**2


@settings(max_examples=60, deadline=None)
@given(
    eigs=st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=12),
    sigma=st.floats(0.1, 3.0),
    t=st.integers(1, 80),
)
def test_corrected_lower_bound_never_fails(eigs, sigma, t):
    n, steps = len(eigs), np.ones(t)
    risk = exact_risk(eigs, np.zeros(n), sigma, steps)[t]
    assert stopping_bounds(eigs, n, sigma, [float(t)]).lower[0] <= risk * (1 + 1e-9)


def test_upper_bounds_of_theorem_1_by_simulation():
    """(a) and (b) on the paper's example, 2,000 draws: no violation is expected."""
    _, eigs, U, f_star = example(100)
    n, step = 100, 0.25
    T = stopping_time(eigs, n, 1.0, step)
    z_star = U.T @ f_star
    rng = np.random.default_rng(0)
    etas = step * np.arange(1, T + 1)
    bounds = stopping_bounds(eigs, n, 1.0, etas)
    for _ in range(2000):
        z = z_star + rng.normal(size=n)
        fitted = (1 - (1 - step * eigs) ** np.arange(1, T + 1)[:, None]) * z
        errors = ((fitted - z_star) ** 2).mean(axis=1)
        assert (errors <= bounds.upper).all()
        assert errors[-1] <= bounds.at_stop


# What the sheet's re-run found: 2,000 trials, σ known, α = 1/4. Its standard errors are those of
# 2,000 trials, and so are ours.
TABLE = {
    50: (0.0419, 0.0557, 0.0239),
    100: (0.0337, 0.0354, 0.0167),
    200: (0.0240, 0.0184, 0.0105),
    300: (0.0196, 0.0123, 0.0074),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", TABLE)
def test_mean_squared_errors_of_the_simulation(n):
    _, eigs, U, f_star = example(n)
    rng = np.random.default_rng(0)
    z_star, steps, trials = U.T @ f_star, np.full(2000, 0.25), 2000
    T = stopping_time(eigs, n, 1.0, 0.25)
    S = (1.0 - 0.25 * eigs) ** np.arange(2001)[:, None]
    found = []
    for _ in range(trials):
        z = z_star + rng.normal(size=n)
        errors = ((1 - S) ** 2 @ z**2 - 2 * (1 - S) @ (z * z_star) + z_star @ z_star) / n
        sure = stop_on_curve(sure_curve(eigs, z, 1.0, steps), "first")
        found.append((errors[T], errors[sure], errors.min()))
    found = np.array(found)
    error = np.sqrt(2.0) * found.std(axis=0) / np.sqrt(trials)  # theirs and ours
    assert (np.abs(found.mean(axis=0) - TABLE[n]) <= 2.0 * error + 5e-5).all(), found.mean(axis=0)


def test_stop_on_curve_modes():
    assert stop_on_curve([3.0, 2.0, 1.0]) == 2
    assert stop_on_curve([3.0, 2.0, 1.0], "first") == 2  # never rises
    assert stop_on_curve([3.0, 1.0, 2.0], "first") == 0  # rises from t = 1 on
    with pytest.raises(ValueError, match="mode"):
        stop_on_curve([1.0, 2.0], "last")


# --- noise ---------------------------------------------------------------------------------------


def waves(n, sigma, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n))
    return x, np.sin(5 * x) + sigma * rng.normal(size=n)


@pytest.mark.parametrize("estimate", [rice_variance, gasser_variance, hall_marron_variance])
def test_noise_on_a_line(estimate):
    """n = 2,000: the standard error of a variance is about √(3/n) of it; four of them."""
    x, y = waves(2000, 0.5, 0)
    shuffled = np.random.default_rng(1).permutation(2000)
    assert estimate(x[shuffled], y[shuffled]) == pytest.approx(0.25, rel=4 * np.sqrt(3 / 2000))


def test_linear_functions_leave_nothing_to_gasser():
    x = np.sort(np.random.default_rng(0).uniform(size=50))
    assert gasser_variance(x, 3 * x + 1) < 1e-28


def test_hall_marron_is_its_formula_at_a_given_bandwidth():
    x, y = waves(80, 0.5, 2)
    s, h = (x - x.mean()) / x.std(), 0.3
    W = np.exp(-((s[:, None] - s) ** 2) / (2 * h * h))
    W /= W.sum(axis=1, keepdims=True)
    expected = ((y - W @ y) ** 2).sum() / (80 - 2 * np.trace(W) + (W**2).sum())
    assert hall_marron_variance(x, y, bandwidth=h) == pytest.approx(expected, rel=1e-10)
    assert smoother_variance(y, W) == pytest.approx(expected, rel=1e-10)


def test_ridge_variance_is_the_formula_of_its_smoother():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=300)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8) / 300
    eigs, U = np.linalg.eigh(K)
    found = ridge_variance(eigs, U.T @ y)
    assert found == pytest.approx(0.25, rel=4 * np.sqrt(3 / 300))
    # some penalty's smoother gives exactly this number
    values = [smoother_variance(y, K @ np.linalg.inv(K + np.eye(300) / nu))
              for nu in np.logspace(-3, 12, 181)[40:160:1] / eigs[-1]]  # fmt: skip
    assert min(abs(np.array(values) / found - 1.0)) < 1e-6


def test_an_interpolating_bandwidth_falls_back():
    x, y = waves(100, 0.5, 3)
    with pytest.warns(UserWarning, match="interpolate"):
        found = hall_marron_variance(x, y, bandwidth=1e-9)
    assert found == pytest.approx(hall_marron_variance(x, y))


def test_noise_needs_four_rows_and_a_line():
    with pytest.raises(ValueError, match="At least 4 rows"):
        hall_marron_variance([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="one column"):
        rice_variance(np.ones((5, 2)), np.ones(5))
    with pytest.raises(ValueError, match="leaves no residuals"):
        smoother_variance([1.0, 2.0], np.eye(2))
