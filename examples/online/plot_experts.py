"""
Combining forecasters without tuning
====================================

Five exponential smoothers predict a series that is first noise around a level, then a random walk:
slow ones are better before the change, fast ones after. `AdaHedge` and `FlipFlop` follow, with
nothing to set and a bound on what that costs.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.online import AdaHedge, ExpertEnsembleRegressor, FlipFlop
from octavo.plot import plot_expert_weights, plot_learning_rate, plot_regret, plot_regret_bounds

rng = np.random.default_rng(0)
n = 600
level = np.concatenate([np.zeros(350), np.cumsum(rng.normal(size=n - 350))])
y = level + rng.normal(scale=np.where(np.arange(n) < 350, 1.0, 0.2))

# %%
# Each column of `forecasts` is an expert. NaN says that it has nothing to say: the third one is
# switched off for a while.

speeds = np.array([0.02, 0.1, 0.3, 0.6, 1.0])
forecasts = np.zeros((n, speeds.size))
for t in range(1, n):
    forecasts[t] = forecasts[t - 1] + speeds * (y[t - 1] - forecasts[t - 1])
forecasts[400:450, 2] = np.nan

ensemble = ExpertEnsembleRegressor(strategy=FlipFlop(), loss="absolute").fit(forecasts, y)
print("mean absolute error of the ensemble:", round(ensemble.loss_, 3))
for speed, loss in zip(speeds, ensemble.expert_loss_):
    print(f"    smoothing by {speed:4.2f}: {loss:.3f}")

# %%
# The same game played by the strategies themselves, on the losses of the forecasters.

awake = ~np.isnan(forecasts)
losses = np.where(awake, np.abs(y[:, None] - forecasts), 0.0)
traces = {
    "AdaHedge": AdaHedge().run(losses, awake),
    "FlipFlop": FlipFlop().run(losses, awake),
}
fig, axes = plt.subplots(2, 2, figsize=(12, 7), layout="constrained")
plot_expert_weights(traces["AdaHedge"], [f"{speed:.2f}" for speed in speeds], ax=axes[0, 0])
plot_learning_rate(traces["FlipFlop"], ax=axes[0, 1])
plot_regret(traces, ax=axes[1, 0])
plot_regret_bounds(traces["AdaHedge"], ["lemma 3", "theorem 8"], ax=axes[1, 1])
plt.show()
