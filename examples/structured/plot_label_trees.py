"""
Which labels hang together
==========================

Ten labels of which each pulls at the next in a hidden order, and a machine that learns the order
from label sets. Orange pairs are those of the hidden chain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC

from octavo.data import make_label_chain
from octavo.plot import (
    plot_certified_share,
    plot_label_graph,
    plot_label_losses,
    plot_tree_gaps,
)
from octavo.structured import RandomSpanningTreeMultiLabel, SpanningTreeMultiLabel

X, Y, chain = make_label_chain(1500, random_state=0)
train, test = slice(None, 1000), slice(1000, None)
model = SpanningTreeMultiLabel(C=0.1, random_state=0).fit(X[train], Y[train])
plot_label_graph(model.edge_weights_, true_edges=chain)

# %%
# How far the fit is from the best mixture of all 10^8 spanning trees, and how long the trees' lists
# must be to prove that a predicted label set is the best one.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_tree_gaps(model, ax=left)
plot_certified_share(model, X[test], ax=right)
fig.tight_layout()

# %%
# Whole label sets are right more often than with a machine for each label.

machines = {
    "learned trees": model,
    "random trees": RandomSpanningTreeMultiLabel(C=0.1, random_state=0).fit(X[train], Y[train]),
    "independent": MultiOutputClassifier(LinearSVC()).fit(X[train], Y[train]),
}
losses = {}
for name, machine in machines.items():
    wrong = np.asarray(machine.predict(X[test])) != Y[test]
    losses[name] = wrong.any(axis=1).mean(), wrong.mean()
plot_label_losses(losses)
print({name: [round(float(x), 3) for x in pair] for name, pair in losses.items()})
plt.show()
