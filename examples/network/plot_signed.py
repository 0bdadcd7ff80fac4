"""
Friends, foes and the links nobody has seen
===========================================

Five groups like their own and dislike the others, and one link in twenty is known. Cycles of three
or more links tell two camps apart and no more; the matrix of all signs has rank five, and
completing it brings back the signs and the groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_weakly_balanced
from octavo.network import (
    ImbalancePredictor,
    SignedCompletion,
    SignedSpectralClustering,
    balance_report,
    cross_validate_signs,
    embeddedness_curve,
)
from octavo.plot import (
    plot_cycle_surprise,
    plot_embeddedness_curve,
    plot_sign_accuracy,
    plot_signed_matrix,
    plot_signed_spectrum,
)

sizes = [40, 60, 80, 100, 120]
densities = [0.03, 0.06, 0.1, 0.15]
found = {"cycles": [], "completion": []}
for density in densities:
    network = make_weakly_balanced(sizes, density, random_state=0)
    hidden = np.argwhere(np.triu(network.A.toarray() == 0, 1))
    truth = network.truth[tuple(hidden.T)]
    models = {
        "cycles": ImbalancePredictor(order=np.inf),
        "completion": SignedCompletion(5, alpha=1.0, tol=1e-3, random_state=0),
    }
    for name, model in models.items():
        found[name].append(np.mean(model.fit(network.A).predict(hidden) == truth))
    print(density, {name: round(float(values[-1]), 3) for name, values in found.items()})

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
plot_sign_accuracy(densities, found, ax=axes[0])
clusters = SignedSpectralClustering(5, random_state=0).fit(network.A)
plot_signed_matrix(network.A, clusters.labels_, ax=axes[1])
plot_signed_spectrum(SignedCompletion(10, random_state=0, tol=1e-3).fit(network.A), ax=axes[2])
print(clusters.cost_, "links contradict the groups")

# %%
# Is a network balanced at all? Cycles are counted by their signs, beside what chance would give,
# and held-out links show how much of it helps: the more neighbours two nodes share, the better.

noisy = make_weakly_balanced([80, 60], 0.1, noise=0.1, sampling="power_law", random_state=1)
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
plot_cycle_surprise(balance_report(noisy.A), ax=left)
for name, model in {
    "cycles of 3": ImbalancePredictor(order=3),
    "completion": SignedCompletion(2, random_state=0),
}.items():
    scores = cross_validate_signs(model, noisy.A, 5, random_state=0)
    thresholds, accuracy, _ = embeddedness_curve(noisy.A, scores)
    plot_embeddedness_curve(thresholds, accuracy, ax=right, label=name)
    print(name, round(float(scores.accuracy.mean()), 3), round(float(scores.auc.mean()), 3))
plt.show()
