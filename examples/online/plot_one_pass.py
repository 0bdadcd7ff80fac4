"""
Online learners along a stream
==============================

Handwritten digits arrive one after the other; is it an even one? Every learner predicts a digit
before it learns it. Second-order learners (AROW, SCW) need fewer examples than first-order ones,
and none has a learning rate.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from octavo.online import (
    AROW,
    SCW,
    OnlinePerceptron,
    PassiveAggressive,
    compare_online,
    tune_online,
)
from octavo.plot import plot_feature_confidence, plot_final_rates, plot_online_curves

X, digit = load_digits(return_X_y=True)
X, y = normalize(X), digit % 2

# Parameters are chosen on the first tenth of the stream.
learners = [OnlinePerceptron(), PassiveAggressive("pa1"), AROW(), SCW()]
tuned = {type(e).__name__: tune_online(e, X, y).estimator for e in learners}
result = compare_online(tuned, X, y, n_orders=10, random_state=0)
print(result)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_online_curves(result, ax=left)
plot_final_rates(result, ax=right)
fig.tight_layout()

# %%
# What AROW is sure of after one pass: pixels (row, column) of the middle columns. The corners are
# always blank and stay at the confidence of 1 that they began with.

model = AROW(covariance="diag").fit(X, y)
names = [f"({j // 8}, {j % 8})" for j in range(64)]
plot_feature_confidence(model, feature_names=names, annotate=4)
plt.show()
