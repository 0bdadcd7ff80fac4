"""
Communities without a resolution limit
======================================

A ring of cliques, in which modularity joins neighbours as soon as the ring is long; the scales at
which adaptive scale modularity would do so; the axioms behind the difference; and a real network.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from octavo.cluster import (
    AdaptiveScaleModularity,
    FixedScaleModularity,
    GraphClustering,
    Modularity,
    advise_scale,
    check_axioms,
    make_ring_of_cliques,
    resolution_map,
    resolution_profile,
)
from octavo.plot import (
    plot_axiom_matrix,
    plot_cluster_adjacency,
    plot_communities,
    plot_resolution_map,
    plot_resolution_profile,
)

ring = make_ring_of_cliques(30, 5)
for quality in (Modularity(), AdaptiveScaleModularity()):
    found = GraphClustering(quality, random_state=0).fit(ring)
    print(f"{type(quality).__name__}: {found.n_clusters_} clusters of 30 cliques")

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_cluster_adjacency(ring, found.labels_, ax=left)
profile = resolution_profile(ring, np.concatenate([[0], np.logspace(1, 5, 17)]), random_state=0)
plot_resolution_profile(profile, ax=right)

# %%
# Which clustering of two cliques is best depends on the weight within and between them: one
# cluster (1), the cliques (2), or parts of them (3).

fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
grid = np.linspace(0.5, 120.0, 150)
for ax, quality in zip(
    axes,
    (FixedScaleModularity(100.0), AdaptiveScaleModularity(100.0), AdaptiveScaleModularity(0.0)),
):
    plot_resolution_map(resolution_map(quality, grid, grid), ax=ax)

# %%
# The axioms that a search of graphs of up to four nodes finds broken.

qualities = [Modularity(), FixedScaleModularity(10.0), AdaptiveScaleModularity(10.0)]
reports = {str(q): check_axioms(q, max_nodes=4, n_random=300) for q in qualities}
print(reports["Modularity()"]["locality"].text)
fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
plot_axiom_matrix(reports, ax=ax)

# %%
# The karate club, at the scale that `advise_scale` proposes for groups of at least eight members.

club = nx.karate_club_graph()
M, gamma = advise_scale(club, min_size=8, within=0.625)
model = GraphClustering(AdaptiveScaleModularity(M, gamma), random_state=0).fit(club)
print(f"M = {M:.1f}, gamma = {gamma:.1f}: {model.n_clusters_} clusters")
plot_communities(club, model.labels_)
plt.show()
