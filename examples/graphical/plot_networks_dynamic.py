"""
Who drives whom, one step later
===============================

Three binary variables over time; the transition network tells which past values matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.graphical import DynamicBNLearner
from octavo.plot import plot_two_slices

rng = np.random.default_rng(0)
sequences = []
for _ in range(50):
    X = rng.integers(0, 2, (20, 3))
    for t in range(1, 20):
        X[t, 1] = X[t - 1, 0] ^ (rng.random() < 0.1)
        X[t, 2] = (X[t, 1] | X[t - 1, 2]) ^ (rng.random() < 0.05)
    sequences.append(X)
learner = DynamicBNLearner().fit(sequences)
print(learner.parents_, learner.optimal_)
plot_two_slices(learner)
plt.show()
