"""
Balance a pole in ten trials
============================

A controller has four parameters, and each trial costs an episode. A Gaussian process over the
parameters alone is compared with one whose prior mean is a simulator, learnt from the trials.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_model_weight, plot_policy_search, plot_return_posterior
from octavo.rl import CartPole, TrajectoryBO

cart, n_trials = CartPole(horizon=400), 9
returns = {}
for name, mean in (("parameters alone", "zero"), ("with a learnt simulator", "model")):
    runs = []
    for seed in range(3):
        search = TrajectoryBO(cart.make_policy(), (-1, 1), "se", mean, random_state=seed)
        search.run(cart, n_trials)
        runs.append([record["value"] for record in search.history_])
    returns[name] = np.array(runs)

fig, axes = plt.subplots(1, 2, figsize=(10, 4))
plot_policy_search(returns, ax=axes[0])
plot_model_weight(search, ax=axes[1])
fig.tight_layout()

# %%
# What is believed of the return along one parameter, the gain on the angle, and the best policy.

plot_return_posterior(search, np.linspace(-1, 1, 60), parameter=2)
print("best parameters:", search.best_params_.round(2), "return:", round(search.best_value_))
plt.show()
