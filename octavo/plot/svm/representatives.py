"""Pictures of representative sets: who stands for whom, what it costs, what it saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_accuracy_against_time",
    "plot_hull_errors",
    "plot_reduction",
    "plot_representatives",
    "plot_training_times",
]


def plot_representatives(points: Any, X: Any, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw rows of two features and, larger by their weights, those that represent them.

    Parameters
    ----------
    points : ApproximateExtremePoints or AESVC
        Fitted on `X`.
    X : array-like of shape (n_samples, n_features)
        Its rows; the first two features are drawn.
    y : array-like of shape (n_samples,), optional
        Classes, for the colours.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X = np.asarray(X)
    labels = np.zeros(len(X), dtype=int) if y is None else np.asarray(y)
    prefix = "representative_" if hasattr(points, "representative_indices_") else ""
    chosen = getattr(points, f"{prefix}indices_")
    weights = getattr(points, f"{prefix}weights_")
    size = 6 + 150 * weights / weights.max()
    for number, label in enumerate(np.unique(labels)):
        own, kept = labels == label, labels[chosen] == label
        colour = f"C{number}"
        ax.scatter(X[own, 0], X[own, 1], s=1, color=colour, alpha=0.25, linewidths=0)
        ax.scatter(
            X[chosen[kept], 0],
            X[chosen[kept], 1],
            s=size[kept],
            facecolor="none",
            edgecolor=colour,
            label=f"{label}: {kept.sum()} of {own.sum()}",
        )
    ax.set(xlabel="first feature", ylabel="second feature")
    ax.legend(frameon=False, title="representatives")
    return ax


def plot_hull_errors(points: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the histogram of squared distances to the hulls of representatives.

    Parameters
    ----------
    points : ApproximateExtremePoints or AESVC
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    error = np.asarray(points.hull_error_)
    error = error[np.isfinite(error)]
    bins = np.linspace(0.0, max(points.eps, float(error.max())), 41).tolist()
    ax.hist(error, bins=bins)
    ax.axvline(points.eps, color="0.3", linestyle="--", label=f"eps = {points.eps:g}")
    ax.set(xlabel="squared distance to the hull", ylabel="rows", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_reduction(
    parameter: Sequence[float],
    reduction: Mapping[str, Sequence[float]],
    accuracy: Mapping[str, Sequence[float]] | None = None,
    *,
    name: str = "eps",
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of rows kept, and the accuracy, against eps or gamma.

    Parameters
    ----------
    parameter : sequence of float
        Values of the parameter.
    reduction : dict of str to sequence of float
        Shares of rows kept, a line each.
    accuracy : dict of str to sequence of float, optional
        Accuracies with the same keys, drawn dashed on an axis of their own.
    name : str, default="eps"
        What the parameter is.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes of the shares.
    """
    ax = ax or plt.subplots()[1]
    other = ax.twinx() if accuracy else None
    for number, (label, shares) in enumerate(reduction.items()):
        ax.plot(parameter, shares, "o-", color=f"C{number}", markersize=4, label=label)
        if other is not None and accuracy is not None:
            other.plot(parameter, accuracy[label], "s--", color=f"C{number}", markersize=3)
    if other is not None:
        other.set_ylabel("accuracy (dashed)")
    ax.set(xlabel=name, ylabel="share of rows kept", xscale="log", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_training_times(
    n_rows: Sequence[int], seconds: Mapping[str, Sequence[float]], *, ax: Axes | None = None
) -> Axes:
    """Draw training times against the number of rows, on logarithmic axes.

    Parameters
    ----------
    n_rows : sequence of int
        Numbers of rows.
    seconds : dict of str to sequence of float
        Times of each method.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for label, times in seconds.items():
        ax.plot(n_rows, times, "o-", markersize=4, label=label)
    ax.set(xlabel="rows", ylabel="seconds", xscale="log", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_accuracy_against_time(runs: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw accuracy against training time for every cell of a grid (Figure 2 of the paper).

    Parameters
    ----------
    runs : dict of str to GridRun
        Runs of some methods over one grid.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for label, run in runs.items():
        ax.scatter(
            np.mean(run.training_time, axis=1), np.mean(run.accuracy, axis=1), s=18, label=label
        )
    ax.set(xlabel="training time of a cell, s", ylabel="accuracy", xscale="log")
    ax.legend(frameon=False)
    return ax
