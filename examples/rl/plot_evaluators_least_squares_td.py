"""
The value of a policy from data of another one
==============================================

A cart-pole was driven by a policy with much noise on its actions; what is wanted is the value of
one with little noise. `LSTD` weighs the logged transitions by importance ratios. Weighing whole
transitions has far less variance than the standard way.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_evaluation_curves, plot_parameter_map, plot_trace_weights
from octavo.rl import LSTD, coefficient_path, make_cart_pole, trace_weights

problem = make_cart_pole("imperfect", off_policy=True)
exact = problem.objectives()
logs = [problem.sample(4000, random_state=seed) for seed in range(5)]

curves = {}
for off_policy in ("transition", "standard"):
    paths = [coefficient_path(LSTD(problem.gamma, off_policy=off_policy), log) for log in logs]
    errors = [[np.sqrt(exact.mspbe(theta)) for theta in path.coefs] for path in paths]
    curves[f"{off_policy} weights"] = (paths[0].times, errors)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_evaluation_curves(curves, ylabel="root of the MSPBE", ax=left)
weights = {f"λ = {lam:g}": trace_weights(logs[0], problem.gamma, lam) for lam in (0.0, 0.5)}
plot_trace_weights(weights, ax=right)
fig.tight_layout()

# %%
# Longer traces reduce the bias of features that cannot represent the value, and add variance.
# Here is the error over both parameters, on-policy.

problem = make_cart_pole("imperfect")
log, error = problem.sample(4000, random_state=0), problem.objectives().mse
lams, strengths = np.linspace(0, 1, 6), [1e3, 10.0, 1.0, 0.1, 0.01]
scores = [
    [np.sqrt(error(LSTD(problem.gamma, lam, eps=eps).fit(log).coef_)) for lam in lams]
    for eps in strengths
]
plot_parameter_map(scores, strengths, lams, label="root mean squared error")
plt.show()
