"""
A linear program with a parameter
=================================

A diet of four foods must cover three needs at the least cost. How does it change as each need may
fall short by λ? `parametric_simplex` answers for every λ at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.linear import parametric_simplex
from octavo.plot import plot_lp_path

foods = ["lentils", "bread", "cheese", "cabbage"]
content = np.array(  # of each need in each food
    [
        [9.0, 3.0, 7.0, 1.0],  # protein
        [6.0, 5.0, 0.5, 1.5],  # carbohydrates
        [0.5, 0.1, 0.5, 4.0],  # vitamins
    ]
)
need, cost = np.array([30.0, 25.0, 10.0]), np.array([2.5, 1.0, 4.0, 1.2])
path = parametric_simplex(-content, -need, -cost, b_star=np.ones(3), c_star=np.zeros(4))
for lam in path.lambdas:
    print(f"lam = {lam:5.2f}: {np.round(path.at(lam), 2)}, cost {cost @ path.at(lam):.2f}")
plot_lp_path(path, names=foods)
plt.show()
