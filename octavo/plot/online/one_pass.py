"""Pictures of online learners: their mistakes along a stream, and what they are sure of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_feature_confidence", "plot_final_rates", "plot_online_curves"]

_LABELS = {
    "mistake_rate": "mistakes per example",
    "n_updates": "updates",
    "cpu_time": "computing time (s)",
}


def plot_online_curves(
    comparison: Any, value: str = "mistake_rate", *, band: float = 1.0, ax: Axes | None = None
) -> Axes:
    """Draw what several learners did along a stream, one line each (Figure 1).

    Parameters
    ----------
    comparison : OnlineComparison
        From `compare_online`.
    value : {"mistake_rate", "n_updates", "cpu_time"}, default="mistake_rate"
        What to draw.
    band : float, default=1.0
        Half the width of the bands, in standard deviations over the orders.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if value not in _LABELS:
        raise ValueError(f"value must be one of {sorted(_LABELS)}, got {value!r}.")
    ax = ax or plt.subplots()[1]
    curves = getattr(comparison, value)
    colours = plt.get_cmap("turbo")(np.linspace(0.05, 0.95, len(comparison.names)))
    for name, runs, colour in zip(comparison.names, curves, colours):
        mean, spread = runs.mean(axis=0), band * runs.std(axis=0)
        ax.plot(comparison.n_seen, mean, label=name, color=colour, linewidth=1.3)
        ax.fill_between(
            comparison.n_seen, mean - spread, mean + spread, color=colour, alpha=0.12, linewidth=0
        )
    ax.set(xlabel="examples seen", ylabel=_LABELS[value])
    ax.legend(frameon=False, fontsize="small", ncols=1 + len(comparison.names) // 9)
    return ax


def plot_final_rates(comparison: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the final mistake rates of several learners as bars, best at the top.

    Parameters
    ----------
    comparison : OnlineComparison
        From `compare_online`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    final = comparison.mistake_rate[:, :, -1]
    mean, spread = final.mean(axis=1), final.std(axis=1)
    order = np.argsort(-mean, kind="stable")
    place = np.arange(len(order))
    ax.barh(place, mean[order], xerr=spread[order], color="C0", alpha=0.8, capsize=2)
    ax.set_yticks(place, [comparison.names[i] for i in order])
    ax.set(xlabel=f"mistakes per example after {comparison.n_seen[-1]:,}")
    return ax


def plot_feature_confidence(
    model: Any,
    *,
    row: int = 0,
    feature_names: Sequence[str] | None = None,
    annotate: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weight of each feature against how sure a second-order learner is of it.

    Parameters
    ----------
    model : second-order online classifier
        Fitted; for example `AROW`.
    row : int, default=0
        Which row of ``coef_``, with more than two classes.
    feature_names : sequence of str, optional
        Names; those that the model was fitted with, or numbers, by default.
    annotate : int, default=8
        How many of the surest features to name.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    weights = model.coef_[row]
    n_features = len(weights)
    covariance = model.covariance_
    square = covariance.ndim >= 2 and np.array_equal(covariance, np.swapaxes(covariance, -1, -2))
    variances = np.diagonal(covariance, axis1=-2, axis2=-1) if square else covariance
    if variances.ndim == 2:  # one learner per class
        variances = variances[row]
    confidence = 1.0 / np.sqrt(variances[:n_features])
    names: Any = feature_names
    if names is None:
        names = getattr(model, "feature_names_in_", range(n_features))
    ax.axhline(0.0, color="0.7", linewidth=0.8)
    ax.scatter(confidence, weights, s=14, alpha=0.7)
    for j in np.argsort(-confidence, kind="stable")[:annotate]:
        ax.annotate(
            str(names[j]),
            (confidence[j], weights[j]),
            xytext=(4, 2),
            textcoords="offset points",
            fontsize="small",
        )
    ax.margins(x=0.2)
    ax.set(xlabel="confidence: 1 / standard deviation of the weight", ylabel="weight")
    return ax
