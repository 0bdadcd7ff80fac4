"""Bounds against the formulas of the paper's corollaries, and against simulation."""

import math

import numpy as np
import pytest

from octavo.kernel import (
    ivanov_to_tikhonov,
    mkl_margin_bound,
    mkl_rademacher_bound,
    mkl_risk_bound,
    tikhonov_to_ivanov,
)


def test_limits_of_corollary_nine():
    c, n, M, R = 23 / 22, 500, 40, 1.5
    near_one = mkl_rademacher_bound(M, 1.0, R, n)
    np.testing.assert_allclose(near_one, math.sqrt(c * math.e * math.ceil(math.log(M)) * R**2 / n))
    assert mkl_rademacher_bound(M, 1 + 1e-9, R, n) == pytest.approx(near_one)
    infinite = mkl_rademacher_bound(M, math.inf, R, n)
    np.testing.assert_allclose(infinite, math.sqrt(2 * c * M * R**2 / n))
    assert mkl_rademacher_bound(M, 1e9, R, n) == pytest.approx(infinite, rel=1e-6)
    two = mkl_rademacher_bound(M, 2.0, R, n)
    np.testing.assert_allclose(two, math.sqrt(c * math.sqrt(M) * 2 * R**2 / n))


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 4.0, math.inf])
def test_simulated_complexity_lies_below(p):
    """sup over the class of mean σh is √||(σ'K_m σ)||_p* / n."""
    rng = np.random.default_rng(0)
    n, M = 60, 8
    X = rng.normal(size=(n, M))
    X /= np.abs(X).max(axis=0)
    signs = rng.choice([-1.0, 1.0], size=(400, n))
    forms = (signs @ X) ** 2
    dual = math.inf if p == 1 else (1.0 if p == math.inf else p / (p - 1))
    complexity = np.sqrt(np.linalg.norm(forms, dual, axis=1)).mean() / n
    assert complexity <= mkl_rademacher_bound(M, p, 1.0, n)


def test_risk_and_margin_bounds_add_up():
    complexity = mkl_rademacher_bound(10, 2.0, 1.0, 1000)
    spread = math.sqrt(math.log(2 / 0.1) / 2000)
    risk = mkl_risk_bound(0.2, 10, 2.0, 1.0, 1000, lipschitz=3.0, delta=0.1)
    assert risk == pytest.approx(0.2 + 12 * complexity + spread)
    margin = mkl_margin_bound(0.2, 1 / 3, 10, 2.0, 1.0, 1000, delta=0.1)
    assert margin == pytest.approx(risk)
    doubled = mkl_rademacher_bound(10, 2.0, 1.0, 1000, block_norm=2.0)
    assert doubled == pytest.approx(2 * complexity)


def test_case_study_of_section_five():
    """A uniform truth favours p > 1 and a sparse one p = 1, with norms that just contain it."""
    M, n = 1000, 10_000

    def bound(p, truth):
        q = 2 * p / (p + 1)
        return mkl_rademacher_bound(M, p, 1.0, n, block_norm=(truth**q).sum() ** (1 / q))

    uniform, sparse = np.ones(M), np.eye(M)[0]
    assert bound(2.0, uniform) < bound(1.0, uniform)
    assert bound(1.0, sparse) < bound(2.0, sparse)


def test_conversions_invert_each_other():
    form = ivanov_to_tikhonov(0.7, 5.0, mu=0.2)
    # where the penalty is 5 whatever C, the way back is closed form too
    assert tikhonov_to_ivanov(lambda C: 5.0, form.C, form.mu) == pytest.approx(0.7, rel=1e-5)
    assert form.weight_scale**3 == pytest.approx(5.0 / 0.8)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="'p'"):
        mkl_rademacher_bound(10, 0.5, 1.0, 100)
    with pytest.raises(ValueError, match="'n_kernels'"):
        mkl_rademacher_bound(1, 2.0, 1.0, 100)
    with pytest.raises(ValueError, match="'delta'"):
        mkl_risk_bound(0.1, 10, 2.0, 1.0, 100, delta=0.0)
    with pytest.raises(ValueError, match="must be positive"):
        tikhonov_to_ivanov(lambda C: 1.0, C=1.0, mu=0.0)
