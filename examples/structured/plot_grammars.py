"""
A grammar without trees
=======================

Sentences of a random grammar that allows few kinds of dependencies, and what is learned from their
tags alone: by EM, and with a price on every kind of dependency that is used.
"""

import matplotlib.pyplot as plt

from octavo.data import make_sparse_grammar
from octavo.plot import (
    plot_dependency_arcs,
    plot_dependency_kinds,
    plot_grammar_bounds,
    plot_sigma_path,
)
from octavo.structured import DMV, attachment_score, dependency_error_table

sequences, heads, grammar = make_sparse_grammar(300, random_state=0)
truth = DMV().fit_supervised(sequences, heads)
models = {
    "EM": DMV(n_iter=40).fit(sequences),
    "PR-S": DMV(learning="pr-s", sigma=3.0, n_iter=40).fit(sequences),
}

# %%
# Too many kinds of dependencies by EM (green), against those of the grammar counted from trees.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.5))
known = truth.predict_proba(sequences)
for ax, (name, model) in zip(axes, models.items()):
    found = model.predict_proba(sequences)
    plot_dependency_kinds(found, sequences, reference=known, ax=ax)
    right = attachment_score(heads, model.predict(sequences))
    ax.set_title(f"{name}: {100 * right:.0f} % of heads right")
fig.tight_layout()

# %%
# One sentence, with the chance of each edge above it and the true tree below.

which = next(q for q, s in enumerate(sequences) if 5 <= len(s) <= 7)
fig, axes = plt.subplots(1, 2, figsize=(13, 4))
for ax, (name, model) in zip(axes, models.items()):
    proba = model.predict_proba([sequences[which]])[0]
    plot_dependency_arcs(sequences[which], proba, heads=heads[which], ax=ax)
    ax.set_title(name)
print(dependency_error_table(sequences, heads, models["EM"].predict(sequences), n_rows=3))

# %%
# The bounds of both rise all the way; accuracy and ambiguity as the price grows.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_grammar_bounds(models, ax=left)
sigmas, accuracies, ambiguities = (0.0, 1.0, 3.0, 10.0, 30.0), [], []
for sigma in sigmas:
    model = DMV(learning="pr-s", sigma=sigma, n_iter=30).fit(sequences)
    accuracies.append(attachment_score(heads, model.predict(sequences)))
    ambiguities.append(model.ambiguity_)
plot_sigma_path(sigmas, accuracies, ambiguities, ax=right)
fig.tight_layout()
plt.show()
