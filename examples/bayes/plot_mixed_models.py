"""
Mixed models and curves with their own variance
===============================================

Counts of 60 clinics, five visits each: a Poisson model with random intercepts has a posterior for
every clinic in milliseconds.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.bayes import HeteroscedasticAdditiveRegressor, VariationalMixedModel
from octavo.plot import (
    plot_caterpillar,
    plot_lower_bounds,
    plot_partial_effects,
    plot_posterior_density,
    plot_prediction_fan,
    plot_probability_transform,
)

rng = np.random.default_rng(0)
clinic = np.repeat(np.arange(60), 5)
age = rng.random((300, 1))
y = rng.poisson(np.exp(0.5 + age[:, 0] + rng.normal(0, 0.5, 60)[clinic]))
model = VariationalMixedModel().fit(age, y, groups=clinic)
for row in model.posterior_summary():
    print(f"{row['name']:>14}: {row['mean']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})")

fig, axes = plt.subplots(1, 3, figsize=(12, 4))
plot_caterpillar(model, ax=axes[0])
plot_posterior_density(model, "sigma2", ax=axes[1])
plot_lower_bounds(model, ax=axes[2])
fig.tight_layout()

# %%
# A response whose mean and standard deviation are both curves of two features.

X = rng.random((400, 2))
z = np.sin(6 * X[:, 0]) + X[:, 1] + np.exp(2 * X[:, 1] - 2.5) * rng.normal(size=400)
curves = HeteroscedasticAdditiveRegressor().fit(X, z)
plot_partial_effects(curves)

# %%
# Intervals of new responses along the second feature, and whether responses fall into their
# predictive laws as they should.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
plot_prediction_fan(curves, X, feature=1, ax=left)
plot_probability_transform(curves, X, z, ax=right)
plt.show()
