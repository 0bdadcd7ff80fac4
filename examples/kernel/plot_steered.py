"""
A map that obeys
================

Three flat clusters lie one above the other. Plain PCA shows the wide directions, in which they
coincide; two points of each cluster, moved apart, are enough to show them.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_hidden_clusters
from octavo.kernel import InteractiveSession, KnowledgeKernelPCA
from octavo.plot import plot_before_and_after, plot_steered_map

X, cluster = make_hidden_clusters(100, random_state=0)
model = KnowledgeKernelPCA(kernel="linear", lambda_place=100.0, average=False)
session = InteractiveSession(model, X)

for k, height in enumerate((4.0, 0.0, -4.0)):
    rows = np.flatnonzero(cluster == k)
    apart = np.linalg.norm(X[rows, None] - X[rows], axis=2)
    for i in rows[list(np.unravel_index(apart.argmax(), apart.shape))]:
        session.place(int(i), (height, session.baseline[i, 0]))

plot_before_and_after(session, color=cluster)
took = 1e3 * max(action.seconds for action in session.history)
print(f"six placements, {took:.1f} ms each at most")

# %%
# The rings are where points were put; the lines lead to where the map has them. Links say less:
# two points that belong together, two that do not.

session.clear().link(0, 50, +1).link(0, 150, -1)
plot_steered_map(session, color=cluster)
plt.show()

# %%
# The code that reproduces the map, to keep with the data.

print(session.code())
