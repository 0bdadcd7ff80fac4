"""
One space from many views and answers of people
===============================================

Digits seen in five ways, with five kernels of pure noise among them, and answers of the kind "this
one is more like that one than the other", a tenth of them wrong. The answers are made consistent,
one matrix a kernel is learned, and the noise gets next to no weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import flip_comparisons, make_digit_views, make_taxonomy_comparisons
from octavo.metric import ComparisonGraph, MultipleKernelPOE, MultipleKernelPOECV, gauc_score
from octavo.plot import (
    plot_beta_scores,
    plot_comparison_graph,
    plot_kernel_shares,
    plot_landmark_weights,
    plot_order_embedding,
    plot_view_accuracy,
)

views = make_digit_views(8, 5, random_state=0)
answers = make_taxonomy_comparisons(views.labels, views.groups, 10, random_state=0)
answers = flip_comparisons(np.repeat(answers, 3, axis=0), 0.1, random_state=0)  # three people
graph = ComparisonGraph(answers, n_items=80)
print(graph.stats())

model = MultipleKernelPOE("precomputed", "diagonal", beta=300.0, random_state=0)
model.fit(views.kernels, answers)
share = model.kernel_weights_ / model.kernel_weights_.sum()
print(f"{len(model.comparisons_)} comparisons after cleaning; noise has {share[5:].sum():.1%}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_kernel_shares(model.kernel_weights_, views.names, ax=left)
accuracies = {}
for name, K in zip(views.names, views.kernels, strict=True):
    own = np.diagonal(K)
    single = MultipleKernelPOE("precomputed", "diagonal", beta=300.0, random_state=0)
    native = gauc_score(own[:, None] + own - 2 * K, answers)
    accuracies[name] = (native, single.fit([K], answers).score(answers))
accuracies["all"] = (np.nan, model.score(answers))
plot_view_accuracy(accuracies, ax=right)

# %%
# Weights have a place: an item that counts in one kernel need not count in another. New items go
# where their kernel values put them.

plot_landmark_weights(model, views.names)
old, new = np.arange(80) % 8 < 6, np.arange(80) % 8 >= 6
place = np.cumsum(old) - 1
kept = answers[old[answers].all(axis=1)]
part = MultipleKernelPOE("precomputed", "diagonal", 300.0, n_components=2, random_state=0)
part.fit([K[np.ix_(old, old)] for K in views.kernels], place[kept])
fig, ax = plt.subplots(figsize=(6, 5))
points = part.transform([K[np.ix_(new, old)] for K in views.kernels])
plot_order_embedding(part.embedding_, views.groups[old], points, ax=ax)

# %%
# What contradicts what: three people who disagree in a circle. And how beta is chosen, on answers
# that are held out before anything is cleaned.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
circle = [[0, 1, 2, 3], [2, 3, 0, 4], [0, 4, 0, 1], [0, 1, 3, 4], [3, 4, 1, 2]]
plot_comparison_graph(ComparisonGraph(circle), ax=left)
search = MultipleKernelPOECV(
    "precomputed", "diagonal", betas=[1.0, 10.0, 100.0, 1000.0, 10_000.0], random_state=0
)
search.fit(views.kernels[:5], answers)
print(f"beta {search.beta_:g}: {search.cv_scores_.max():.2f} of held-out answers")
plot_beta_scores(search, ax=right)

plt.show()
