"""
Letters in a mixture
====================

Three letters, each a cloud of points in the plane, are mixed into six signals. Components are found
and grouped without being told that there are three, or of which dimension.
"""

import matplotlib.pyplot as plt

from octavo.data import make_subspace_mixture
from octavo.decomposition import IndependentSubspaceAnalysis, amari_index
from octavo.plot import plot_dependence_matrix, plot_hinton, plot_sources

sample = make_subspace_mixture("letters", n_samples=2000, random_state=0)
model = IndependentSubspaceAnalysis(random_state=0).fit(sample.X)
print("dimensions", model.subspace_dims_.tolist())
index = amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)
print(f"Amari index {index:.3f}")

# %%
# A subspace is found up to an invertible map of itself: letters may be turned or mirrored.
plot_sources(model.transform(sample.X), model.subspaces_)

# %%
# One full block in each row and column: the sources are apart. Components of a subspace depend
# on each other, and on no others.
axes = plt.subplots(1, 2, figsize=(10, 4))[1]
plot_hinton(model.unmixing_ @ sample.mixing, model.subspaces_, sample.subspaces, ax=axes[0])
plot_dependence_matrix(model.dependence_, model.subspaces_, ax=axes[1])
plt.show()
