"""
A causal order with probabilities
=================================

Five variables act on each other; who acts on whom is hidden. A search ranks orders, every order
gets a DAG, and held-out rows choose among them and a factor model.
"""

import matplotlib.pyplot as plt

from octavo.graphical import SLIM, is_causal_order, make_linear_dag
from octavo.plot import plot_causal_dag, plot_effect_intervals, plot_order_candidates

data = make_linear_dag(5, 300, density="sparse", random_state=7)
model = SLIM(n_samples=(2000, 1000), burn_in=(1500, 500), random_state=0).fit(data.X)
print(f"selected: {model.selected_}, order {model.causal_order_}")
print(f"the order is right: {is_causal_order(model.causal_order_, data.B)}")

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4))
plot_causal_dag(model, truth=data.B, ax=left)
plot_order_candidates(model, ax=middle)
plot_effect_intervals(model, truth=data.B, ax=right)
fig.tight_layout()

# %%
# The table of edges: probabilities, medians and credible intervals in the data's units.

for edge in model.edge_table()[:6]:
    true = data.B[edge.effect, edge.cause]
    print(
        f"{edge.cause} -> {edge.effect}: {edge.probability:.2f}, "
        f"{edge.median:.2f} ({edge.low:.2f} to {edge.high:.2f}), true {true:.2f}"
    )
plt.show()
