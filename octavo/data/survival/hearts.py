"""Electrocardiograms by a dynamical model, and a cohort in which unusual hearts have more events.

A point runs around the unit circle once a beat; the signal is pulled towards its baseline and
pushed by five waves (P, Q, R, S, T) as the point passes their angles. A premature ventricular beat
has no P, a broad QRS and an inverted T, comes early and is followed by a pause.

Reference: P. E. McSharry, G. D. Clifford, L. Tarassenko and L. A. Smith (2003), "A dynamical model
for generating synthetic electrocardiogram signals", IEEE Transactions on Biomedical Engineering
50:289-294.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked

__all__ = ["HeartCohort", "SimulatedECG", "make_ecg", "make_heart_cohort"]

Bools = NDArray[np.bool_]
# Angle, strength and width of P, Q, R, S and T: the model's Table I.
ANGLES = np.pi * np.array([-1 / 3, -1 / 12, 0.0, 1 / 12, 1 / 2])
STRENGTHS = np.array([1.2, -5.0, 30.0, -7.5, 0.75])
WIDTHS = np.array([0.25, 0.1, 0.1, 0.1, 0.4])
ECTOPIC_STRENGTHS = np.array([0.0, -2.0, 12.0, -9.0, -1.5])
ECTOPIC_WIDTHS = np.array([0.25, 0.2, 0.3, 0.3, 0.4])
MILLIVOLT = 22.0  # R of a plain beat at a pulse of 60 is about 1 mV high
STEP = 1.0 / 500.0  # seconds; the equations are integrated at least this finely
MOST_SAMPLES = 200_000_000


class SimulatedECG(NamedTuple):
    """Millivolts, the samples of the R waves, which of them are ectopic, and samples a second."""

    signal: Floats
    peaks: Ints
    ectopic: Bools
    fs: float


class HeartCohort(NamedTuple):
    """Signals of patients with follow-up: who is unusual, until when, and whether with event."""

    signals: list[Floats]
    fs: float
    anomalous: Bools
    durations: Floats
    events: Bools


@njit(cache=True, nogil=True)
def _slope(z, angle, strengths, widths, baseline):
    push = 0.0
    for w in range(5):
        d = angle - ANGLES[w]
        push -= strengths[w] * d * np.exp(-0.5 * d * d / (widths[w] * widths[w]))
    return push - (z - baseline)


@njit(cache=True, nogil=True)
def _integrate(ends, strengths, widths, kind, fs, parts, breath, out):
    """Fill the samples by Runge and Kutta's method; the angle of a beat is linear in time."""
    z, beat = 0.0, 0
    h = 1.0 / (fs * parts)
    for sample in range(out.shape[0]):
        out[sample] = z
        for part in range(parts):
            t = (sample * parts + part) * h
            while beat < ends.shape[0] - 2 and t >= ends[beat + 1]:
                beat += 1
            speed = 2.0 * np.pi / (ends[beat + 1] - ends[beat])
            angle = speed * (t - ends[beat]) - np.pi
            a, b = strengths[kind[beat]], widths[kind[beat]]
            base = breath * np.sin(0.5 * np.pi * t)  # a quarter of a hertz
            one = _slope(z, angle, a, b, base)
            two = _slope(z + 0.5 * h * one, angle + 0.5 * h * speed, a, b, base)
            three = _slope(z + 0.5 * h * two, angle + 0.5 * h * speed, a, b, base)
            four = _slope(z + h * three, angle + h * speed, a, b, base)
            z += h / 6.0 * (one + 2.0 * two + 2.0 * three + four)


def _intervals(n_beats: int, heart_rate: float, ectopic: Bools, rng: Any) -> Floats:
    """Return seconds between beats: slow and respiratory waves, early ectopic beats, pauses."""
    mean = 60.0 / heart_rate
    t = mean * np.arange(n_beats)
    phases = rng.uniform(0, 2 * np.pi, 2)
    waves = 0.02 * np.sin(2 * np.pi * 0.1 * t + phases[0])
    waves += 0.02 * np.sin(2 * np.pi * 0.25 * t + phases[1])
    lengths = mean * (1 + waves + 0.005 * rng.standard_normal(n_beats))
    # The R of beat i lies in the middle of its interval: both halves around it must be short.
    lengths[ectopic] *= 0.7
    after = np.flatnonzero(ectopic[:-1]) + 1
    lengths[after[~ectopic[after]]] *= 1.3
    return lengths


def _ecg(
    n_beats: int,
    fs: float,
    heart_rate: float,
    ectopic_rate: float,
    qrs_width: float,
    spread: float,
    noise: float,
    rng: Any,
) -> SimulatedECG:
    ectopic = rng.random(n_beats) < ectopic_rate
    ends = np.concatenate([[0.0], np.cumsum(_intervals(n_beats, heart_rate, ectopic, rng))])
    own = np.exp(spread * rng.standard_normal((2, 5)))
    broad = np.array([1.0, qrs_width, qrs_width, qrs_width, 1.0])
    # A broader wave rises by its width squared: the strength gives the height back.
    strengths = np.stack([own[0] * STRENGTHS / broad**2, own[0] * ECTOPIC_STRENGTHS])
    widths = np.stack([WIDTHS * broad, ECTOPIC_WIDTHS])
    parts = int(np.ceil(1.0 / (STEP * fs)))
    signal = np.empty(int(ends[-1] * fs))
    _integrate(ends, strengths, widths, ectopic.astype(np.int64), fs, parts, 0.005, signal)
    signal *= MILLIVOLT * heart_rate / 60.0  # the faster the point, the less time to rise
    signal += noise * rng.standard_normal(len(signal))
    peaks = np.rint(0.5 * (ends[:-1] + ends[1:]) * fs).astype(np.int64)
    return SimulatedECG(signal, np.minimum(peaks, len(signal) - 1), ectopic, fs)


def _check(n_beats: int, fs: float, heart_rate: float, noise: float, spread: float) -> None:
    if not 1 <= n_beats * fs * 60.0 / max(heart_rate, 1e-300) <= MOST_SAMPLES or n_beats < 1:
        raise ValueError(
            f"A signal has from 1 to {MOST_SAMPLES:,} samples; {n_beats} beats at {fs:g} samples "
            f"a second and {heart_rate:g} beats a minute do not."
        )
    if not (16 <= fs <= 10_000 and 10 <= heart_rate <= 400):
        raise ValueError(
            "fs must lie between 16 and 10,000 and heart_rate between 10 and 400; got "
            f"{fs:g} and {heart_rate:g}."
        )
    if not (0 <= noise <= 100 and 0 <= spread <= 2):
        raise ValueError(
            f"noise must lie in [0, 100] and spread in [0, 2]; got {noise:g} and {spread:g}."
        )


@checked
def make_ecg(
    n_beats: int = 60,
    *,
    fs: float = 128.0,
    heart_rate: float = 70.0,
    ectopic_rate: float = 0.0,
    qrs_width: float = 1.0,
    spread: float = 0.0,
    noise: float = 0.01,
    random_state: Any = None,
) -> SimulatedECG:
    """Draw an electrocardiogram by a dynamical model.

    Parameters
    ----------
    n_beats : int, default=60
        Beats.
    fs : float, default=128
        Samples a second.
    heart_rate : float, default=70
        Beats a minute on average.
    ectopic_rate : float, default=0
        Share of premature ventricular beats.
    qrs_width : float, default=1
        How much broader than usual the QRS complex of plain beats is.
    spread : float, default=0
        Standard deviation of the logarithms of the heights of this heart's waves.
    noise : float, default=0.01
        Standard deviation of white noise, in millivolts.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    ecg : SimulatedECG
        Signal, samples of the R waves, which beats are ectopic, and `fs`.

    Examples
    --------
    >>> from octavo.data import make_ecg
    >>> ecg = make_ecg(5, random_state=0)
    >>> ecg.peaks.tolist()
    [55, 162, 269, 378, 489]
    """
    _check(n_beats, fs, heart_rate, noise, spread)
    if not (0 <= ectopic_rate <= 1 and 0.1 <= qrs_width <= 5):
        raise ValueError(
            "ectopic_rate must lie in [0, 1] and qrs_width in [0.1, 5]; got "
            f"{ectopic_rate:g} and {qrs_width:g}."
        )
    rng = check_random_state(random_state)
    return _ecg(n_beats, fs, heart_rate, ectopic_rate, qrs_width, spread, noise, rng)


@checked
def make_heart_cohort(
    n_patients: int = 300,
    *,
    n_beats: int = 200,
    fs: float = 64.0,
    anomalous_share: float = 0.1,
    ectopic_rate: float = 0.02,
    qrs_width: float = 1.5,
    spread: float = 0.03,
    noise: float = 0.01,
    hazard_ratio: float = 2.0,
    event_share: float = 0.3,
    follow_up: float = 90.0,
    random_state: Any = None,
) -> HeartCohort:
    """Draw patients with an electrocardiogram each, some of them unusual and at higher risk.

    Every second unusual patient has ectopic beats, the others a broad QRS complex.

    Parameters
    ----------
    n_patients : int, default=300
        Patients.
    n_beats : int, default=200
        Beats of each.
    fs : float, default=64
        Samples a second.
    anomalous_share : float, default=0.1
        Share of unusual patients.
    ectopic_rate : float, default=0.02
        Share of ectopic beats of those who have them; at least one.
    qrs_width : float, default=1.5
        How much broader the QRS complex is of those in whom it is.
    spread : float, default=0.03
        Standard deviation of the logarithms of the heights of waves, from heart to heart.
    noise : float, default=0.01
        Standard deviation of white noise, in millivolts.
    hazard_ratio : float, default=2
        Of the unusual, against the others; event times are exponential.
    event_share : float, default=0.3
        Share of the others who have an event during follow-up, were nobody to drop out.
    follow_up : float, default=90
        Days until everyone is censored; a fifth of the patients drop out before, at any time.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    cohort : HeartCohort
        Signals, `fs`, who is unusual, durations and events.

    Examples
    --------
    >>> from octavo.data import make_heart_cohort
    >>> cohort = make_heart_cohort(20, n_beats=10, random_state=0)
    >>> len(cohort.signals), int(cohort.anomalous.sum()), int(cohort.events.sum())
    (20, 2, 6)
    """
    _check(n_patients * n_beats, fs, 60.0, noise, spread)
    for name, value, low, high in (
        ("anomalous_share", anomalous_share, 0, 1),
        ("ectopic_rate", ectopic_rate, 0, 1),
        ("qrs_width", qrs_width, 0.1, 5),
        ("event_share", event_share, 0, 0.999),
        ("hazard_ratio", hazard_ratio, 1e-6, 1e6),
        ("follow_up", follow_up, 1e-6, 1e9),
    ):
        if not low <= value <= high:
            raise ValueError(f"{name} must lie in [{low:g}, {high:g}]; got {value:g}.")
    if n_patients < 1 or n_beats < 2:
        raise ValueError(
            f"n_patients must be at least 1 and n_beats 2; got {n_patients} and {n_beats}."
        )
    rng = check_random_state(random_state)
    anomalous = np.arange(n_patients) < round(anomalous_share * n_patients)
    rng.shuffle(anomalous)
    broad = np.zeros(n_patients, dtype=bool)
    broad[np.flatnonzero(anomalous)[1::2]] = True
    least = 1.0 / n_beats
    signals = []
    for i in range(n_patients):
        rate = max(ectopic_rate, least) if anomalous[i] and not broad[i] else 0.0
        wide = qrs_width if broad[i] else 1.0
        pulse = float(np.clip(70 + 7 * rng.standard_normal(), 50, 100))
        signals.append(_ecg(n_beats, fs, pulse, rate, wide, spread, noise, rng).signal)
    times, seen = draw_follow_up(anomalous, hazard_ratio, event_share, follow_up, rng)
    return HeartCohort(signals, fs, anomalous, times, seen)


def draw_follow_up(
    anomalous: Bools, hazard_ratio: float, event_share: float, follow_up: float, rng: Any
) -> tuple[Floats, Bools]:
    """Return durations and events: exponential times, drop-outs and an end."""
    n = len(anomalous)
    rate = -np.log1p(-event_share) / follow_up * np.where(anomalous, hazard_ratio, 1.0)
    times = rng.exponential(size=n) / np.maximum(rate, 1e-300)
    leave = np.where(rng.random(n) < 0.2, rng.uniform(0, follow_up, n), follow_up)
    return np.minimum(times, leave), times <= leave


def _warmup() -> None:
    make_ecg(2, random_state=0)
