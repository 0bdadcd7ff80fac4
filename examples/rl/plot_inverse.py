"""
What does the controller want?
==============================

A controller listens for a tiger behind one of two doors, and opens one when it is sure enough. From
the controller alone we ask for a reward that explains it, and from logs of what it did and heard.
"""

import warnings

import matplotlib.pyplot as plt

from octavo.plot import plot_controller, plot_inverse_values, plot_reward_bars
from octavo.rl import FSCIRL, PBPISolver, TrajectoryIRL, make_tiger, normalize_reward

tiger = make_tiger()
expert = PBPISolver().solve(tiger)
with warnings.catch_warnings():  # the sparse reward lies on a tie, of which a warning tells
    warnings.simplefilter("ignore")
    model = FSCIRL().fit(tiger, expert)
print("expert:", round(expert.value(tiger), 3), "planned:", round(model.policy_.value(tiger), 3))

fig, axes = plt.subplots(1, 4, figsize=(13, 3.6), width_ratios=(2, 1, 1, 1))
plot_controller(expert, tiger, ax=axes[0])
rewards = {"true": tiger.rewards(), "learned": normalize_reward(model.reward_, tiger.rewards())}
plot_reward_bars(
    rewards, state_names=tiger.state_names, action_names=tiger.action_names, axes=axes[1:]
)
fig.tight_layout()

# %%
# From logs: how many trajectories does it take?

counts, values = (5, 20, 80, 320), {"mmfe": [], "prj": []}
for method, curve in values.items():
    for n in counts:
        logs = tiger.sample(expert, n, 20, random_state=0)
        learned = TrajectoryIRL(method, max_iter=20, random_state=0).fit(tiger, logs)
        curve.append(learned.policy_.value(tiger))
plot_inverse_values(values, expert.value(tiger), at=counts, xlabel="trajectories").set_xscale("log")
plt.show()
