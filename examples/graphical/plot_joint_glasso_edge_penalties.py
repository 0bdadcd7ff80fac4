"""
Networks that share their edges
===============================

Three groups with few samples each. Estimated apart, their networks are noisy; the group penalty
lets an edge that is weak in each of them be found in all.
"""

import matplotlib.pyplot as plt

from octavo.graphical import (
    GroupJointGraphicalLasso,
    SeparateGraphicalLasso,
    make_node_perturbed_networks,
    node_network_metrics,
)
from octavo.plot import plot_edge_recovery, plot_networks

sample = make_node_perturbed_networks(
    40, 30, random_state=0, n_networks=3, n_perturbed=0, n_cohubs=1, density=0.05
)
curves = {}
for name, make in (
    ("group", lambda alpha_l1: GroupJointGraphicalLasso(alpha_l1, 0.1)),
    ("separate", SeparateGraphicalLasso),
):
    found = [
        node_network_metrics(
            make(alpha_l1).fit(sample.X, groups=sample.groups).precisions_, sample.precisions
        )
        for alpha_l1 in (0.3, 0.2, 0.12, 0.07, 0.04)
    ]
    curves[name] = ([f.positive_edges for f in found], [f.true_positive_edges for f in found])
    print(name, curves[name])

plot_edge_recovery(curves)

# %%
# The three networks at one penalty.

model = GroupJointGraphicalLasso(0.07, 0.1).fit(sample.X, groups=sample.groups)
plot_networks(model.precisions_)
plt.show()
