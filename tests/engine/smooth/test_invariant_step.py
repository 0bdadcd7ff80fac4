"""Invariant steps against the differential equation that defines them."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit, wrightomega

from octavo.engine.smooth.invariant_step import (
    INVARIANT,
    _logistic_rise,
    invariant_step,
    logistic_move,
)
from octavo.engine.smooth.losses import LOSSES

SMOOTH_SLOPES = {
    "log": lambda p, y: -y * expit(-y * p),
    "squared": lambda p, y: p - y,
    "squared_hinge": lambda p, y: -2 * y * max(0.0, 1 - y * p),
}
KINKED = ("hinge", "quantile")


def step(name, p, y, q, eta, h=0.5):
    return invariant_step(LOSSES[name], h, p, y, q, eta)


@pytest.mark.parametrize("name", SMOOTH_SLOPES)
@pytest.mark.parametrize("p", [-6.0, -0.7, 0.0, 0.9, 4.0])
@pytest.mark.parametrize(("q", "eta"), [(0.01, 0.5), (1.0, 0.5), (7.0, 2.0)])
def test_smooth_steps_solve_the_equation(name, p, q, eta):
    slope = SMOOTH_SLOPES[name]
    for y in (-1.0, 1.0):
        solved = solve_ivp(
            lambda _, s, y: [slope(p - s[0] * q, y)],
            (0, eta),
            [0.0],
            args=(y,),
            rtol=1e-11,
            atol=1e-13,
        )
        assert step(name, p, y, q, eta) == pytest.approx(solved.y[0, -1], rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("name", KINKED)
@pytest.mark.parametrize("p", [-2.0, 0.3, 0.99, 1.4])
def test_kinked_steps_are_straight_until_the_kink(name, p):
    """Euler with tiny steps, stopped where the loss is flat or the target reached."""
    q, eta, h, n = 1.7, 0.8, 0.3, 200_000
    for y in (-1.0, 1.0):
        sigma, dt = 0.0, eta / n
        rate = {"hinge": -y, "quantile": -h if y > p else 1 - h}[name]
        for _ in range(n):
            now = p - sigma * q
            reached = y * now >= 1 if name == "hinge" else (y - now) * np.sign(y - p) <= 0
            if reached:
                break
            sigma += rate * dt
        assert step(name, p, y, q, eta, h) == pytest.approx(sigma, abs=3 * eta / n)


@settings(max_examples=300, deadline=None)
@given(z=st.floats(-28, 28), t=st.floats(1e-3, 200))
def test_logistic_rise_is_the_wright_omega_function(z, t):
    c = z + np.exp(z) + t
    omega = float(np.real(wrightomega(c)))
    # The textbook difference loses digits to cancellation: eps·c of them.
    assert _logistic_rise(z, t) == pytest.approx(c - omega - z, rel=1e-10, abs=4e-16 * abs(c) * 40)


@pytest.mark.parametrize("z", [-800.0, -746.0, -700.0, -50.0, 29.999, 30.001, 800.0])
@pytest.mark.parametrize("t", [1e-12, 1e-3, 1.0, 40.0, 1500.0])
def test_logistic_rise_at_the_ends(z, t):
    """The residual of δ + e^z (e^δ - 1) = t, in logarithms where the powers overflow."""
    rise = _logistic_rise(z, t)
    assert 0 <= rise <= t
    if z > 30:  # the gradient step: e^δ - 1 = δ to first order
        assert rise == pytest.approx(t * np.exp(-z), rel=1e-12)
    elif z + rise < 600:
        residual = rise + np.exp(z + rise) - np.exp(z) - t
        assert abs(residual) <= 1e-12 * max(t, np.exp(z) * 1e-3, np.exp(z + rise))


# z + e^z + t passes the ends of the table of starts: -7 at z = -7.5, 4000 at z = 8.2 and at 8.293
@pytest.mark.parametrize(
    "z", [-690.0, -640.0, -40.0, -7.5, -3.0, 0.0, 0.7, 4.0, 8.2, 8.293, 12.0, 29.0]
)
@pytest.mark.parametrize("t", [1e-9, 1e-3, 0.09, 0.3, 0.5, 2.0, 14.0, 350.0, 800.0, 1e6])
def test_loss_slope_and_rise_to_the_last_digits(z, t):
    """Newton's method in sixty digits."""
    with localcontext(prec=60):
        e, goal = Decimal(z).exp(), Decimal(t)
        rise = min(goal, (1 + goal / e).ln())
        for _ in range(200):
            grown = e * rise.exp()
            rise -= (rise + grown - e - goal) / (1 + grown)
        wanted = [float(v) for v in ((1 + 1 / e).ln(), 1 / (1 + e), rise)]
    assert logistic_move(z, t) == pytest.approx(wanted, rel=4e-15)


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(INVARIANT),
    p=st.floats(-5, 5),
    y=st.sampled_from([-1.0, 1.0]),
    q=st.floats(0.01, 20),
    eta=st.floats(0.001, 5),
)
def test_one_step_of_double_weight_is_two_steps(name, p, y, q, eta):
    once = step(name, p, y, q, 2 * eta)
    first = step(name, p, y, q, eta)
    second = step(name, p - first * q, y, q, eta)
    assert once == pytest.approx(first + second, rel=1e-9, abs=1e-11)


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(INVARIANT), p=st.floats(-5, 5), q=st.floats(0.01, 20))
def test_steps_never_pass_the_target(name, p, q):
    far = p - step(name, p, 1.0, q, 1e6) * q
    if name == "squared":
        assert far == pytest.approx(1.0, abs=1e-9)
    elif name in ("hinge", "squared_hinge"):
        assert far == pytest.approx(max(p, 1.0), abs=1e-9)
    elif name == "quantile":
        assert far == pytest.approx(1.0, abs=1e-9)
    else:
        assert far >= p


def test_nothing_moves_without_features_or_rate():
    assert step("log", 0.0, 1.0, 0.0, 0.5) == 0.0
    assert step("log", 0.0, 1.0, 1.0, 0.0) == 0.0
