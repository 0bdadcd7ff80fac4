"""
Risk groups and their curves
============================

Cox's model ranks patients, the median risk splits the test patients into two groups, and the
log-rank test says whether their Kaplan-Meier curves differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_risk_groups, plot_time_roc
from octavo.survival import (
    CoxRegression,
    MinlipSurvival,
    kaplan_meier,
    logrank_test,
    risk_groups,
    time_dependent_roc,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
time, limit = rng.exponential(np.exp(X[:, 0] - X[:, 1] ** 2 / 2)), rng.exponential(2.0, 400)
y = np.array(
    list(zip(time <= limit, np.minimum(time, limit))), dtype=[("event", bool), ("time", float)]
)
cox = CoxRegression().fit(X[:250], y[:250])
minlip = MinlipSurvival(C=0.1, kernel="componentwise_poly2").fit(X[:250], y[:250])
test = y[250:]
groups = risk_groups(minlip.predict(X[250:]))
curves = {
    name: kaplan_meier(test["event"][groups == k], test["time"][groups == k])
    for k, name in enumerate(("low risk", "high risk"))
}
plot_risk_groups(curves, p_value=logrank_test(test["time"], test["event"], groups)[1])

# %%
# How well the risks tell who has the event by the median time.

at = float(np.median(test["time"]))
plot_time_roc(
    {
        name: time_dependent_roc(test["event"], test["time"], model.predict(X[250:]), at)
        for name, model in (("Cox", cox), ("MINLIP, additive", minlip))
    }
)
plt.show()
