"""
Clusters of hidden Markov models
================================

Each of 32 noisy sequences of 400 positions came from one of four HMMs that differ in the variance
of their emissions. Every sequence gets an HMM of its own, and `HMMClustering` groups those HMMs,
with a new HMM as the centre of each group. The sequences are not used again.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import rand_score

from octavo.data import make_hmm_sequences
from octavo.plot import plot_hmm, plot_hmm_map, plot_hmm_tree, plot_responsibilities
from octavo.sequence import (
    HierarchicalHMMClustering,
    HMMClustering,
    fit_hmms,
    hmm_distance_matrix,
)

X, y = make_hmm_sequences("variances", n_per_class=8, length=400, random_state=0)
hmms = fit_hmms(X, n_states=3, stationary_start=True, random_state=0)
model = HMMClustering(4, random_state=0).fit(hmms)
print(f"Rand index: {rand_score(y, model.labels_):.2f}, bound {model.score(hmms):.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_responsibilities(model, y, ax=left)
plot_hmm_map(hmm_distance_matrix(hmms), model.labels_, ax=right)
fig.tight_layout()

# %%
# The centres are HMMs: here two of them, with two standard deviations of each state and arrows
# for the transitions.

fig, axes = plt.subplots(1, 2, figsize=(11, 3.5), sharex=True)
for ax, centre in zip(axes, model.cluster_hmms_):
    plot_hmm(centre, ax=ax)
fig.tight_layout()

# %%
# A tree: clusters of clusters, coloured by the HMM that the sequences came from.

tree = HierarchicalHMMClustering((8, 4, 2), random_state=0).fit(hmms)
plot_hmm_tree(tree, y)
plt.show()
