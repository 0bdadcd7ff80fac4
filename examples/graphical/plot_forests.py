"""
A density without a Gaussian: forests
=====================================

Thirteen measurements of wines. Kernel densities of pairs, joined along a forest that a second half
of the rows chooses, give log-densities, a graph and new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from octavo.data import make_connected_subgraphs
from octavo.graphical import ForestDensityEstimator, RefitGraphicalLasso
from octavo.plot import (
    plot_density_scores,
    plot_forest,
    plot_heldout_edges,
    plot_mutual_information,
    plot_pair_density,
)

wine = load_wine()
X, names = wine.data, wine.feature_names
model = ForestDensityEstimator(random_state=0).fit(X)
print(f"{model.n_edges_} edges; trees of {model.tree_sizes_} variables")

axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")[1]
plot_forest(model, names=names, ax=axes[0])
plot_mutual_information(model, names=names, ax=axes[1])

# %%
# The strongest edge with what the forest would draw there, and rows whose columns were
# shuffled one by one: each value is ordinary, their combination is not.

shuffled = np.column_stack([np.random.RandomState(k).permutation(c) for k, c in enumerate(X.T)])
print(f"log-density {model.score(X):.1f}, shuffled {model.score(shuffled):.1f}")
axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
plot_pair_density(model, X, names=names, ax=axes[0])
plot_density_scores(model, X, shuffled, ax=axes[1])

# %%
# Missing entries, filled by what the rest of the row says.

holes = X.copy()
hidden = np.random.RandomState(0).rand(*X.shape) < 0.1
holes[hidden] = np.nan
spread = X.std(axis=0)
filled = (model.impute(holes) - X) / spread
means = np.where(hidden, np.nanmean(holes, axis=0) - X, 0.0) / spread
print(f"root mean square error of filled entries: {np.sqrt((filled[hidden] ** 2).mean()):.2f}")
print(f"by column means: {np.sqrt((means[hidden] ** 2).mean()):.2f}")

# %%
# The paper's Figure 4: on Gaussian data the refitted graphical lasso is ahead, after the margins
# have gone through a bend the forest is.

axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
for ax, margins in zip(axes, ("gaussian", "uniform")):
    rows = make_connected_subgraphs(30, 600, margins, random_state=0).X
    second = np.arange(300, 600)
    forest = ForestDensityEstimator(holdout=second).fit(rows)
    lasso = RefitGraphicalLasso(holdout=second).fit(rows)
    plot_heldout_edges(forest, glasso=lasso, ax=ax)
    ax.set_title(f"{margins} margins")
    best = forest.heldout_curve_.max(), lasso.heldout_scores_[:, 1].max()
    print(f"{margins}: forest {best[0]:.1f}, refitted lasso {best[1]:.1f}")
plt.show()
