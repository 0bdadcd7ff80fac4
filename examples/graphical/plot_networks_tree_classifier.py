"""
A classifier that can be read
=============================

A tree-augmented naive network on features of which some tell nothing, and some tell only together.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.graphical import NaiveBayesSelect, TANClassifier
from octavo.plot import plot_bayesian_network

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 600)
a = rng.integers(0, 2, 600)
X = np.column_stack([a, a ^ y ^ (rng.random(600) < 0.1), rng.integers(0, 3, (600, 3))])
naive, tree = NaiveBayesSelect().fit(X, y), TANClassifier().fit(X, y)
print(f"naive {naive.score(X, y):.2f}, tree {tree.score(X, y):.2f}, kept {tree.support_}")
plot_bayesian_network(tree)
plt.show()
