"""
Fewer Gaussians
===============

A mixture of fifteen Gaussians is reduced to three without looking at the data again. The mean and
covariance of the whole are kept.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.mixture import GaussianMixture

from octavo.bayes import GMMReduction
from octavo.plot import plot_gmm_reduction

rng = np.random.default_rng(0)
places = [[0, 0], [6, 0], [0, 7]]
X = np.concatenate([rng.normal(size=(200, 2)) * [1, 1 + k] + p for k, p in enumerate(places)])
mixture = GaussianMixture(15, random_state=0).fit(X)
reduced = GMMReduction(3, random_state=0).fit(mixture)
print(
    f"mean log-likelihood: 15 components {mixture.score(X):.3f}, "
    f"reduced to 3 {reduced.to_gaussian_mixture().score(X):.3f}"
)
plot_gmm_reduction(mixture, reduced)
plt.show()
