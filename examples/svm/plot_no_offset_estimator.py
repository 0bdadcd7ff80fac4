"""
A support vector machine without offset
=======================================

Without an offset the dual problem is a box, and the duality gap costs one pass over the samples.
The solver below moves two variables at a time; the gap tells how far from the optimum it is, and
the clipped gap, which suffices for the guarantees of learning theory, is reached much earlier.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from octavo.plot import plot_dual_ascent, plot_offset_boundaries, plot_svm_grid
from octavo.svm import NoOffsetSVC, NoOffsetSVCCV

X, y = make_moons(300, noise=0.25, random_state=0)
machine = NoOffsetSVC(alpha=5e-4, gamma=2.0, stopping="gap", trace=True, random_state=0).fit(X, y)
print(f"{machine.n_iter_} iterations, duality gap {machine.duality_gap_:.2g}")
print(f"training error {1 - machine.score(X, y):.1%}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_dual_ascent(machine, ax=left)
with_offset = SVC(C=1 / (2 * 5e-4 * 300), gamma=2.0).fit(X, y)
plot_offset_boundaries({"without offset": machine, "with offset": with_offset}, X, y, ax=right)

# %%
# The whole grid of regularisations and widths by 10-fold cross-validation: a thousand machines,
# each started from its neighbour's solution.

search = NoOffsetSVCCV(random_state=0).fit(X, y)
print(
    f"best alpha {search.best_alpha_:.2g}, gamma {search.best_gamma_:.2g}; "
    f"{search.time_grid_.sum():.2f} s"
)
plot_svm_grid(search)
plt.show()
