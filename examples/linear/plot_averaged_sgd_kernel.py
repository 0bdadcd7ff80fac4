"""
A kernel machine in one pass
============================

Every row adds one term whose weight never changes; in the mean of the iterates early rows count
more than late ones. A budget keeps the terms that matter most.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from octavo.linear import KernelAveragedSGD
from octavo.plot import plot_dual_weights

X, y = make_moons(800, noise=0.15, random_state=0)
X_new, y_new = make_moons(2000, noise=0.15, random_state=1)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
for ax, budget in zip(axes, (None, 60)):
    model = KernelAveragedSGD(gamma=4.0, budget=budget, random_state=0).fit(X, y)
    plot_dual_weights(model, X, ax=ax)
    error = 1 - model.score(X_new, y_new)
    ax.set_title(f"{model.support_.size} rows kept, error {error:.3f}")
    print(f"budget {budget}: {model.support_.size} rows, error {error:.3f}")
plt.show()
