"""
Which kernels matter, and how many
==================================

Two Gaussian classes in fifty dimensions, one kernel a feature. In one draw four features are
informative, in another all are. The norm p of the kernels' weights should follow: cross-validation
finds out.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.kernel import LpMKLClassifier, LpMKLClassifierCV, make_mkl_toy
from octavo.plot import plot_kernel_weights, plot_mkl_convergence

for nu in (0.92, 0.0):
    X, y, informative = make_mkl_toy(100, nu, random_state=0)
    X_test, y_test, _ = make_mkl_toy(5000, nu, random_state=1)
    model = LpMKLClassifierCV("linear_per_feature", Cs=(0.001, 0.01, 0.1)).fit(X, y)
    print(
        f"{int(informative.sum())} informative kernels: p = {model.p_:.3g}, "
        f"test error {100 * (1 - model.score(X_test, y_test)):.1f} %"
    )

# %%
# The weights of ten of the kernels, the first four of them informative, as the norm grows.

X, y, _ = make_mkl_toy(100, 0.6, d=10, random_state=0)
fits = {
    f"{p:.3g}": LpMKLClassifier("linear_per_feature", p=p, C=0.1).fit(X, y)
    for p in (1.0, 4 / 3, 2.0, 4.0, np.inf)
}
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_kernel_weights(
    {name: fit.weights_ for name, fit in fits.items()}, fits["2"].kernel_names_, ax=left
)

# %%
# Three ways to the same optimum, each with its duality gap.

plot_mkl_convergence(
    {
        solver: LpMKLClassifier(p=1.2, solver=solver, tol=1e-5).fit(X, y).history_
        for solver in ("wrapper", "silp", "interleaved")
    },
    ax=right,
)
fig.tight_layout()
plt.show()
