"""
Features for some tasks, not for all
====================================

Twenty tasks, two thousand features, a hundred rows. One feature serves all tasks, others fifteen,
ten or five of them, and each task has some of its own. Description length finds what is shared by
whom, in one pass and without a penalty to choose.
"""

import matplotlib.pyplot as plt

from octavo.data import make_grouped_features, make_shared_features
from octavo.linear import MICGroup, MICSelector
from octavo.plot import plot_description_length, plot_support_map

sample = make_shared_features("partial", random_state=0)
model = MICSelector().fit(sample.X, sample.Y)
print(f"{len(model.order_)} features, {int(model.support_.sum())} coefficients")
plot_support_map(model.support_, truth=sample.coef.T != 0)
plt.show()

# %%
# Each step saves more bits on the data than its part of the model takes.

plot_description_length(model)
plt.show()

# %%
# Features in groups, of which a small one holds all that matter.

grouped = make_grouped_features("unequal", random_state=0)
for scheme in ("switch", "ric"):
    found = MICGroup(grouped.groups, scheme=scheme).fit(grouped.X, grouped.y)
    print(f"{scheme}: {int(found.support_[:7].sum())} of 7 features")
