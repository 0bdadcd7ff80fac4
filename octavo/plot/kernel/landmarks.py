"""Pictures of landmarks: lift by bandwidth, error against time, where landmarks lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_error_and_time", "plot_landmarks", "plot_lift"]


def plot_lift(
    gammas: ArrayLike,
    lifts: Mapping[str, ArrayLike],
    *,
    xlabel: str = "log₁₀ of the kernel's γ",
    ax: Axes | None = None,
) -> Axes:
    """Draw the lift over uniform landmarks by bandwidth, with bands of one standard deviation.

    Parameters
    ----------
    gammas : array-like of float
        Bandwidths (or ranks, or anything else positive along the axis).
    lifts : dict of str to array-like of shape (len(gammas), n_repeats)
        Error of uniform landmarks over that of each strategy.
    xlabel : str
        What the horizontal axis shows; its values are drawn as logarithms to base 10.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    x = np.log10(np.asarray(gammas, dtype=float))
    for name, values in lifts.items():
        table = np.atleast_2d(np.asarray(values, dtype=float))
        mean, spread = table.mean(axis=1), table.std(axis=1)
        (line,) = ax.plot(x, mean, "o-", markersize=3, label=name)
        ax.fill_between(x, mean - spread, mean + spread, color=line.get_color(), alpha=0.15)
    ax.axhline(1.0, color="0.6", linewidth=1)
    ax.set(xlabel=xlabel, ylabel="lift over uniform landmarks")
    ax.legend(frameon=False)
    return ax


def plot_error_and_time(
    seconds: Mapping[str, ArrayLike], errors: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw the error of strategies against the time that they take to choose.

    Parameters
    ----------
    seconds, errors : dict of str to array-like
        Times and Frobenius errors of each strategy, one a repeat.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name in seconds:
        time, error = np.asarray(seconds[name]), np.asarray(errors[name])
        ax.errorbar(
            time.mean(),
            error.mean(),
            xerr=time.std(),
            yerr=error.std(),
            fmt="o",
            capsize=2,
            label=name,
        )
    ax.set(xscale="log", yscale="log", xlabel="seconds to choose", ylabel="Frobenius error")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_landmarks(X: ArrayLike, landmarks: Any, *, ax: Axes | None = None) -> Axes:
    """Draw rows in the plane and the landmarks chosen among them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; the first two columns are drawn.
    landmarks : Landmarks
        What `select_landmarks` returned.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rows, points = np.asarray(X), np.asarray(landmarks.points)
    ax.scatter(rows[:, 0], rows[:, 1], s=4, color="0.75")
    ax.scatter(points[:, 0], points[:, 1], s=30, facecolors="none", edgecolors="C3")
    ax.set(title=f"potential {landmarks.potential:.3g}")
    return ax
