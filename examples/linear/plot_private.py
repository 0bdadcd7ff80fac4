"""
What privacy costs
==================

Twenty thousand records with ten features train a classifier that is to be published. The noise
that hides each person shrinks with epsilon and with the penalty; objective perturbation needs
less of it than output perturbation.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.linear import (
    PrivacyLedger,
    PrivateHuberSVM,
    PrivateLogisticRegression,
    PrivateModelSelector,
    log_density_ratio,
    privacy_audit,
    worst_case_neighbours,
)
from octavo.plot import plot_error_by_epsilon, plot_privacy_budget, plot_privacy_loss

rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 10))
X /= np.maximum(1, np.linalg.norm(X, axis=1) / 3)[:, None]  # public knowledge: no norm above 3
y = X @ rng.normal(size=10) + rng.logistic(size=40_000) > 0
X, y, X_test, y_test = X[:20_000], y[:20_000], X[20_000:], y[20_000:]


def error(model):
    return 1 - model.fit(X, y).score(X_test, y_test)


epsilons = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
errors = {
    method: [
        [
            error(PrivateLogisticRegression(epsilon, method, data_norm=3.0, alpha=0.01))
            for _ in range(5)
        ]
        for epsilon in epsilons
    ]
    for method in ("output", "objective")
}
plain = error(PrivateLogisticRegression(np.inf, data_norm=3.0, alpha=0.01))
plot_error_by_epsilon(epsilons, errors, lines={"no privacy": plain, "constant": y_test.mean()})

# %%
# The penalty is chosen privately, and everything is charged to a ledger that refuses to be
# overdrawn.

ledger = PrivacyLedger(1.0)
model = PrivateLogisticRegression(0.4, data_norm=3.0, ledger=ledger).fit(X, y)
selector = PrivateModelSelector(
    PrivateHuberSVM(data_norm=3.0),
    epsilon=0.5,
    param_grid={"alpha": [1e-3, 1e-2, 1e-1]},
    ledger=ledger,
).fit(X, y)
print(f"chosen: {selector.best_estimator_.alpha}, error {1 - selector.score(X_test, y_test):.3f}")
print(ledger)
plot_privacy_budget(ledger)

# %%
# That epsilon is what it says can be computed: on the worst pair of data sets that differ in one
# record, the logarithm of the quotient of the two densities stays within the band, and no
# published model can tell them apart better.

audited = PrivateHuberSVM(1.0, alpha=0.01)
worst = worst_case_neighbours(audited, n_samples=500)
loss = privacy_audit(audited, worst.data, worst.neighbour, points=[worst.coef])
print(f"largest privacy loss found: {loss:.3f}, promised: {audited.epsilon}")
position = np.linspace(-1, 3, 801)
line = np.column_stack([position, np.full(801, worst.coef[1])])
curve = log_density_ratio(audited, worst.data, worst.neighbour, line)
plot_privacy_loss(position, {"Huber SVM": curve}, audited.epsilon)
plt.show()
