"""Sources that channels see scaled and delayed: smooth signals, sounds, gaits, objects in images.

The recordings of Omlor and Giese (2011) are not public; these are of the same kind and size.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["AnechoicSample", "make_anechoic_mixture"]


class AnechoicSample(NamedTuple):
    """A mixture and what it is made of: x_i(t) = Σ_j weights_ij sources_j(t - delays_ij).

    ``X`` (n_channels, n_times), ``sources`` (n_sources, n_times) of unit norm, ``weights`` and
    ``delays`` (n_channels, n_sources). Images have two axes for one, and delays a last axis (down,
    right).
    """

    X: np.ndarray
    sources: np.ndarray
    weights: np.ndarray
    delays: np.ndarray


def _filtered(noise, response):
    return np.fft.irfft(np.fft.rfft(noise) * response, n=noise.shape[-1])


def _smooth(n, length, rng):
    """White noise below a twelfth of all frequencies."""
    k = np.arange(length // 2 + 1)
    return _filtered(rng.normal(size=(n, length)), np.exp(-((12.0 * k / length) ** 2)))


def _sound(n, length, rng):
    """Syllables of a gliding voice with formants, on coloured noise; 8000 samples are a second."""
    t = np.arange(length) / 8000.0
    rows = []
    for _ in range(n):
        pitch = rng.uniform(90, 260) * np.exp(
            0.15 * np.cumsum(rng.normal(size=length)) / np.sqrt(length)
        )
        phase = 2 * np.pi * np.cumsum(pitch) / 8000.0
        centres = rng.uniform([300, 900, 2100], [900, 2000, 3400])
        voice = np.zeros(length)
        for h in range(1, 25):
            gain = sum(np.exp(-0.5 * ((h * pitch - c) / (0.12 * c + 60)) ** 2) for c in centres)
            voice += gain * np.sin(h * phase + rng.uniform(0, 2 * np.pi)) * (h * pitch < 3900)
        beats = rng.uniform(2.5, 5.5), rng.uniform(0, 2 * np.pi)
        envelope = np.clip(np.sin(2 * np.pi * beats[0] * t + beats[1]), 0, None) ** 1.5 + 0.02
        k = np.arange(length // 2 + 1) * 8000.0 / length
        hiss = _filtered(rng.normal(size=length), np.exp(-0.5 * ((k - centres[1]) / 700) ** 2))
        rows.append(envelope * voice / voice.std() + 0.1 * hiss / max(hiss.std(), 1e-300))
    return np.array(rows)


def _gait(n, length, rng):
    """Periodic shapes of a few harmonics, as joints have them within a step."""
    t = 2 * np.pi * np.arange(length) / length
    rows = np.zeros((n, length))
    for j in range(n):
        for h in range(1, 6):
            rows[j] += rng.normal() / h * np.cos(h * t + rng.uniform(0, 2 * np.pi))
    return rows


def _sprites(n, side, rng):
    """Objects of random blocks and rings, a fifth of the picture wide, in its middle."""
    y, x = np.mgrid[:side, :side] - side / 2.0
    pictures = np.zeros((n, side, side))
    for j in range(n):
        for _ in range(4):
            cy, cx = rng.uniform(-0.07, 0.07, 2) * side
            a, b = rng.uniform(0.02, 0.09, 2) * side
            turn = rng.uniform(0, np.pi)
            u = np.cos(turn) * (x - cx) + np.sin(turn) * (y - cy)
            v = np.cos(turn) * (y - cy) - np.sin(turn) * (x - cx)
            if (j + rng.randint(2)) % 2:
                part = (np.abs(u) < a) & (np.abs(v) < b)
            else:
                part = np.abs(np.hypot(u / a, v / b) - 0.8) < 0.3
            pictures[j] += rng.uniform(0.5, 1.0) * part
    return pictures


_KINDS = {"smooth": _smooth, "sound": _sound, "gait": _gait, "sprites": _sprites}


def _table(values, shape, name):
    table = np.asarray(values, dtype=np.float64)
    if table.shape != shape or not np.isfinite(table).all():
        raise ValueError(f"{name} must be finite and of the shape {shape}, got {table.shape}.")
    return table


@checked
@validate_params(
    {
        "kind": [StrOptions({*_KINDS})],
        "n_channels": [Interval(Integral, 1, 10_000, closed="both")],
        "n_sources": [Interval(Integral, 1, 100, closed="both")],
        "n_times": [Interval(Integral, 8, 1_000_000, closed="both")],
        "weights": ["array-like", None],
        "delays": ["array-like", None],
        "noise": [Interval(Real, 0, 1e6, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_anechoic_mixture(
    kind: str = "smooth",
    *,
    n_channels: int = 10,
    n_sources: int = 2,
    n_times: int = 256,
    weights: Any = None,
    delays: Any = None,
    noise: float = 0.0,
    random_state: Any = None,
) -> AnechoicSample:
    """Draw sources and mix them with weights and circular delays.

    Parameters
    ----------
    kind : {"smooth", "sound", "gait", "sprites"}, default="smooth"
        Noise of low frequencies; voices that glide and pause; periodic movements with delays that
        are a part of a step and not whole; or objects in square images.
    n_channels : int, default=10
        Number of channels.
    n_sources : int, default=2
        Number of sources.
    n_times : int, default=256
        Number of samples, or the side of the images.
    weights : array-like of shape (n_channels, n_sources), default=None
        Weights; by default of random sign and uniform size between 0.3 and 2, and between 0.5 and
        1.5 without sign in images.
    delays : array-like of shape (n_channels, n_sources), default=None
        Delays, with a last axis of two for images; by default random.
    noise : float, default=0.0
        Standard deviation of white noise, relative to that of the mixture.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    AnechoicSample
        The mixture with its sources, weights and delays.

    Examples
    --------
    >>> from octavo.data import make_anechoic_mixture
    >>> sample = make_anechoic_mixture("sound", n_channels=5, n_times=8000, random_state=0)
    >>> print(sample.X.shape, sample.delays.shape)
    (5, 8000) (5, 2)
    """
    rng = check_random_state(random_state)
    images = kind == "sprites"
    if images and n_times > 2000:
        raise ValueError(f"n_times is the side of images here, at most 2000, got {n_times}.")
    sources = _KINDS[kind](n_sources, n_times, rng)
    norms = np.linalg.norm(sources.reshape(n_sources, -1), axis=1)
    sources /= norms.reshape(-1, *[1] * (sources.ndim - 1))
    shape = (n_channels, n_sources)
    if weights is None:
        low, high = (0.5, 1.5) if images else (0.3, 2.0)
        W = rng.uniform(low, high, shape)
        W = W if images else W * rng.choice([-1.0, 1.0], shape)
    else:
        W = _table(weights, shape, "weights")
    delay_shape = (*shape, 2) if images else shape
    if delays is None:
        D = rng.randint(n_times, size=delay_shape).astype(np.float64)
        D = rng.normal(0, n_times / 10, delay_shape) if kind == "gait" else D
    else:
        D = _table(delays, delay_shape, "delays")
    X = _mixed(sources, W, D)
    if noise:
        X = X + noise * X.std() * rng.normal(size=X.shape)
    return AnechoicSample(X, sources, W, D)


def _mixed(sources, weights, delays):
    """Mix by phases, along the last axis or the last two; whole delays are exact rotations."""
    axes = sources.ndim - 1
    spectra = np.fft.fftn(sources, axes=range(1, axes + 1))
    taus = delays[..., None] if axes == 1 else delays
    mixed = np.zeros((len(weights), *sources.shape[1:]), dtype=np.complex128)
    for j, spectrum in enumerate(spectra):
        phases: Any = 1.0
        for a in range(axes):
            n = sources.shape[1 + a]
            k = np.fft.fftfreq(n, 1.0 / n)
            part = np.exp(-2j * np.pi / n * taus[:, j, a, None] * k)
            if n % 2 == 0:  # a real signal stays real
                part[:, n // 2] = np.cos(np.pi * taus[:, j, a])
            phases = phases * part.reshape(len(weights), *[n if b == a else 1 for b in range(axes)])
        mixed += weights[:, j].reshape(-1, *[1] * axes) * spectrum * phases
    return np.fft.ifftn(mixed, axes=range(1, axes + 1)).real
