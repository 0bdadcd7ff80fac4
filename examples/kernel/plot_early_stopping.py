"""
Stopping gradient descent in time
=================================

Kernel least squares by gradient descent fits signal first and noise later. How long to go on can be
computed from the kernel's eigenvalues and the size of the noise: no row is held out.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_kinked_curve
from octavo.kernel import (
    KernelGDRegressor,
    bias_variance,
    sobolev_kernel,
    stop_on_curve,
    stopping_time,
    sure_curve,
)
from octavo.plot import (
    plot_bias_variance,
    plot_critical_crossing,
    plot_error_path,
    plot_stopped_fits,
)

n, step = 100, 0.25
X, y, f_star = make_kinked_curve(n, random_state=1)
model = KernelGDRegressor(
    sobolev_kernel(1), step=step, noise=1.0, fit_intercept=False, scale_y=False
).fit(X, y)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
plot_stopped_fits(model, X, y, truth=f_star, ax=left)
plot_critical_crossing(model, ax=right)
fig.tight_layout()

# %%
# The true error along the path, with the times that the rules choose. The constant 2e of the proof
# stops early; 1 is close to the best time.

eigs, U = np.linalg.eigh(np.minimum(X, X.T) / n)
eigs = np.maximum(eigs, 0.0)
z, z_star = U.T @ y, U.T @ f_star
kept = 1.0 - (1.0 - step * eigs) ** np.arange(151)[:, None]
errors = ((kept * z - z_star) ** 2).mean(axis=1)
times = {
    "rule, constant 2e": stopping_time(eigs, n, 1.0, step),
    "rule, constant 1": stopping_time(eigs, n, 1.0, step, 1.0),
    "SURE": stop_on_curve(sure_curve(eigs, z, 1.0, np.full(150, step))),
    "oracle": stop_on_curve(errors),
}
print(times)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
plot_error_path(errors, times, ax=left)
plot_bias_variance(bias_variance(eigs, z_star, 1.0, np.full(150, step)), ax=right)
fig.tight_layout()
plt.show()
