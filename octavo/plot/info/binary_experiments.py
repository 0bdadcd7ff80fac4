"""Pictures of binary experiments: risk curves and ROC duals, weights over costs, bounds, losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_cost_weights",
    "plot_partial_losses",
    "plot_pinsker_bounds",
    "plot_risk_curve",
    "plot_roc_dual",
    "plot_witness",
]

_GREY = "0.55"


def plot_risk_curve(
    curve: Any,
    *,
    forecast: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    mark: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the least risk over costs below its tent, and what a forecast as it stands pays.

    Parameters
    ----------
    curve : RiskCurve
        The curve.
    forecast : array-like, optional
        Risks of a forecast at `costs`, as by `threshold_risk`; the area above the curve, shaded,
        is what calibration would save.
    costs : array-like, optional
        Where they are; 401 points from 0 to 1 by default.
    mark : float, optional
        A cost whose point is marked; `plot_roc_dual` draws its line.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5.2, 4))[1]
    grid = np.linspace(0.0, 1.0, 401) if costs is None else np.asarray(costs, dtype=float)
    tent = curve.majority_risk(grid)
    ax.plot(grid, tent, "--", color=_GREY, label="better constant answer")
    ax.plot(grid, curve(grid), color="C0", label="best threshold")
    ax.fill_between(grid, curve(grid), tent, color="C0", alpha=0.12)
    if forecast is not None:
        ax.plot(grid, np.asarray(forecast), color="C1", label="forecast as it stands")
        ax.fill_between(grid, curve(grid), np.asarray(forecast), color="C1", alpha=0.25)
    if mark is not None:
        ax.plot([mark], [curve(mark)], "o", color="C3", label=f"c = {mark:g}")
    ax.set(xlabel="cost c of a false positive", ylabel="risk", xlim=(0, 1), ylim=(0, None))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_roc_dual(curve: Any, *, mark: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the hull of the ROC curve, and the line that a point of the risk curve stands for.

    Parameters
    ----------
    curve : RiskCurve
        The curve.
    mark : float, optional
        A cost; its line touches the hull where the best threshold is.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(4.4, 4))[1]
    ax.plot([0, 1], [0, 1], "--", color=_GREY, label="no information")
    ax.plot(curve.fpr, curve.tpr, color="C0", label=f"hull, area {curve.auc:.3f}")
    if mark is not None:
        fpr = np.linspace(0.0, 1.0, 101)
        rise = (1.0 - curve.pi) * mark / (curve.pi * (1.0 - mark))
        start = 1.0 - float(curve(mark)) / (curve.pi * (1.0 - mark))  # Proposition 20 at FP = 0
        ax.plot(fpr, start + rise * fpr, color="C3", label=f"equal risk at c = {mark:g}")
    ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def plot_cost_weights(weights: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw weights over costs or priors on one logarithmic axis; atoms are stems.

    Parameters
    ----------
    weights : mapping of str to ProperLoss or CsiszarDivergence
        What is compared, by the names that the legend shows.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5.6, 4))[1]
    grid = np.linspace(0.01, 0.99, 393)
    for number, (name, thing) in enumerate(weights.items()):
        density = thing.weight if hasattr(thing, "weight") else thing.gamma
        values = np.asarray(density(grid))
        colour = f"C{number % 10}"
        if values.max() > 0.0:
            ax.plot(grid, values, color=colour, label=name)
        for place, mass in thing.atoms:
            ax.vlines(place, 1e-3, mass, color=colour, label=f"{name}: mass {mass:g}")
    ax.set(yscale="log", xlabel="cost or prior", ylabel="weight", xlim=(0, 1))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_pinsker_bounds(
    V: ArrayLike, bounds: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw lower bounds on divergences against the variational divergence.

    Parameters
    ----------
    V : array-like of shape (n,)
        Variational divergences, from 0 to 2.
    bounds : mapping of str to array-like of shape (n,)
        Bounds by name, as by `pinsker_bound`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5.6, 4))[1]
    for number, (name, values) in enumerate(bounds.items()):
        ax.plot(V, np.asarray(values), "--" if number % 2 else "-", label=name)
    ax.set(xlabel="variational divergence", ylabel="least divergence", xlim=(0, 2), ylim=(0, None))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_partial_losses(losses: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw what a prediction costs in each class, and the least risk.

    Parameters
    ----------
    losses : mapping of str to ProperLoss
        Losses by name.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes: class 1 solid, class 0 dashed, Bayes risk dotted.
    """
    ax = ax or plt.subplots(figsize=(5.6, 4))[1]
    grid = np.linspace(0.01, 0.99, 393)
    for number, (name, loss) in enumerate(losses.items()):
        zero, one = loss.both_partials(grid)
        colour = f"C{number % 10}"
        ax.plot(grid, one, color=colour, label=name)
        ax.plot(grid, zero, "--", color=colour)
        ax.plot(grid, loss.bayes_risk(grid), ":", color=colour)
    ax.set(xlabel="predicted probability", ylabel="loss", xlim=(0, 1))
    ax.legend(frameon=False, fontsize="small", title="class 1; class 0 dashed; Bayes dotted")
    return ax


def plot_witness(
    classifier: Any, X: ArrayLike, y: ArrayLike, *, n_grid: int = 80, ax: Axes | None = None
) -> Axes:
    """Draw the witness of a discrepancy in the plane, its zero line and the rows with weight.

    Parameters
    ----------
    classifier : WitnessClassifier
        Fitted on two columns.
    X : array-like of shape (n_samples, 2)
        The rows that it was fitted on.
    y : array-like of shape (n_samples,)
        Their labels.
    n_grid : int, default=80
        Points an axis.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5, 4))[1]
    X, labels = np.asarray(X, dtype=float), np.asarray(y)
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.1 * (high - low)
    sides = [np.linspace(a, b, n_grid) for a, b in zip(low - room, high + room, strict=True)]
    across, up = np.meshgrid(*sides)
    values = classifier.decision_function(np.column_stack([across.ravel(), up.ravel()]))
    values = values.reshape(across.shape)
    most = float(np.abs(values).max())
    ax.pcolormesh(across, up, values, cmap="RdBu_r", vmin=-most, vmax=most, alpha=0.6)
    ax.contour(across, up, values, levels=[0.0], colors="k", linewidths=1)
    second = labels == classifier.classes_[1]
    for rows, colour in ((~second, "C0"), (second, "C3")):
        ax.plot(*X[rows].T, ".", color=colour, markersize=4)
    weighted = X[classifier.support_]
    ax.plot(*weighted.T, "o", mfc="none", mec="k", markersize=6, label="rows with weight")
    ax.set(title=f"discrepancy {classifier.mmd_:.3g}")
    ax.legend(frameon=False, fontsize="small")
    return ax
