"""Closed forms of Parzen integrals against numerical integration and Gaussian values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from octavo.engine.kernels.pair_sums import PairKernel
from octavo.info.dependence.kernels import hilbert_schmidt
from octavo.info.divergences.quadratic_kde import (
    cauchy_schwarz_gap,
    euclidean_gap,
    joint_integrals,
    parzen_integrals,
    parzen_width,
)
from tests.info import gaussian_values


def integral(function):
    return quad(function, -12, 12, limit=400, epsabs=1e-12)[0]


def parzen(x, h):
    return lambda t: norm(x[:, 0], h).pdf(t).mean()


def test_integrals_of_two_densities_by_quadrature():
    rng = np.random.default_rng(0)
    x, y, h = rng.standard_normal((15, 1)), rng.normal(1, 0.5, (12, 1)), 0.4
    p, q = parzen(x, h), parzen(y, h)
    found = parzen_integrals(x, y, h)
    scale = np.exp(found.log_scale)
    assert scale * found.first == pytest.approx(integral(lambda t: p(t) ** 2), rel=1e-8)
    assert scale * found.second == pytest.approx(integral(lambda t: q(t) ** 2), rel=1e-8)
    assert scale * found.cross == pytest.approx(integral(lambda t: p(t) * q(t)), rel=1e-8)
    assert euclidean_gap(found) == pytest.approx(integral(lambda t: (p(t) - q(t)) ** 2), rel=1e-7)


def test_joint_integrals_by_a_grid():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((10, 1))
    y = x + 0.5 * rng.standard_normal((10, 1))
    h, g = 0.5, 0.3
    # The trapezoidal rule converges faster than any power for such smooth functions.
    axis = np.linspace(-8, 8, 801)
    step = axis[1] - axis[0]
    kx, ky = norm(x[:, 0], h).pdf(axis[:, None]), norm(y[:, 0], g).pdf(axis[:, None])
    joint, apart = kx @ ky.T / 10, np.outer(kx.mean(axis=1), ky.mean(axis=1))
    found = joint_integrals([x, y], [h, g])
    assert euclidean_gap(found) == pytest.approx(((joint - apart) ** 2).sum() * step**2, rel=1e-9)
    ratio = (joint**2).sum() * (apart**2).sum() / (joint * apart).sum() ** 2
    assert cauchy_schwarz_gap(found) == pytest.approx(np.log(ratio), rel=1e-9)


def test_unbiased_integrals_have_the_mean_of_smoothed_gaussians():
    m1, S1 = np.zeros(2), np.array([[1.0, 0.4], [0.4, 0.8]])
    m2, S2 = np.array([0.5, 0.5]), np.eye(2)
    rng = np.random.default_rng(2)
    runs = []
    for _ in range(200):
        X, Y = rng.multivariate_normal(m1, S1, 60), rng.multivariate_normal(m2, S2, 80)
        found = parzen_integrals(X, Y, 0.5, unbiased=True)
        runs.append(np.exp(found.log_scale) * np.array(found[:3]))
    truth = gaussian_values.parzen_integrals(S1, m1, S2, m2, 0.5)
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(np.mean(runs, axis=0) - truth) < 4 * error).all()


def test_divergence_of_gaussians_is_approached():
    """With Silverman's bandwidth the error falls as n grows, to the unsmoothed value."""
    first, second, cross = gaussian_values.parzen_integrals(
        np.eye(1), np.zeros(1), np.eye(1), np.ones(1), 0.0
    )
    truth = first + second - 2 * cross
    errors = []
    for n in (100, 1600):
        runs = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            x, y = rng.standard_normal((n, 1)), rng.normal(1, 1, (n, 1))
            runs.append(euclidean_gap(parzen_integrals(x, y, parzen_width(x))))
        errors.append(np.sqrt(np.mean((np.array(runs) - truth) ** 2)))
    assert errors[1] < errors[0] / 2  # sixteen times the sample: by theory a factor of 16^0.4 = 3


def test_joint_integrals_of_a_gaussian():
    rho, h = 0.6, 0.4
    covariance, apart = np.array([[1, rho], [rho, 1]]), np.eye(2)
    truth = gaussian_values.parzen_integrals(covariance, np.zeros(2), apart, np.zeros(2), h)
    runs = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z = rng.multivariate_normal([0, 0], covariance, 400)
        found = joint_integrals([Z[:, :1], Z[:, 1:]], [h, h], unbiased=True)
        runs.append(np.exp(found.log_scale) * np.array(found[:3]))
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    # The margins meet a point twice in ∫q² and ∫pq: a bias of O(1/n) of values below 0.1.
    assert (np.abs(np.mean(runs, axis=0) - truth) < 4 * error + 0.1 / 400).all()


def test_euclidean_information_is_hsic_with_density_kernels():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((40, 2))
    y = x[:, :1] + rng.standard_normal((40, 1))
    h = 0.7
    kernel = PairKernel("gaussian", h * np.sqrt(2))
    height = (4 * np.pi * h**2) ** -1.5
    expected = height * hilbert_schmidt([kernel, kernel], [x, y])
    assert euclidean_gap(joint_integrals([x, y], [h, h])) == pytest.approx(expected, rel=1e-9)


def test_many_dimensions_do_not_underflow():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((30, 400)), rng.standard_normal((30, 400)) + 0.05
    assert np.isfinite(cauchy_schwarz_gap(parzen_integrals(X, Y, 20.0)))


def test_kernels_that_do_not_meet_are_refused():
    X = np.zeros((5, 1)) + np.arange(5)[:, None]
    with pytest.raises(ValueError, match="do not overlap"):
        cauchy_schwarz_gap(parzen_integrals(X, X + 1e6, 1e-3))


@given(st.integers(0, 200))
def test_order_and_sign(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((12, 2)), rng.standard_normal((9, 2)) + 1
    found = parzen_integrals(X, Y, 0.6)
    assert euclidean_gap(found) >= 0
    assert cauchy_schwarz_gap(found) >= 0
    again = parzen_integrals(rng.permutation(Y), rng.permutation(X), 0.6)
    assert euclidean_gap(again) == pytest.approx(euclidean_gap(found))
    assert cauchy_schwarz_gap(again) == pytest.approx(cauchy_schwarz_gap(found))
    assert cauchy_schwarz_gap(parzen_integrals(X, X, 0.6)) == pytest.approx(0.0, abs=1e-12)
