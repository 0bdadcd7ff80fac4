"""
Kernels in families
===================

Three modalities see the same samples, each through five widths. Sparse kernel learning may drop a
modality, the norm q = ∞ keeps all of them; the weights show how.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.kernel import SimpleMKLClassifier, VSKLClassifier, make_modalities
from octavo.plot import plot_gap_by_machines, plot_group_weights

X, y, groups = make_modalities(150, (2.0, 1.5, 1.0), random_state=0)
X_test, y_test, _ = make_modalities(3000, (2.0, 1.5, 1.0), random_state=1)
kernels = [
    (f"{j}: {gamma:g}", "rbf", {"gamma": gamma, "columns": np.flatnonzero(groups == j)})
    for j in range(3)
    for gamma in 10.0 ** np.arange(-4.0, 1.0)
]
names = ["strong", "middle", "weak"]
fig, axes = plt.subplots(1, 3, figsize=(11, 3.5))
for ax, q in zip(axes, (0.5, 1.0, np.inf)):
    model = VSKLClassifier(kernels, q=q, C=300.0).fit(X, y)
    plot_group_weights(model.lambda_, model.gamma_, q=q, names=names, ax=ax)
    ax.set_title(f"q = {q:g}: {100 * model.score(X_test, y_test):.1f} % right")
fig.tight_layout()

# %%
# With one group it is ordinary sparse kernel learning, and the gap falls faster than SimpleMKL's.

fits = {
    "mirror descent": VSKLClassifier(kernels, groups="one").fit(X, y),
    "SimpleMKL": SimpleMKLClassifier(kernels).fit(X, y),
}
for name, model in fits.items():
    print(f"{name}: objective {model.objective_:.1f} after {model.n_svm_calls_} machines")
plot_gap_by_machines({name: model.history_ for name, model in fits.items()})
plt.show()
