"""
One ranking of many
===================

Twenty-five simulated engines answer each query: eight are informative, ten rank at random, three
are always wrong and four are weak, and most ranks are missing. Without labels,
`MultinomialPreferenceModel` finds out whom the others agree with; with labels, `CRFRankAggregator`
also learns to turn the wrong ones round.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_meta_search
from octavo.plot import plot_adherence, plot_ndcg_curves, plot_query_ranks, plot_weight_squares
from octavo.ranking import (
    CRFRankAggregator,
    MultinomialPreferenceModel,
    best_fusion_k,
    ndcg_at,
    reciprocal_rank_fusion,
)

ranks, relevance, kinds = make_meta_search(90, random_state=0)
train, test = slice(0, 50), slice(50, 90)

model = MultinomialPreferenceModel(adherence=True).fit(ranks[:15])
field = CRFRankAggregator(n_epochs=30, random_state=0).fit(ranks[train], relevance[train])

k = best_fusion_k(ranks[train], relevance[train])
fused = {
    "reciprocal ranks": [reciprocal_rank_fusion(R) for R in ranks[test]],
    f"the same, k = {k:g} by the labels": [reciprocal_rank_fusion(R, k) for R in ranks[test]],
    "preference model": model.aggregate(ranks[test]),
    "random field": field.predict(ranks[test]),
}
curves = {
    name: [ndcg_at(relevance[test], scores, k) for k in range(1, 11)]
    for name, scores in fused.items()
}

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_adherence(model, ax=left)
plot_ndcg_curves(curves, ax=right)
fig.tight_layout()

# %%
# The weights of the random field, each kind scaled to its largest: black is negative. Then one
# query, its documents sorted by the learned score.

fig, (top, bottom) = plt.subplots(2, 1, figsize=(10, 7), height_ratios=(1, 2))
weights = field.expert_weights_
plot_weight_squares(
    (weights / np.abs(weights).max(axis=0)).T, ["missing", "wins", "losses"], ax=top
)
plot_query_ranks(ranks[60], field.predict(ranks[60]), relevance[60], ax=bottom)
fig.tight_layout()
plt.show()
