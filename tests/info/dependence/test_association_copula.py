"""Multivariate Spearman, its tails and Blomqvist's beta."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from octavo.engine.probability.copula import pseudo_observations
from octavo.info import LowerTailSpearman, UpperTailSpearman
from octavo.info.dependence.association_copula import (
    blomqvist_beta,
    conditional_spearman,
    spearman_rho,
)
from tests.info import gaussian_values


def ranks(n, d=2, seed=0, rho=0.5):
    covariance = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    rng = np.random.default_rng(seed)
    return pseudo_observations(rng.multivariate_normal(np.zeros(d), covariance, n))


def clayton(n, theta, seed):
    """A Clayton copula by its gamma frailty."""
    rng = np.random.default_rng(seed)
    frailty = rng.gamma(1 / theta, size=(n, 1))
    return pseudo_observations((1 + rng.exponential(size=(n, 2)) / frailty) ** (-1 / theta))


def clayton_copula(u, v, theta):
    return (u**-theta + v**-theta - 1) ** (-1 / theta)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_two_variables_give_scipys_rho(version):
    U = ranks(40)
    assert spearman_rho(U, version) == pytest.approx(spearmanr(U).statistic, rel=1e-12)


def test_published_formulas_are_the_limits():
    """The constants of Schmid and Schmidt, and the exact rescaling, differ by O(1/n)."""
    d, n = 3, 30
    U = ranks(n, d)
    h = (d + 1) / (2**d - d - 1)
    low = np.mean([np.prod([1 - x for x in u]) for u in U])
    high = np.mean([np.prod(list(u)) for u in U])
    assert spearman_rho(U, 1) == pytest.approx(h * (2**d * low - 1), abs=2 * d / n)
    assert spearman_rho(U, 2) == pytest.approx(h * (2**d * high - 1), abs=2 * d / n)
    assert spearman_rho(U, 3) == pytest.approx((spearman_rho(U, 1) + spearman_rho(U, 2)) / 2)
    pairs = [spearmanr(U[:, a], U[:, b]).statistic for a in range(d) for b in range(a)]
    assert spearman_rho(U, 4) == pytest.approx(np.mean(pairs))
    same = np.mean([(u <= 0.5).all() or (u > 0.5).all() for u in U])
    h = 2 ** (d - 1) / (2 ** (d - 1) - 1)
    assert blomqvist_beta(U) == pytest.approx(h * (same - 2 ** (1 - d)))  # exact for even n
    p = 0.4
    corner = np.mean([np.prod([max(p - x, 0) for x in u]) for u in U])
    independent = (p**2 / 2) ** d
    expected = (corner - independent) / (p ** (d + 1) / (d + 1) - independent)
    assert conditional_spearman(U, p) == pytest.approx(expected, abs=2 * d / (p * n))


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.3, 0.9])
def test_gaussian_values(rho):
    n, repeats = 1000, 60
    runs = [ranks(n, 2, seed, rho) for seed in range(repeats)]
    beta = gaussian_values.blomqvist(rho)
    found = [blomqvist_beta(U) for U in runs]
    # The asymptotic standard deviation of β for a symmetric copula is √((1 − β²)/n).
    sd = np.sqrt((1 - beta**2) / n)
    assert abs(np.mean(found) - beta) < 4 * sd / np.sqrt(repeats) + 2 / n
    assert 0.6 < np.std(found, ddof=1) / sd < 1.5
    found = [spearman_rho(U) for U in runs]
    error = np.std(found, ddof=1) / np.sqrt(repeats)
    assert abs(np.mean(found) - gaussian_values.spearman(rho)) < 4 * error + 3 / n


def test_three_gaussian_variables():
    """E∏U of equicorrelated Gaussians is an orthant probability: 1/8 + 3 asin(r)/(4π)."""
    rho, n, repeats = 0.5, 1000, 60
    # P(Z_j ≤ X_j for all j) with Z independent of X: X − Z has correlation ρ/2.
    orthant = 1 / 8 + 3 / (4 * np.pi) * np.arcsin(rho / 2)
    truth = (8 * orthant - 1) * 4 / 4
    for version in (1, 2, 3):
        found = [spearman_rho(ranks(n, 3, seed, rho), version) for seed in range(repeats)]
        error = np.std(found, ddof=1) / np.sqrt(repeats)
        assert abs(np.mean(found) - truth) < 4 * error + 5 / n


@pytest.mark.parametrize("tail", ["lower", "upper"])
@pytest.mark.parametrize("p", [0.2, 0.6])
def test_conditional_values_of_a_clayton_copula(p, tail):
    theta, n, repeats = 2.0, 2000, 40
    low, high = (0.0, p) if tail == "lower" else (1 - p, 1.0)

    def integral(copula):
        return gaussian_values.square_integral(copula, low, high)

    independent = integral(lambda u, v: u * v)
    clayton_value = integral(lambda u, v: clayton_copula(max(u, 1e-12), max(v, 1e-12), theta))
    comonotone = gaussian_values.square_integral(lambda u, v: min(u, v), low, high)
    truth = (clayton_value - independent) / (comonotone - independent)
    found = [conditional_spearman(clayton(n, theta, seed), p, tail) for seed in range(repeats)]
    error = np.std(found, ddof=1) / np.sqrt(repeats)
    # Ranks shift u by O(1/n) of a corner of edge p.
    assert abs(np.mean(found) - truth) < 4 * error + 5 / (p * n)


@pytest.mark.parametrize(
    ("tail", "cls"), [("lower", LowerTailSpearman), ("upper", UpperTailSpearman)]
)
def test_tail_dependence_of_a_clayton_copula(tail, cls):
    """Small values come together, large ones apart; the limits are 3∫Λ and 0."""
    theta, n, repeats = 2.0, 20_000, 20
    share = n**-0.5
    low = 0.0 if tail == "lower" else 1 - share

    def excess(u, v):  # in units of the corner, where the integrals are of order 1
        u, v = low + share * max(u, 1e-9), low + share * max(v, 1e-9)
        return (clayton_copula(u, v, theta) - u * v) / share

    truth = gaussian_values.square_integral(excess, 0, 1) / (1 / 3 - share / 4)
    found = [cls().estimate(clayton(n, theta, seed)) for seed in range(repeats)]
    error = np.std(found, ddof=1) / np.sqrt(repeats)
    assert abs(np.mean(found) - truth) < 4 * error + 5 / (share * n)
    limit = 3 * gaussian_values.square_integral(
        lambda x, y: (max(x, 1e-9) ** -theta + max(y, 1e-9) ** -theta) ** (-1 / theta), 0, 1
    )
    assert truth == pytest.approx(limit if tail == "lower" else 0.0, abs=3 * share)


def test_conditional_on_everything_is_unconditional():
    U = ranks(50, 3)
    assert conditional_spearman(U, 1.0, "lower") == pytest.approx(spearman_rho(U, 1))
    assert conditional_spearman(U, 1.0, "upper") == pytest.approx(spearman_rho(U, 1))


@given(st.integers(0, 100), st.floats(0.1, 1.0))
def test_reflection_exchanges_the_tails_of_two_variables(seed, p):
    U = ranks(60, 2, seed)
    lower = conditional_spearman(1 - U, p, "lower")
    assert conditional_spearman(U, p, "upper") == pytest.approx(lower, rel=1e-7, abs=1e-9)


@given(st.integers(0, 100))
def test_invariances_and_bounds(seed):
    U = ranks(30, 3, seed)
    rng = np.random.default_rng(seed)
    V = rng.permutation(U)[:, rng.permutation(3)]
    for measure in (
        *(lambda u, v=version: spearman_rho(u, v) for version in (1, 2, 3, 4)),
        blomqvist_beta,
        lambda u: conditional_spearman(u, 0.4),
        lambda u: conditional_spearman(u, 0.4, "upper"),
    ):
        assert measure(V) == pytest.approx(measure(U), rel=1e-9, abs=1e-12)
        assert measure(U) <= 1.0 + 1e-9
    assert spearman_rho(1 - U, 1) == pytest.approx(spearman_rho(U, 2))


@pytest.mark.parametrize("n", [20, 201])
@pytest.mark.parametrize("d", [2, 4])
def test_comonotone_variables_are_fully_associated(n, d):
    U = np.tile(np.arange(1, n + 1)[:, None] / (n + 1), (1, d))
    for version in (1, 2, 3, 4):
        assert spearman_rho(U, version) == pytest.approx(1.0)
    for tail in ("lower", "upper"):
        assert conditional_spearman(U, 0.5, tail) == pytest.approx(1.0)
    assert blomqvist_beta(U) == pytest.approx(1.0)
    assert spearman_rho(np.column_stack([U[:, 0], 1 - U[:, 0]])) == pytest.approx(-1.0)
