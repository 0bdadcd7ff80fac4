"""Spacings: the same numbers as scipy, and brute force for what scipy lacks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import differential_entropy

from octavo.info import (
    CorreaEntropy,
    EbrahimiEntropy,
    PhiEntropy,
    Uniform,
    VanEsEntropy,
    VasicekEntropy,
    quick_test,
)

NAMED = {
    "vasicek": VasicekEntropy,
    "van es": VanEsEntropy,
    "ebrahimi": EbrahimiEntropy,
    "correa": CorreaEntropy,
}
each_method = pytest.mark.parametrize("name", NAMED)


@each_method
@pytest.mark.parametrize("m", [1, 3, 11])
@pytest.mark.parametrize("n", [23, 200])
def test_equal_to_scipy(name, m, n):
    x = np.random.default_rng(n + m).gamma(2.0, size=n)
    theirs = differential_entropy(x, window_length=m, method=name)
    assert NAMED[name](m=m).estimate(x) == pytest.approx(float(theirs), rel=1e-12)


def test_correa_in_several_pieces():
    """More rows than one piece of the sliding windows holds."""
    x = np.random.default_rng(0).normal(size=9000)
    theirs = differential_entropy(x, window_length=94, method="correa")
    assert CorreaEntropy(m=94).estimate(x) == pytest.approx(float(theirs), rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100.0), st.floats(-100, 100))
def test_scaling_and_moving(seed, scale, shift):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=50)
    for cls in NAMED.values():
        expected = cls().estimate(x) + np.log(scale)
        assert cls().estimate(rng.permutation(scale * x + shift)) == pytest.approx(
            expected, abs=1e-7
        )


def test_phi_by_a_loop():
    x = np.sort(np.random.default_rng(0).normal(size=40))
    m, n = 3, 40
    total = 0.0
    for i in range(n - m):
        density = m / ((n + 1) * (x[i + m] - x[i]))
        total += density**0.7 * 0.5 * (np.cos(x[i]) + np.cos(x[i + m]))
    found = PhiEntropy(phi=lambda t: t**0.7, weight=np.cos, m=m, correct=False).estimate(x)
    assert found == pytest.approx(total / (n - m), rel=1e-12)


def test_corrected_phi_by_a_loop():
    """Up and down from every point, as far as the sample reaches; then 2 T(2m) - T(m)."""
    x = np.sort(np.random.default_rng(0).normal(size=40))
    n = 40

    def both_ways(m):
        total = 0.0
        for i in range(n):
            for j in {min(i + m, n - 1), max(i - m, 0)} - {i}:
                density = abs(j - i) / ((n + 1) * abs(x[j] - x[i]))
                total += 0.5 * density**0.7 * 0.5 * (np.cos(x[i]) + np.cos(x[j]))
        return total / (n - 1)

    found = PhiEntropy(phi=lambda t: t**0.7, weight=np.cos, m=3).estimate(x)
    assert found == pytest.approx(2 * both_ways(6) - both_ways(3), rel=1e-12)


@pytest.mark.parametrize("correct", [False, True])
def test_phi_of_the_uniform_distribution(correct):
    """∫ p √p on [0, 2] is 0.707; m-spacings vary by 1/√m, which φ'' turns into a bias of 1/m."""
    m = 9
    result = quick_test(
        PhiEntropy(phi=np.sqrt, m=m, correct=correct), Uniform(0, 2), n=8100, n_repeats=20
    )
    error = 4 * result.deviation / np.sqrt(20)
    assert result.truth == pytest.approx(np.sqrt(0.5))
    # E √(m/G) of a Gamma(m) variable G is 1 + 3/(8m) + O(1/m²)
    first = result.truth * 3 / (8 * m)
    assert result.bias == pytest.approx(0.0 if correct else first, abs=error + 0.3 / m**2)


def test_phi_needs_single_spacings_at_the_ends():
    x = np.r_[0.0, 0.0, np.random.default_rng(0).uniform(1, 2, 50)]
    with pytest.raises(ValueError, match=r"ties at an end.*correct=False"):
        PhiEntropy(m=3).estimate(x)
    assert np.isfinite(PhiEntropy(m=3, correct=False).estimate(x))


@each_method
def test_close_to_the_truth_on_the_exponential_distribution(name):
    """Entropy 1; known biases are at most of the order m/N log N."""
    from octavo.info import Exponential

    n = 5000
    result = quick_test(NAMED[name](), Exponential(1.0), n=n, n_repeats=6)
    assert result.truth == 1.0
    assert abs(result.bias) < 70 / n * np.log(n) + 4 / np.sqrt(6 * n)


@pytest.mark.parametrize("cls", [*NAMED.values(), PhiEntropy])
def test_bad_input(cls):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"1 column\(s\), X has 2"):
        cls().estimate(rng.normal(size=(50, 2)))
    with pytest.raises(ValueError, match="m=25 must be less than half of the 50"):
        cls(m=25).estimate(rng.normal(size=50))
    with pytest.raises(ValueError, match=r"m=2 are zero.*50 values, 11 of them distinct"):
        cls(m=2).estimate(np.concatenate([np.zeros(40), np.arange(1.0, 11.0)]))
    with pytest.raises(ValueError, match="constant"):
        cls().estimate(np.ones(50))
