"""MMD in its five statistics, the energy distance and the expected kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import energy_distance as scipy_energy

from octavo.engine.kernels.pair_sums import PairKernel
from octavo.info.divergences.kernels import (
    energy_statistic,
    expected_kernel,
    mmd_block,
    mmd_low_rank,
    mmd_online,
    mmd_u_statistic,
    mmd_v_statistic,
)
from tests.info import gaussian_values

M1, S1 = np.array([0.0, 0.0]), np.array([[1.0, 0.3], [0.3, 0.7]])
M2, S2 = np.array([0.8, -0.4]), np.array([[1.5, -0.2], [-0.2, 1.0]])
SCALE = 1.2
GAUSSIAN = PairKernel("gaussian", SCALE)


def two_samples(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(M1, S1, n), rng.multivariate_normal(M2, S2, m)


def k(x, y, scale=SCALE):
    return np.exp(-np.sum((x - y) ** 2) / (2 * scale**2))


def test_statistics_are_their_definitions():
    X, Y = two_samples(12, 15)
    n, m = len(X), len(Y)
    between = 2 * sum(k(x, y) for x in X for y in Y) / (n * m)
    biased = (
        sum(k(a, b) for a in X for b in X) / n**2
        + sum(k(a, b) for a in Y for b in Y) / m**2
        - between
    )
    unbiased = (
        sum(k(X[i], X[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
        + sum(k(Y[i], Y[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
        - between
    )
    assert mmd_v_statistic(GAUSSIAN, X, Y) == pytest.approx(biased)
    assert mmd_u_statistic(GAUSSIAN, X, Y) == pytest.approx(unbiased)
    online = np.mean(
        [
            k(X[i], X[i + 1]) + k(Y[i], Y[i + 1]) - k(X[i], Y[i + 1]) - k(X[i + 1], Y[i])
            for i in range(0, 12, 2)
        ]
    )
    assert mmd_online(GAUSSIAN, X, Y) == pytest.approx(online)
    blocks = [mmd_u_statistic(GAUSSIAN, X[s : s + 4], Y[s : s + 4]) for s in (0, 4, 8)]
    assert mmd_block(GAUSSIAN, X, Y, 4) == pytest.approx(np.mean(blocks))
    assert expected_kernel(GAUSSIAN, X, Y) == pytest.approx(between / 2)


def test_low_rank_factor_loses_no_more_than_its_tolerance():
    X, Y = two_samples(200, 150)
    exact = mmd_v_statistic(GAUSSIAN, X, Y)
    for tol in (1e-3, 1e-6, 1e-9):
        # The residual matrix R is positive with trace ≤ tol·N, so w'Rw ≤ tol·N·|w|².
        bound = tol * 350 * (1 / 200 + 1 / 150)
        assert -1e-12 <= exact - mmd_low_rank(GAUSSIAN, X, Y, tol) <= bound + 1e-12


def test_one_block_is_the_u_statistic():
    X, Y = two_samples(40, 40)
    assert mmd_block(GAUSSIAN, X, Y, 40) == pytest.approx(mmd_u_statistic(GAUSSIAN, X, Y))


@pytest.mark.parametrize(
    "statistic",
    [
        mmd_u_statistic,
        mmd_online,
        lambda kernel, X, Y: mmd_block(kernel, X, Y, 10),
    ],
    ids=["u", "online", "block"],
)
def test_unbiased_statistics_have_the_gaussian_mean(statistic):
    runs = [statistic(GAUSSIAN, *two_samples(100, 120, seed)) for seed in range(200)]
    error = np.std(runs, ddof=1) / np.sqrt(len(runs))
    truth = gaussian_values.mmd_squared(M1, S1, M2, S2, SCALE)
    assert abs(np.mean(runs) - truth) < 4 * error


def test_online_loses_precision_for_speed_and_blocks_lie_between():
    sd = {
        name: np.std([f(GAUSSIAN, *two_samples(144, 144, seed)) for seed in range(100)])
        for name, f in {
            "u": mmd_u_statistic,
            "block": lambda kernel, X, Y: mmd_block(kernel, X, Y, 12),
            "online": mmd_online,
        }.items()
    }
    assert sd["u"] < sd["block"] < sd["online"]


def test_expected_kernel_has_the_gaussian_mean():
    runs = [expected_kernel(GAUSSIAN, *two_samples(100, 120, seed)) for seed in range(200)]
    truth = gaussian_values.mean_rbf(M1 - M2, S1 + S2, SCALE)
    assert abs(np.mean(runs) - truth) < 4 * np.std(runs, ddof=1) / np.sqrt(len(runs))


@pytest.mark.parametrize("d", [1, 2, 20])
@pytest.mark.parametrize("exponent", [1.0, 0.5, 1.9])
def test_energy_distance_is_mmd_with_the_distance_kernel(d, exponent):
    rng = np.random.default_rng(d)
    X, Y = rng.standard_normal((40, d)), rng.exponential(size=(50, d))
    minus = PairKernel("distance", exponent)
    for unbiased, mmd in ((False, mmd_v_statistic), (True, mmd_u_statistic)):
        found = energy_statistic(X, Y, exponent, unbiased=unbiased)
        assert found == pytest.approx(mmd(minus, X, Y), rel=1e-9)
    between, of_x, of_y = ((cdist(A, B) ** exponent).mean() for A, B in ((X, Y), (X, X), (Y, Y)))
    assert energy_statistic(X, Y, exponent) == pytest.approx(2 * between - of_x - of_y, rel=1e-9)


def test_energy_distance_of_columns_is_the_square_of_scipys():
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(301), rng.standard_normal(200) + 0.3
    found = energy_statistic(x[:, None], y[:, None])
    assert found == pytest.approx(scipy_energy(x, y) ** 2, rel=1e-9)


def test_unbiased_energy_distance_has_the_gaussian_mean():
    rng = np.random.default_rng(6)
    runs = [
        energy_statistic(rng.normal(0, 1, (100, 1)), rng.normal(0.7, 1.4, (80, 1)), unbiased=True)
        for _ in range(300)
    ]
    truth = gaussian_values.energy(0, 1, 0.7, 1.4)
    assert abs(np.mean(runs) - truth) < 4 * np.std(runs, ddof=1) / np.sqrt(len(runs))


@given(st.integers(0, 200), st.integers(2, 30), st.integers(2, 30))
def test_invariances(seed, n, m):
    X, Y = two_samples(n, m, seed)
    rng = np.random.default_rng(seed)
    found = mmd_v_statistic(GAUSSIAN, X, Y)
    assert found >= -1e-12
    assert mmd_v_statistic(GAUSSIAN, Y, X) == pytest.approx(found, abs=1e-12)
    assert mmd_v_statistic(GAUSSIAN, X, X) == pytest.approx(0.0, abs=1e-12)
    shuffled = mmd_u_statistic(GAUSSIAN, rng.permutation(X), rng.permutation(Y))
    assert shuffled == pytest.approx(mmd_u_statistic(GAUSSIAN, X, Y), abs=1e-12)
    assert energy_statistic(X, Y) >= -1e-12
