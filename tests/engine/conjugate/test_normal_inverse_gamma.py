"""Conjugate regressions against scipy's laws and Monte Carlo."""

import numpy as np
import pytest
from scipy.stats import gamma, multivariate_normal, multivariate_t, norm
from scipy.stats import t as student

from octavo.engine.conjugate.normal_inverse_gamma import (
    NormalInverseGamma,
    nig_divergence,
    nig_expected_log_density,
    nig_log_marginal,
    nig_predictive,
    nig_update,
    student_log_density,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    law = NormalInverseGamma(rng.normal(size=3), A @ A.T + np.eye(3), 2.5, 1.3)
    return law, rng.normal(size=(6, 3)), rng.normal(size=6)


def test_marginal_is_a_multivariate_t(problem):
    law, X, y = problem
    scale = law.rate / law.shape * (np.eye(6) + X @ np.linalg.solve(law.precision, X.T))
    exact = multivariate_t(X @ law.mean, scale, df=2 * law.shape).logpdf(y)
    assert nig_log_marginal(law, X, y) == pytest.approx(exact, rel=1e-10)


def test_marginal_is_the_product_of_predictives(problem):
    law, X, y = problem
    total = 0.0
    for i in range(6):
        predictive = nig_predictive(law, X[i : i + 1])
        total += student_log_density(predictive, y[i : i + 1])[0]
        exact = student(predictive.dof, predictive.location, np.sqrt(predictive.scale2))
        assert student_log_density(predictive, y[i]) == pytest.approx(exact.logpdf(y[i]))
        law = nig_update(law, X[i : i + 1], y[i : i + 1])
    assert total == pytest.approx(nig_log_marginal(problem[0], X, y), rel=1e-10)


def draws(law, n, rng):
    precision = rng.gamma(law.shape, 1 / law.rate, n)
    factor = np.linalg.cholesky(np.linalg.inv(law.precision))
    return law.mean + rng.normal(size=(n, 3)) @ factor.T / np.sqrt(precision)[:, None], precision


def log_density(law, beta, precision):
    covariance = np.linalg.inv(law.precision)
    scaled = (beta - law.mean) * np.sqrt(precision)[:, None]
    value = multivariate_normal(np.zeros(3), covariance).logpdf(scaled) + 1.5 * np.log(precision)
    return value + gamma(law.shape, scale=1 / law.rate).logpdf(precision)


def test_expectation_and_divergence_against_monte_carlo(problem):
    law, X, y = problem
    other = nig_update(law, X, y)
    beta, precision = draws(law, 200_000, np.random.default_rng(1))
    values = norm.logpdf(y, beta @ X.T, 1 / np.sqrt(precision)[:, None])
    error = values.std(axis=0) / np.sqrt(len(beta))
    assert np.all(np.abs(values.mean(0) - nig_expected_log_density(law, X, y)) < 5 * error)
    gaps = log_density(law, beta, precision) - log_density(other, beta, precision)
    error = gaps.std() / np.sqrt(len(gaps))
    assert abs(gaps.mean() - nig_divergence(law, other)) < 5 * error
    assert nig_divergence(law, law) == pytest.approx(0.0, abs=1e-12)
