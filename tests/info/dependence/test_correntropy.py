"""Correntropy and its relatives: definitions, Gaussian values, metric and bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.info.dependence.correntropy import (
    centred_correntropy,
    centred_correntropy_metric,
    correntropy,
    correntropy_coefficient,
    correntropy_independence,
    correntropy_metric,
    own_centred_correntropy,
)
from tests.info import gaussian_values

SIGMA = 0.8


def k(r, sigma=SIGMA):
    return np.exp(-(r**2) / (2 * sigma**2))


def pair(n, seed=0, rho=0.6):
    Z = np.random.default_rng(seed).multivariate_normal([0.3, 0], [[1, rho], [rho, 1.5]], n)
    return Z[:, 0], Z[:, 1]


def test_definitions_by_loops():
    x, y = pair(30)
    v = np.mean([k(a - b) for a, b in zip(x, y)])
    cross = np.mean([k(a - b) for a in x for b in y])
    own_x = 1 - np.mean([k(a - b) for a in x for b in x])
    own_y = 1 - np.mean([k(a - b) for a in y for b in y])
    assert correntropy(x, y, SIGMA) == pytest.approx(v)
    assert centred_correntropy(x, y, SIGMA) == pytest.approx(v - cross)
    assert own_centred_correntropy(x, SIGMA) == pytest.approx(own_x)
    assert correntropy_coefficient(x, y, SIGMA) == pytest.approx(
        (v - cross) / np.sqrt(own_x * own_y)
    )
    assert correntropy_metric(x, y, SIGMA) == pytest.approx(np.sqrt(1 - v))
    assert centred_correntropy_metric(x, y, SIGMA) == pytest.approx(
        np.sqrt(own_x + own_y - 2 * (v - cross))
    )


def test_gaussian_values():
    rho, n, repeats = 0.6, 400, 100
    v = gaussian_values.mean_rbf(0.3, 2.5 - 2 * rho, SIGMA)
    u = v - gaussian_values.mean_rbf(0.3, 2.5, SIGMA)
    own = [1 - gaussian_values.mean_rbf(0, 2 * s, SIGMA) for s in (1.0, 1.5)]
    for measure, truth in (
        (correntropy, v),
        (centred_correntropy, u),
        (correntropy_coefficient, u / np.sqrt(own[0] * own[1])),
        (correntropy_metric, np.sqrt(1 - v)),
        (centred_correntropy_metric, np.sqrt(sum(own) - 2 * u)),
    ):
        runs = [measure(*pair(n, seed, rho), SIGMA) for seed in range(repeats)]
        error = np.std(runs, ddof=1) / np.sqrt(repeats)
        # Values of order 1, and V-statistics, ratios and roots with a bias of O(1/n).
        assert abs(np.mean(runs) - truth) < 4 * error + 2 / n, measure


@given(st.integers(0, 300))
def test_metrics_and_bounds(seed):
    rng = np.random.default_rng(seed)
    x, y, z = rng.standard_normal((3, 20))
    for metric in (correntropy_metric, centred_correntropy_metric):
        assert metric(x, x, SIGMA) == pytest.approx(0.0, abs=1e-7)
        assert metric(x, y, SIGMA) == pytest.approx(metric(y, x, SIGMA))
        assert metric(x, z, SIGMA) <= metric(x, y, SIGMA) + metric(y, z, SIGMA) + 1e-12
    assert abs(correntropy_coefficient(x, y, SIGMA)) <= 1.0 + 1e-12
    assert correntropy_coefficient(x, x, SIGMA) == pytest.approx(1.0)
    order = rng.permutation(20)
    shuffled = centred_correntropy(x[order], y[order], SIGMA)
    assert shuffled == pytest.approx(centred_correntropy(x, y, SIGMA), abs=1e-12)


def test_independence_measure_sees_both_signs_and_an_even_dependence():
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((2, 1000))
    independent = correntropy_independence(x, noise, 1.0)
    assert independent < 0.1
    falling = correntropy_independence(x, -x + 0.1 * noise, 1.0)
    rising = correntropy_independence(x, x + 0.1 * noise, 1.0)
    assert min(rising, falling) > 0.9
    # x and x² are uncorrelated.
    assert correntropy_independence(x, x**2 + 0.1 * noise, 1.0) > 2 * independent


def test_independence_measure_is_the_largest_of_its_coefficients_by_loops():
    x, y = pair(30, rho=-0.5)
    z, w = ((u - u.mean()) / np.sqrt(np.mean((u - u.mean()) ** 2)) for u in (x, y))

    def u(a, b):
        cross = np.mean([k(r - s, 0.7) for r in a for s in b])
        return np.mean([k(r - s, 0.7) for r, s in zip(a, b)]) - cross

    own = np.sqrt(u(z, z) * u(w, w))
    found = [abs(u(a * z + b, w)) / own for a in (1, -1) for b in (0.0, 0.4, -2.0)]
    assert correntropy_independence(x, y, 0.7, (0.0, 0.4, -2.0)) == pytest.approx(max(found))
    assert correntropy_independence(x, y, 0.7) == pytest.approx(max(found[0], found[3]))
    for b, rows in ((0.4, found[1::3]), (-2.0, found[2::3])):  # a shift counts, and its sign
        assert correntropy_independence(x, y, 0.7, (b,)) == pytest.approx(max(rows))
    assert found[3] != pytest.approx(found[0])  # the signs of a differ


def test_shifts_can_only_raise_the_supremum():
    x, y = pair(100, rho=0.2)
    few = correntropy_independence(x, y, 1.0)
    assert correntropy_independence(x, y, 1.0, (0.0, -1.0, 1.0)) >= few


def test_outliers_hardly_move_correntropy():
    x, _ = pair(500)
    y = x + 0.1 * np.random.default_rng(1).standard_normal(500)
    wild = y.copy()
    wild[:5] += 1e6
    assert abs(correntropy(x, wild, SIGMA) - correntropy(x, y, SIGMA)) <= 5 / 500
