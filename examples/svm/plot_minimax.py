"""
Guarantees from two means and two covariances
=============================================

Two classes, one seen 20 times and one 200 times. The plain minimax machine grows the ellipsoids of
both classes until they touch; the high-probability machine grows ellipsoids that allow for what 20
rows leave open, and moves the hyperplane towards the class that is known better.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import (
    plot_accuracy_by,
    plot_guarantee_by_uncertainty,
    plot_guarantee_curve,
    plot_moment_ellipsoids,
)
from octavo.svm import BiasedMPM, HighProbabilityMPM, MinimaxProbabilityMachine, MinimumErrorMPM

rng = np.random.default_rng(0)
zero = rng.normal(size=(200, 2)) @ [[0.6, -0.6], [0.0, 0.9]] - [2.0, 0.5]
one = rng.normal(size=(20, 2)) @ [[1.2, 0.5], [0.0, 0.5]] + [2.5, 1.0]
X, y = np.concatenate([zero, one]), np.repeat([0, 1], [200, 20])

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), sharex=True, sharey=True)
plot_moment_ellipsoids(MinimaxProbabilityMachine().fit(X, y), X, y, ax=left)
plot_moment_ellipsoids(HighProbabilityMPM().fit(X, y), X, y, ax=right)
fig.tight_layout()

# %%
# The more uncertainty is allowed for, the less is guaranteed; and all that one hyperplane can
# guarantee both classes is a curve, on which every machine picks a point.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_guarantee_by_uncertainty(HighProbabilityMPM(), X, y, ax=left)
machines = {
    "minimax": MinimaxProbabilityMachine().fit(X, y),
    "biased: 95 % of class 0": BiasedMPM(0.95).fit(X, y),
    "minimum error": MinimumErrorMPM().fit(X, y),
}
frontier = [BiasedMPM(a).fit(X, y) for a in np.linspace(0.0, 0.98, 80)]
plot_guarantee_curve(frontier, machines, ax=right)
fig.tight_layout()

# %%
# Accuracy on 40 features as the training sample grows: the uncertainty pays where rows are few.


def accuracies(make, sizes, n_repeats=20):
    scores = np.empty((len(sizes), n_repeats))
    for i, size in enumerate(sizes):
        for repeat in range(n_repeats):
            draw = np.random.default_rng(repeat)
            labels = draw.permutation(np.arange(size + 1000) % 2)
            rows = draw.normal(size=(size + 1000, 40)) + 0.2 * labels[:, None]
            model = make().fit(rows[:size], labels[:size])
            scores[i, repeat] = model.score(rows[size:], labels[size:])
    return scores


sizes = [20, 40, 80, 160]
found = {
    "HighProbabilityMPM": accuracies(HighProbabilityMPM, sizes),
    "MinimaxProbabilityMachine": accuracies(MinimaxProbabilityMachine, sizes),
}
plot_accuracy_by(sizes, found, xlabel="training rows")
print({name: scores.mean(axis=1).round(3).tolist() for name, scores in found.items()})
plt.show()
