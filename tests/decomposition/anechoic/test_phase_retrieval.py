"""Phases that are known, and the equations that should give them back."""

import numpy as np
import pytest

from octavo.decomposition import (
    fractional_fourier,
    fresnel_transform,
    gerchberg_saxton,
    linear_canonical_transform,
    phase_from_close_spectra,
    phase_from_group_delay,
)
from octavo.decomposition.anechoic.canonical_transforms import into_domain


def pulse(n, seed):
    """A complex signal that fades at both ends, and its phase, in the middle of the grid."""
    rng = np.random.default_rng(seed)
    t = (np.arange(n) - n / 2) / np.sqrt(n)
    phase = np.pi * (rng.normal() * t**2 + rng.normal() * t + 0.3 * rng.normal() * t**3)
    size = np.exp(-np.pi * (t / 1.3) ** 2) * (1 + 0.3 * np.sin(3 * t + rng.normal()))
    return size * np.exp(1j * phase), phase


@pytest.mark.parametrize(
    "domain", [0.7, (1.3, 0.4, -0.5, 0.8 / 1.3), (1, 0.5, 0, 1), (0, 1, -1, 0)]
)
def test_transforms_are_undone_exactly(domain):
    rng = np.random.default_rng(0)
    for n in (15, 16):
        x = rng.normal(size=n) + 1j * rng.normal(size=n)
        y = into_domain(x, domain)
        np.testing.assert_allclose(into_domain(y, domain, inverse=True), x, atol=1e-12)
        shown = (
            fractional_fourier(x, domain)
            if np.ndim(domain) == 0
            else linear_canonical_transform(x, domain)
        )
        np.testing.assert_allclose(y, shown, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gerchberg_saxton_recovers_a_signal(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=32) * np.exp(-0.5 * ((np.arange(32) - 16) / 5) ** 2)
    domains = [0.0, np.pi / 2, (1, 0.7, 0, 1), np.pi / 4]
    moduli = [np.abs(into_domain(x, d)) for d in domains]
    found = gerchberg_saxton(moduli, domains, real=True, max_iter=1000, random_state=seed)
    assert found.error < 1e-10  # |x| is known as well: once all signs are right, rounding is left
    sign = np.sign(found.signal.real @ x)
    np.testing.assert_allclose(sign * found.signal.real, x, atol=1e-8 * np.abs(x).max())


def test_two_domains_never_get_worse_in_turn():
    """Projections in turn on two sets: the distance to the second never grows."""
    x, _ = pulse(64, 1)
    domains = [0.0, np.pi / 2]
    moduli = [np.abs(into_domain(x, d)) for d in domains]
    found = gerchberg_saxton(moduli, domains, n_init=1, max_iter=50, tol=0.0, random_state=0)
    assert np.all(np.diff(found.errors) <= 1e-12)
    assert found.n_iter == 50


def test_images():
    rng = np.random.default_rng(0)
    x = np.zeros((16, 16))
    x[4:9, 5:12] = rng.uniform(0.5, 1.0, (5, 7))
    domains = [(0.0, 0.0), (np.pi / 2, np.pi / 2), (np.pi / 2, np.pi / 4)]
    from octavo.decomposition.anechoic.phase_retrieval import _transform

    moduli = [np.abs(_transform(x, d)) for d in domains]
    found = gerchberg_saxton(moduli, domains, real=True, random_state=0)
    assert found.error < 1e-10
    assert abs(np.vdot(found.signal, x)) == pytest.approx(np.linalg.norm(x) ** 2, rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_close_spectra_give_the_phase(seed):
    """Eq. (35); the error of the central difference is of second order in b."""
    x, phase = pulse(400, seed)
    errors = []
    for b in (0.01, 0.005):
        powers = [np.abs(fresnel_transform(x, rate)) ** 2 for rate in (0.0, b, -b)]
        found = phase_from_close_spectra(powers[0], powers[1], b, power_before=powers[2])
        seen = powers[0] > 1e-3 * powers[0].max()
        off = (found - phase)[seen]
        errors.append(np.abs(off - off.mean()).max())
    # the next term of the error is b² times smaller: 1e-4 times a constant of the pulse
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.01)
    assert errors[1] < 0.05


def test_group_delay_gives_phases_of_sources_that_do_not_overlap():
    """Eq. (33): two pulses in different bands, mixed with delays, noise-free."""
    t = np.arange(512)
    envelope = np.exp(-0.5 * ((t - 200) / 8) ** 2)
    sources = np.array([envelope * np.cos(0.25 * t), np.roll(envelope, 15) * np.cos(1.6 * t)])
    weights = np.array([[1.0, 0.5], [0.7, -1.2], [0.4, 0.9]])
    delays = np.array([[0, 0], [12, -20], [-15, 30]])
    X = np.array(
        [sum(weights[i, j] * np.roll(sources[j], delays[i, j]) for j in range(2)) for i in range(3)]
    )
    spectra = np.fft.rfft(sources)
    phases = phase_from_group_delay(X, weights, delays, np.abs(spectra) ** 2)
    for j in range(2):
        seen = np.abs(spectra[j]) > 1e-2 * np.abs(spectra[j]).max()
        turn = np.exp(1j * phases[j, seen]) * np.exp(-1j * np.angle(spectra[j, seen]))
        # a constant is lost over the gap below the band; within it the phase is exact
        np.testing.assert_allclose(np.abs(turn.mean()), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gerchberg_saxton([[1.0, -1.0]], [0.0]), "not be negative"),
        (lambda: gerchberg_saxton([1.0, 1.0], [0.0]), "a row for each domain"),
        (lambda: gerchberg_saxton([[1.0, 1.0]], [0.0, 1.0]), "a domain for each"),
        (lambda: gerchberg_saxton([[[1.0, 1.0]]], [0.0]), "pair of transforms"),
        (lambda: gerchberg_saxton([[1.0, 1.0]], [0.0], n_init=0), "n_init must be"),
        (lambda: phase_from_close_spectra([1.0, 1.0], [1.0], 0.1), "one length"),
        (lambda: phase_from_close_spectra([1.0, 1.0], [1.0, 1.0], 0.0), "other than zero"),
        (lambda: phase_from_group_delay([[1.0, 2.0]], [[1.0]], [[0.0]], [[1.0]]), "power must be"),
        (
            lambda: phase_from_group_delay([[1.0, 2.0]], [[1.0]], [0.0], [[1.0, 1.0]]),
            "a column for",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
