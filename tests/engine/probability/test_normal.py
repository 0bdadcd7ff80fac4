"""Conditional moments of a normal variable against quadrature and limits."""

import numpy as np
import pytest
from scipy import integrate, special

from octavo.engine.probability.normal import above_threshold, in_window, log_add_exp, sigmoid

pytestmark = pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")


def moments_on(low, high):
    """Mean and one minus variance of a standard normal on an interval, by quadrature."""
    centre = min(max(0.0, low), high)  # the mode inside the interval, where the density is one

    def moment(power):
        def integrand(z):
            return (z - centre) ** power * np.exp(-0.5 * (z * z - centre * centre))

        ends = (max(low, centre - 40.0), min(high, centre + 40.0))
        return integrate.quad(integrand, *ends, epsabs=0, epsrel=1e-12, limit=400, points=[centre])[
            0
        ]

    m0, m1, m2 = moment(0), moment(1), moment(2)
    return centre + m1 / m0, 1.0 - (m2 / m0 - (m1 / m0) ** 2)


@pytest.mark.parametrize("x", [-29.0, -12.0, -3.0, -0.4, 0.0, 1.0, 6.0])
def test_above_threshold_is_the_moment_beyond_minus_x(x):
    mean, lost = above_threshold(x)
    wanted = moments_on(-x, np.inf)
    np.testing.assert_allclose(mean, wanted[0], rtol=1e-9, atol=1e-15)  # quad's own rounding
    np.testing.assert_allclose(lost, wanted[1], atol=1e-9)


@pytest.mark.parametrize("x", [-31.0, -60.0, -400.0])
def test_above_threshold_far_in_the_tail(x):
    mean, lost = above_threshold(x)
    # φ(x)/Φ(x) through scipy's logarithm of Φ, which does not underflow.
    ratio = np.exp(-0.5 * x * x - 0.5 * np.log(2 * np.pi) - special.log_ndtr(x))
    np.testing.assert_allclose(mean, ratio, rtol=1e-11)
    assert 0.0 < lost < 1.0
    np.testing.assert_allclose(lost, 1.0 - 1.0 / x**2, atol=7.0 / x**4)


def test_above_threshold_is_continuous_where_the_series_begins():
    left, right = above_threshold(-30.0 - 1e-9), above_threshold(-30.0 + 1e-9)
    np.testing.assert_allclose(left, right, rtol=2e-9)


@pytest.mark.parametrize("t", [0.01, 0.3, 0.5, 0.7, 2.0])
@pytest.mark.parametrize("x", [-4.1, -1.0, 0.0, 0.2, 3.9, 12.0])
def test_in_window_is_the_moment_of_the_window(x, t):
    mean, lost = in_window(x, t)
    wanted = moments_on(-x - t, -x + t)
    np.testing.assert_allclose(mean, wanted[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lost, wanted[1], atol=1e-9)


def test_in_window_limits():
    assert in_window(3.0, 0.0) == (-3.0, 1.0)  # a point: the variable is known
    assert in_window(1.0, 100.0) == (0.0, 0.0)  # everything: nothing is learnt
    mean, lost = in_window(300.0, 0.5)
    assert np.isfinite(mean)
    assert 0.0 < lost <= 1.0


def test_sigmoid_and_log_add_exp_do_not_overflow():
    assert sigmoid(800.0) == 1.0
    assert sigmoid(-800.0) == 0.0
    assert log_add_exp(-np.inf, -np.inf) == -np.inf
    np.testing.assert_allclose(log_add_exp(1000.0, 1001.0), np.logaddexp(1000.0, 1001.0))
