"""
Gradient methods on their way to the fixed point
================================================

On a chain of seven states with two features, the coefficients of `TD`, `TDC` and `GTD2` travel
across the objective that they minimise; `LSTD` is there after a few transitions.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_evaluation_curves, plot_objective_paths
from octavo.rl import GTD2, LSTD, TD, TDC, coefficient_path, make_boyan

problem = make_boyan(7, 2, gamma=1.0)
log, exact = problem.sample(4000, random_state=0), problem.objectives()
models = {
    "TD": TD(1.0, learning_rate=0.05),
    "TDC": TDC(1.0, learning_rate=0.05),
    "GTD2": GTD2(1.0, learning_rate=0.2),
    "LSTD": LSTD(1.0),
}
paths = {name: coefficient_path(model, log, 100) for name, model in models.items()}

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_objective_paths(
    exact.mspbe,
    {name: np.vstack([np.zeros(2), path.coefs]) for name, path in paths.items()},
    other=exact.mse,
    ax=left,
)
plot_evaluation_curves(
    {
        name: (path.times, [np.sqrt(exact.mse(theta)) for theta in path.coefs])
        for name, path in paths.items()
    },
    ax=right,
)
fig.tight_layout()
plt.show()
