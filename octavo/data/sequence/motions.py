"""Vector time series with styles: coupled oscillators, a walking biped, the Lorenz attractor."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_biped_motion", "make_lorenz_series", "make_oscillator_styles"]

STYLES = ("crouch", "jog", "limp", "normal", "side-right", "sway", "waddle")


def _at_least(least: int, **given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def _not_negative(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")


@checked
def make_oscillator_styles(
    n_styles: int = 7,
    n_speeds: int = 3,
    *,
    n_channels: int = 10,
    length: int = 200,
    noise: float = 0.02,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Simulate coupled nonlinear oscillators that move in several styles at several speeds.

    Two Van der Pol oscillators drive all channels through saturating functions. A style sets their
    frequency, how nonlinear and how coupled they are, and how channels mix them; a speed
    stretches time. Stands in for seven types of walking at three speeds.

    Parameters
    ----------
    n_styles : int, default=7
        Number of styles.
    n_speeds : int, default=3
        Number of speeds, from 0.8 to 1.25 times the middle one.
    n_channels : int, default=10
        Number of channels.
    length : int, default=200
        Frames of a sequence.
    noise : float, default=0.02
        Standard deviation of the noise on each channel.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    bunch : Bunch
        ``sequences``, a list of (length, n_channels) arrays, styles slowest; ``styles`` and
        ``speeds``, the number of each for each sequence.

    Examples
    --------
    >>> from octavo.data import make_oscillator_styles
    >>> bunch = make_oscillator_styles(length=50, random_state=0)
    >>> len(bunch.sequences), bunch.sequences[0].shape
    (21, (50, 10))
    """
    _at_least(1, n_styles=n_styles, n_speeds=n_speeds, n_channels=n_channels, length=length)
    _not_negative(noise=noise)
    rng = check_random_state(random_state)
    rates = np.geomspace(0.8, 1.25, n_speeds) if n_speeds > 1 else np.ones(1)
    shared = rng.standard_normal((4, n_channels))
    sequences, styles, speeds = [], [], []
    for style in range(n_styles):
        setting = (0.2 * np.exp(0.2 * rng.standard_normal()), rng.uniform(0.2, 1.0, 2))
        coupling = rng.uniform(0.2, 0.6)
        mix = 0.5 * shared + 0.7 * rng.standard_normal((4, n_channels))
        for speed, rate in enumerate(rates):
            states = _van_der_pol(*setting, coupling, float(rate), length, rng)
            clean = np.tanh(states @ mix / 2.0)
            sequences.append(clean + noise * rng.standard_normal(clean.shape))
            styles.append(style)
            speeds.append(speed)
    return Bunch(sequences=sequences, styles=np.array(styles), speeds=np.array(speeds))


def _van_der_pol(
    frequency: Any, stiffness: Any, coupling: float, rate: float, length: int, rng: Any
) -> Any:
    """Return position and velocity of two coupled oscillators, (length, 4)."""
    x, v = rng.standard_normal(2), rng.standard_normal(2)
    found, inner = [], 8
    step = rate / inner
    for t in range(100 + length):  # the first hundred frames settle
        for _ in range(inner):
            pull = stiffness * (1 - x**2) * v - x + coupling * (x[::-1] - x)
            v = v + step * frequency * pull
            x = x + step * frequency * v
        if t >= 100:
            found.append(np.concatenate([x, v]))
    return np.array(found)


@checked
def make_biped_motion(
    style: str = "normal",
    *,
    speed: float = 1.0,
    stride: float = 1.0,
    length: int = 200,
    noise: float = 0.01,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Simulate the joint angles and the root of a walking biped.

    Hips, knees, ankles, shoulders and elbows follow few harmonics of one phase, which a style
    changes; the root moves forward, bobs and turns a little.

    Parameters
    ----------
    style : {"crouch", "jog", "limp", "normal", "side-right", "sway", "waddle"}, default="normal"
        How it walks.
    speed : float, default=1.0
        Frequency of steps, one at 30 frames a stride.
    stride : float, default=1.0
        Size of the movements of the legs.
    length : int, default=200
        Number of frames.
    noise : float, default=0.01
        Standard deviation of noise on the angles, in radians.
    random_state : int, RandomState instance or None, default=None
        Seed of phase and noise.

    Returns
    -------
    bunch : Bunch
        ``angles`` (length, 10) with ``names``, and the root: ``rotations`` (length, 3, 3), whose
        rows are the body's axes, and ``positions`` (length, 3), the third axis up.

    Examples
    --------
    >>> from octavo.data import make_biped_motion
    >>> make_biped_motion("jog", random_state=0).angles.shape
    (200, 10)
    """
    if style not in STYLES:
        raise ValueError(f"style must be one of {', '.join(STYLES)}, got {style!r}.")
    _at_least(1, length=length)
    _not_negative(speed=speed, stride=stride, noise=noise)
    rng = check_random_state(random_state)
    bend = {"crouch": 0.7, "jog": 0.35}.get(style, 0.1)
    swing = {"jog": 1.4, "limp": 0.8}.get(style, 1.0) * stride
    lean = {"waddle": 0.25, "sway": 0.15}.get(style, 0.03)
    weak = 0.5 if style == "limp" else 1.0
    phase = rng.uniform(0, 2 * np.pi) + 2 * np.pi * speed / 30 * np.arange(length)
    left, right = phase, phase + np.pi
    names, columns = [], []
    for side, angle, force in (("left", left, 1.0), ("right", right, weak)):
        hip = force * swing * (0.5 * np.sin(angle) + 0.08 * np.sin(2 * angle)) + bend / 2
        knee = force * swing * 0.6 * np.maximum(np.sin(angle + 1.0), 0.0) ** 2 + bend
        ankle = force * swing * 0.2 * np.cos(angle) - bend / 2
        shoulder, elbow = -0.4 * swing * np.sin(angle), 0.3 + 0.2 * swing * np.sin(angle + 0.5)
        columns += [hip, knee, ankle, shoulder, elbow]
        names += [f"{side} {joint}" for joint in ("hip", "knee", "ankle", "shoulder", "elbow")]
    angles = np.stack(columns, axis=1) + noise * rng.standard_normal((length, 10))
    rotations, positions = _biped_root(phase, swing, lean, speed, style == "side-right", bend)
    return Bunch(angles=angles, names=names, rotations=rotations, positions=positions)


def _biped_root(
    phase: Any, swing: float, lean: float, speed: float, sideways: bool, bend: float
) -> Any:
    yaw, roll, pitch = 0.1 * np.sin(phase / 7), lean * np.sin(phase), 0.05 * np.sin(2 * phase)
    cos, sin = np.cos, np.sin
    forward = np.stack([cos(pitch) * cos(yaw), cos(pitch) * sin(yaw), -sin(pitch)], axis=1)
    level = np.stack([-sin(yaw), cos(yaw), np.zeros_like(yaw)], axis=1)
    lateral = cos(roll)[:, None] * level + sin(roll)[:, None] * np.cross(forward, level)
    rotations = np.stack([forward, lateral, np.cross(forward, lateral)], axis=1)
    way = (level if sideways else np.stack([cos(yaw), sin(yaw), 0 * yaw], axis=1))[:, :2]
    step = 0.04 * swing * speed * (1 + 0.2 * np.cos(2 * phase))[:, None] * way
    ground = np.concatenate([np.zeros((1, 2)), np.cumsum(step[:-1], axis=0)])
    height = 1.0 - 0.2 * bend + 0.03 * np.cos(2 * phase)
    return rotations, np.column_stack([ground, height])


@checked
def make_lorenz_series(
    length: int = 1000,
    *,
    step: float = 0.02,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Simulate the Lorenz attractor (σ = 10, ρ = 28, β = 8/3).

    Parameters
    ----------
    length : int, default=1000
        Number of frames.
    step : float, default=0.02
        Time between frames, at most 0.05.
    noise : float, default=0.0
        Standard deviation of noise on each channel.
    random_state : int, RandomState instance or None, default=None
        Seed of the starting point and of the noise.

    Returns
    -------
    X : ndarray of shape (length, 3)
        The series, after a start that is left out.

    Examples
    --------
    >>> from octavo.data import make_lorenz_series
    >>> make_lorenz_series(100, random_state=0).shape
    (100, 3)
    """
    _at_least(1, length=length)
    _not_negative(noise=noise)
    if not isinstance(step, Real) or not 0 < step <= 0.05:
        raise ValueError(f"step must be a number above 0 and at most 0.05, got {step!r}.")
    rng = check_random_state(random_state)
    x, inner, found = rng.standard_normal(3) + [0.0, 0.0, 25.0], 4, []
    burn = int(np.ceil(20 / step))
    for t in range(burn + length):
        for _ in range(inner):
            x = _runge_kutta(x, step / inner)
        if t >= burn:
            found.append(x)
    return np.array(found) + noise * rng.standard_normal((length, 3))


def _runge_kutta(x: Any, step: float) -> Any:
    def slope(p: Any) -> Any:
        return np.array([10 * (p[1] - p[0]), p[0] * (28 - p[2]) - p[1], p[0] * p[1] - 8 / 3 * p[2]])

    k1 = slope(x)
    k2 = slope(x + step / 2 * k1)
    k3 = slope(x + step / 2 * k2)
    k4 = slope(x + step * k3)
    return x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
