"""
What two sets of variables share
================================

Two views of the same rows, one a curved function of the other: directions correlate a little,
functions correlate well, also on rows that were not seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.decomposition import ExactCCA, KernelCCA
from octavo.plot import plot_canonical_variates

rng = np.random.default_rng(0)
t = rng.uniform(-2, 2, size=600)
X = np.column_stack([t, rng.normal(size=600)]) + 0.1 * rng.normal(size=(600, 2))
Y = np.column_stack([t**2 + 0.3 * t, rng.normal(size=600)]) + 0.2 * rng.normal(size=(600, 2))
X_new, Y_new, X, Y = X[300:], Y[300:], X[:300], Y[:300]
linear = ExactCCA().fit(X, Y)
curved = KernelCCA("rbf", 5.0).fit(X, Y)
print("linear", linear.correlations_.round(3))
print("kernel", curved.correlations_.round(3))

# %%
# With too many columns everything correlates: the warning says so, and a ridge mends it.

noise = rng.normal(size=(2, 30, 25))
ridge = ExactCCA(1, reg=30.0).fit(*noise)
u, v = ridge.transform(*rng.normal(size=(2, 500, 25)))
print("noise on new rows", round(float(np.corrcoef(u[:, 0], v[:, 0])[0, 1]), 2))

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plot_canonical_variates(linear, X_new, Y_new, ax=axes[0])
plot_canonical_variates(curved, X_new, Y_new, ax=axes[1])
plt.show()
