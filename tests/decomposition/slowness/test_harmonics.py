"""Harmonics against Hermite polynomials and cosines, which Sections 3.4 and 3.5 derive."""

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from octavo.data import make_colored_noise
from octavo.decomposition import harmonics, source_match, sturm_liouville


def test_normal_values_have_hermite_polynomials():
    s = make_colored_noise(100_000, 10_000, random_state=0)
    found = harmonics(s, degree=4)
    # Neighbours correlate by r = 1 - Δ/2, and their He_i by r^i (Mehler), which is Eq. (14) where
    # Δ is small. Of N = T √Δ independent values a Δ_i has a relative variance of 3 m / N, where m
    # is E He^4 / (E He²)² of degree i - 1: 1, 3, 15 and 93. Three deviations:
    r = 1 - found.delta_values[0] / 2
    n = 100_000 * np.sqrt(found.delta_values[0])
    errors = found.delta_values / (2 * (1 - r ** np.arange(1, 5))) - 1
    assert (np.abs(errors) < 3 * np.sqrt(3 * np.array([1, 3, 15, 93]) / n)).all()
    expected = np.column_stack([hermite_e.hermeval(s, np.eye(5)[i]) for i in range(1, 5)])
    for i in range(4):
        assert abs(np.corrcoef(found.signals[:, i], expected[:, i])[0, 1]) > 0.99


def test_even_triangles_have_cosines():
    # A triangle wave is uniform and has one speed: K = step², L = 2.
    step = 2.0 / 1000
    s = np.abs((np.arange(100_000) * step) % 4.0 - 2.0) - 1.0
    found = harmonics(s, 3)
    np.testing.assert_allclose(
        found.delta_values, (np.arange(1, 4) * np.pi / 2) ** 2 * step**2, rtol=1e-3
    )
    # s in [-1, 1] is L = 2 from 0: cosines of iπ(s + 1) / 2
    expected = np.cos(np.arange(1, 4) * np.pi * (s[:, None] + 1) / 2)
    assert (source_match(found.signals, expected).cc > 0.999).all()


def test_signals_are_white_and_monotone():
    s = make_colored_noise(20_000, 300, random_state=1)
    found = harmonics(np.sinh(s))
    assert found.signals.shape == (20_000, 11)
    np.testing.assert_allclose(found.signals.T @ found.signals / 20_000, np.eye(11), atol=1e-6)
    steps = np.diff(found.signals, axis=0)
    np.testing.assert_allclose((steps**2).mean(axis=0), found.delta_values, rtol=1e-6)
    # Section 3.3: the first rises with the source, but where few values are
    inner = np.abs(s) < 2
    order = np.argsort(s[inner])
    assert (np.diff(found.signals[inner, 0][order]) > 0).mean() > 0.99


def midpoints(low, high, n):
    return low + (np.arange(n) + 0.5) * (high - low) / n


def test_sturm_liouville_of_normal_and_uniform_densities():
    normal = sturm_liouville(lambda s: np.exp(-0.5 * s**2), 0.02, midpoints(-8, 8, 4000), 5)
    np.testing.assert_allclose(normal.delta_values, 0.02 * np.arange(1, 6), rtol=1e-4)
    s = midpoints(-8, 8, 4000)
    p = np.exp(-0.5 * s**2)
    expected = hermite_e.hermeval(s, [0, 0, 1]) / np.sqrt(2)
    np.testing.assert_allclose(normal.signals[:, 1][p > 1e-3], expected[p > 1e-3], atol=1e-3)
    grid = midpoints(0, 3, 2000)
    uniform = sturm_liouville(np.ones_like, 1.0, grid, 4)
    np.testing.assert_allclose(uniform.delta_values, (np.arange(1, 5) * np.pi / 3) ** 2, rtol=1e-5)
    expected = np.sqrt(2) * np.cos(np.pi * grid / 3)
    np.testing.assert_allclose(uniform.signals[:, 0], -expected, atol=1e-5)


def test_sturm_liouville_converges_with_the_square_of_the_spacing():
    errors = []
    for n in (100, 200, 400):
        value = sturm_liouville(np.ones_like, np.ones_like, midpoints(0, 1, n), 1).delta_values[0]
        errors.append(abs(value - np.pi**2))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.01)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.01)


def test_velocities_may_depend_on_the_value():
    # Legendre: p = 1, K = 1 - s² on [-1, 1] has λ_i = i (i + 1).
    found = sturm_liouville(np.ones_like, lambda s: 1 - s**2, midpoints(-1, 1, 8000), 3)
    # second order in the spacing 2 / 8000: λ h², and a constant of the order of λ
    np.testing.assert_allclose(found.delta_values, [2, 6, 12], rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: harmonics(np.zeros(20)), "different values"),
        (lambda: harmonics(np.arange(20.0), 12), "n_harmonics"),
        (lambda: harmonics(np.arange(20.0), degree=0), "degree"),
        (lambda: harmonics(np.zeros((20, 2))), "one signal"),
        (lambda: sturm_liouville(np.zeros(5), 1.0, np.arange(5), 2), "positive"),
        (lambda: sturm_liouville(np.ones(5), 1.0, [0, 1, 3, 4, 5]), "even steps"),
        (lambda: sturm_liouville(np.ones(4), 1.0, np.arange(5), 2), "shape of grid"),
        (lambda: sturm_liouville(np.ones(2), 1.0, np.arange(2)), "3 to"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
