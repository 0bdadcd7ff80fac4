"""
Rank 300 items with a fifth of the comparisons
==============================================

A labeller confuses items that stand close together. Asking about close pairs of the current order
finds nearly the best order there is; as many pairs drawn at random do not.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import (
    plot_cluster_pairs,
    plot_pair_weights,
    plot_queried_pairs,
    plot_query_curve,
)
from octavo.search import (
    SRRAClusterer,
    SRRARanker,
    mfast_local_search,
    noisy_cluster_oracle,
    noisy_preference_oracle,
    pair_error,
    uniform_rank,
)

n = 300
truth = np.random.RandomState(0).permutation(n)
oracle = noisy_preference_oracle(truth, 1.0, random_state=0)
model = SRRARanker(p=2, random_state=0).fit(n, oracle)
queries = [row.n_queries for row in model.history_]
errors = [pair_error(row.hypothesis, oracle) for row in model.history_]
print("questions:", queries, "of", n * (n - 1) // 2)

# %%
# What all answers together would give, and what uniform pairs give.

u, v = np.triu_indices(n, 1)
W = np.zeros((n, n))
W[u, v] = oracle.peek(np.column_stack([u, v]))
W[v, u] = 1 - W[u, v]
best = mfast_local_search(W)[1] / len(u)
uniform = [
    pair_error(np.argsort(uniform_rank(n, oracle, m, random_state=0)), oracle) for m in queries
]
print("errors:", np.round(errors, 4), "uniform:", np.round(uniform, 4), "best:", round(best, 4))

fig, axes = plt.subplots(1, 3, figsize=(15, 4))
curves = {"SRRARanker": (queries, errors), "uniform pairs": (queries, uniform)}
plot_query_curve(curves, best=best, ax=axes[0])
plot_queried_pairs(model, ax=axes[1])
plot_pair_weights(model, ax=axes[2])

# %%
# Clusters from answers to "are these two the same?".

labels = np.random.RandomState(0).choice(4, size=200, p=[0.5, 0.25, 0.15, 0.1])
same = noisy_cluster_oracle(labels, 0.1, random_state=0)
clusters = SRRAClusterer(4, q=3, random_state=0).fit(200, same)
print("questions:", clusters.n_queries_, "of", 200 * 199 // 2)
print("error:", pair_error(clusters.labels_, noisy_cluster_oracle(labels, 0.0), "clustering"))
plot_cluster_pairs(clusters)
plt.show()
