"""
The path of the Dantzig selector
================================

Two hundred features and fifty samples; four features matter. One call follows the coefficients
from the largest λ, where all are zero, to the λ asked for.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.linear import DantzigSelector
from octavo.plot import plot_l1_path

rng = np.random.default_rng(0)
X = rng.standard_normal((50, 200))
y = X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + 0.5 * rng.standard_normal(50)
model = DantzigSelector(alpha=0.1).fit(X, y)
print(f"{len(model.path_.alphas)} breakpoints, duality gap {abs(model.duality_gap_):.0e}")
plot_l1_path(model.path_)
plt.show()
