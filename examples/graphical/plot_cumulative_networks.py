"""
Joint tails on a graph
======================

Weather stations along a river: the yearly maxima of neighbours are high together. A network of
copulas on the chain of stations gives the probability of joint exceedances in closed form, and the
same question given what was seen at another station.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.graphical import CDN, CDNDensityEstimator, CopulaCDF, UnivariateCDF
from octavo.plot import plot_cdn_density, plot_cdn_graph, plot_conditional_cdf, plot_joint_tail

margins = [UnivariateCDF("gumbel", loc=2.0), UnivariateCDF("gumbel", loc=2.0)]
river = CDN([((k, k + 1), CopulaCDF("gumbel", 0.4, margins)) for k in range(3)])
X = river.sample(300, random_state=0)

model = CDNDensityEstimator(copula="gumbel", marginal="gumbel", margins="preserve").fit(X)
print(f"log density a row: fitted {model.score(X):.3f}, true {river.logpdf(X).mean():.3f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
plot_cdn_graph(model.network_, ax=left)
plot_cdn_density(model.network_.marginal([0, 1]), (0, 8), (0, 8), ax=right)
fig.tight_layout()

# %%
# How probable is a high value at one station if its neighbour is high? A normal copula says that
# extremes come alone in the end; the Gumbel copula says what the data say.

normal = CDNDensityEstimator(copula="gaussian", marginal="gumbel", margins="preserve").fit(X)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
pairs = {"Gumbel": model.network_.marginal([0, 1]), "Gaussian": normal.network_.marginal([0, 1])}
plot_joint_tail(pairs, X[:, :2], ax=left)
plot_conditional_cdf(model.network_, 0, {1: 5.0}, np.linspace(0, 9, 100), ax=right)
fig.tight_layout()
plt.show()
