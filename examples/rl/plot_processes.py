"""
The value of every cell of a grid world
=======================================

An agent heads for the goal and is blown off course now and then. The model is known, so that the
value of every position is one linear system.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_value_map
from octavo.rl import make_grid_world

fig, axes = plt.subplots(1, 2, figsize=(10, 4))
for ax, noise in zip(axes, (0.0, 0.2)):
    world = make_grid_world(noise=noise)
    goal = int(np.flatnonzero(world.mdp.terminal)[0])
    plot_value_map(world.value_, (15, 15), marks={"*": [goal]}, ax=ax)
    ax.set_title(f"wind {noise:g}")
fig.tight_layout()

# %%
# What a log of 20,000 steps would let an estimator see: how often each cell is left.

world = make_grid_world()
walk = world.mdp.simulate(20_000, world.policy, random_state=0)
seen = np.bincount(walk.states, minlength=225) / len(walk.states)
print(f"largest difference from the exact frequencies: {np.abs(seen - world.weights_).max():.4f}")
plot_value_map(world.weights_, (15, 15)).set_title("share of steps")
plt.show()
