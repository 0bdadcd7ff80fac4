"""
A linear program with a parameter
=================================

A diet of three foods must cover two needs at the least cost. How does it change as the needs are
met to within λ only? `parametric_simplex` answers for every λ at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.graphical import parametric_simplex
from octavo.plot import plot_lp_path

content = np.array([[2.0, 1.0, 0.5], [0.5, 1.0, 3.0]])  # of each need in each food
need, cost = np.array([10.0, 14.0]), np.array([3.0, 2.2, 4.0])
path = parametric_simplex(-content, -need, -cost, b_star=[1.0, 1.0], c_star=[0.0, 0.0, 0.0])
for lam in path.lambdas:
    print(f"lam = {lam:5.2f}: {np.round(path.at(lam), 2)}, cost {cost @ path.at(lam):.2f}")
plot_lp_path(path, names=["lentils", "bread", "cheese"])
plt.show()
