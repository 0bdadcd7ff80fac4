"""Posteriors and improvements against scikit-learn, dense formulas and quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from octavo.engine.gaussian_process.improvement import improvement, log_improvement
from octavo.engine.gaussian_process.posterior import (
    appended_factor,
    clipped_kernel,
    jittered_factor,
    log_evidence,
    posterior_moments,
    profiled_evidence,
)

RNG = np.random.default_rng(0)
X, Z = RNG.uniform(-1, 1, (12, 3)), RNG.uniform(-1, 1, (7, 3))
Y = RNG.normal(size=12)


def test_moments_are_those_of_scikit_learn():
    kernel = RBF(0.7)
    peer = GaussianProcessRegressor(kernel, alpha=1e-3, optimizer=None).fit(X, Y)
    mean, std = peer.predict(Z, return_std=True)
    factor = jittered_factor(kernel(X) + 1e-3 * np.eye(12))
    got = posterior_moments(factor, Y, kernel(Z, X), kernel.diag(Z))
    np.testing.assert_allclose(got[0], mean, atol=1e-8)
    np.testing.assert_allclose(got[1], std, atol=1e-8)
    assert log_evidence(factor, Y) == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-8)


def test_a_factor_grows_by_rows():
    K = RBF(0.7)(X) + 0.1 * np.eye(12)
    factor = jittered_factor(K[:5, :5])
    for n in range(5, 12):
        factor = appended_factor(factor, K[n, :n], K[n, n])
    np.testing.assert_allclose(factor.lower, np.linalg.cholesky(K), atol=1e-12)


def test_jitter_is_the_smallest_that_serves_and_clipping_keeps_the_diagonal():
    assert jittered_factor(np.eye(3)).jitter == 0.0
    ones = np.ones((4, 4))
    factor = jittered_factor(ones)
    assert factor.jitter <= 1e-8
    np.testing.assert_allclose(factor.lower @ factor.lower.T, ones, atol=1e-7)
    bad = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    assert np.linalg.eigvalsh(bad)[0] < -0.2
    good = clipped_kernel(bad)
    assert np.linalg.eigvalsh(good)[0] > -1e-12
    np.testing.assert_allclose(np.diag(good), 1.0)
    with pytest.raises(ValueError, match="not positive definite"):
        jittered_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_profiled_evidence_is_the_best_of_the_dense_ones():
    K, ratios = RBF(0.7)(X), np.array([1e-3, 0.1, 1.0])
    found = profiled_evidence(K, Y, ratios)
    dense = max(
        multivariate_normal(np.zeros(12), a * (K + r * np.eye(12))).logpdf(Y)
        for r in ratios
        for a in found.amplitude * np.array([0.5, 0.9, 1.0, 1.1, 2.0])
    )
    # a million-millionth on the diagonal guards the division: 1e-12 / 1e-3 of each of 12 terms
    assert found.log_evidence == pytest.approx(dense, abs=1e-7)


def expected_gain(mean, std, best):
    return quad(lambda f: (f - best) * norm.pdf(f, mean, std), best, best + 30 * std)[0]


def test_improvement_by_quadrature_and_far_in_the_tail():
    for mean, std, best in ((0.3, 0.5, 1.0), (2.0, 1.5, 1.0), (-3.0, 0.8, 0.0)):
        area = expected_gain(mean, std, best)
        assert improvement(np.array(mean), np.array(std), best) == pytest.approx(area, rel=1e-7)
        assert log_improvement(np.array(mean), np.array(std), best) == pytest.approx(
            np.log(area), abs=1e-7
        )
    # u = -10: φ(u)/u² (1 − 6/u² + 45·... ) by the asymptotic series, with 1 - 3·2/100 + 5!!·3/1e4
    u = -10.0
    series = norm.pdf(u) * (1 / u**2 - 3 / u**4 + 15 / u**6 - 105 / u**8 + 945 / u**10)
    assert improvement(np.array(u), np.array(1.0), 0.0) == pytest.approx(series, rel=1e-5)
    # The same series beyond what doubles hold; below -1e3 the code keeps its first term, and the
    # next is 3/u². Half of u² = 1e8 is rounded to 1e-8.
    for u, step in ((-40.0, 1e-9), (-500.0, 1e-9), (-1001.0, 4e-6), (-1e4, 1e-7)):
        terms = np.log1p(-3 / u**2 + 15 / u**4 - 105 / u**6)
        log_series = -0.5 * u**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(-u) + terms
        got = log_improvement(np.array(2.0 * u), np.array(2.0), 0.0)
        assert got == pytest.approx(np.log(2.0) + log_series, rel=1e-15, abs=step)
    np.testing.assert_array_equal(improvement(np.array([1.0, -1.0]), np.zeros(2), 0.0), [1.0, 0.0])
