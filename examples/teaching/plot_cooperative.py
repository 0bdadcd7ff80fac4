"""
Teach a rule with a handful of patients
=======================================

Which few patients pin down one rule among all that were possible? Rules here are thresholds on
one of three measurements of the breast cancer data. A learner that merely respects the labels
needs up to five patients; one that knows that they were chosen for it needs two or three.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from octavo.plot import (
    plot_concept_matrix,
    plot_set_sizes,
    plot_teaching_dimensions,
    plot_teaching_hierarchy,
)
from octavo.teaching import ConceptClass, TeachingAnalysis, is_valid_protocol, simulate_protocol

cancer = load_breast_cancer()
patients = np.sort(np.random.RandomState(0).choice(len(cancer.data), 40, replace=False))
rules = ConceptClass.stumps(cancer.data[patients][:, [0, 7, 20]])
print(rules)
models = {}
for kind in ("td", "btd", "std", "rtd"):
    models[kind] = TeachingAnalysis(kind, all_sets=kind == "std").fit(rules)
    print(kind, models[kind].dimension_, "patients at most;", round(models[kind].dims_.mean(), 2))

# %%
# The rule that agrees best with the diagnoses, and the patients that teach it.

malignant = cancer.target[patients] == 0
best = int((rules.matrix == malignant).mean(axis=1).argmax())
for kind in ("td", "rtd"):
    shown = models[kind].teach(best)
    print(rules.concept_names[best], kind, [(int(patients[j]), label) for j, label in shown])

# %%
# Subset teaching sets do not survive honest examples that somebody adds; recursive ones do.

for kind in ("std", "rtd"):
    run = simulate_protocol(models[kind], random_state=0)
    print(kind, is_valid_protocol(models[kind]), round(run.success_rate, 2))

# %%
# Conjunctions: however many variables there are, two examples teach any of them.

monomials = ConceptClass.monomials(2)
fig, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
plot_concept_matrix(TeachingAnalysis("rtd").fit(monomials), ax=axes[0, 0])
plot_teaching_hierarchy(TeachingAnalysis("rtd").fit(monomials), ax=axes[0, 1])
plot_set_sizes(TeachingAnalysis("std").fit(monomials), ax=axes[1, 0])
sizes = (2, 3, 4)
dims = {
    kind.upper(): [TeachingAnalysis(kind).fit(ConceptClass.monomials(m)).dimension_ for m in sizes]
    for kind in ("td", "btd", "std", "rtd")
}
plot_teaching_dimensions(sizes, dims, ax=axes[1, 1])
print(dims)
plt.show()
