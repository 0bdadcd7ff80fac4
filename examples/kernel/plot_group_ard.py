"""
Which groups of columns matter
==============================

Ten groups of four columns, most of them without effect. Group ARD leaves out a group by setting its
variance to zero; the group lasso has to shrink the others to leave out as many.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.kernel import (
    GroupARDRegression,
    GroupLassoEB,
    ImpulseResponseSelector,
    group_variance_path,
    make_group_sparse,
)
from octavo.plot import plot_group_relevance, plot_impulse_responses, plot_variance_path

X, y, theta, groups, _ = make_group_sparse(random_state=0)
true = np.unique(groups[theta != 0]).tolist()
for model in (GroupARDRegression(groups), GroupLassoEB(groups)):
    model.fit(X, y)
    error = np.linalg.norm(model.coef_ - theta) / np.linalg.norm(theta)
    print(f"{type(model).__name__}: error {error:.3f}, groups {model.active_groups_}, truth {true}")

fig, axes = plt.subplots(1, 3, figsize=(13, 3.6))
for ax, method in zip(axes, ("pard", "group-lasso")):
    path = group_variance_path(X, y, groups, method=method)
    plot_variance_path(path, true_groups=true, what="norms", ax=ax)
    ax.set_title(method)
plot_group_relevance(GroupARDRegression(groups).fit(X, y), ax=axes[2])
fig.tight_layout()

# %%
# The lags of an input are a group: inputs that do not act are left out, and the responses of the
# others are smooth under a stable-spline prior.

rng = np.random.default_rng(1)
U = rng.normal(size=(300, 6))
y = np.convolve(U[:, 0], 0.85 ** np.arange(30))[:300]
y -= np.convolve(U[:, 4], 0.6 ** np.arange(30))[:300]
y += rng.normal(size=300)
selector = ImpulseResponseSelector(25, prior="stable-spline", gamma="cv").fit(U, y)
plot_impulse_responses(selector)
plt.show()
