"""
Weak edges beside strong ones
=============================

A chain of cycles whose first fifteen variables hang together weakly. One graphical lasso has one
penalty for all of it. A junction tree splits the variables into regions; each has its own, and an
edge over a separator waits until the edges around it are known.
"""

import matplotlib.pyplot as plt

from octavo.graphical import (
    JunctionTreeUGMS,
    MaskedGraphicalLasso,
    graph_recovery,
    junction_tree,
    make_weak_edge_network,
    match_n_edges,
    merge_clusters,
    region_graph,
)
from octavo.plot import (
    plot_decided_edges,
    plot_graph_overlay,
    plot_recovery_bars,
    plot_region_graph,
)

sample = make_weak_edge_network("CY1", 500, random_state=0, n_features=40, n_weak=15)
model = JunctionTreeUGMS().fit(sample.X)
n_edges = int(model.adjacency_.sum()) // 2
plain = match_n_edges(MaskedGraphicalLasso(), sample.X, n_edges)
for name, found in (("junction tree", model), ("one penalty", plain)):
    result = graph_recovery(found.adjacency_, sample.adjacency, sample.weak)
    print(
        f"{name}: {result.wedr:.0%} of the weak edges, {result.edit_distance} edits from the truth"
    )

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
plot_decided_edges(model, ax=left)
plot_graph_overlay(model.adjacency_, plain.adjacency_, labels=("junction tree", "lasso"), ax=right)

# %%
# Where an edge is decided: clusters of the junction tree first, then separators, then what those
# share.

small = make_weak_edge_network("CY1", 5, random_state=0, n_features=10, n_weak=3).adjacency
plot_region_graph(region_graph(merge_clusters(junction_tree(small), 2)))

# %%
# Over some samples, at as many edges.

shares = {"junction tree": [], "one penalty": []}
for seed in range(1, 4):
    sample = make_weak_edge_network("CY1", 500, random_state=seed, n_features=40, n_weak=15)
    model = JunctionTreeUGMS().fit(sample.X)
    plain = match_n_edges(MaskedGraphicalLasso(), sample.X, int(model.adjacency_.sum()) // 2)
    for name, found in zip(shares, (model, plain), strict=True):
        shares[name].append(graph_recovery(found.adjacency_, sample.adjacency, sample.weak).wedr)
plot_recovery_bars(shares)
plt.show()
