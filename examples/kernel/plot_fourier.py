"""
Fourier features that are learned
=================================

Each descent adds one frequency at a time to what the ones before left unexplained; the features of
all descents go into one ridge model.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from octavo.kernel import GreedyFourierRegressor, SpectralSampler
from octavo.plot import plot_descents, plot_spectrum

X, y = make_friedman1(6000, noise=1.0, random_state=0)
X = StandardScaler().fit_transform(X)
train, test = slice(0, 5000), slice(5000, None)
model = GreedyFourierRegressor(random_state=0).fit(X[train], y[train])

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
plot_descents(model, ax=left)
plot_spectrum(model, ax=right)
fig.tight_layout()

# %%
# Random features of the same number, the best of several widths, are far behind.

m = 2 * len(model.frequencies_)
print(f"greedy, {m} features: R² = {model.score(X[test], y[test]):.3f}")
for kernel in ("rbf", "laplace", "cauchy", "matern"):
    scores = []
    for width in (1.0, 2.0, 4.0, 8.0, 16.0):
        sampler = SpectralSampler(kernel, width, n_components=m, random_state=0).fit(X)
        ridge = RidgeCV([1e-4, 1e-2, 1.0]).fit(sampler.transform(X[train]), y[train])
        scores.append(ridge.score(sampler.transform(X[test]), y[test]))
    print(f"random, {kernel}: R² = {max(scores):.3f}")
plt.show()
