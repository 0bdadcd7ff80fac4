"""
Which bins of a histogram mean the same
=======================================

Eighteen bins form six groups; classes differ in how much mass a group has, and within a group mass
falls on any of its three bins. Distances that compare bin by bin see mostly the latter. A ground
metric learned from sixty labelled histograms finds the groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_grouped_histograms
from octavo.metric import GroundMetricLearner, retrieval_curve, simplex_distance, transport_plan
from octavo.plot import (
    plot_bin_map,
    plot_criterion_descent,
    plot_error_by_neighbors,
    plot_ground_metric,
    plot_transport_flow,
)

X, y, groups = make_grouped_histograms(260, random_state=0)
train, test = slice(0, 60), slice(60, 260)
model = GroundMetricLearner(init="uniform", random_state=0).fit(X[train], y[train])
M = model.metric_
within = M[(groups[:, None] == groups) & (M > 0)].mean()
between = M[groups[:, None] != groups].mean()
print(f"mean distance within groups over that between: {within / between:.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
plot_ground_metric(M, groups, ax=left)
plot_bin_map(M, groups, groups, ax=right)

# %%
# What it is good for: neighbours of histograms that were not used for learning.

tables = {
    "learned": model.pairwise(X[test], X[train]),
    "l1": simplex_distance(X[test], X[train], "l1"),
    "Hellinger": simplex_distance(X[test], X[train], "hellinger"),
}
counts, errors = np.arange(1, 30, 2), {}
for name, D in tables.items():
    order = np.argsort(D, axis=1)
    errors[name] = [
        100 * np.mean((y[train][order[:, :k]].mean(axis=1) > 0.5) != y[test]) for k in counts
    ]
    share = retrieval_curve(D, y[test], y[train], 10)[-1]
    print(f"{name}: {errors[name][1]:.1f} % errors with 3 neighbours, {share:.0%} of 10 alike")

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
plot_error_by_neighbors(counts, errors, ax=left)
plot_criterion_descent(model, ax=right)

# %%
# One transport: mass moves within groups where it can.

fig, ax = plt.subplots(figsize=(10, 3), layout="constrained")
plot_transport_flow(transport_plan(X[0], X[1], M), ax=ax)

plt.show()
