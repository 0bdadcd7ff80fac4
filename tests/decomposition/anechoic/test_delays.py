"""Shifts and delays against rotations, dense grids and the Cramér-Rao bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.decomposition import (
    delay_crlb,
    estimate_delays,
    log_polar,
    shift_fractional,
    shifted_match,
)
from octavo.decomposition.anechoic.shifts import (
    bin_weights,
    from_spectra,
    shift_phases,
    to_spectra,
)


def band_limited(n, length, seed, cut=0.2):
    rng = np.random.default_rng(seed)
    spectra = np.fft.rfft(rng.normal(size=(n, length)))
    spectra[:, int(cut * length) :] = 0
    return np.fft.irfft(spectra, n=length)


@given(length=st.integers(1, 30), tau=st.floats(-50, 50), whole=st.integers(-60, 60))
@settings(max_examples=50, deadline=None)
def test_shifts(length, tau, whole):
    x = np.random.default_rng(length).normal(size=length)
    np.testing.assert_array_equal(shift_fractional(x, whole), np.roll(x, whole))
    there = shift_fractional(x, tau)
    assert np.isrealobj(there)
    if length % 2:
        np.testing.assert_allclose(shift_fractional(there, -tau), x, atol=1e-11)
        np.testing.assert_allclose(np.linalg.norm(there), np.linalg.norm(x), rtol=1e-11)
    # the phases of half spectra are the same shift
    half = to_spectra(x[None, None]) * shift_phases(np.array([[0.0, tau]]), (1, length))
    np.testing.assert_allclose(from_spectra(half, (1, length))[0, 0], there, atol=1e-11)


def test_shifts_interpolate_waves_and_images():
    t = np.arange(40)
    wave = np.cos(2 * np.pi * 3 * t / 40)
    moved = np.cos(2 * np.pi * 3 * (t - 1.7) / 40)
    np.testing.assert_allclose(shift_fractional(wave, 1.7), moved, atol=1e-12)
    rows = shift_fractional(np.stack([wave, wave]), [1.7, -2.0])
    np.testing.assert_allclose(rows, [moved, np.roll(wave, -2)], atol=1e-12)
    image = np.random.default_rng(0).normal(size=(8, 9))
    both = shift_fractional(image, (2.5, -1.25), axis=(0, 1))
    spectra = to_spectra(image[None]) * shift_phases(np.array([[2.5, -1.25]]), (8, 9))
    np.testing.assert_allclose(both, from_spectra(spectra, (8, 9))[0], atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 8), (1, 9), (6, 8), (5, 7)])
def test_parseval(shape):
    x = np.random.default_rng(1).normal(size=(3, *shape))
    energy = np.abs(to_spectra(x)) ** 2 @ bin_weights(shape)
    np.testing.assert_allclose(energy, (x**2).sum(axis=(1, 2)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("nonneg", [False, True])
def test_joint_delays_equal_a_search_of_the_whole_grid(seed, nonneg):
    length, rng = 24, np.random.default_rng(100 + seed)
    sources = band_limited(2, length, seed, 0.3)
    weights = rng.uniform(0.5, 2, 2) * (1 if nonneg else rng.choice([-1, 1], 2))
    x = sum(weights[j] * np.roll(sources[j], rng.integers(length)) for j in range(2))
    x = x + 0.05 * rng.normal(size=length)
    best = np.inf
    for a in range(length):
        for b in range(length):
            parts = np.stack([np.roll(sources[0], a), np.roll(sources[1], b)], axis=1)
            w, *_ = np.linalg.lstsq(parts, x, rcond=None)
            if nonneg and w.min() < 0:
                continue
            best = min(best, np.sum((x - parts @ w) ** 2))
    found = estimate_delays(x, sources, nonneg_weights=nonneg, subsample=False)
    parts = np.stack([np.roll(s, int(d)) for s, d in zip(sources, found.delays)], axis=1)
    error = np.sum((x - parts @ found.weights) ** 2)
    np.testing.assert_allclose(error, best, rtol=1e-9)
    finer = estimate_delays(x, sources, nonneg_weights=nonneg)
    model = sum(w * shift_fractional(s, d) for w, s, d in zip(finer.weights, sources, finer.delays))
    assert np.sum((x - model) ** 2) <= best * (1 + 1e-9)


def test_delays_reach_the_cramer_rao_bound():
    """Appendix A: three sources, weights 1, delays 20.2, 7.9 and 120.2."""
    sources = band_limited(3, 512, 7, 0.1)
    sources /= sources.std(axis=1, keepdims=True)
    truth = np.array([20.2, 7.9, 120.2])
    x = sum(shift_fractional(s, d) for s, d in zip(sources, truth))
    rng = np.random.default_rng(8)
    for snr in (20.0, 40.0):
        noise = np.sqrt(np.mean(x**2) / 10 ** (snr / 10)) * rng.normal(size=(400, 512))
        bound = delay_crlb(sources, np.ones(3), snr, delays=truth)
        error = {}
        for method in ("ml", "xcorr"):
            found = estimate_delays(x + noise, sources, method)
            error[method] = np.sqrt(np.mean((found.delays - truth) ** 2, axis=0))
        # 400 trials tell a standard deviation to 3.5 %
        assert np.all(error["ml"] <= 1.2 * bound)
        assert np.all(error["ml"] >= 0.85 * bound)
        # over all delays, as Fig. 7: one alone may be lucky, since Eq. (37) is biased
        assert np.linalg.norm(error["ml"]) < np.linalg.norm(error["xcorr"])


def test_bound_of_one_wave_has_a_closed_form():
    """var τ ≥ σ² / (α² Σ s'²) where level and slope of the source are orthogonal."""
    t = np.arange(200)
    source = np.sin(2 * np.pi * 7 * t / 200)
    slope = 2 * np.pi * 7 / 200
    variance = np.mean((3 * source) ** 2) / 10**1.5
    expected = np.sqrt(variance / (9 * slope**2 * np.sum(np.cos(2 * np.pi * 7 * t / 200) ** 2)))
    np.testing.assert_allclose(delay_crlb([source], [3.0], 15.0), [expected], rtol=1e-10)
    scaled = delay_crlb([1e-5 * source], [3e5], 15.0)
    np.testing.assert_allclose(scaled, [expected], rtol=1e-10)


def test_delays_of_overlapping_sources_are_exact_without_noise():
    """Random walks look alike, and Gauss-Seidel creeps; joint steps must not."""
    rng = np.random.default_rng(0)
    sources = np.cumsum(rng.normal(size=(2, 201)), axis=1)
    sources -= np.linspace(0, 1, 201) * sources[:, -1:]
    x = shift_fractional(sources[0], 20.2) - 0.5 * shift_fractional(sources[1], 7.9)
    weights, delays = estimate_delays(x, sources)
    np.testing.assert_allclose(delays, [20.2, 7.9], atol=1e-7)
    np.testing.assert_allclose(weights, [1.0, -0.5], atol=1e-7)


def test_images_have_two_delays():
    rng = np.random.default_rng(3)
    source = np.zeros((20, 24))
    source[4:9, 6:12] = rng.uniform(0.5, 1, (5, 6))
    x = 1.5 * np.roll(source, (3, -5), axis=(0, 1))
    weights, delays = estimate_delays(x, source[None], nonneg_weights=True)
    np.testing.assert_allclose(weights, [1.5], rtol=1e-8)
    np.testing.assert_allclose(delays, [[3, -5]], atol=1e-6)


def test_silent_channels_and_sources():
    sources = band_limited(2, 30, 0)
    weights, delays = estimate_delays(np.zeros((2, 30)), sources)
    assert not weights.any()
    assert not delays.any()
    sources[1] = 0
    weights, _ = estimate_delays(np.roll(sources[0], 4), sources)
    np.testing.assert_allclose(weights, [1.0, 0.0], atol=1e-9)
    for scale in (1.0, 1e50):  # no infinite weight times nothing
        assert not estimate_delays(scale * sources[0], 0.0 * sources).weights.any()
        loud = estimate_delays(scale * sources[0], sources).weights
        np.testing.assert_allclose(loud, [scale, 0.0], rtol=1e-9)
    assert delay_crlb(band_limited(2, 30, 0), [1.0, 0.0], 10.0)[1] == np.inf


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_units_do_not_matter(scale):
    sources = band_limited(2, 40, 1)
    x = 2 * np.roll(sources[0], 3) - np.roll(sources[1], 9)
    weights, delays = estimate_delays(scale * x, sources / scale)
    np.testing.assert_allclose(weights, [2 * scale**2, -(scale**2)], rtol=1e-6)
    np.testing.assert_allclose(delays, [3, 9], atol=1e-6)
    single, late = estimate_delays(x.astype(np.float32), sources.astype(np.float32))
    np.testing.assert_allclose(late, [3, 9], atol=1e-4)


def test_match_is_blind_to_what_is_arbitrary():
    sources = band_limited(3, 50, 4)
    changed = np.array([[-2.0], [0.1], [5.0]]) * np.roll(sources[[2, 0, 1]], 11, axis=1)
    assert shifted_match(changed, sources) == pytest.approx(1.0)
    assert shifted_match(band_limited(3, 50, 5), sources) < 0.9


def test_log_polar_turns_rotation_and_scale_into_shifts():
    y, x = np.mgrid[-60:61, -60:61]

    def ellipse(angle, size):
        u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        return np.exp(-((u / (20 * size)) ** 2) - (v / (8 * size)) ** 2)

    still = log_polar(ellipse(0.0, 1.0), n_angles=120, center=(60, 60))
    turned = log_polar(ellipse(2 * np.pi * 10 / 120, 1.0), n_angles=120, center=(60, 60))
    # linear interpolation between pixels costs about a percent of the height
    np.testing.assert_allclose(turned, np.roll(still, 10, axis=1), atol=0.02)
    step = np.log(np.hypot(60, 60)) / 63
    larger = log_polar(ellipse(0.0, np.exp(5 * step)), n_angles=120, center=(60, 60))
    np.testing.assert_allclose(larger[5:50], still[:45], atol=0.02)
    np.testing.assert_allclose(
        log_polar(ellipse(0.0, 1.0), n_angles=120), still, atol=1e-3
    )  # the mean place is the middle here


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate_delays([1.0, 2.0], [[1.0, 2.0, 3.0]]), "one length"),
        (lambda: estimate_delays([1.0, 2.0], [1.0, 2.0]), "a row for each"),
        (lambda: estimate_delays([1.0, np.nan], [[1.0, 2.0]]), "NaN"),
        (lambda: estimate_delays([1.0, 2.0], [[1.0, 2.0]], "x"), "'ml' or 'xcorr'"),
        (lambda: shift_fractional([1.0, 2.0], np.nan), "tau must be finite"),
        (lambda: shift_fractional([[1.0, 2.0]], [1.0, 2.0]), "one for each signal"),
        (lambda: delay_crlb([[1.0, 2.0]], [1.0, 2.0], 3.0), "one number for each of 1"),
        (lambda: delay_crlb([[1.0, 1.0, 1.0]], [1.0], 3.0), "constant or zero"),
        (lambda: delay_crlb([[1.0, 2.0, 4.0]], [0.0], 3.0), "no signal"),
        (lambda: log_polar([1.0]), "height, width"),
        (lambda: shifted_match([[1.0]], [[1.0, 2.0]]), "of one size"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
