"""
A sparse precision matrix for every λ
=====================================

Which of fifty variables depend on each other given all the others? `clime_path` follows the
solution of one linear program per column from λ = 1, where it is zero, downwards. Between the
breakpoints every coefficient is linear in λ, so that nothing is lost.
"""

import matplotlib.pyplot as plt

from octavo.graphical import CLIMECV, clime_path, make_sparse_precision
from octavo.plot import plot_edge_count, plot_graph, plot_l1_path

sample = make_sparse_precision(50, 200, random_state=0)
path = clime_path(sample.X, alpha_min=0.05, n_alphas=None)
print(f"{path.n_pivots} pivots, largest duality gap {abs(path.duality_gap(0.05)).max():.0e}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_l1_path(path.columns[7], ax=left)
plot_edge_count(path, n_edges=int(sample.adjacency.sum()) // 2, ax=right)
fig.tight_layout()

# %%
# Which λ? Cross-validation of the likelihood favours dense graphs; the extended Bayesian
# information criterion is made for finding edges.

for selection in ("cv", "ebic"):
    model = CLIMECV(selection=selection).fit(sample.X)
    wrong = int((model.adjacency_ != sample.adjacency).sum()) // 2
    print(
        f"{selection}: alpha = {model.alpha_:.3f}, {model.adjacency_.sum() // 2} edges, "
        f"{wrong} wrong"
    )

plot_graph(model.adjacency_, truth=sample.adjacency)
plt.show()
