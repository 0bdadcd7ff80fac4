"""The quadratic bound of the logistic function, and its regression against general optimisers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_expit

from octavo.engine.variational.logistic_bound import (
    expected_log_sigmoid,
    half_curvature,
    logistic_normal_step,
)

numbers = st.floats(-50, 50)


@given(numbers, numbers)
def test_the_bound_is_below_and_touches(x, eta):
    f = half_curvature(np.array(eta))
    bound = log_expit(eta) + (x - eta) / 2 - f * (x**2 - eta**2)
    assert bound <= log_expit(x) + 1e-9
    assert_allclose(log_expit(eta), log_expit(-eta) + eta, atol=1e-9)


def test_curvature_is_smooth_at_zero():
    eta = np.array([0.0, 1e-8, 9.9e-5, 1.01e-4, 1e-3])
    assert_allclose(half_curvature(eta), 0.125 - eta**2 / 96, rtol=1e-9)


def test_expected_logs_are_bounds_of_gaussian_means():
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    for mean, var in ((0.3, 0.5), (-2.0, 3.0), (4.0, 0.1)):
        yes, no = expected_log_sigmoid(np.array(mean), np.array(mean**2 + var))
        x = mean + np.sqrt(var) * nodes
        assert yes <= weights @ log_expit(x) + 1e-9
        assert no <= weights @ log_expit(-x) + 1e-9


def test_step_is_the_maximum_of_the_quadratic_bound():
    rng = np.random.RandomState(0)
    X, weights = rng.normal(size=(30, 3)), rng.uniform(0.1, 1, 30)
    targets, second = weights * rng.uniform(0, 1, 30), rng.uniform(0.1, 4, 30)
    precision = np.array([0.5, 1.0, 2.0])
    mean, cov, log_det = logistic_normal_step(X, weights, targets, second, precision)
    f = half_curvature(np.sqrt(second))

    def cost(w):  # minus the log of the quadratic posterior
        g = X @ w
        return -((targets - weights / 2) @ g - weights * f @ g**2 - precision @ w**2 / 2)

    found = minimize(cost, np.zeros(3), method="BFGS", options={"gtol": 1e-10})
    assert_allclose(mean, found.x, atol=1e-6)
    hessian = 2 * (X * (weights * f)[:, None]).T @ X + np.diag(precision)
    assert_allclose(cov, np.linalg.inv(hessian), rtol=1e-9, atol=1e-12)
    assert_allclose(log_det, np.linalg.slogdet(cov)[1], rtol=1e-9)
