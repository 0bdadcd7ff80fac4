"""
Hidden causes behind a questionnaire
====================================

A survey of 20 disorders in which three hidden features raise the odds of all, of the first seven
and of the next seven. The sampler finds how many there are, who has them and what they change.
"""

import matplotlib.pyplot as plt

from octavo.bayes import IBPCategorical, comorbidity_report
from octavo.data import make_disorder_survey
from octavo.plot import (
    plot_buffet_sweeps,
    plot_feature_matrix,
    plot_feature_pairs,
    plot_feature_patterns,
    plot_feature_profiles,
)

X, Z = make_disorder_survey(1500, random_state=0)
model = IBPCategorical(n_iter=40, burn_in=20, null_pattern=0, random_state=0).fit(X)
print(model.n_features_, model.feature_probs_.round(3))

# %%
# What a feature changes: probabilities with no feature, and with one alone.

report = comorbidity_report(model)
fig, (top, bottom) = plt.subplots(2, 1, figsize=(9, 7), layout="constrained")
plot_feature_profiles(report, ax=top)
plot_feature_profiles(report, ratio=True, ax=bottom)

# %%
# Which features go together, and how the chain went.

fig, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
plot_feature_pairs(report, ax=axes[0, 0])
plot_feature_patterns(report, ax=axes[0, 1])
plot_buffet_sweeps(model, ax=axes[1, 0])
plot_feature_matrix(model, ax=axes[1, 1])
plt.show()
