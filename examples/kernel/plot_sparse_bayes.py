"""
A kernel classifier that averages over its support points
=========================================================

Which training samples carry the kernel is not chosen but drawn, thousands of times; probabilities
are averages over all these sets. Large dots are samples that are often active.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from octavo.kernel import SparseBayesKernelClassifier, cusum_hairiness
from octavo.plot import (
    plot_active_surface,
    plot_active_trace,
    plot_hairiness,
    plot_inclusion,
    plot_relevance,
    plot_reliability,
)

X, y = make_moons(150, noise=0.25, random_state=0)
model = SparseBayesKernelClassifier(
    k_max=80, n_iter=3000, burn_in=1000, n_moves=10, n_chains=2, random_state=0
).fit(X, y)
fig, axes = plt.subplots(2, 2, figsize=(11, 8))
plot_active_surface(model, X, y, ax=axes[0, 0])
plot_active_trace(model, ax=axes[0, 1])
plot_inclusion(model, ax=axes[1, 0])
plot_hairiness(*cusum_hairiness(model.traces_["n_active"][0, 1000:]), ax=axes[1, 1])
fig.tight_layout()
print({name: round(float(value), 3) for name, value in model.rhat_.items()})

# %%
# Probabilities that can be taken at their word, and widths that tell which input matters.

new, truth = make_moons(4000, noise=0.25, random_state=1)
ard = SparseBayesKernelClassifier(
    ard=True, k_max=80, n_iter=2000, burn_in=1000, n_moves=10, random_state=0
).fit(X, y)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
said = {"one width": model.predict_proba(new)[:, 1], "two widths": ard.predict_proba(new)[:, 1]}
plot_reliability(truth, said, ax=left)
plot_relevance(ard, names=["x", "y"], ax=right)
fig.tight_layout()
plt.show()
