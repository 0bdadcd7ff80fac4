"""
Few rows for each of many tasks
===============================

Eight sites, forty patients each, thirty measurements of which five matter everywhere, though not in
the same way. Switches that all sites share find the five; a machine for each site alone cannot.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_ising, make_shared_sparse_tasks
from octavo.kernel import MEDAdaptivePoolingSVC, MEDIsingStructure, MEDMultitaskPath
from octavo.plot import plot_edge_scores, plot_switch_path, plot_task_switches

tasks = make_shared_sparse_tasks(n_tasks=8, n_samples=80, n_features=30, random_state=0)
train = np.arange(len(tasks.y)) % 2 == 0
path = MEDMultitaskPath(np.r_[0, np.geomspace(0.1, 1e4, 11)], (0.1, 1.0), 3)
path.fit(tasks.X[train], tasks.y[train], tasks.task[train])
print(f"alpha {path.alpha_:.3g}, C {path.C_:g}: {path.best_score_:.3f} mean AUC held out")
alone = path.cv_scores_[:, 0].mean(axis=1).max()
print(f"alpha 0, machines of their own: {alone:.3f}")

fig, axes = plt.subplots(1, 3, figsize=(13, 3.6))
chosen = path.Cs_.tolist().index(path.C_)
plot_switch_path(path.alphas_, path.switches_path_[chosen], truth=tasks.informative, ax=axes[0])

# %%
# Where tasks are nearly one problem, a pooled model with exceptions: the last site is coded the
# other way round, and its switch opens.

rng = np.random.default_rng(0)
X, site = rng.normal(size=(200, 3)), np.repeat(np.arange(5), 40)
y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0) ^ (site == 4)
pooled = MEDAdaptivePoolingSVC("linear", alpha=1e3, C=0.05).fit(X, y, site)
print("switches of the sites:", pooled.switches_.round(2))
plot_task_switches(pooled, ax=axes[1])

# %%
# Edges of a graph are switches too: each guards both directions of a pair.

sample = make_ising(n_nodes=5, n_samples=60, random_state=0)
graph = MEDIsingStructure(alpha=10.0, C=0.1).fit(sample.X)
plot_edge_scores(graph.edge_scores_, truth=sample.adjacency, ax=axes[2])
fig.tight_layout()
plt.show()
