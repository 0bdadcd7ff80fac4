"""
Features of a state
===================

Triangles and Gaussian bumps along one variable, and what tiles make of two.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_state_features, plot_value_map
from octavo.rl import RBFGridFeatures, TileCoding, TriangularFeatures

states = np.linspace(1, 14, 261)[:, None]
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
plot_state_features(states, TriangularFeatures(4).fit_transform(states), ax=left)
plot_state_features(states, RBFGridFeatures(6, width=0.7).fit_transform(states), ax=right)
fig.tight_layout()

# %%
# How many of eight tiles each point of the square shares with its centre: the reach of a lesson.

side = np.linspace(0, 1, 60)
points = np.array([(a, b) for a in side for b in side])
tiles = TileCoding(8, 4, low=0.0, high=1.0).fit(points)
shared = tiles.transform(points) @ tiles.transform([[0.5, 0.5]]).T
plot_value_map(shared.toarray().ravel(), (60, 60)).set_title("tiles shared with the centre")
plt.show()
