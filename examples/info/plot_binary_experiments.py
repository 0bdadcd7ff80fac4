"""
Risk curves, weights over costs, and how far two classes lie apart
==================================================================

A screening test for cancer misses a tumour or alarms for nothing, and the two do not cost the same.
The risk curve of its scores shows the least risk for every ratio of the costs, a weight over costs
turns it into one number, and the same curve tells how far the classes lie apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from octavo.info import (
    CostCurveDivergence,
    CsiszarDivergence,
    ProperLoss,
    WitnessClassifier,
    pinsker_bound,
    risk_curve,
    threshold_risk,
    weighted_risk,
)
from octavo.plot import (
    plot_cost_weights,
    plot_partial_losses,
    plot_pinsker_bounds,
    plot_risk_curve,
    plot_roc_dual,
    plot_witness,
)

# %%
# The score of naive Bayes, held out, and its own probabilities: overconfident, so that the curve of
# the forecast lies above what its score could do. A point of the risk curve is a line of the ROC
# diagram.
X, y = load_breast_cancer(return_X_y=True)
sick = 1 - y
proba = cross_val_predict(GaussianNB(), X, sick, cv=5, method="predict_proba")[:, 1]
curve = risk_curve(sick, proba)
costs = np.linspace(0, 1, 401)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_risk_curve(curve, forecast=threshold_risk(sick, proba, costs), mark=0.2, ax=left)
plot_roc_dual(curve, mark=0.2, ax=right)

# %%
# A missed tumour is some four times as bad as a false alarm, give or take: a weight around c = 0.2.
# It makes a proper loss, by which forecasts are scored, and an area in place of the AUC.
screening = ProperLoss.from_weight(lambda c: 30 * c * (1 - c) ** 4)
logistic = make_pipeline(StandardScaler(), LogisticRegression())
better = cross_val_predict(logistic, X, sick, cv=5, method="predict_proba")[:, 1]
for name, forecast in (("naive Bayes", proba), ("logistic regression", better)):
    best = weighted_risk(risk_curve(sick, forecast), screening)
    print(f"{name}: loss {screening.score(sick, forecast):.4f}, calibrated {best:.4f}")
losses = {name: ProperLoss.from_name(name) for name in ("log", "square", "boosting")}
losses["screening"] = screening
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_cost_weights(losses, ax=left)
plot_partial_losses(losses, ax=right)
right.set_ylim(0, 3)

# %%
# How far do threes lie from eights? A classifier's cost curve estimates any f-divergence, costs
# beyond 0.1 % left out; a few points of the curve bound it from below.
digits = load_digits()
threes, eights = (digits.data[digits.target == k] / 16 for k in (3, 8))
for name in ("variational", "jensen_shannon", "kl"):
    found = CostCurveDivergence(divergence=name, random_state=0).fit(threes, eights)
    print(f"{name}: {found.divergence_:.2f}, at least {found.lower_bound_:.2f}")

# %%
# What the variational divergence alone says about others: the best possible bounds.
V = np.linspace(0, 1.9, 96)
bounds = {"KL": pinsker_bound("kl", V), "V² / 2": V**2 / 2}
bounds["Jeffreys"] = pinsker_bound("jeffreys", V)
bounds["KL, costs from 0.01"] = pinsker_bound(CsiszarDivergence.from_name("kl").truncated(0.01), V)
plot_pinsker_bounds(V, bounds)

# %%
# The witness of the maximum mean discrepancy is a classifier: nearest means with equal weights, a
# support vector machine with the weights that make the discrepancy least.
Z = StandardScaler().fit_transform(X[:, [0, 1]])[:200]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for nu, ax in zip((None, 0.5), axes, strict=True):
    plot_witness(WitnessClassifier(nu=nu).fit(Z, sick[:200]), Z, sick[:200], ax=ax)
