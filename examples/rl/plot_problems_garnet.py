"""
Eight methods on random problems
================================

Garnet problems are drawn at random, methods are tuned on some of them and tested on others. Here
with the least-squares methods only, off-policy, on few problems.
"""

import matplotlib.pyplot as plt

from octavo.plot import plot_error_by_lambda, plot_evaluation_curves
from octavo.rl import garnet_evaluators, garnet_study

methods = {name: garnet_evaluators()[name] for name in ("LSTD", "LSPE", "FPKF", "BRM")}
study = garnet_study(
    off_policy=True, methods=methods, n_tune=10, n_test=10, test_steps=20_000, choose="median"
)
for name, scores in study.tuning.items():
    best = scores[0]
    print(f"{name}: λ = {best.settings['lam']:g}, median {best.median:.2f}, mean {best.mean:.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_error_by_lambda(study.tuning, ax=left)
plot_evaluation_curves(study.curves, ax=right)
fig.tight_layout()
plt.show()
