"""
Repairing the output of a tagger by search
==========================================

A classifier tags a sequence position after position. Its errors breed errors. Search among complete
outputs, with a learned cost, repairs many of them, and more steps repair more.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_high_order_markov
from octavo.plot import (
    plot_anytime_curves,
    plot_classifier_errors,
    plot_search_losses,
    plot_search_trajectory,
)
from octavo.structured import OutputSpaceSearchClassifier, search_report

X, y = make_high_order_markov(120, order=2, sigma=0.5, random_state=0)
truth = np.concatenate(y[80:])
models = {
    space: OutputSpaceSearchClassifier(space=space, n_epochs=10, random_state=0).fit(X[:80], y[:80])
    for space in ("lds", "flipbit")
}
curves = {}
for space, model in models.items():
    for k in (None, 2):
        answers = model.set_params(sparse_k=k).predict_anytime(X[80:])
        name = space if k is None else f"{space}-{k}"
        curves[name] = [np.mean(np.concatenate(answer) == truth) for _, answer in answers]
        print(f"{name}: {curves[name][0]:.1%} before search, {curves[name][-1]:.1%} after")
    model.set_params(sparse_k=None)

plot_anytime_curves(curves)

# %%
# The way of one search. Framed labels changed; green ones are right.

steps = [answer[0] for _, answer in models["lds"].predict_anytime(X[80:81], n_steps=8)]
plot_search_trajectory(steps, truth=y[80])

# %%
# Where the remaining loss comes from: outputs that the search never met, and outputs that it met
# and did not choose. On the right the classifier's errors, sequence by sequence.

reports = {space: search_report(model, X[80:], y[80:]) for space, model in models.items()}
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
plot_search_losses(reports, ax=left)
plot_classifier_errors(reports["lds"], ax=right)
fig.tight_layout()
plt.show()
