"""
Clusters above a level of the density
=====================================

Two moons in a background of noise. Rows of low density are dropped; a random walk of short range
tells the moons apart, also where a neighbourhood graph of the same range has merged them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from octavo.cluster import (
    ClusteringReferee,
    LevelSetSpectralClustering,
    consistency_curve,
    level_set_components,
    level_tree,
    scale_path,
)
from octavo.data import make_noisy_moons
from octavo.plot import (
    plot_consistency,
    plot_feature_space,
    plot_level_set,
    plot_level_tree,
    plot_referee,
    plot_scale_path,
)

X, y = make_noisy_moons(random_state=0)
settings = {"h": 0.6, "drop_fraction": 0.3, "bandwidth": 0.1}
model = LevelSetSpectralClustering(**settings, random_state=0).fit(X)
kept = (model.labels_ >= 0) & (y >= 0)
graph = level_set_components(X, **settings)
print(f"components of the graph: {model.n_components_graph_}, clusters: {model.n_clusters_}")
print(f"adjusted Rand index {adjusted_rand_score(y[kept], model.labels_[kept]):.3f}")
print(f"of the graph's components {adjusted_rand_score(y[kept], graph[kept]):.3f}")

axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
plot_level_set(model, X, ax=axes[0])
plot_feature_space(model, ax=axes[1])

# %%
# Eigenvalues along h: two stay near 1 on a plateau that ends far beyond the gap between the moons.
# Right, the components at every level of the density.

path = scale_path(X, np.geomspace(0.12, 1.6, 14), n_eigenvalues=5, drop_fraction=0.3, bandwidth=0.1)
print(f"plateau of h: {path.plateau[0]:.2f} to {path.plateau[1]:.2f}")
axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
plot_scale_path(path, ax=axes[0])
plot_level_tree(level_tree(X, bandwidth=0.1, h=0.15, min_size=20), ax=axes[1])

# %%
# What the theorems promise: with growing samples the operator settles.


def two_normals(n, rng):
    group = rng.randint(2, size=n)
    return rng.normal(5.0 * group)[:, None], group


curve = consistency_curve(
    two_normals, [250, 500, 1000, 2000], n_clusters=2, level=0.08, h=2.4, random_state=0
)
print("operator gaps", curve.operator_gaps.round(3))
plot_consistency(curve)

# %%
# Beside others on overlapping Gaussians with outliers. Rows that are called noise count as one more
# group.

referee = ClusteringReferee(
    {
        "level sets": LevelSetSpectralClustering(),
        "level sets, noise placed": LevelSetSpectralClustering(assign_noise=True),
        "k-means": KMeans(n_init=5),
        "Ward": AgglomerativeClustering(),
        "Gaussian mixture": GaussianMixture(),
        "HDBSCAN": HDBSCAN(copy=True),
        "spectral": SpectralClustering(),
    },
    n_samples=200,
    n_components=4,
    n_features=2,
    overlaps=[0.001, 0.01, 0.1],
    n_datasets=5,
    dataset_params={"n_outliers": 20},
)
referee.run()
print(referee.summary().pivot(index="clusterer", columns="overlap", values="median").round(2))
plot_referee(referee)
plt.show()
