"""
Which knob matters, in a dozen runs
===================================

The published runs of Aleph on mutagenesis: eight of them say that two of four settings matter,
five more climb those. Then the same for an estimator of scikit-learn.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.svm import SVC

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
# A support vector machine on wines that nobody scaled. What does not matter keeps its default.

X, y = load_wine(return_X_y=True)
space = {"C": (0.1, 10, "log"), "gamma": (1e-4, 1e-2, "log"), "tol": (1e-4, 1e-2, "log")}
search = ScreenedSearchCV(SVC(), space, cv=3, random_state=0).fit(X, y)
print("relevant:", search.relevant_params_, "experiments:", search.n_experiments_)
print("best:", search.best_params_, "final:", search.final_scores_.mean().round(3))

fig, axes = plt.subplots(1, 3, figsize=(14, 4))
plot_main_effects(search.screening_, ax=axes[0])
plot_half_normal(search.screening_, ax=axes[1])
if search.path_ is not None:
    plot_ascent(search.path_, ax=axes[2])
plt.show()
