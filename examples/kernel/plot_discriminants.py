"""
Directions in the space of a kernel
===================================

Fisher's discriminant separates three kinds of wine along two directions; the distance from the
kernel principal components of a ring says which points do not belong to it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from octavo.kernel import KernelFisherDiscriminant, KernelPCANovelty, MonomialFeatureMap
from octavo.plot import plot_discriminant_projections, plot_novelty_map

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
fisher = KernelFisherDiscriminant(reg=0.1).fit(X, y)
print("accuracy on new wines", round(fisher.score(X_new, y_new), 3))

# %%
# A ring with noise: inside and outside are both novel.

rng = np.random.default_rng(0)
t = rng.uniform(0, 2 * np.pi, size=150)
ring = np.column_stack([np.cos(t), np.sin(t)]) + 0.08 * rng.normal(size=(150, 2))
novelty = KernelPCANovelty(12, gamma=1.0).fit(ring)
print((-novelty.score_samples([[1.0, 0.0], [0.0, 0.0], [1.6, 0.0]])).round(3))

# %%
# The polynomial kernel, written out.

print(MonomialFeatureMap(2).fit(ring).get_feature_names_out().tolist())

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plot_discriminant_projections(fisher, X_new, y_new, ax=axes[0])
plot_novelty_map(novelty, ring, ax=axes[1])
plt.show()
