"""Symbolisers take lists of cycles, comparisons lists of recordings, detectors square matrices."""

import numpy as np

from octavo.data import make_ecg
from octavo.survival import (
    CycleSegmenter,
    MaxMinSymbolizer,
    MismatchOutlierDetector,
    SpectrumTransform,
    SymbolicMismatch,
)
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
BEATS = [rng.normal(size=n).cumsum() for n in (8, 9, 8, 10, 7, 8, 9, 8)]
SPOILT = [*BEATS, np.array([0.0, np.nan])]
RECORDS = [[rng.normal(size=n).cumsum() for n in (8, 9, 7, 8, 10, 6)] for _ in range(5)]
SIGNAL = make_ecg(12, random_state=0).signal
POINTS = rng.normal(size=12)
PSI = np.abs(POINTS - POINTS[:, None]) + 0.1
NAN_PSI = np.where(np.eye(12) > 0, np.nan, PSI)


def matrix(make, option, query, unfitted):
    return Case(
        make=make,
        fit=lambda m: m.fit(PSI),
        query=query,
        bad=[
            ("NaN", lambda m: m.fit(NAN_PSI), ValueError, "NaN"),
            ("empty", lambda m: m.fit(PSI[:0, :0]), ValueError, "0 "),
            ("shape", lambda m: m.fit(PSI[:, :3]), ValueError, "square"),
            ("type", lambda m: m.fit([["a", "b"], ["b", "a"]]), ValueError, "a"),
            ("option", lambda m: m.set_params(**option).fit(PSI), ValueError, next(iter(option))),
        ],
        unfitted=[unfitted],
        iterative=False,
    )


NO_PAIRS = "its table of rows is no matrix of all pairs"

CASES = [
    Case(make=SpectrumTransform),
    Case(
        make=MismatchOutlierDetector,
        expected_failures={
            "check_outliers_fit_predict": NO_PAIRS,
            "check_outliers_train": NO_PAIRS,
        },
    ),
    Case(
        make=lambda: MaxMinSymbolizer(threshold=0.5),
        fit=lambda m: m.fit(BEATS),
        query=lambda m: (m.labels_, m.frequencies_, m.transform(BEATS), m.maxmin_curve_),
        bad=[
            ("NaN", lambda m: m.fit(SPOILT), ValueError, r"beats\[8\]"),
            ("empty", lambda m: m.fit([]), ValueError, "at least 2"),
            ("one beat", lambda m: m.fit(BEATS[:1]), ValueError, "at least 2"),
            ("shape", lambda m: m.fit([BEATS[0], np.zeros((2, 2))]), ValueError, r"beats\[1\]"),
            ("type", lambda m: m.fit([BEATS[0], "beat"]), ValueError, r"beats\[1\]"),
            ("option", lambda m: m.set_params(band=-1).fit(BEATS), ValueError, "band"),
        ],
        unfitted=[lambda m: m.transform(BEATS)],
    ),
    Case(
        make=SymbolicMismatch,
        fit=lambda m: m.fit(RECORDS),
        query=lambda m: (m.mismatch_, m.transform(RECORDS[:2])),
        bad=[
            ("NaN", lambda m: m.fit([RECORDS[0], SPOILT]), ValueError, "Recording 1"),
            ("empty", lambda m: m.fit([]), ValueError, "empty list"),
            ("shape", lambda m: m.fit([RECORDS[0], BEATS[:1]]), ValueError, "Recording 1"),
            ("type", lambda m: m.fit([RECORDS[0], 3]), ValueError, "Recording 1"),
            ("option", lambda m: m.set_params(mode="best").fit(RECORDS), ValueError, "mode"),
        ],
        unfitted=[lambda m: m.transform(RECORDS)],
    ),
    Case(
        make=CycleSegmenter,
        fit=lambda m: m.fit(SIGNAL),
        query=lambda m: (m.peaks_, m.onsets_, m.transform(SIGNAL), m.intervals()),
        bad=[
            ("NaN", lambda m: m.fit(np.full(900, np.nan)), ValueError, "no cycle"),
            ("empty", lambda m: m.fit([]), ValueError, "vector"),
            ("shape", lambda m: m.fit(PSI), ValueError, "vector"),
            ("type", lambda m: m.fit("beats"), ValueError, "real numbers"),
            ("option", lambda m: m.set_params(fs=0).fit(SIGNAL), ValueError, "fs"),
        ],
        unfitted=[lambda m: m.intervals()],
        iterative=False,
    ),
    matrix(
        SpectrumTransform,
        {"on": "top"},
        lambda m: (m.matrix_, m.transform(PSI)),
        lambda m: m.transform(PSI),
    ),
    matrix(
        MismatchOutlierDetector,
        {"contamination": 0.7},
        lambda m: (m.anomaly_scores_, m.score_samples(PSI), m.predict(PSI)),
        lambda m: m.predict(PSI),
    ),
]
