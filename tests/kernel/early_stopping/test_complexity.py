"""The rule, the critical radius and the kernels: closed forms, scans, and the paper's example."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from octavo.kernel import (
    critical_radius,
    empirical_rademacher,
    finite_rank_rate,
    polynomial_decay_rate,
    population_radius,
    ridge_nu,
    sobolev_eigenvalues,
    sobolev_kernel,
    stopping_bounds,
    stopping_time,
)

SIZES = (10, 20, 50, 100, 200, 300)
spectra = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12).map(
    lambda v: np.sort(np.array(v))[::-1]
)


def min_eigs(n):
    """Eigenvalues of min(x, x')/n on x = i/n in closed form."""
    k = np.arange(1, n + 1)
    return 1.0 / (4.0 * n**2 * np.sin((2 * k - 1) * np.pi / (2 * (2 * n + 1))) ** 2)


@pytest.mark.parametrize("n", [1, 7, 100])
def test_min_kernel_has_its_known_spectrum(n):
    x = np.arange(1, n + 1)[:, None] / n
    found = np.linalg.eigvalsh(sobolev_kernel(1)(x, x) / n)[::-1]
    np.testing.assert_allclose(found, min_eigs(n), atol=2e-15)


def test_population_spectrum_is_the_limit():
    np.testing.assert_allclose(min_eigs(20_000)[:5], sobolev_eigenvalues(5), rtol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_spline_kernels_are_their_integral(order):
    from math import factorial

    x, y = 0.7, 0.4
    integral = quad(lambda u: ((x - u) * (y - u)) ** (order - 1), 0, min(x, y), epsabs=1e-13)[0]
    integral /= factorial(order - 1) ** 2
    assert sobolev_kernel(order)([[x]], [[y]])[0, 0] == pytest.approx(integral, rel=1e-10)
    poly = sum((x * y) ** j / factorial(j) ** 2 for j in range(order))
    with_poly = sobolev_kernel(order, polynomials=True)([[x]], [[y]])[0, 0]
    assert with_poly == pytest.approx(integral + poly, rel=1e-10)


@pytest.mark.parametrize(
    ("step", "times"),
    [(0.25, (3, 4, 7, 10, 18, 25)), (1.0, (0, 1, 1, 2, 4, 6))],
    ids=["figure 2", "figure 3"],
)
def test_stopping_times_of_the_papers_example(step, times):
    assert tuple(stopping_time(min_eigs(n), n, 1.0, step) for n in SIZES) == times
    sequences = [stopping_time(min_eigs(n), n, 1.0, np.full(60, step)) for n in SIZES]
    assert tuple(sequences) == times


@settings(max_examples=100, deadline=None)
@given(eigs=spectra, sigma=st.floats(0.05, 5.0), constant=st.floats(0.3, 6.0))
def test_critical_radius_is_the_smallest_solution(eigs, sigma, constant):
    n = len(eigs)
    radius = critical_radius(eigs, n, sigma, constant)

    def holds(eps):
        return empirical_rademacher(eigs, eps, n) <= eps**2 / (constant * sigma)

    assert holds(radius * (1 + 1e-9))
    for share in np.linspace(0.05, 0.999, 30):  # a scan below it finds none
        assert not holds(radius * share)


@settings(max_examples=100, deadline=None)
@given(
    eigs=spectra,
    sigma=st.floats(0.05, 2.0),
    share=st.floats(0.1, 1.0),
    decay=st.floats(0.0, 0.5),
)
def test_the_time_is_its_definition_and_brackets_the_radius(eigs, sigma, share, decay):
    n = len(eigs)
    steps = share * min(1.0, 1.0 / eigs[0]) / (1.0 + np.arange(3000)) ** decay
    T = stopping_time(eigs, n, sigma, steps)
    assume(T < 3000)
    etas = np.cumsum(steps)
    sums = np.minimum(eigs, 1.0 / etas[:, None]).sum(axis=1)
    crossed = np.sqrt(sums / n) > 1.0 / (2.0 * np.e * sigma * etas)
    assert int(np.argmax(crossed)) == T  # t - 1 at the first t that crosses, t = index + 1
    square = critical_radius(eigs, n, sigma) ** 2
    assert 1.0 / etas[T] <= square * (1 + 1e-9)  # Section 3.1: 1/η_{T+1} <= ε²
    if T > 0:
        assert square <= (1 + 1e-9) / etas[T - 1]


def test_finite_rank_has_its_closed_form():
    n, m, sigma = 10_000, 3, 0.4
    eigs = np.r_[np.full(m, 0.9), np.zeros(n - m)]
    expected = np.sqrt((2 * np.e) ** 2 * sigma**2 * m / n)
    assert critical_radius(eigs, n, sigma) == pytest.approx(expected, rel=1e-12)
    assert critical_radius(eigs[:m], n, sigma) == pytest.approx(expected, rel=1e-12)
    assert finite_rank_rate(n, sigma, m) == pytest.approx(sigma**2 * m / n)


def test_the_time_falls_with_noise_and_grows_with_rows():
    by_noise = [stopping_time(min_eigs(200), 200, s, 0.25) for s in (0.1, 0.3, 1.0, 3.0)]
    assert by_noise == sorted(by_noise, reverse=True)
    by_rows = [stopping_time(min_eigs(n), n, 1.0, 0.25) for n in SIZES]
    assert by_rows == sorted(by_rows)


def test_population_radius_scales_as_the_corollary():
    """Corollary 3 for β = 1: ε² ∝ n^(-2/3)."""
    eigs = sobolev_eigenvalues(200_000)
    rest = 0.5 - eigs.sum()  # the trace of min(x, x') is a half
    squares = [population_radius(eigs, n, 1.0, rest=rest) ** 2 for n in (10**8, 10**9)]
    assert squares[0] / squares[1] == pytest.approx(10 ** (2 / 3), rel=0.02)
    rate = polynomial_decay_rate(10**8, 1.0, 1.0) / polynomial_decay_rate(10**9, 1.0, 1.0)
    assert rate == pytest.approx(10 ** (2 / 3), rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(eigs=spectra, sigma=st.floats(0.05, 2.0))
def test_ridge_penalty_solves_its_equation(eigs, sigma):
    n = len(eigs)
    nu = ridge_nu(eigs, n, sigma)
    left = empirical_rademacher(eigs, nu**-0.5, n)
    assert left == pytest.approx(1.0 / (4.0 * sigma * nu), rel=1e-9)


def test_printed_lower_bound_fails_where_the_squared_one_holds():
    n, eta = 1000, 10.0
    eigs = np.full(n, 1.0 / n)
    risk = (1.0 - (1.0 - 1.0 / n) ** 10) ** 2  # pure noise, K = I/n, t = 10, σ = 1
    bounds = stopping_bounds(eigs, n, 1.0, [eta])
    assert risk == pytest.approx(9.9e-5, rel=0.01)
    assert bounds.lower_printed[0] == pytest.approx(2.5e-3, rel=1e-12)
    assert bounds.lower[0] == pytest.approx(2.5e-5, rel=1e-12)
    assert bounds.lower[0] <= risk < bounds.lower_printed[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stopping_time([0.5], 1, 1.0, 3.0), r"at most min\(1, 1/λ₁\) = 1"),
        (lambda: stopping_time([4.0], 1, 1.0, 0.5), r"at most min\(1, 1/λ₁\) = 0.25"),
        (lambda: stopping_time([0.5], 1, 1.0, [0.1, 0.2]), "never increase; step 1 is 0.2"),
        (lambda: stopping_time([0.5], 1, 1.0, [0.1, 0.0]), "must be positive"),
        (lambda: critical_radius([-0.5, 1.0], 2, 1.0), "must not be negative"),
        (lambda: critical_radius([0.5], 1, 0.0), "sigma must be a positive number"),
        (lambda: critical_radius([0.5, 0.1], 1, 1.0), "at least the number of eigenvalues"),
        (lambda: critical_radius([0.5], 1, 1.0, "practice"), 'must be "theory"'),
        (lambda: critical_radius([], 1, 1.0), "at least one eigenvalue"),
        (lambda: sobolev_kernel(1)([[-0.1]]), "1 \\+ min"),
        (lambda: sobolev_kernel(1)([[0.1, 0.2]]), "one column"),
        (lambda: sobolev_kernel(0), "1 to 10"),
        (lambda: polynomial_decay_rate(10, 1.0, 0.5), "above 1/2"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
