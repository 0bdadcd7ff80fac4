"""
Tomorrow's graph
================

Interests move from group to group, and every snapshot of the graph shows where they are now. The
sum of all snapshots tells who ever linked to whom; an autoregression of the graph's features tells
where the links go next.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_autoregressive_graphs
from octavo.network import (
    AutoregressiveLinkPredictor,
    AutoregressiveLinkPredictorCV,
    SparseLowRankDenoiser,
    link_auc,
    link_heuristics,
    phase_transition,
)
from octavo.plot import (
    plot_auc_by_length,
    plot_graph_forecast,
    plot_graph_spectrum,
    plot_phase_transition,
    plot_var_coefficients,
)

series = make_autoregressive_graphs(n=30, rank=3, T=10, random_state=0)
plain = AutoregressiveLinkPredictor(rank=3)
model = AutoregressiveLinkPredictorCV(estimator=plain).fit(series.snapshots)
print(model.best_params_)
scores = model.predict_scores()
total = series.snapshots.sum(axis=0)
print("joint ", round(link_auc(series.A_next, scores), 3))
print("static", round(link_auc(series.A_next, SparseLowRankDenoiser().fit(total).A_next_), 3))
print("Katz  ", round(link_auc(series.A_next, link_heuristics(total, "katz")), 3))
plot_graph_forecast(series.A_next, scores)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_graph_spectrum(model.best_estimator_, ax=left)
plot_var_coefficients(model.best_estimator_, ax=right)

# %%
# How long must the past be, and how many groups may there be?

lengths, ranks = [2, 4, 6, 8], [2, 3, 5]
fixed = AutoregressiveLinkPredictor(1e-3, 1e-5, 1e-3, tol=1e-3)


def make(rank, T, seed):
    return make_autoregressive_graphs(30, rank, T, random_state=seed)


auc = phase_transition(fixed, make, ranks, lengths, n_repeats=3)
static = [
    [
        link_auc(made.A_next, made.snapshots.sum(axis=0))
        for made in (make(3, T, seed) for seed in range(3))
    ]
    for T in lengths
]
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_auc_by_length(lengths, {"joint": auc[1], "sum of the past": np.array(static)}, ax=left)
plot_phase_transition(ranks, lengths, auc, ax=right)
plt.show()
