"""
Which variable changed its relations?
=====================================

Two groups of samples, sixty variables. Two variables have their relations to all others rewired
in one of the groups, two others are hubs in both. Compared edge by edge, the networks differ a
little everywhere; compared node by node, the two that changed stand out.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.graphical import (
    CohubNodeJointGraphicalLasso,
    FusedJointGraphicalLasso,
    PerturbedNodeJointGraphicalLasso,
    make_node_perturbed_networks,
)
from octavo.plot import plot_network_difference, plot_networks, plot_node_scores

sample = make_node_perturbed_networks(60, 100, random_state=1)
print("perturbed:", sample.perturbed_nodes, "co-hubs:", sample.cohub_nodes)

model = PerturbedNodeJointGraphicalLasso(alpha_l1=0.1, alpha_joint=0.5).fit(
    sample.X, groups=sample.groups
)
print(f"{model.n_iter_} iterations, duality gap {model.duality_gap_:.1e}")
print("largest scores:", np.argsort(-model.node_scores_)[:4])

fused = FusedJointGraphicalLasso(alpha_l1=0.1, alpha_joint=0.03).fit(sample.X, groups=sample.groups)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.5), sharey=True)
truth = {"perturbed": sample.perturbed_nodes, "cohubs": sample.cohub_nodes}
plot_node_scores(model.node_scores_, **truth, ax=left).set_title("by nodes (PNJGL)")
plot_node_scores(fused.node_scores_, **truth, ax=right).set_title("by edges (FGL)")
fig.tight_layout()

# %%
# The two networks, nodes of largest score first, and their difference.

plot_networks(model.precisions_, scores=model.node_scores_, labels=["group 0", "group 1"])
plot_network_difference(model.precisions_, nodes=sample.perturbed_nodes)

# %%
# Hubs that both groups share.

hubs = CohubNodeJointGraphicalLasso(alpha_l1=0.02, alpha_joint=1.5).fit(
    sample.X, groups=sample.groups
)
plot_node_scores(hubs.node_scores_, **truth).set_title("co-hubs (CNJGL)")
plt.show()
