"""Switches, the bound of Theorem 1, penalties and the iteration bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from octavo.kernel import med_iteration_bound, med_penalty
from octavo.kernel.multitask.switches import bound_curvature, potential, switch_means

ALPHAS = st.floats(1e-3, 1e6)


@given(
    alpha=ALPHAS,
    u=st.lists(st.floats(-8, 8), min_size=3, max_size=3),
    v=st.lists(st.floats(-8, 8), min_size=3, max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_theorem_1_bounds_from_above(alpha, u, v):
    u, v = np.array(u), np.array(v)
    q = 0.5 * v @ v
    G, s = float(bound_curvature(q, alpha)), float(switch_means(q, alpha))
    d = u - v
    bound = potential(q, alpha) + s * v @ d + 0.5 * (d @ d + G * (v @ d) ** 2)
    # rounding of terms of this size
    slack = 1e-12 * (1 + u @ u + v @ v)
    assert potential(0.5 * u @ u, alpha) <= bound + slack
    assert 0 < G <= 0.25


def test_potential_is_the_integral_of_the_switch():
    for alpha in (0.3, 5.0, 1e4):
        q = 7.5
        area = quad(lambda t, a=alpha: float(switch_means(t, a)), 0, q, epsabs=1e-12)[0]
        assert potential(q, alpha) == pytest.approx(area, rel=1e-10)


def test_potential_of_huge_energies_is_finite():
    q = np.array([0.0, 1e-12, 29.9, 30.1, 1e4, 1e300])
    for alpha in (0.0, 1.0, 1e300):
        assert np.isfinite(potential(q, alpha)).all()
    np.testing.assert_allclose(potential(q, 0.0), q)
    # a first-order term that a difference of logarithms would lose
    assert potential(1e-12, 1e5) == pytest.approx(1e-12 / (1 + 1e5), rel=1e-9)


def test_penalty_is_the_conjugate_of_the_potential():
    w = np.array([0.01, 0.3, 1.0, 4.0])
    a = np.linspace(0, 60, 2_000_001)
    for alpha in (0.0, 1.0, 100.0):
        brute = [(a * one - potential(0.5 * a * a, alpha)).max() for one in w]
        # the grid's step is 3e-5 and the curvature at most 1 + max s(1 - s) a²
        np.testing.assert_allclose(med_penalty(w, alpha), brute, atol=1e-8)


def test_appendix_solves_the_equation_with_its_sign_corrected():
    alpha, w = 20.0, np.array([0.2, 0.7, 1.5, 3.0])
    E = np.exp(med_penalty(w, alpha, form="appendix") + np.log1p(1 / alpha)) - 1
    np.testing.assert_allclose(2 * np.log(alpha * E) / (1 + 1 / E) ** 2, w**2, rtol=1e-9)


def test_iteration_bound():
    assert med_iteration_bound(0.5, 2.0**-10) == 10
    assert med_iteration_bound(1.0, 2.0**-10) == 10
    assert med_iteration_bound(3.0, 0.1) == int(np.ceil(np.log(10) / np.log(4 / 3)))


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match="alpha"):
        med_penalty([1.0], -1.0)
    with pytest.raises(ValueError, match="w must hold finite"):
        med_penalty([np.nan], 1.0)
    with pytest.raises(ValueError, match="form"):
        med_penalty([1.0], 1.0, form="round")
    with pytest.raises(ValueError, match="eps"):
        med_iteration_bound(1.0, 1.0)
