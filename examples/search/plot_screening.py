"""
Which knob matters, in sixteen fits
===================================

The published runs of Aleph on mutagenesis: eight of them say that two of four settings matter,
five more climb those. Then the same for a boosted model of scikit-learn.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

from octavo.data import load_ilp_runs
from octavo.plot import (
    plot_ascent,
    plot_effects,
    plot_half_normal,
    plot_main_effects,
    plot_response_surface,
)
from octavo.search import ScreenedSearchCV, response_surface_search

runs = load_ilp_runs("mutagenesis-min")
found = response_surface_search(runs, runs.factors, defaults=runs.defaults, limits=runs.limits)
print("relevant:", found.screening.relevant, "experiments:", found.n_experiments)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_effects(found.screening, ax=left)
plot_response_surface(found.screening, found.path, ax=right)

# %%
# A boosted model with four knobs, on every third row of a table. The settings that do not matter
# keep their defaults.

X, y = load_breast_cancer(return_X_y=True)
space = {
    "learning_rate": (0.01, 0.2, "log"),
    "n_estimators": (5, 40, "int"),
    "max_depth": (1, 4, "int"),
    "subsample": (0.5, 0.9),
}
limits = {"subsample": (0.1, 1.0), "n_estimators": (1, 100), "max_depth": (1, 8)}
model = GradientBoostingClassifier(random_state=0)
search = ScreenedSearchCV(model, space, limits=limits, cv=3, random_state=0).fit(X[::3], y[::3])
print("relevant:", search.relevant_params_, "experiments:", search.n_experiments_)
print("best:", search.best_params_, "final:", search.final_scores_.mean().round(3))

fig, axes = plt.subplots(1, 3, figsize=(14, 4))
plot_main_effects(search.screening_, ax=axes[0])
plot_half_normal(search.screening_, ax=axes[1])
if search.path_ is not None:
    plot_ascent(search.path_, ax=axes[2])
plt.show()
