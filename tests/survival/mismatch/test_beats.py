"""Detectors on signals whose beats are known; rhythm against closed forms; the simulators."""

import numpy as np
import pytest
from scipy.stats import energy_distance

from octavo.data import make_ecg, make_heart_cohort
from octavo.survival import (
    CycleSegmenter,
    deceleration_capacity,
    heart_rate_turbulence,
    hrv,
)
from octavo.survival.mismatch.beats import agreed


def sensitivity_and_ppv(true, found, tolerance):
    true, found = true[1:-1], found  # the first and last beat have no neighbours
    hit = np.abs(true[:, None] - found).min(axis=1) <= tolerance
    right = np.abs(found[:, None] - true).min(axis=1) <= tolerance
    return hit.mean(), right.mean()


@pytest.mark.parametrize("heart_rate", [60, 75, 90, 120])
@pytest.mark.parametrize("detectors", ["hamilton", "wqrs", ("hamilton", "wqrs")])
def test_beats_of_clean_signals_are_found(heart_rate, detectors):
    ecg = make_ecg(300, heart_rate=heart_rate, random_state=heart_rate)
    model = CycleSegmenter(detectors, fs=ecg.fs).fit(ecg.signal)
    found = sensitivity_and_ppv(ecg.peaks, model.peaks_, 0.05 * ecg.fs)
    assert min(found) > 0.99


def test_premature_beats_are_found_too():
    ecg = make_ecg(300, ectopic_rate=0.05, random_state=0)
    model = CycleSegmenter(fs=ecg.fs).fit(ecg.signal)
    assert min(sensitivity_and_ppv(ecg.peaks, model.peaks_, 0.08 * ecg.fs)) > 0.99


def test_cycles_run_from_middle_to_middle():
    ecg = make_ecg(30, random_state=1)
    model = CycleSegmenter(fs=ecg.fs).fit(ecg.signal)
    ends = model.onsets_ + [len(beat) for beat in model.beats_]
    np.testing.assert_array_equal(ends[:-1], model.onsets_[1:])
    assert ((model.onsets_ < model.peaks_) & (model.peaks_ < ends)).all()
    piece = ecg.signal[model.onsets_[3] : ends[3]]
    np.testing.assert_allclose(model.beats_[3], piece - np.median(piece))
    np.testing.assert_allclose(model.intervals(), np.diff(model.peaks_) / 128 * 1000)
    scaled = CycleSegmenter(fs=ecg.fs, standardize=True).transform(ecg.signal)
    assert np.std(scaled[0]) == pytest.approx(1)


def test_windows_have_one_length():
    ecg = make_ecg(30, random_state=1)
    beats = CycleSegmenter(fs=ecg.fs, window=0.6).transform(ecg.signal)
    assert {len(beat) for beat in beats} == {76}


def test_scale_and_sign_of_the_signal_do_not_move_the_peaks():
    ecg = make_ecg(60, random_state=2)
    plain = CycleSegmenter(fs=ecg.fs).fit(ecg.signal)
    turned = CycleSegmenter(fs=ecg.fs).fit(-1000 * ecg.signal + 5)
    np.testing.assert_array_equal(plain.peaks_, turned.peaks_)


def test_gaps_split_the_signal():
    ecg = make_ecg(60, random_state=3)
    signal = ecg.signal.copy()
    signal[3000:3100] = np.nan
    model = CycleSegmenter(fs=ecg.fs).fit(signal)
    assert all(np.isfinite(beat).all() for beat in model.beats_)
    assert 50 <= len(model.beats_) < 58
    with pytest.raises(ValueError, match="no cycle"):
        CycleSegmenter(fs=ecg.fs).fit(np.full(3000, np.nan))
    with pytest.raises(ValueError, match="no cycle"):
        CycleSegmenter(fs=ecg.fs).fit(np.zeros(3000))


def test_generic_peaks_of_another_signal():
    t = np.arange(4000) / 50
    phase = 2 * np.pi * (0.7 * t + 0.05 * np.sin(0.3 * t))
    signal = np.cos(phase) + 0.3 * np.cos(2 * phase + 1) + 3
    model = CycleSegmenter("peaks", fs=50).fit(signal)
    cycles = np.interp(model.peaks_ / 50, t, phase) / (2 * np.pi)
    np.testing.assert_allclose(np.diff(cycles), 1, atol=0.05)
    assert len(model.beats_) >= 53


def test_agreement_is_within_the_tolerance():
    first, second = np.array([10, 50, 90]), np.array([12, 70, 91])
    assert agreed(first, second, 3).tolist() == [10, 90]
    assert agreed(first, second[:1], 2).tolist() == [10]
    assert agreed(first, second[:0], 9).tolist() == []


def test_bad_segmenters():
    with pytest.raises(ValueError, match="detectors must name"):
        CycleSegmenter(("hamilton", "guess")).fit(np.zeros(999))
    with pytest.raises(ValueError, match="at least 32"):
        CycleSegmenter(fs=20).fit(np.zeros(999))
    with pytest.raises(ValueError, match="a vector"):
        CycleSegmenter().fit(np.zeros((9, 9)))


# --- rhythm -----------------------------------------------------------------------------------


def test_variability_by_hand():
    rng = np.random.default_rng(0)
    rr = rng.normal(800, 40, 2000)
    found = hrv(rr, segment=100)
    assert found.sdnn == pytest.approx(np.std(rr, ddof=1))
    assert found.rmssd == pytest.approx(np.sqrt(np.mean(np.diff(rr) ** 2)))
    assert found.pnn50 == np.mean(np.abs(np.diff(rr)) > 50)
    start = np.cumsum(rr) - rr[0]
    pieces = [rr[(start // 1e5) == i] for i in range(int(start[-1] // 1e5) + 1)]
    assert found.sdann == pytest.approx(np.std([p.mean() for p in pieces], ddof=1))
    assert found.asdnn == pytest.approx(np.mean([p.std(ddof=1) for p in pieces if len(p) > 1]))
    counts = np.histogram(rr, np.arange(0, 2000, 1000 / 128))[0]
    assert found.hrvi == 2000 / counts.max()


@pytest.mark.parametrize(("low", "high"), [(20, 10), (10, 20), (15, 15)])
def test_powers_of_known_waves(low, high):
    rr = [800.0]
    while sum(rr) < 6e5:
        t = sum(rr) / 1000
        wave = low * np.sin(2 * np.pi * 0.1 * t) + high * np.sin(2 * np.pi * 0.25 * t)
        rr.append(800.0 + wave)
    # linear interpolation between beats damps the faster wave by sinc(0.25 · 0.8 s)^4, 0.76
    damped = np.sinc(0.25 * 0.8) ** 4 / np.sinc(0.1 * 0.8) ** 4
    assert hrv(rr).lf_hf == pytest.approx((low / high) ** 2 / damped, rel=0.1)


def test_turbulence_by_hand():
    rr = np.full(60, 800.0)
    rr[20], rr[21] = 500.0, 1100.0
    rr[22:24] = 780.0
    rr[28:33] = 800 + 6 * np.arange(5)
    found = heart_rate_turbulence(rr)
    assert found.n_premature == 1
    assert found.onset == pytest.approx(100 * (1560 - 1600) / 1600)
    slopes = [np.polyfit(range(5), rr[i : i + 5], 1)[0] for i in range(22, 33)]
    assert found.slope == pytest.approx(max(slopes))
    assert found.category == 0
    assert heart_rate_turbulence(rr, premature=[20]) == found
    flat = np.full(60, 800.0)
    flat[20], flat[21] = 500.0, 1100.0
    assert heart_rate_turbulence(flat).category == 2
    with pytest.raises(ValueError, match="premature beat"):
        heart_rate_turbulence(np.full(60, 800.0))
    with pytest.raises(ValueError, match="sixteen after"):
        heart_rate_turbulence(rr, premature=[55])


def test_deceleration_by_loop():
    rng = np.random.default_rng(1)
    rr = 800 + np.cumsum(rng.normal(0, 5, 300))
    sums, n = np.zeros(4), 0
    for i in range(2, 299):
        if 0 < rr[i] - rr[i - 1] <= 0.05 * rr[i - 1]:
            sums += rr[i - 2 : i + 2]
            n += 1
    x = sums / n
    found = deceleration_capacity(rr)
    assert found.capacity == pytest.approx((x[2] + x[3] - x[1] - x[0]) / 4)
    assert found.n_anchors == n
    assert deceleration_capacity([800, 800, 803, 803]).category == 2
    with pytest.raises(ValueError, match="entry 1 is -3"):
        deceleration_capacity([800, -3, 800, 800])
    with pytest.raises(ValueError, match="at least 4"):
        deceleration_capacity([800, 800])


def test_intervals_in_seconds_are_refused():
    for answer in (hrv, heart_rate_turbulence, deceleration_capacity):
        with pytest.raises(ValueError, match="looks like seconds"):
            answer(np.full(60, 0.8))


# --- simulators -------------------------------------------------------------------------------


def test_peaks_of_the_simulator_are_its_maxima():
    ecg = make_ecg(50, fs=360, noise=0.0, random_state=0)
    for peak in ecg.peaks[1:-1]:
        nearby = ecg.signal[peak - 50 : peak + 51]
        assert abs(int(np.argmax(nearby)) - 50) <= 4
    assert 0.7 < np.median(ecg.signal[ecg.peaks]) < 1.3


def test_the_signal_solves_its_equation():
    """At a finer step the same numbers come out: fourth order, so 1/16 of an error of 1e-6."""
    one, two = (make_ecg(5, fs=fs, noise=0.0, random_state=0) for fs in (250, 1000))
    n = min(len(one.signal), len(two.signal) // 4)
    np.testing.assert_allclose(one.signal[:n], two.signal[: 4 * n : 4], atol=1e-4)


def test_ectopic_beats_are_early_and_look_different():
    ecg = make_ecg(400, ectopic_rate=0.05, random_state=0)
    gap = np.diff(ecg.peaks)
    early = ecg.ectopic[1:] & ~ecg.ectopic[:-1]
    assert gap[early].mean() < 0.9 * gap[~early].mean()
    windows = np.array([ecg.signal[p - 20 : p + 40] for p in ecg.peaks[1:-2]])
    kind = ecg.ectopic[1:-2]
    energy = energy_distance(windows[kind].min(axis=1), windows[~kind].min(axis=1))
    assert energy > 0.3


def test_cohorts_have_the_asked_for_shares_and_hazards():
    cohort = make_heart_cohort(400, n_beats=2, anomalous_share=0.5, event_share=0.5, random_state=0)
    assert cohort.anomalous.sum() == 200
    rates = [
        cohort.events[g].sum() / cohort.durations[g].sum()
        for g in (cohort.anomalous, ~cohort.anomalous)
    ]
    # about 100 events a group: the log of the ratio has a standard error of 0.14
    assert abs(np.log(rates[0] / rates[1]) - np.log(2)) < 3 * 0.14
    assert cohort.durations.max() == 90
    again = make_heart_cohort(400, n_beats=2, anomalous_share=0.5, event_share=0.5, random_state=0)
    np.testing.assert_array_equal(again.signals[7], cohort.signals[7])
