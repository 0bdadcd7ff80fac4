"""Normal distribution functions against closed forms and scipy."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from octavo.engine.probability.normal_boxes import log_normal_box, normal_box


def correlation(d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d + 1))
    S = A @ A.T
    return S / np.sqrt(np.outer(np.diag(S), np.diag(S)))


@pytest.mark.parametrize("rho", [-0.99, -0.9, -0.3, 0.0, 0.6, 0.94, 0.96, 0.999])
def test_two_variables_are_an_integral_of_conditionals(rho):
    points = np.array([[0.0, 0.0], [1.3, -0.4], [-2.0, -1.0], [0.0, 0.7], [-0.5, 0.0], [3, 2.9]])
    got = normal_box(points.T, np.array([[1, rho], [rho, 1]]))
    root = np.sqrt(1 - rho**2)
    for (h, k), value in zip(points, got):
        want = quad(
            lambda t, k=k: norm.pdf(t) * ndtr((k - rho * t) / root),
            -12,
            h,
            epsabs=1e-14,
            limit=400,
            points=[min(max(k / rho, -11.9), h - 1e-3)] if rho else None,
        )[0]
        assert value == pytest.approx(want, abs=2e-13)


@pytest.mark.parametrize("seed", range(6))
def test_three_variables_are_an_integral_of_two(seed):
    corr = correlation(3, seed)
    h, k, m = np.random.default_rng(100 + seed).normal(size=3)
    a, b, c = corr[0, 1], corr[0, 2], corr[1, 2]
    sa, sb = np.sqrt(1 - a * a), np.sqrt(1 - b * b)
    inner = np.array([[1, (c - a * b) / sa / sb], [(c - a * b) / sa / sb, 1]])

    def slice_of(t):
        z = np.array([[(k - a * t) / sa], [(m - b * t) / sb]])
        return norm.pdf(t) * normal_box(z, inner)[0]

    want = quad(slice_of, -9, h, epsabs=1e-13, limit=200)[0]
    assert normal_box(np.array([[h], [k], [m]]), corr)[0] == pytest.approx(want, abs=1e-11)


def test_orthants_of_example_4():
    r = np.sqrt(2) / 2
    corr = np.array([[1, r, 0], [r, 1, -0.5], [0, -0.5, 1]])
    inf = np.inf
    Z = np.array([[0, 0, inf], [inf, 0, 0], [0, 0, 0], [inf, 0, inf]]).T
    assert normal_box(Z, corr) == pytest.approx([3 / 8, 1 / 6, 7 / 48, 1 / 2], abs=1e-14)


def test_many_variables_factor_where_they_are_independent():
    corr = np.eye(6)
    r = correlation(3, 0)
    corr[:3, :3], corr[3:, 3:] = r, correlation(3, 1)
    Z = np.random.default_rng(0).normal(0.5, 1, size=(6, 4))
    want = normal_box(Z[:3], corr[:3, :3]) * normal_box(Z[3:], corr[3:, 3:])
    assert normal_box(Z, corr) == pytest.approx(want, abs=5e-5)


def test_infinite_ends_and_logs():
    corr = correlation(3, 3)
    Z = np.array([[0.3, np.inf, -np.inf], [0.1, 0.2, np.inf], [np.inf, np.inf, 0.4]])
    got = normal_box(Z, corr)
    assert got[0] == pytest.approx(normal_box(Z[:2, :1], corr[:2, :2])[0], abs=1e-15)
    assert got[1] == pytest.approx(ndtr(0.2), abs=1e-15)
    assert got[2] == 0.0
    assert log_normal_box(np.array([[-60.0]]), np.eye(1))[0] == pytest.approx(norm.logcdf(-60.0))
