"""
A search that bends itself into a valley
========================================

`XNES` on Rosenbrock's function: the Gaussian from which it draws stretches along the valley and
shrinks at its end. Then the same task in ten dimensions, with and without a self-tuned rate.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_search_distributions, plot_search_progress, plot_search_rate
from octavo.search import XNES, minimize_nes


def rosenbrock(X):
    return np.sum(100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1 - X[:, :-1]) ** 2, axis=1)


search = XNES([-1.5, 2.0], 0.4, random_state=1)
states = []
for generation in range(120):
    X = search.ask()
    search.tell(X, rosenbrock(X))
    if generation % 6 == 0:
        states.append((search.mean_.copy(), search.cov_))

fig, ax = plt.subplots(figsize=(7, 5))
grid = np.stack(np.meshgrid(np.linspace(-2.2, 1.8, 200), np.linspace(-0.8, 3.2, 200)), axis=-1)
height = rosenbrock(grid.reshape(-1, 2)).reshape(200, 200)
ax.contour(*grid.transpose(2, 0, 1), np.log1p(height), levels=12, colors="0.8", linewidths=0.7)
plot_search_distributions(states, ax=ax)

# %%
# The learning rate rises where the function is easy and falls in the bend of the valley.

results = {
    name: minimize_nes(
        rosenbrock, np.zeros(10), ftarget=1e-10, adapt=adapt, vectorized=True, random_state=0
    )
    for name, adapt in (("xNES", False), ("xNES-as", True))
}
for name, result in results.items():
    print(f"{name}: {result.nfev} evaluations, {result.message}")
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_search_progress(results, ax=left)
plot_search_rate(results, ax=right)
plt.show()
