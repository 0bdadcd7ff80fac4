"""
How good is an entropy?
=======================

Estimates of the same entropy by three methods, for growing samples, beside the true value; and the
bias of nearest neighbours over their number and the dimension.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.info import (
    EdgeworthEntropy,
    KnnShannonEntropy,
    Normal,
    VoronoiEntropy,
    quick_test,
)
from octavo.plot import plot_bias_map, plot_estimate_by_size

p = Normal([0, 0], [[1, 0.5], [0.5, 1]])
sizes = [100, 300, 1000, 3000]
methods = {
    "neighbours": KnnShannonEntropy(),
    "Voronoi cells": VoronoiEntropy(),
    "Edgeworth": EdgeworthEntropy(),
}
tests = {name: [quick_test(e, p, n=n) for n in sizes] for name, e in methods.items()}
truth = tests["neighbours"][0].truth
for name, results in tests.items():
    print(f"{name:14} bias {results[-1].bias:+.4f}, deviation {results[-1].deviation:.4f}")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
plot_estimate_by_size(
    {k: [r.estimates for r in v] for k, v in tests.items()}, sizes, truth, ax=left
)

ks, dimensions = [1, 3, 10], [1, 2, 4, 8]
bias = [
    [
        quick_test(KnnShannonEntropy(n_neighbors=k), Normal(np.zeros(d), np.eye(d))).bias
        for d in dimensions
    ]
    for k in ks
]
plot_bias_map(bias, ks, dimensions, ax=right)
plt.show()
