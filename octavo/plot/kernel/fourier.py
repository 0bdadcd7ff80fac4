"""Pictures of learned Fourier features: how the residual falls, where the frequencies lie."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_descents", "plot_spectrum"]


def plot_descents(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the residual's size along every greedy descent.

    Parameters
    ----------
    model : GreedyFourierRegressor or GreedyFourierFeatures
        A fitted model.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for j, path in enumerate(model.descent_errors_):
        ax.plot(np.sqrt(path), "o-", markersize=3, label=f"descent {j + 1}")
    ax.set(xlabel="features", ylabel="residual RMSE over the target's deviation")
    ax.set_ylim(bottom=0)
    if len(model.descent_errors_) <= 8:
        ax.legend(frameon=False)
    return ax


def plot_spectrum(model: Any, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the norms of learned frequencies, weighted by amplitude where it is known.

    Parameters
    ----------
    model : GreedyFourierRegressor, GreedyFourierFeatures or AlaCarteRegressor
        A fitted model.
    bins : int, default=20
        Bars of the histogram.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    norms = np.linalg.norm(model.frequencies_, axis=1)
    weights = getattr(model, "amplitudes_", None)
    ax.hist(norms, bins=bins, weights=weights, color="C0", alpha=0.8)
    ax.set(xlabel="|w|", ylabel="frequencies" if weights is None else "sum of amplitudes")
    return ax
