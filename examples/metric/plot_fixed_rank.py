"""
A distance of low rank in many dimensions
=========================================

Ten classes differ in ten directions of two thousand; other directions vary more and say nothing. A
PCA takes the loud directions first, and what is learned after it comes too late. A metric of the
same rank that is learned in all features finds the ten.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from octavo.data import make_fixed_rank_targets, make_planted_metric
from octavo.metric import FixedRankPSDRegressor, LowRankMahalanobis
from octavo.plot import plot_cost_descent, plot_error_by_rank, plot_form_ellipse, plot_learned_map

X, y, _ = make_planted_metric(500, 2000, random_state=0)
train, test = np.arange(300), np.arange(300, 500)


def error(Z):
    model = KNeighborsClassifier(3).fit(Z[train], y[train])
    return 100 * (1 - model.score(Z[test], y[test]))


ranks, errors, maps = (2, 5, 10), {"learned": [], "PCA": []}, {}
for rank in ranks:
    metric = LowRankMahalanobis(rank, n_pairs=10_000, random_state=0).fit(X[train], y[train])
    pca = PCA(rank, random_state=0).fit(X[train])
    maps[rank] = metric.transform(X)
    errors["learned"].append(error(maps[rank]))
    errors["PCA"].append(error(pca.transform(X)))
    print(
        f"rank {rank}: {errors['learned'][-1]:.1f} % learned, {errors['PCA'][-1]:.1f} % after PCA"
    )

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_error_by_rank(ranks, errors, ax=left)
plot_learned_map(maps[2][test], y[test], ax=right)

# %%
# The matrix behind it can be regressed on directly. Three dimensions, two of them loud: a plane
# that is learned puts all rows on its ellipse, the plane of a PCA cannot.

A, target, _ = make_fixed_rank_targets(200, 3, eigenvalues=(4.0, 3.0, 0.01), random_state=0)
fits = {
    "plane of PCA": FixedRankPSDRegressor(2, lam=0.0, tol=1e-8).fit(A, target),
    "plane learned": FixedRankPSDRegressor(2, tol=1e-8, max_iter=5000).fit(A, target),
}
for name, fit in fits.items():
    print(f"{name}: cost {fit.objective_:.3g} after {fit.n_iter_} steps")

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, fit) in zip(axes, fits.items(), strict=False):
    plot_form_ellipse(fit, A, target, ax=ax)
    ax.set_title(name)
plot_cost_descent({name: fit.cost_history_ for name, fit in fits.items()}, ax=axes[2])

plt.show()
