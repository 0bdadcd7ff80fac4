"""
An affinity made doubly stochastic
==================================

Three clusters of very different size and spread. Scaling the affinity until its rows add up to one
evens out their weights, and the gap after the third eigenvalue shows it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from octavo.cluster import DoublyStochasticSpectral, KernelKMeans
from octavo.plot import plot_affinity_eigenvalues, plot_scaled_affinity

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], (15, 40, 90))
X = rng.normal(size=(145, 2)) * (0.4 + 0.5 * truth)[:, None] + 4.0 * truth[:, None]
models = {
    how: DoublyStochasticSpectral(3, gamma=0.3, normalization=how, random_state=0).fit(X)
    for how in ("kl", "ncut", "l1", "none")
}
for how, model in models.items():
    print(how, round(adjusted_rand_score(truth, model.labels_), 3))

# %%
# Kernel k-means on the same kernel, and how much any partition could still gain.

partition = KernelKMeans(3, gamma=0.3, random_state=0).fit(X)
print("kernel k-means", round(adjusted_rand_score(truth, partition.labels_), 3))
print(round(partition.cohesion_, 2), "of at most", round(partition.spectral_bound_, 2))

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
plot_scaled_affinity(models["kl"], scaled=False, ax=axes[0])
plot_scaled_affinity(models["kl"], ax=axes[1])
plot_affinity_eigenvalues(models["kl"], ax=axes[2])
plt.show()
