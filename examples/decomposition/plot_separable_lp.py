"""
Pure samples despite bad entries
================================

A hundred spectra are mixtures of ten of their own, and one channel of each is off. The linear
program gives the ten pure ones the largest weights; successive projection takes the longest rows,
which are those with the largest errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_near_separable, make_swimmer
from octavo.decomposition import SeparableNMFLP, SuccessiveProjection, trace_path
from octavo.plot import (
    plot_recovery,
    plot_sorted_diagonal,
    plot_trace_path,
    plot_weight_images,
)

sample = make_near_separable(epsilon=0.15, pattern="pointwise", random_state=0)
model = SeparableNMFLP(10, epsilon=0.15, random_state=0).fit(sample.X)
print(f"{np.isin(sample.anchors, model.selected_indices_).sum()} of 10 pure rows")
print(f"objective {model.objective_:.4f}, duality gap {model.duality_gap_:.0e}")
plot_sorted_diagonal(model)

# %%
# The more noise, the more the greedy choice misses. The data are smaller, to build this page fast.

levels = np.array([0.01, 0.05, 0.1, 0.2])
recovery = {"LP (8)": [], "SPA": []}
for level in levels:
    shares = []
    for seed in range(3):
        s = make_near_separable(
            50, 40, n_components=5, epsilon=level, pattern="pointwise", random_state=seed
        )
        lp = SeparableNMFLP(5, epsilon=level, random_state=seed).fit(s.X).selected_indices_
        spa = SuccessiveProjection(5).fit(s.X).anchor_indices_
        shares.append([np.isin(s.anchors, lp).mean(), np.isin(s.anchors, spa).mean()])
    for name, share in zip(recovery, np.mean(shares, axis=0)):
        recovery[name].append(share)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_recovery(levels, recovery, ax=left)
small = make_near_separable(40, 30, n_components=4, epsilon=0.02, random_state=0)
path = np.linspace(0.0, 0.1, 11)
plot_trace_path(path, trace_path(small.X, path), ax=right)
fig.tight_layout()

# %%
# The swimmer: 256 images of a body whose four limbs have four positions. One pixel of each of the
# 16 limb positions is enough, though the matrix has rank 13 and successive projection stops there.

pixels = make_swimmer().T
swimmer = SeparableNMFLP(epsilon=0.1, random_state=0).fit(pixels)
print(f"{swimmer.n_components_} pixels, error {swimmer.reconstruction_err_:.0e}")
plot_weight_images(swimmer.transform(pixels), (20, 11))
plt.show()
