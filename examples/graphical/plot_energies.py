"""
Labels with jumps: denoising, stereo and how good they are
==========================================================

A noisy image of steps, a pair of random-dot views, and a random energy on which one-label moves
stop early while moves of whole intervals go on to the lower bound.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_grid_energy, make_random_dot_stereogram
from octavo.graphical import StereoMatcher, TruncatedMRFDenoiser, grid_mrf, minimize_mrf
from octavo.plot import plot_energy_curves, plot_label_map, plot_truncated_potentials

rng = np.random.default_rng(0)
clean = np.kron([[0.0, 5.0, 8.0], [10.0, 2.0, 6.0]], np.ones((12, 12)))
clean[6:18, 10:26] = np.linspace(1.0, 9.0, 16)  # a ramp: smooth, not constant
noisy = clean + rng.normal(size=clean.shape)
model = TruncatedMRFDenoiser(levels=24, weight=0.5, truncation=9.0).fit(noisy)
denoised = model.levels_[model.labels_]
print(f"mean error {np.abs(noisy - clean).mean():.2f} -> {np.abs(denoised - clean).mean():.2f}")
print(f"energy {model.objective_:.1f}, no labels below {model.lower_bound_:.1f}")

fig, axes = plt.subplots(1, 4, figsize=(13, 2.8), layout="constrained")
for ax, image, title in zip(axes, (clean, noisy, denoised), ("clean", "noisy", "denoised")):
    ax.imshow(image, cmap="gray", vmin=0, vmax=10)
    ax.set(title=title, xticks=[], yticks=[])
plot_truncated_potentials(grid_mrf(np.zeros((1, 1, 24)), 0.5, "quadratic", 9.0), ax=axes[3])

# %%
# Stereo: the disparity of each pixel of the left view, by Birchfield and Tomasi's costs.

scene = make_random_dot_stereogram((48, 64), n_disparities=12, random_state=0)
matcher = StereoMatcher(n_disparities=12).fit(scene.left, scene.right)
near = np.abs(matcher.labels_ - scene.disparity)[scene.visible] <= 1
print(f"{near.mean():.0%} of the visible pixels are within one disparity")
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
plot_label_map(scene.disparity, n_labels=12, title="truth", ax=left)
plot_label_map(matcher.result_, n_labels=12, ax=right)

# %%
# A random energy of the paper's kind: all methods against the dual bound of TRW-S.

energy = make_grid_energy((20, 20), 12, random_state=0)
mrf = grid_mrf(energy.unary, energy.weights, "linear", energy.truncation)
methods = ("range_expansion", "range_swap", "alpha_expansion", "alpha_beta_swap", "bp", "trws")
results = {method: minimize_mrf(mrf, method) for method in methods}
for method, result in results.items():
    print(f"{method}: {result.energy:.1f}, proven within a factor {result.bound:.3f}")
plot_energy_curves(results)
plt.show()
