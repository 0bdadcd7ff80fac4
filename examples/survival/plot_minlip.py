"""
A trial with crossing hazards
=============================

In the first arm of a simulated trial half of the patients fail early and some live very long; in
the second nearly all fail around time four. Proportional hazards cannot hold. `MinlipSurvival`
finds a utility that separates the arms, and survival curves from it.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_relevant_features, make_two_arms
from octavo.plot import plot_predicted_survival, plot_sparse_path, plot_transformation
from octavo.survival import MinlipL1, MinlipRanker, MinlipSurvival

X, y = make_two_arms(150, random_state=0)
model = MinlipSurvival(C=1.0).fit(X[:100], y[:100])
print(f"test concordance {model.score(X[100:], y[100:]):.2f}, gap {model.duality_gap_:.1e}")

arms = np.where(X[100:, 1] == 0, "first arm", "second arm")
plot_predicted_survival(model, X[100:], np.linspace(0, 6, 100), labels=arms)

# %%
# Ranking is the same machine without censoring; its predictions go through the increasing map h.

X, y, coef = make_relevant_features(150, 20, 5, random_state=0)
ranker = MinlipRanker(C=1.0).fit(X[:100], np.exp(y[:100] / 4))
plot_transformation(ranker.transform_function_, ranker.utility_train_, np.exp(y[:100] / 4))

# %%
# With the 1-norm of the weights, features enter one after the other as errors cost more.

Cs = np.geomspace(0.005, 1, 12)
coefs = [MinlipL1(C=C, task="ranking").fit(X[:100], y[:100]).coef_ for C in Cs]
plot_sparse_path(Cs, coefs)
plt.show()
