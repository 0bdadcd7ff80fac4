"""A long signal cut into cycles: two detectors of heart beats that must agree, or any peaks.

"hamilton" looks for energy in the band of the QRS complex above a threshold that follows beats and
noise; "wqrs" for the length of the curve in a sliding window; "peaks" for the maxima of any
quasi-periodic signal, at least most of a period apart.

References: P. S. Hamilton and W. J. Tompkins (1986), "Quantitative investigation of QRS detection
rules using the MIT/BIH arrhythmia database"; W. Zong, G. B. Moody and D. Jiang (2003), "A robust
open-source algorithm to detect onset and duration of QRS complexes".
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d
from scipy.signal import butter, find_peaks, sosfiltfilt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["CycleSegmenter"]

REFRACTORY = 0.25  # seconds in which no heart beats twice
SHORTEST = 2.0  # seconds of signal without a gap that a detector needs
DETECTORS = ("hamilton", "wqrs", "peaks")


class Cycles(NamedTuple):
    """Cycles of a signal, the sample of each cycle's peak, and where each cycle begins."""

    beats: list[Floats]
    peaks: Ints
    onsets: Ints


def _filtered(signal: Floats, low: float, high: float, fs: float) -> Floats:
    top = min(high, 0.45 * fs)
    if low >= top:
        return signal - signal.mean()
    sos = butter(2, [low, top], btype="bandpass", fs=fs, output="sos")
    return sosfiltfilt(sos, signal, padlen=min(len(signal) - 1, int(fs)))


def _adaptive_peaks(feature: Floats, fs: float) -> Ints:
    """Return maxima that stand out: a threshold between running means of beats and of noise."""
    candidates, _ = find_peaks(feature, distance=max(1, int(REFRACTORY * fs)))
    if not len(candidates):
        return candidates.astype(np.int64)
    heights = feature[candidates]
    whole_second = maximum_filter1d(feature, max(1, int(1.5 * fs)))
    beat, noise = float(np.median(whole_second)), float(np.median(feature))
    kept: list[int] = []
    gap = float(fs)  # a second, until intervals are known
    doubtful: list[int] = []
    for place, height in zip(candidates, heights):
        threshold = noise + 0.3125 * (beat - noise)
        if kept and place - kept[-1] > 1.5 * gap and doubtful:
            best = max(doubtful, key=lambda i: feature[i])  # search back, at half the threshold
            if feature[best] > noise + 0.15 * (beat - noise):
                kept.append(best)
            doubtful = []
        if height > threshold:
            if kept:
                gap += 0.125 * (min(place - kept[-1], 2.0 * fs) - gap)
            kept.append(int(place))
            beat += 0.125 * (height - beat)
            doubtful = []
        else:
            doubtful.append(int(place))
            noise += 0.125 * (height - noise)
    return np.array(kept, dtype=np.int64)


def _refined(places: Ints, shape: Floats, fs: float, reach: float = 0.12) -> Ints:
    """Return the largest deflection near each place, in order and once each."""
    w = max(1, int(reach * fs))
    found = [
        max(0, p - w) + int(np.argmax(np.abs(shape[max(0, p - w) : p + w + 1]))) for p in places
    ]
    return np.unique(np.array(found, dtype=np.int64))


def hamilton_peaks(signal: Floats, fs: float) -> Ints:
    """Return R waves by the energy of the slope in the band of the QRS complex."""
    shape = _filtered(signal, 5.0, 20.0, fs)
    slope = np.abs(np.gradient(shape))
    energy = uniform_filter1d(slope, max(1, int(0.08 * fs)))
    return _refined(_adaptive_peaks(energy, fs), shape, fs)


def wqrs_peaks(signal: Floats, fs: float) -> Ints:
    """Return R waves by the length of the curve in a sliding window."""
    shape = _filtered(signal, 0.5, 16.0, fs)
    scale = max(float(np.abs(np.diff(shape)).max(initial=0.0)), np.finfo(float).tiny)
    rise = np.gradient(shape) / scale
    size = max(1, int(0.13 * fs))
    length = uniform_filter1d(np.sqrt(1e-4 + rise**2), size)
    sharp = _filtered(signal, 5.0, 20.0, fs)
    return _refined(_adaptive_peaks(length, fs), sharp, fs)


def periodic_peaks(signal: Floats, fs: float) -> Ints:
    """Return maxima most of a period apart; the period is that of the autocorrelation."""
    centred = signal - signal.mean()
    power = np.abs(np.fft.rfft(centred, 2 * len(signal))) ** 2
    correlation = np.fft.irfft(power)[: len(signal)]
    tops, _ = find_peaks(correlation[: len(signal) // 2 + 1])
    if not len(tops):
        return np.empty(0, dtype=np.int64)
    period = int(tops[np.argmax(correlation[tops])])
    smooth = uniform_filter1d(centred, max(1, period // 20))
    peaks, _ = find_peaks(smooth, distance=max(1, int(0.6 * period)), height=0.3 * smooth.max())
    return peaks.astype(np.int64)


FINDERS = {"hamilton": hamilton_peaks, "wqrs": wqrs_peaks, "peaks": periodic_peaks}


def agreed(first: Ints, second: Ints, tolerance: float) -> Ints:
    """Return the places of the first that one of the second is close to."""
    if not len(first) or not len(second):
        return first[:0]
    after = np.clip(np.searchsorted(second, first), 1, len(second) - 1) if len(second) > 1 else 0
    gap = np.abs(second[after] - first)
    if len(second) > 1:
        gap = np.minimum(gap, np.abs(second[after - 1] - first))
    return first[gap <= tolerance]


def segments(signal: Floats, peaks: Ints) -> tuple[list[Floats], Ints, Ints]:
    """Cut between the middles of neighbouring intervals; the first and last peak have none."""
    if len(peaks) < 3:
        return [], peaks[:0], peaks[:0]
    cuts = (peaks[:-1] + peaks[1:]) // 2  # the middles of the RR intervals
    beats = [signal[a:b] for a, b in pairwise(cuts)]
    return beats, peaks[1:-1], cuts[:-1]


def windows(
    signal: Floats, peaks: Ints, before: int, after: int
) -> tuple[list[Floats], Ints, Ints]:
    """Cut a fixed window around each peak that has one."""
    kept = peaks[(peaks >= before) & (peaks + after <= len(signal))]
    return [signal[p - before : p + after] for p in kept], kept, kept - before


class CycleSegmenter(TransformerMixin, SoundEstimator):
    """Cut a long quasi-periodic signal into cycles.

    Parameters
    ----------
    detectors : tuple of {"hamilton", "wqrs", "peaks"}, default=("hamilton", "wqrs")
        What finds peaks; of several, a peak of the first counts where all others agree.
    tolerance : float, default=0.15
        Seconds within which detectors agree.
    fs : float, default=128
        Samples a second.
    window : float or None, default=None
        Seconds of a fixed window, a third of it before the peak; None: from the middle of one
        interval between peaks to the middle of the next.
    standardize : bool, default=False
        Whether each cycle is scaled to unit variance. The amplitude is part of the shape, and is
        kept by default; the median of a cycle is always taken away.

    Attributes
    ----------
    beats_ : list of ndarray
        Cycles of the signal of fit.
    peaks_ : ndarray of int of shape (n_cycles,)
        The sample of each cycle's peak.
    onsets_ : ndarray of int of shape (n_cycles,)
        The sample at which each cycle begins.

    Notes
    -----
    NaN marks a gap: the signal is cut there, and pieces shorter than two seconds are left out.
    The detectors of heart beats are for signals of at least 32 samples a second. They are plain
    versions of the published ones, for morphology and not for diagnosis; for annotated
    arrhythmias use a clinical detector and pass windows on.

    References
    ----------
    .. [1] Z. Syed and J. Guttag (2011). "Unsupervised Similarity-Based Risk Stratification for
       Cardiovascular Events Using Long-Term Time-Series Data". Journal of Machine Learning
       Research 12:999-1024.

    Examples
    --------
    >>> from octavo.data import make_ecg
    >>> from octavo.survival import CycleSegmenter
    >>> ecg = make_ecg(30, random_state=0)
    >>> len(CycleSegmenter(fs=ecg.fs).transform(ecg.signal))
    28
    """

    _parameter_constraints: dict[str, Any] = {
        "detectors": [tuple, list, StrOptions(set(DETECTORS))],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "fs": [Interval(Real, 0, None, closed="neither")],
        "window": [Interval(Real, 0, None, closed="neither"), None],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        detectors: Any = ("hamilton", "wqrs"),
        tolerance: float = 0.15,
        fs: float = 128.0,
        window: float | None = None,
        standardize: bool = False,
    ) -> None:
        self.detectors = detectors
        self.tolerance = tolerance
        self.fs = fs
        self.window = window
        self.standardize = standardize

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        tags.no_validation = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> CycleSegmenter:
        """Cut a signal and keep what was found.

        Parameters
        ----------
        X : array-like of shape (n_samples,)
            The signal; NaN marks gaps.
        y : None
            Ignored.

        Returns
        -------
        self : CycleSegmenter
            With the cycles of this signal.
        """
        found = self._segment(X)
        self.beats_, self.peaks_, self.onsets_ = found.beats, found.peaks, found.onsets
        return self

    def transform(self, X: Any) -> list[Floats]:
        """Return the cycles of a signal; nothing is learnt, so that no fit is needed.

        Parameters
        ----------
        X : array-like of shape (n_samples,)
            The signal; NaN marks gaps.

        Returns
        -------
        beats : list of ndarray
            Cycles, in order.
        """
        self._validate_params()
        return self._segment(X).beats

    def fit_transform(self, X: Any, y: Any = None) -> list[Floats]:
        """Cut a signal, keep what was found, and return the cycles.

        Parameters
        ----------
        X : array-like of shape (n_samples,)
            The signal; NaN marks gaps.
        y : None
            Ignored.

        Returns
        -------
        beats : list of ndarray
            Cycles, in order.
        """
        return self.fit(X).beats_

    def intervals(self) -> Floats:
        """Return the times between the peaks of the signal of fit.

        Returns
        -------
        intervals : ndarray of shape (n_cycles - 1,)
            Milliseconds, as `hrv` takes them. Across a gap an interval is long.
        """
        check_is_fitted(self, "peaks_")
        return np.diff(self.peaks_) * 1000.0 / self.fs

    def _segment(self, X: Any) -> Cycles:
        signal = real_array(X, "X", finite=False)
        if signal.ndim != 1 or not len(signal):
            raise ValueError(f"X must be one signal, a vector; got the shape {signal.shape}.")
        finders = self._finders()
        finite = np.isfinite(signal)
        if np.abs(signal[finite]).max(initial=0.0) > 1e100:
            raise ValueError("X holds numbers beyond 1e+100; scale it.")
        edges = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(int)))
        beats: list[Floats] = []
        peaks: list[Ints] = []
        onsets: list[Ints] = []
        for a, b in edges.reshape(-1, 2):
            if b - a < max(SHORTEST * self.fs, 8):
                continue
            cycles, tops, starts = self._cut(signal[a:b], finders)
            beats += cycles
            peaks.append(tops + a)
            onsets.append(starts + a)
        if not beats:
            raise ValueError(
                f"X holds no cycle: {len(signal)} samples at {self.fs:g} a second, of which "
                f"{int(finite.sum())} are finite, gave fewer than three peaks that all of "
                f"{list(self._names())} agree on."
            )
        return Cycles(
            [self._corrected(beat) for beat in beats], np.concatenate(peaks), np.concatenate(onsets)
        )

    def _names(self) -> tuple[str, ...]:
        return (self.detectors,) if isinstance(self.detectors, str) else tuple(self.detectors)

    def _finders(self) -> list[Any]:
        names = self._names()
        wrong = [name for name in names if not isinstance(name, str) or name not in FINDERS]
        if wrong or not names:
            raise ValueError(
                f"detectors must name one or more of {list(DETECTORS)}; got {list(names)!r}."
            )
        if self.fs < 32 and set(names) != {"peaks"}:
            raise ValueError(f"fs must be at least 32 to find heart beats; got {self.fs:g}.")
        return [FINDERS[name] for name in names]

    def _cut(self, piece: Floats, finders: list[Any]) -> tuple[list[Floats], Ints, Ints]:
        scale = float(np.ptp(piece))
        if not scale > 0:
            return [], np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        unit = (piece - piece.mean()) / scale
        found = finders[0](unit, float(self.fs))
        for finder in finders[1:]:
            # Section 3.1: both detectors must agree
            found = agreed(found, finder(unit, float(self.fs)), self.tolerance * self.fs)
        if self.window is None:
            return segments(piece, found)
        before = max(1, int(self.window * self.fs / 3))
        after = max(1, int(min(self.window * self.fs, 1e9)) - before)
        return windows(piece, found, before, after)

    def _corrected(self, beat: Floats) -> Floats:
        beat = beat - np.median(beat)  # amplitudes stay: they are part of the morphology
        if not self.standardize:
            return beat
        return beat / max(float(beat.std()), np.finfo(float).tiny)
