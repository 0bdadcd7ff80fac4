"""Detectors on a recorded heart: five minutes of record 208 of the MIT-BIH Arrhythmia Database.

``ecg_208.npz`` is what scipy 1.9 carried as ``scipy.misc.electrocardiogram`` (360 samples a second)
with the peaks that neurokit2 finds. The database is by G. B. Moody and R. G. Mark (2001), IEEE
Eng. in Med. and Biol. 20(3):45-50, from PhysioNet (A. L. Goldberger et al. 2000, Circulation
101(23):e215-e220), under the Open Data Commons Attribution License 1.0.
"""

from pathlib import Path

import numpy as np
import pytest

from octavo.survival import CycleSegmenter

RATE = 360


@pytest.fixture(scope="module")
def record():
    with np.load(Path(__file__).with_name("ecg_208.npz")) as stored:
        return (stored["ecg"] - 1024.0) / 200.0, stored["peaks"]


@pytest.mark.parametrize("detectors", ["hamilton", "wqrs", ("hamilton", "wqrs")])
def test_beats_are_those_that_neurokit_finds(record, detectors):
    """Broad ectopic beats have no one peak: neurokit2's methods differ by 50 ms on up to a quarter.

    Within 150 ms, by which two detectors are taken to mean one beat, they differ on up to two in a
    hundred, but for one that misses seven. Both shares were read before the bounds were written.
    """
    signal, theirs = record
    ours = CycleSegmenter(detectors, fs=RATE).fit(signal).peaks_
    assert abs(len(ours) - len(theirs)) <= 0.01 * len(theirs)
    for one, other in ((ours, theirs), (theirs, ours)):
        away = np.abs(one[:, None] - other).min(axis=1)
        assert np.mean(away <= 0.15 * RATE) >= 0.98
        assert np.mean(away <= 0.05 * RATE) >= 0.9
