"""
The smallest ellipse around points, and the best experiments
============================================================

One solver, two uses: a tight ellipse around a cloud, and the D-optimal design for fitting a cubic.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.decomposition import min_volume_ellipsoid
from octavo.plot import plot_contact_ellipsoid

points = np.random.default_rng(0).standard_normal((300, 2)) @ [[2.0, 1.0], [0.0, 0.7]] + 5
found = min_volume_ellipsoid(points, centered=False)
print(f"{len(found.active)} of 300 points touch it, duality gap {found.gap:.0e}")
plot_contact_ellipsoid(points, found.L, found.active, center=found.center)

# %%
# Where to measure on [-1, 1] to fit a cubic as well as possible? At four points, equally often:
# the ends, and ±1/√5 between them.

x = np.linspace(-1, 1, 2_001)
design = min_volume_ellipsoid(np.vander(x, 4))
for i in design.active:
    print(f"x = {x[i]:+.3f}, weight {design.weights[i]:.3f}")
plt.show()
