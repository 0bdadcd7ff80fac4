"""
Tagging with long label patterns
================================

The states of a third-order Markov model are seen through noise. A field of first order knows pairs
of labels only; one of third order knows the grammar of the sequence.
"""

import matplotlib.pyplot as plt

from octavo.data import make_high_order_markov
from octavo.plot import plot_accuracy_by_order, plot_label_marginals, plot_top_patterns
from octavo.sequence import HighOrderCRF, window_features

X, y = make_high_order_markov(300, order=3, sigma=0.3, random_state=0)
X = window_features(X)  # the observations before and after, too
models = {order: HighOrderCRF(order, tol=1e-4).fit(X[:200], y[:200]) for order in (1, 2, 3, 4)}
accuracy = {order: model.score(X[200:], y[200:]) for order, model in models.items()}
states = {order: len(model.states_) for order, model in models.items()}
for order, value in accuracy.items():
    print(f"order {order}: {value:.1%} of the labels right, {states[order]} states")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_accuracy_by_order(accuracy, states, ax=left)
plot_top_patterns(models[3], top=15, min_order=2, ax=right)
fig.tight_layout()

# %%
# How sure the model is of one sequence; dots are the decoded labels.

marginals = models[3].predict_marginals(X[200:201])[0]
plot_label_marginals(marginals, models[3].classes_, path=models[3].predict(X[200:201])[0])
plt.show()
