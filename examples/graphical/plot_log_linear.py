"""
A joint distribution of zeros and ones
======================================

Six columns of a table depend on each other in triples, six in pairs. Trees find the triples,
regressions the pairs; both together find both.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.graphical import (
    DTPlusL1MarkovNetwork,
    DTSLMarkovNetwork,
    L1MarkovNetwork,
    LogLinearMarkovNetwork,
    ncmll,
)
from octavo.plot import (
    plot_feature_lengths,
    plot_feature_weights,
    plot_interaction_graph,
    plot_relative_scores,
)

rng = np.random.default_rng(0)
triples = [
    [(first, "==", a), (first + 1, "==", b), (first + 2, "==", a ^ b)]
    for first in (0, 3)
    for a in (0, 1)
    for b in (0, 1)
]
pairs = [[(i, "==", 1), (j, "==", 1)] for i in range(6, 12) for j in range(6, i)]
weights = [*[2.0] * len(triples), *rng.normal(0, 1.5, len(pairs))]
truth = LogLinearMarkovNetwork(triples + pairs, weights, [2] * 12)
X, held_out = np.split(truth.sample(2000, random_state=0), 2)

trees = {"kappa": 0.5, "features": "prune", "weight_sd": 1.0}
learners = {
    "DTSL": DTSLMarkovNetwork(**trees).fit(X),
    "L1": L1MarkovNetwork(C=0.1, weight_sd=1.0, random_state=0).fit(X),
    "DT+L1": DTPlusL1MarkovNetwork(0, C=0.1, **trees).fit(X),
}
for name, network in learners.items():
    print(f"{name}: {network.score(held_out):.4f} a cell (truth {truth.score(held_out):.4f})")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
plot_interaction_graph(learners["DT+L1"], ax=left)
plot_feature_weights(learners["DT+L1"], ax=right)

# %%
# Each column alone, given all others, and a quarter of the columns given the rest.

scores = {
    name: {
        "one column": network.score(held_out),
        "a quarter": ncmll(network, held_out[:100], n_chains=2, n_iter=300, random_state=0),
    }
    for name, network in learners.items()
}
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_feature_lengths(learners, ax=left)
plot_relative_scores(scores, "DTSL", ax=right)

# %%
# Cells that are missing are filled in by what is known of their row.

holes = held_out[:200].astype(float)
gone = rng.random(holes.shape) < 0.1
holes[gone] = np.nan
filled = learners["DT+L1"].impute(holes, method="exact")
print(f"{np.mean(filled[gone] == held_out[:200][gone]):.0%} of the missing cells are right")
plt.show()
