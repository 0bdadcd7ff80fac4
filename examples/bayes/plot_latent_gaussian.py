"""
Skewed marginals without sampling
=================================

Counts along a line have a rate that drifts. Expectation propagation finds a Gaussian posterior of
the log rate, and each marginal is corrected for its skewness; the precision of the drift is
integrated out.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.bayes import LatentGaussianModel, rw1
from octavo.plot import plot_hyper_grid, plot_marginal_methods

rng = np.random.default_rng(0)
n = 60
log_rate = np.cumsum(0.35 * rng.standard_normal(n)) - 0.5
counts = rng.poisson(np.exp(log_rate)).astype(float)
counts[40:45] = np.nan  # nobody counted
model = LatentGaussianModel(
    "poisson",
    prior=lambda theta: np.exp(theta[0]) * rw1(n),
    hyperprior=lambda theta: theta[0] - 0.05 * np.exp(theta[0]),
    theta0=[1.0],
).fit(counts)
print(
    f"log evidence {model.log_evidence_:.2f}, {len(model.theta_grid_)} nodes, "
    f"mode of the precision {np.exp(model.theta_mode_[0]):.1f}"
)
figure, axes = plt.subplots(1, 3, figsize=(13, 3.6))
sd = np.sqrt(model.var_)
axes[0].fill_between(range(n), model.mean_ - 2 * sd, model.mean_ + 2 * sd, alpha=0.3)
axes[0].plot(model.mean_)
axes[0].plot(log_rate, "k--", lw=0.8)
axes[0].set(xlabel="place", ylabel="log rate")
lowest = int(np.argmin(model.mean_))
plot_marginal_methods(model, lowest, ax=axes[1])
plot_hyper_grid(model, ax=axes[2])
figure.tight_layout()
plt.show()
