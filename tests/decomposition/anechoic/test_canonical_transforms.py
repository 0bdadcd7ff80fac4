"""Transforms against dense kernels, closed forms of Gaussians, and their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.decomposition import (
    fractional_fourier,
    fresnel_transform,
    linear_canonical_transform,
    shift_fractional,
)
from octavo.decomposition.anechoic.hermite_basis import hermite_basis, hermite_functions

FOURIER = (0.0, 1.0, -1.0, 0.0)


def signed(n):
    return np.fft.fftfreq(n, 1 / n)


def gaussian(n, z=1j, shift=0.0):
    """exp(iπ z t²) at t = k/√n, which fades before the ends of the grid."""
    t = (signed(n) - shift) / np.sqrt(n)
    return np.exp(1j * np.pi * z * t * t)


def noise(n, seed=0, rows=()):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*rows, n)) + 1j * rng.normal(size=(*rows, n))


def determinant_one(a, b, c):
    return np.array([[a, b], [c, (1 + b * c) / a]])


@pytest.mark.parametrize("n", [4, 16, 64])
def test_fresnel_is_the_dense_kernel_at_rate_one(n):
    t = np.arange(n)
    kernel = np.exp(1j * np.pi * (t[:, None] - t) ** 2 / n) / np.sqrt(n)  # Eq. (12), A = B = D = 1
    found = fresnel_transform(np.eye(n)).T * np.exp(0.25j * np.pi)
    np.testing.assert_allclose(found, kernel, atol=1e-12)


@given(
    n=st.integers(1, 40),
    b=st.floats(-5, 5),
    c=st.floats(-5, 5),
    theta=st.floats(-7, 7),
)
@settings(max_examples=40, deadline=None)
def test_unitary_group_and_shift_laws(n, b, c, theta):
    x = noise(n, n)
    for f in (fresnel_transform, fractional_fourier):
        np.testing.assert_allclose(np.linalg.norm(f(x, b)), np.linalg.norm(x), rtol=1e-12)
        np.testing.assert_allclose(f(f(x, b), c), f(x, b + c), atol=1e-11)
    shifted = fresnel_transform(np.roll(x, 3), b)  # Eq. (14) with A = 1, C = 0
    np.testing.assert_allclose(shifted, np.roll(fresnel_transform(x, b), 3), atol=1e-12)
    m = determinant_one(1.3, b, c)
    y = linear_canonical_transform(x, m)
    np.testing.assert_allclose(np.linalg.norm(y), np.linalg.norm(x), rtol=1e-11)


@pytest.mark.parametrize("n", [5, 8, 33, 128])
def test_fractional_fourier_meets_the_transform_and_the_identity(n):
    x = noise(n)
    np.testing.assert_allclose(
        fractional_fourier(x, np.pi / 2), np.fft.fft(x, norm="ortho"), atol=1e-12
    )
    half = fractional_fourier(fractional_fourier(x, np.pi / 4), np.pi / 4)
    np.testing.assert_allclose(half, np.fft.fft(x, norm="ortho"), atol=1e-11)
    np.testing.assert_allclose(fractional_fourier(x, 1e-13), x, atol=1e-10)
    np.testing.assert_array_equal(fractional_fourier(x, 0.0), x)


@pytest.mark.parametrize("theta", [0.3, 1.0, -2.2])
def test_gaussians_and_hermite_functions_are_eigenfunctions(theta):
    n = 64
    rows = hermite_functions(n, 20)
    held = np.abs(rows[:, n // 2 - 1]) < 1e-14  # those that fade before the ends of the grid
    assert held.sum() >= 5
    expected = rows[held] * np.exp(-1j * theta * np.flatnonzero(held))[:, None]
    rows = rows[held]
    np.testing.assert_allclose(fractional_fourier(rows, theta), expected, atol=1e-12)


def test_the_basis_holds_eigenvectors_of_the_transform():
    for n in (1, 2, 3, 7, 12, 1500):
        basis, orders = hermite_basis(n)
        image = np.fft.fft(basis, axis=0, norm="ortho")
        np.testing.assert_allclose(image, basis * (-1j) ** (orders % 4), atol=1e-11)
        np.testing.assert_allclose(basis.T @ basis, np.eye(n), atol=1e-12)


@pytest.mark.parametrize(
    "abcd", [(1.2, 0.5, -0.3, None), (0.7, -0.8, 0.2, None), (1.5, 0.0, 0.2, None), FOURIER]
)
def test_gaussians_have_a_closed_form(abcd):
    """exp(iπzt²) becomes (a + bz)^(-1/2) exp(iπ z' f²), z' = (c + dz)/(a + bz)."""
    a, b, c, d = abcd
    d = (1 + b * c) / a if d is None else d
    n, z = 256, 0.2 + 0.9j
    expected = gaussian(n, (c + d * z) / (a + b * z)) / np.sqrt(np.abs(a + b * z))
    found = linear_canonical_transform(gaussian(n, z), (a, b, c, d))
    phase = np.vdot(expected, found)
    np.testing.assert_allclose(found, expected * phase / abs(phase), atol=1e-12)


def test_canonical_transforms_are_a_group_on_signals_that_fade():
    rng = np.random.default_rng(3)
    x = gaussian(400, 0.1 + 1.1j, 5.0) * (1 + 0.3 * signed(400) / 20)
    for _ in range(10):
        one, two = (
            determinant_one(rng.uniform(0.8, 1.2), *rng.uniform(-0.5, 0.5, 2)) for _ in "ab"
        )
        chain = linear_canonical_transform(linear_canonical_transform(x, two), one)
        at_once = linear_canonical_transform(x, one @ two)
        phase = np.vdot(at_once, chain) / np.linalg.norm(x) ** 2
        assert abs(abs(phase) - 1) < 1e-12
        np.testing.assert_allclose(chain, at_once * phase, atol=1e-12)


def test_one_parameter_groups_need_no_phase():
    x = gaussian(256, 0.1 + 1.1j, 3.0)
    generators = ([[0.1, 0.3], [-0.4, -0.1]], [[0.2, 0.3], [0.1, -0.2]], [[0.0, -0.4], [0.0, 0.0]])
    from scipy.linalg import expm

    for X in generators:
        M = expm(np.array(X))
        twice = linear_canonical_transform(linear_canonical_transform(x, M), M)
        np.testing.assert_allclose(twice, linear_canonical_transform(x, M @ M), atol=1e-11)


def test_shift_theorem_of_the_paper():
    """Eq. (14) for a general matrix, in samples: τ = m/√n, f = k/√n."""
    n, m = 256, 4
    M = determinant_one(1.25, 0.4, -0.3)
    (a, _), (c, _) = M
    x = gaussian(n, 0.1 + 1.3j)
    k = signed(n)
    still = linear_canonical_transform(x, M)
    moved = linear_canonical_transform(gaussian(n, 0.1 + 1.3j, m), M)
    expected = np.exp(1j * np.pi * c * m * (2 * k - a * m) / n) * shift_fractional(still, a * m)
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_special_matrices():
    x = noise(32)
    k = signed(32)
    np.testing.assert_allclose(
        linear_canonical_transform(x, FOURIER), np.fft.fft(x, norm="ortho"), atol=1e-13
    )
    np.testing.assert_allclose(
        linear_canonical_transform(x, (1, 2.5, 0, 1)), fresnel_transform(x, 2.5), atol=1e-13
    )
    chirped = x * np.exp(1j * np.pi * 0.7 * k * k / 32)
    np.testing.assert_allclose(linear_canonical_transform(x, (1, 0, 0.7, 1)), chirped, atol=1e-13)
    np.testing.assert_array_equal(linear_canonical_transform(x, (1, 0, 0, 1)), x)


def test_long_signals_take_chirps_for_eigenvectors():
    g = gaussian(3000)
    np.testing.assert_allclose(fractional_fourier(g, 0.8), g, atol=1e-12)
    x = noise(3000)
    assert abs(np.linalg.norm(fractional_fourier(x, 0.8)) / np.linalg.norm(x) - 1) < 1e-12


def test_axes_are_separable():
    x = noise(12, rows=(3, 10))
    both = fractional_fourier(x, (np.pi / 2, 0.4), axis=(1, 2))
    one = fractional_fourier(np.fft.fft(x, axis=1, norm="ortho"), 0.4, axis=2)
    np.testing.assert_allclose(both, one, atol=1e-12)
    np.testing.assert_allclose(
        linear_canonical_transform(x, (FOURIER, FOURIER), axis=(1, 2)),
        np.fft.fft2(x, norm="ortho"),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        fresnel_transform(x, 0.3, axis=(0, 2)),
        fresnel_transform(fresnel_transform(x, 0.3, axis=0), 0.3),
        atol=1e-12,
    )


def test_wigner_marginals():
    """Eqs. (6), (7), (19): sums over lines of an explicit discrete Wigner distribution."""
    n = 33  # of odd length, where the distribution of the circular group is real and exact
    x = noise(n, 2)
    t, half = np.arange(n), (n + 1) // 2
    lag = np.arange(n)
    products = x[(t[:, None] + half * lag) % n] * x[(t[:, None] - half * lag) % n].conj()
    wigner = np.fft.fft(products, axis=1)
    assert np.abs(wigner.imag).max() < 1e-12
    wigner = wigner.real / n
    np.testing.assert_allclose(wigner.sum(axis=1), np.abs(x) ** 2, atol=1e-12)
    power = np.abs(np.fft.fft(x, norm="ortho")) ** 2
    np.testing.assert_allclose(wigner.sum(axis=0), power, atol=1e-12)
    # A Fresnel transform shears the plane: for an even rate, on the grid itself.
    sheared = np.abs(fresnel_transform(x, 2.0)) ** 2
    f = np.arange(n)
    lines = np.array([wigner[(s - 2 * f) % n, f].sum() for s in t])
    np.testing.assert_allclose(sheared, lines, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fresnel_transform([1.0, np.nan]), "NaN"),
        (lambda: fresnel_transform([]), "at least one sample"),
        (lambda: fresnel_transform("ab"), "array of numbers"),
        (lambda: fresnel_transform([1.0, 2.0], np.inf), "b must be finite"),
        (lambda: fractional_fourier([1.0, 2.0], "x"), "theta must be a number"),
        (lambda: fractional_fourier([1.0, 2.0], 0.1, axis=3), "axis must name axes"),
        (lambda: fractional_fourier(np.ones((2, 2)), (0.1, 0.2)), "one for each axis"),
        (lambda: linear_canonical_transform([1.0, 2.0], (1, 0, 0, 2)), "determinant"),
        (lambda: linear_canonical_transform([1.0, 2.0], (1, 0, 0)), "four"),
        (lambda: linear_canonical_transform([1.0, 2.0], 3), "four numbers"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
