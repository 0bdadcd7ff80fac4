"""
A few hundred rows at a time
============================

Twenty-five kernel machines on three hundred rows each, on a checkerboard of 20,000 points. None of
them sees the whole board; together they do. The thin lines are the boundaries of the machines, the
thick one is that of their vote.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_ensemble_boundary, plot_oob_error, plot_shared_support
from octavo.svm import EnsembleSVC

rng = np.random.default_rng(0)
X = rng.random((20_000, 2))
y = (np.floor(4 * X).sum(axis=1) % 2).astype(int)
y = np.where(rng.random(len(y)) < 0.02, 1 - y, y)

model = EnsembleSVC(25, max_samples=300, C=10.0, gamma=20.0, oob_score=True, random_state=0)
model.fit(X, y)
print(f"accuracy out of bag: {model.oob_score_:.3f}, of at most 0.98 with 2 % of labels flipped")

fig, axes = plt.subplots(1, 3, figsize=(13, 4))
plot_ensemble_boundary(model, X[:2000], y[:2000], ax=axes[0])
plot_oob_error(model, range(1, 26, 2), ax=axes[1])
plot_shared_support(model, ax=axes[2])
fig.tight_layout()

# %%
# The aggregation is exchanged without training the machines again. Logistic regression weighs them
# by their out-of-bag decision values; the machines that matter least can then be pruned.

trained = model.with_aggregation("logistic_regression")
print(f"accuracy out of bag, trained aggregation: {trained.oob_score_:.3f}")

weights = np.abs(trained.aggregator_.estimator.coef_.ravel())
weights[np.argsort(weights)[:10]] = 0.0
pruned = model.with_aggregation("mean").prune(weights)
print(
    f"pruned to 15 machines: {pruned.oob_score_:.3f}, {len(pruned.support_indices_)} instead of "
    f"{len(model.support_indices_)} support vectors"
)
plt.show()
