"""
Pure samples among mixtures
===========================

Two hundred samples are mixtures of three of their own. Reduced to three dimensions they fill a
triangle; the smallest ellipsoid around it and its mirror image touches the corners.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_separable
from octavo.decomposition import EllipsoidalRoundingNMF, SuccessiveProjection
from octavo.plot import plot_contact_ellipsoid, plot_contact_values, plot_recovery

sample = make_separable(200, 30, n_components=3, noise=0.01, random_state=0)
model = EllipsoidalRoundingNMF(3).fit(sample.X)
purity = sample.weights[model.anchor_indices_].max(axis=1)
print(f"rows {model.anchor_indices_.tolist()}, pure to {purity.min():.1%}")
print(f"duality gap {model.duality_gap_:.0e}, error {model.reconstruction_err_:.2f}")
plot_contact_ellipsoid(model.reduced_points_, model.ellipsoid_, model.candidate_indices_)

# %%
# More noise: the ellipsoid touches more points, and still filters out what would mislead SPA.

levels = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
found = {"ER-SPA": EllipsoidalRoundingNMF(10), "SPA": SuccessiveProjection(10)}
recovery = {name: [] for name in found}
for level in levels:
    samples = [make_separable(2_000, 100, noise=level, random_state=seed) for seed in range(5)]
    for name, method in found.items():
        shares = [np.isin(s.anchors, method.fit(s.X).anchor_indices_).mean() for s in samples]
        recovery[name].append(np.mean(shares))

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_recovery(levels, recovery, ax=left)
plot_contact_values(EllipsoidalRoundingNMF(10).fit(samples[-1].X), ax=right)
fig.tight_layout()
plt.show()
