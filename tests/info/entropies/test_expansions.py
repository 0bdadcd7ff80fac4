"""Expansions about the normal distribution: exact there, and to first order near it."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from octavo.info import EdgeworthEntropy, MaxEntEntropy1, MaxEntEntropy2, Normal, quick_test
from octavo.info.entropies.expansions import (
    negentropy_absolute,
    negentropy_gaussian,
    standardised,
    third_cumulants,
)


def test_standardised_sample_has_unit_covariance():
    X = np.random.default_rng(0).normal(size=(500, 3)) @ [[2, 1, 0], [0, 1, 5], [0, 0, 0.1]]
    white, log_scale = standardised(X)
    np.testing.assert_allclose(white.T @ white / 500, np.eye(3), atol=1e-12)
    covariance = np.cov(X.T, bias=True)
    assert log_scale == pytest.approx(0.5 * np.linalg.slogdet(covariance)[1], rel=1e-10)


def test_third_cumulants_by_a_loop():
    white = np.random.default_rng(0).gamma(1.0, size=(60, 3))
    expected = np.einsum("ni,nj,nk->ijk", white, white, white) / 60
    np.testing.assert_allclose(third_cumulants(white).reshape(3, 3, 3), expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_normals_are_found_within_the_standard_error(d):
    """The variance of ½ log|S| is d/(2n); squared cumulants of n points are about d³/n."""
    cov = np.eye(d) + 0.5
    n = 4000
    result = quick_test(EdgeworthEntropy(), Normal(np.zeros(d), cov), n=n, n_repeats=8)
    error = math.sqrt(d / (2 * n))
    assert abs(result.bias) < 4 * error / math.sqrt(8) + d**3 / n
    assert 0.4 * error < result.deviation < 2 * error


@pytest.mark.parametrize("cls", [MaxEntEntropy1, MaxEntEntropy2])
def test_maximum_entropy_on_normals(cls):
    n = 4000
    result = quick_test(cls(), Normal(3.0, 2.0), n=n, n_repeats=8)
    assert abs(result.bias) < 4 * math.sqrt(1 / (2 * n * 8)) + 20 / n


@pytest.mark.parametrize("shape", [50.0, 200.0, 800.0])
def test_edgeworth_is_exact_to_first_order_for_gamma_laws(shape):
    """Negentropy of Gamma(a) is κ²/12 with κ = 2/√a, up to terms of order a^-2."""
    exact = 0.5 * math.log(2 * math.pi * math.e * shape) - gamma(shape).entropy()
    expansion = (2 / math.sqrt(shape)) ** 2 / 12
    assert expansion == pytest.approx(float(exact), abs=1 / shape**2)
    x = gamma(shape).ppf((np.arange(20_000) + 0.5) / 20_000)[:, None]  # a sample without noise
    found = EdgeworthEntropy().estimate(x)
    assert found == pytest.approx(float(gamma(shape).entropy()), abs=2 / shape**2 + 2e-4)


@pytest.mark.parametrize(
    ("negentropy", "even"),
    [(negentropy_absolute, abs), (negentropy_gaussian, lambda x: math.exp(-0.5 * x * x))],
    ids=["absolute", "gaussian"],
)
def test_coefficients_of_maximum_entropy(negentropy, even):
    """k is 1/(2δ²), δ² the variance of G left over after its regression on 1, x and x²."""

    def mean(f):
        return quad(lambda x: f(x) * math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi), -12, 12)[0]

    def coefficient(G):
        basis = [lambda x: 1.0, lambda x: x, lambda x: (x * x - 1) / math.sqrt(2)]
        explained = sum(mean(lambda x, b=b: G(x) * b(x)) ** 2 for b in basis)
        return 1 / (2 * (mean(lambda x: G(x) ** 2) - explained))

    odd = lambda x: x * math.exp(-0.5 * x * x)  # noqa: E731
    x = np.random.default_rng(0).gamma(3.0, size=500)
    x = (x - x.mean()) / x.std()
    odd_moment = np.mean([odd(v) for v in x])
    even_moment = np.mean([even(v) for v in x]) - mean(even)
    expected = coefficient(odd) * odd_moment**2 + coefficient(even) * even_moment**2
    assert negentropy(x) == pytest.approx(expected, rel=1e-6)


def test_invariance_under_scaling_and_bad_input():
    x = np.random.default_rng(0).gamma(5.0, size=300)
    for cls in (MaxEntEntropy1, MaxEntEntropy2, EdgeworthEntropy):
        moved = cls().estimate(7 * x - 3)
        assert moved == pytest.approx(cls().estimate(x) + math.log(7), rel=1e-10)
        with pytest.raises(ValueError, match="constant"):
            cls().estimate(np.ones(20))
    with pytest.raises(ValueError, match="more rows than columns, got 5 and 8"):
        EdgeworthEntropy().estimate(np.random.default_rng(0).normal(size=(5, 8)))
    with pytest.raises(ValueError, match="1 column"):
        MaxEntEntropy1().estimate(np.random.default_rng(0).normal(size=(50, 2)))
