"""
A Bayesian network with rules and proof
=======================================

Which variables depend on which? Data are drawn from a network that is known; the optimal network
is learned with and without an expert's rules, and said to be optimal with proof.
"""

import matplotlib.pyplot as plt

from octavo.graphical import (
    BayesianNetworkStructureLearner,
    ParentSetCache,
    make_bayesian_network,
    required_arc,
    tiered_structure,
)
from octavo.plot import (
    plot_anytime_bounds,
    plot_bayesian_network,
    plot_cache_sizes,
    plot_cpdag,
)

truth = make_bayesian_network(9, 12, random_state=3)
X = truth.sample(1000, random_state=0)
free = BayesianNetworkStructureLearner().fit(X)
print(f"BIC {free.score_:.2f}, optimal: {free.optimal_}, {len(free.cache_)} parent sets left")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_bayesian_network(free, ax=left)
plot_cpdag(free.cpdag_, ax=right)

# %%
# Rules change the optimum: here the first three variables come before all others.

rules = [tiered_structure([[0, 1, 2], [3, 4, 5, 6, 7, 8]]), required_arc(0, 4)]
ruled = BayesianNetworkStructureLearner(constraints=rules, method="bnb", random_state=0).fit(X)
print(f"BIC {ruled.score_:.2f} with rules")
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_bayesian_network(ruled, ax=left)
plot_anytime_bounds(ruled, ax=right)

# %%
# What pruning saves.

plot_cache_sizes({p: ParentSetCache.build(X, pruning=p) for p in ("none", "lemma", "all")})
plt.show()
