"""
Unusual hearts among many
=========================

Each patient's recording becomes a few prototype beats with frequencies; patients are compared by
the expected difference of two beats under time warping, and those who are unlike the others are
flagged. The hearts are simulated: a tenth have some ectopic beats or a broad QRS complex, and twice
the hazard.
"""

import matplotlib.pyplot as plt

from octavo.data import make_ecg, make_heart_cohort
from octavo.plot import (
    plot_group_survival,
    plot_maxmin_curve,
    plot_mismatch_matrix,
    plot_mismatch_spectrum,
    plot_prototypes,
)
from octavo.survival import (
    CycleSegmenter,
    MaxMinSymbolizer,
    MismatchOutlierDetector,
    SpectrumTransform,
    SymbolicMismatch,
    risk_report,
)

ecg = make_ecg(200, fs=64, ectopic_rate=0.05, random_state=0)
beats = CycleSegmenter(fs=64).transform(ecg.signal)
symbols = MaxMinSymbolizer(max_symbols=40).fit(beats)
print(f"{len(beats)} beats, {len(symbols.prototypes_)} symbols")

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.4))
left.plot(ecg.signal[:700], lw=0.8)
left.set(xlabel="sample", ylabel="mV")
plot_maxmin_curve(symbols, ax=middle)
plot_prototypes(symbols, ax=right)
fig.tight_layout()

# %%
# A cohort: mismatch of all pairs, in the order of average linkage, with the unusual patients
# marked; the spectrum that the paper clips; and the events of those who are flagged.

cohort = make_heart_cohort(100, n_beats=100, ectopic_rate=0.05, random_state=0)
segmenter = CycleSegmenter(fs=cohort.fs)
records = [segmenter.transform(signal) for signal in cohort.signals]
model = SymbolicMismatch(MaxMinSymbolizer(threshold=0, max_symbols=6)).fit(records)
detector = MismatchOutlierDetector(contamination=0.1).fit(model.mismatch_)
print(f"{cohort.anomalous[detector.high_risk_].sum()} of {detector.high_risk_.sum()} are unusual")
report = risk_report(detector.high_risk_, cohort.durations, cohort.events)
print(f"hazard ratio {report.hazard_ratio:.2f} ({report.ci_low:.2f} to {report.ci_high:.2f})")

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4))
plot_mismatch_matrix(model.mismatch_, marked=cohort.anomalous, ax=left)
plot_mismatch_spectrum(SpectrumTransform(on="paper").fit(model.mismatch_), ax=middle)
plot_group_survival(report, durations=cohort.durations, high_risk=detector.high_risk_, ax=right)
fig.tight_layout()
plt.show()
