"""Copula dependence: exact integrals over cells, comonotone variables, Gaussian copulas."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad

from octavo.engine.probability.copula import pseudo_observations
from octavo.info.dependence.copula import (
    grid_size,
    hoeffding_constant,
    hoeffding_integral,
    schweizer_wolff,
    squared_copula_discrepancy,
    uniform_embedding,
    uniform_norm,
    upper_integral,
    upper_maximum,
)
from tests.info import gaussian_values


def ranks(n, d, seed=0, rho=0.5):
    covariance = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    rng = np.random.default_rng(seed)
    return pseudo_observations(rng.multivariate_normal(np.zeros(d), covariance, n))


def comonotone(n, d):
    return np.tile(np.arange(1, n + 1)[:, None] / (n + 1), (1, d))


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
def test_uniform_side_is_its_integral(scale):
    U = np.array([[0.1, 0.7], [0.5, 0.95]])

    def k(u, v):
        return np.exp(-((u - v) ** 2) / (2 * scale**2))

    expected = [
        quad(lambda v, u=u: k(u[0], v), 0, 1)[0] * quad(lambda v, u=u: k(u[1], v), 0, 1)[0]
        for u in U
    ]
    np.testing.assert_allclose(uniform_embedding(U, scale), expected, rtol=1e-8)
    line = dblquad(k, 0, 1, 0, 1)[0]
    assert uniform_norm(3, scale) == pytest.approx(line**3, rel=1e-7)


def test_copula_discrepancy_is_the_mmd_to_a_large_uniform_grid():
    U = ranks(40, 2)
    m = 60
    axis = (np.arange(m) + 0.5) / m  # the midpoint rule: error 1/(24 m² s²)
    V = np.array(list(product(axis, axis)))

    def mean_k(A, B):
        squares = ((A[:, None, :] - B[None]) ** 2).sum(axis=2)
        return np.exp(-squares / (2 * 0.4**2)).mean()

    expected = mean_k(U, U) - 2 * mean_k(U, V) + mean_k(V, V)
    assert squared_copula_discrepancy(U, 0.4) == pytest.approx(expected, abs=3e-4)


@pytest.mark.parametrize("d", [2, 3])
def test_hoeffding_integral_is_exact_cell_by_cell(d):
    n = 8 if d == 3 else 30
    U = ranks(n, d)
    edges = np.concatenate([[0.0], np.arange(1, n + 1) / (n + 1), [1.0]])
    total = 0.0
    for cell in product(range(n + 1), repeat=d):
        low, high = edges[list(cell)], edges[[c + 1 for c in cell]]
        c = (low[None] + 1e-9 >= U).all(axis=1).mean()  # constant on the cell
        first, second = np.prod((high**2 - low**2) / 2), np.prod((high**3 - low**3) / 3)
        total += c**2 * np.prod(high - low) - 2 * c * first + second
    assert hoeffding_integral(U) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_constants_are_the_values_of_comonotone_variables(d):
    rng = np.random.default_rng(0)
    V = rng.random((400_000, d))
    gap = V.min(axis=1) - V.prod(axis=1)
    error = 4 / np.sqrt(len(V))
    assert 1 / hoeffding_constant(d) == pytest.approx((gap**2).mean(), abs=error * gap.std())
    assert upper_integral(d) == pytest.approx(gap.mean(), abs=error * gap.std())
    diagonal = np.linspace(0, 1, 100_001)
    assert upper_maximum(d) == pytest.approx((diagonal - diagonal**d).max(), abs=1e-9)


def test_hoeffding_constant_of_two_is_ninety():
    assert hoeffding_constant(2) == pytest.approx(90.0)


def test_schweizer_wolff_by_loops():
    n = 30
    for d in (2, 3):
        n = 30 if d == 2 else 12
        U = ranks(n, d, rho=0.3)
        levels = np.rint(U * (n + 1)).astype(int)
        gaps, most = [], []
        for cell in product(range(1, n + 1), repeat=d):
            point = np.array(cell) / n
            c = (levels <= np.array(cell)).all(axis=1).mean()
            gaps.append(abs(c - point.prod()))
            most.append(point.min() - point.prod())
        assert schweizer_wolff(U, "l1") == pytest.approx(sum(gaps) / sum(most))
        assert schweizer_wolff(U, "linf") == pytest.approx(max(gaps) / upper_maximum(d))


@pytest.mark.parametrize(("n", "d"), [(100, 2), (50, 3), (60, 7)])
def test_comonotone_variables_have_dependence_one(n, d):
    U = comonotone(n, d)
    # On a grid that is the sample's own σ is exactly 1; at random points 1/n is the step.
    tolerance = 1e-12 if grid_size(n, d) == n else 2 * d / n
    assert schweizer_wolff(U, "l1") == pytest.approx(1.0, abs=tolerance)
    assert schweizer_wolff(U, "linf") == pytest.approx(1.0, abs=2 * d / n)
    assert hoeffding_constant(d) * hoeffding_integral(U) == pytest.approx(1.0, abs=8 * d / n)


def test_two_variables_have_the_classical_normalisation():
    n = 25
    U = ranks(n, 2)
    levels = np.rint(U * (n + 1)).astype(int)
    total = sum(
        abs((levels <= (i, j)).all(axis=1).mean() - i * j / n**2)
        for i in range(1, n + 1)
        for j in range(1, n + 1)
    )
    assert schweizer_wolff(U) == pytest.approx(12 / (n**2 - 1) * total)


@pytest.mark.parametrize("rho", [0.5, 0.8])
@pytest.mark.slow
def test_gaussian_copula_values(rho):
    """A positively dependent copula lies above Π: σ is Spearman's ρ, κ is Blomqvist's β."""
    runs = [ranks(1500, 2, seed, rho) for seed in range(25)]
    phi = gaussian_values.copula_integral(
        lambda u, v: 90 * (gaussian_values.gaussian_copula(u, v, rho) - u * v) ** 2
    )
    for found, truth in (
        ([schweizer_wolff(U, "l1") for U in runs], gaussian_values.spearman(rho)),
        ([schweizer_wolff(U, "linf") for U in runs], gaussian_values.blomqvist(rho)),
        ([hoeffding_constant(2) * hoeffding_integral(U) for U in runs], phi),
    ):
        # An estimate is within two standard deviations of the truth; κ is a maximum, biased up
        # by less than one.
        assert abs(np.mean(found) - truth) < np.std(found, ddof=1) * (1 + 4 / np.sqrt(25))


def test_kappa_of_a_gaussian_copula_is_reached_at_the_centre():
    rho = 0.6
    grid = np.linspace(0.05, 0.95, 19)
    gaps = [[gaussian_values.gaussian_copula(u, v, rho) - u * v for u in grid] for v in grid]
    assert np.max(gaps) == pytest.approx(gaps[9][9])
    assert 4 * gaps[9][9] == pytest.approx(gaussian_values.blomqvist(rho), abs=1e-5)


@given(st.integers(0, 100))
def test_order_of_samples_and_variables_does_not_matter(seed):
    U = ranks(20, 3, seed)
    rng = np.random.default_rng(seed)
    V = rng.permutation(U)[:, rng.permutation(3)]
    for measure in (
        schweizer_wolff,
        lambda u: schweizer_wolff(u, "linf"),
        hoeffding_integral,
        lambda u: squared_copula_discrepancy(u, 0.3),
    ):
        assert measure(V) == pytest.approx(measure(U), rel=1e-9, abs=1e-14)
    assert hoeffding_integral(U) >= 0
    assert squared_copula_discrepancy(U, 0.3) >= -1e-12
