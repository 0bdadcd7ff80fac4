"""
What a Bellman residual prefers
===============================

With one sample of each next state, `BRM` minimises squared temporal differences, which punishes
the noise of the transitions together with the error. A second, independent sample removes that
bias; traces reduce it.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_evaluation_curves
from octavo.rl import BRM, LSTD, coefficient_path, make_boyan

problem = make_boyan()
exact = problem.objectives()
logs = [problem.sample(3000, double=True, random_state=seed) for seed in range(5)]
models = {
    "BRM": BRM(problem.gamma),
    "BRM, double samples": BRM(problem.gamma, double_sample=True),
    "BRM(0.8)": BRM(problem.gamma, 0.8),
    "LSTD": LSTD(problem.gamma),
}
curves = {}
for name, model in models.items():
    paths = [coefficient_path(model, log) for log in logs]
    errors = [[np.sqrt(exact.mse(theta)) for theta in path.coefs] for path in paths]
    curves[name] = (paths[0].times, errors)
plot_evaluation_curves(curves)
plt.show()
