"""
Clusters as hard as you want them
=================================

A mixture whose largest overlap is exactly what was asked for, a data set drawn from it, and a
referee that shows how four algorithms fare as the overlap grows.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import AgglomerativeClustering, KMeans

from octavo.cluster import ClusteringReferee, make_overlap_mixture
from octavo.plot import plot_mixture, plot_overlap_map, plot_parallel_distribution, plot_referee

mixture = make_overlap_mixture(5, 4, max_omega=0.05, random_state=3)
overlap = mixture.overlap_map()
print(f"largest overlap {overlap.maximum:.6f} of components {overlap.pair}")

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
plot_mixture(mixture, *mixture.sample(400, random_state=0), ax=left)
plot_overlap_map(overlap, ax=middle)
plot_parallel_distribution(mixture, ax=right)

# %%
# Single linkage follows chains of points between clusters and collapses first.

referee = ClusteringReferee(
    {
        "Ward": AgglomerativeClustering(),
        "average": AgglomerativeClustering(linkage="average"),
        "single": AgglomerativeClustering(linkage="single"),
        "k-means": KMeans(n_init=5),
    },
    overlaps=[0.001, 0.01, 0.1, 0.3],
    n_datasets=10,
)
referee.run()
print(referee.summary().pivot(index="overlap", columns="clusterer", values="median").round(2))
plot_referee(referee)
plt.show()
