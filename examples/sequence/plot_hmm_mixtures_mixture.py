"""
Kinds of sequences
==================

`HMMMixture` clusters sequences by how they evolve: here four HMMs share their emissions' variances
and transitions but not their means. The bound that EM climbs never falls.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import rand_score

from octavo.data import make_hmm_sequences
from octavo.plot import plot_bound_history, plot_responsibilities
from octavo.sequence import HierarchicalHMMMixture, HMMMixture

X, y = make_hmm_sequences("means", n_per_class=15, random_state=0)
model = HMMMixture(4, n_states=3, n_init=5, max_iter=200, random_state=0).fit(X)
print(f"Rand index: {rand_score(y, model.labels_):.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_responsibilities(model, y, ax=left)
plot_bound_history(model, ax=right)
fig.tight_layout()

# %%
# The same mixture by shards of five sequences: each shard is modelled once, and only the models
# are worked on.

shards = HierarchicalHMMMixture(5, n_components=4, n_states=3, random_state=0).fit(X)
print(f"mean log-likelihood: {shards.score(X):.1f} by shards, {model.score(X):.1f} directly")
plt.show()
