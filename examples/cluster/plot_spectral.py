"""
Rings among fifty thousand rows
===============================

Two rings, one inside the other. k-means cuts them in halves; spectral clustering of a hundred
representatives takes them apart, in a moment.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from octavo.cluster import fast_spectral_clusters
from octavo.plot import plot_clusters

rng = np.random.default_rng(0)
inner, angle = np.arange(50_000) % 2 == 0, rng.uniform(0, 2 * np.pi, size=50_000)
X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(inner, 1.0, 4.0)[:, None]
X += 0.1 * rng.normal(size=X.shape)

start = time.perf_counter()
labels = fast_spectral_clusters(X, 2, n_representatives=100, random_state=0)
pure = max(np.mean(labels[inner] == 0), np.mean(labels[inner] == 1))
print(f"{time.perf_counter() - start:.1f} s, {pure:.1%} of the inner ring in one cluster")

axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True)[1]
plot_clusters(X, KMeans(2, n_init=1, random_state=0).fit_predict(X), ax=axes[0])
plot_clusters(X, labels, ax=axes[1])
for ax, name in zip(axes, ["k-means", "fast_spectral_clusters"]):
    ax.set_aspect("equal")
    ax.set_title(name)
plt.show()
