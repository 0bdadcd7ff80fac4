"""
Landmarks for a low-rank kernel
===============================

Uniform landmarks crowd where the data are dense. Kernel K-means++ spreads them by distance in the
feature space, and Lloyd refinements move them to the middle of what they stand for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.preprocessing import StandardScaler

from octavo.kernel import NystroemLandmarks, nystroem_report, select_landmarks
from octavo.plot import plot_landmarks, plot_lift

X, _ = make_blobs([700, 200, 60, 20, 20], random_state=3)
choices = {
    "uniform": {"method": "uniform"},
    "K-means++": {"n_local": 1},
    "with restarts": {},
    "and Lloyd": {"lloyd": True},
}
fig, axes = plt.subplots(1, 4, figsize=(13, 3.4), sharex=True, sharey=True)
for ax, (name, options) in zip(axes, choices.items()):
    landmarks = select_landmarks(X, 15, gamma=0.1, random_state=0, **options)
    plot_landmarks(X, landmarks, ax=ax)
    ax.set_title(f"{name}: potential {landmarks.potential:.0f}")
fig.tight_layout()

# %%
# What that brings on digits: the error of uniform landmarks over that of the others.

digits = StandardScaler().fit_transform(load_digits().data)[:900]
gammas = np.logspace(-3.5, -1.5, 5)
lifts = {name: [] for name in choices if name != "uniform"}
for gamma in gammas:
    for name, options in choices.items():
        if name == "uniform":
            continue
        found = [
            select_landmarks(digits, 50, gamma=gamma, random_state=seed, **options)
            for seed in range(2)
        ]
        lifts[name].append(
            [
                nystroem_report(digits, f, gamma=gamma, n_uniform=2, random_state=0).lift
                for f in found
            ]
        )
plot_lift(gammas, lifts)

# %%
# As a transformer it takes the place of scikit-learn's ``Nystroem``; more landmarks than components
# keep the best directions.

features = NystroemLandmarks(n_components=50, n_landmarks="k_log_k", gamma=0.01, random_state=0)
report = nystroem_report(digits, features.fit(digits), n_uniform=3, random_state=0)
print(f"Frobenius error {report.frobenius:.2f}, {report.lift:.2f} times less than uniform")
plt.show()
