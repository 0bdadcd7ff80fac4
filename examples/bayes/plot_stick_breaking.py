"""
Segments that know where they are
=================================

A noisy image with blocks of two kinds, and a series in which three speakers take turns. A mixture
that ignores places confuses kinds that overlap; one whose weights depend on the place does not, and
says where it is unsure.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from octavo.bayes import HierarchicalLSBP, LogisticStickBreakingMixture, sample_lsbp_prior
from octavo.data import make_block_image, make_speaker_series
from octavo.plot import (
    plot_atom_usage,
    plot_gate_panels,
    plot_membership_entropy,
    plot_segmentation,
    plot_set_similarity,
    plot_stick_bounds,
)

X, coords, truth = make_block_image(random_state=0)
model = LogisticStickBreakingMixture(10, n_centers=60, random_state=0).fit(X, coords)
plain = BayesianGaussianMixture(n_components=10, max_iter=500, random_state=0).fit_predict(X)
print(round(adjusted_rand_score(truth, model.labels_), 3), model.active_components_.size)
print(round(adjusted_rand_score(truth, plain), 3))

fig, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
axes[0].imshow(X.reshape(32, 32), cmap="gray")
plot_segmentation(model, coords, labels=plain, ax=axes[1])
plot_segmentation(model, coords, ax=axes[2])
plot_membership_entropy(model, coords, ax=axes[3])
for ax, title in zip(axes, ("pixels", "without places", "with places", "doubt"), strict=True):
    ax.set_title(title)

# %%
# Turns of speakers: weights of the kernels, gates, their probabilities, and the weights of atoms.

X, steps, truth = make_speaker_series(random_state=0)
model = LogisticStickBreakingMixture(10, n_centers=60, random_state=0).fit(X, steps)
print(round(adjusted_rand_score(truth, model.labels_), 3))
plot_gate_panels(model, steps)
plot_stick_bounds(model)

# %%
# Three recordings of the same people: atoms mean the same in each.

pieces = [slice(0, 240), slice(200, 488), slice(100, 320)]
shared = HierarchicalLSBP(12, 5, n_centers=30, n_init=2, random_state=0)
shared.fit([X[p] for p in pieces], [steps[p] for p in pieces])
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
plot_atom_usage(shared, ax=left)
plot_set_similarity(shared, ax=right)

# %%
# What the prior believes before it has seen anything: three draws on a grid.

grid = np.indices((40, 40)).reshape(2, -1).T.astype(float)
fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for seed, ax in enumerate(axes):
    labels, _ = sample_lsbp_prior(grid, 10, random_state=seed, bandwidths=[100.0])
    ax.imshow(labels.reshape(40, 40), cmap="tab10")
    ax.set_axis_off()
plt.show()
