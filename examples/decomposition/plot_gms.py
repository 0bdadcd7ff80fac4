"""
A subspace among outliers
=========================

Half of the rows lie on a plane of dimension five in ten dimensions, the other half anywhere in a
cube. PCA is drawn to the cube; the geometric median subspace finds the plane to the last digit,
tells its dimension, and proves that no other solution is better.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.decomposition import GeometricMedianSubspace, make_outlier_subspace
from octavo.plot import plot_precision_spectrum, plot_residual_histogram

sample = make_outlier_subspace(125, 125, 10, 5, random_state=0)
model = GeometricMedianSubspace().fit(sample.X)


def error(rows):
    return np.linalg.norm(rows.T @ rows - sample.basis @ sample.basis.T)


pca = np.linalg.svd(sample.X, full_matrices=False)[2][:5]
print(f"dimension {model.n_components_}, error {error(model.components_):.0e}")
print(f"error of PCA {error(pca):.2f}")
print(f"duality gap {model.duality_gap_:.0e} of an objective of {model.objective_:.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_precision_spectrum(model.eigenvalues_, n_components=model.n_components_, ax=left)
plot_residual_histogram(-model.score_samples(sample.X), sample.is_inlier, ax=right)
fig.tight_layout()

# %%
# With few outliers the convex problem has too many solutions in its kernel, and a warning says
# so. Artificial outliers help.

few = make_outlier_subspace(100, 20, 100, 20, random_state=0)
for options in ({"variant": "gms2", "random_state": 0}, {"alpha": "bisect", "n_components": 20}):
    found = GeometricMedianSubspace(**options).fit(few.X).components_
    off = np.linalg.norm(found.T @ found - few.basis @ few.basis.T)
    print(f"{options}: dimension {len(found)}, error {off:.0e}")

plt.show()
