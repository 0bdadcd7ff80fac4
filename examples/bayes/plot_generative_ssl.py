"""
Unlabelled rows that cannot hurt
================================

Two classes that share two heaps, so that one Gaussian a class cannot fit them, and one label in
forty. Maximum likelihood of all rows finds the heaps and forgets the labels; with the unbiased
weight unlabelled rows leave the optimum where all labels would put it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_wine

from octavo.bayes import (
    SemiSupervisedGenerativeClassifier,
    bias_bounds,
    kl_decomposition,
    semi_supervised_study,
    unlabelled_value,
)
from octavo.plot import (
    plot_bias_bounds,
    plot_class_densities,
    plot_improvement_bars,
    plot_unlabelled_curves,
)

rng = np.random.RandomState(0)
truth = rng.randint(0, 2, 1200)
heap = rng.choice([-3.0, 3.0], 1200)
X = rng.standard_normal((1200, 2)) + np.column_stack([heap, 2.0 * truth - 1.0])
y = np.where(np.arange(1200) < 30, truth, -1)

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for objective, ax in zip(("labelled", "ml", "unbiased"), axes, strict=True):
    model = SemiSupervisedGenerativeClassifier(objective=objective, random_state=0).fit(X, y)
    nll = -model.predict_joint_log_proba(X)[np.arange(1200), truth].mean()
    print(objective, round(nll, 2), round(model.score(X, truth), 2))
    plot_class_densities(model, X, y, ax=ax)
    ax.set_title(f"{objective}: NLL {nll:.2f}")
value = unlabelled_value(model, X[:30], y[:30], 1170, random_state=0)
print("unlabelled rows steady the estimate:", value.helps)

# %%
# On real rows: the test NLL of wine as labels are taken away, and how often each objective beats
# the labelled rows alone.

study = semi_supervised_study(
    *load_wine(return_X_y=True),
    labelled_fractions=(0.1,),
    unlabelled_fractions=(0.1, 0.4, 0.8),
    n_repeats=5,
    n_init=0,
    random_state=0,
)
print({name: round(nll, 2) for name, (nll, _) in study.means().items()})
fig, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
plot_unlabelled_curves(study, ax=left)
left.set_yscale("symlog")
plot_improvement_bars(study, ax=middle)


# %%
# Why: a table of two classes and two features that depend on each other, fitted by a model in
# which they do not. Maximum likelihood drifts from the best model as labels go missing, between the
# bounds that theory gives.


def independent(theta):
    prior, chance = 1 / (1 + np.exp(-theta[0])), 1 / (1 + np.exp(-theta[1:].reshape(2, 2)))
    parts = [np.outer([1 - a, a], [1 - b, b]).ravel() for a, b in chance]
    return np.column_stack([(1 - prior) * parts[0], prior * parts[1]])


P = rng.dirichlet(np.full(8, 0.7)).reshape(4, 2)
starts = rng.standard_normal((8, 5))


def fit(share):
    runs = [
        minimize(lambda t: kl_decomposition(P, independent(t), share).semi_supervised, start)
        for start in starts
    ]
    return kl_decomposition(P, independent(min(runs, key=lambda run: run.fun).x), share).joint


shares = [0.0, 0.3, 0.6, 0.9]
joint = [fit(share) for share in shares]
print([round(value, 4) for value in joint], "at 0.9 between", bias_bounds(joint[0], 0.9))
plot_bias_bounds(shares, joint, joint[0], ax=right)
plt.show()
