"""
A whole conditional density, and groups that share a regression
===============================================================

One covariate chooses between two straight lines; nine others are correlated with it or noise. A
plain Dirichlet process mixture spends its clusters on the covariates. The enriched one nests them
and keeps two regressions.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.bayes import DPMixtureRegressor, EnrichedDPClassifier, EnrichedDPRegressor
from octavo.data import make_two_regimes, two_regimes_density, two_regimes_mean
from octavo.plot import (
    plot_cluster_traces,
    plot_cluster_tree,
    plot_co_clustering,
    plot_conditional_density,
    plot_nested_partition,
    plot_predictive_bands,
)

X, y = make_two_regimes(300, 10, random_state=0)
train, test = slice(0, 200), slice(200, 300)
options = {"n_iter": 2000, "burn_in": 500, "thin": 5, "random_state": 0}
plain = DPMixtureRegressor(**options).fit(X[train], y[train])
nested = EnrichedDPRegressor(**options).fit(X[train], y[train])
for model in (plain, nested):
    error = np.abs(model.predict(X[test]) - two_regimes_mean(X[test])).mean()
    print(type(model).__name__, np.bincount(model.k_trace_).argmax(), round(float(error), 3))

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for model, ax in zip((plain, nested), axes, strict=True):
    plot_nested_partition(model, X[train], y[train], ax=ax)
    ax.set_title(type(model).__name__)

# %%
# The density at two new rows with bands, and the truth in black.

grid = np.linspace(1, 8, 141)
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for model, ax in zip((plain, nested), axes, strict=True):
    plot_conditional_density(model, X[200:202], grid, ax=ax)
    ax.plot(grid, two_regimes_density(X[200:202], grid).T, color="black", lw=1)

# %%
# How sure the groups are, how they nest, and whether the chain has settled.

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
plot_co_clustering(nested, ax=axes[0])
plot_cluster_tree(nested, ax=axes[1])
plot_cluster_traces(nested, ax=axes[2])
print(nested.rhat_.round(2), nested.ess_.round(), nested.acceptance_.round(3))

# %%
# Classes, with credible intervals of their probabilities and a tenth of the entries missing.

rng = np.random.default_rng(0)
holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
model = EnrichedDPClassifier(**options).fit(holes[train], y[train] > 4.8)
print(round(model.score(holes[test], y[test] > 4.8), 3))
plot_predictive_bands(model, X[200:230])
plt.show()
