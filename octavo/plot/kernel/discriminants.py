"""Pictures of kernel subspaces and discriminants."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_discriminant_projections", "plot_novelty_map"]


def plot_novelty_map(
    model: Any, X: ArrayLike, *, resolution: int = 60, ax: Axes | None = None
) -> Axes:
    """Draw the squared distance from the kernel subspace over the plane.

    Parameters
    ----------
    model : KernelPCANovelty
        Fitted on two columns.
    X : array-like of shape (n_samples, 2)
        Points to draw; the map reaches a quarter of their range beyond.
    resolution : int, default=60
        Points of the grid along each axis.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Dark is novel; the line is where `predict` changes.
    """
    ax = ax or plt.subplots()[1]
    points = np.asarray(X, dtype=float)
    low, high = points.min(axis=0), points.max(axis=0)
    edge = 0.25 * (high - low)
    x, y = (np.linspace(low[j] - edge[j], high[j] + edge[j], resolution) for j in (0, 1))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    scores = model.score_samples(grid).reshape(resolution, resolution)
    ax.contourf(x, y, -scores, levels=12, cmap="Blues")
    if scores.min() < model.offset_ < scores.max():
        ax.contour(x, y, scores, levels=[model.offset_], colors="C3")
    ax.scatter(points[:, 0], points[:, 1], s=8, color="k")
    return ax


def plot_discriminant_projections(
    model: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw samples along the directions of a kernel Fisher discriminant.

    Parameters
    ----------
    model : KernelFisherDiscriminant
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Their classes.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Histograms for one direction, a scatter of the first two for more.
    """
    ax = ax or plt.subplots()[1]
    Z, labels = model.transform(X), np.asarray(y)
    for i, c in enumerate(model.classes_):
        mine = Z[labels == c]
        if Z.shape[1] == 1:
            ax.hist(mine[:, 0], bins=30, alpha=0.6, color=f"C{i}", label=str(c))
        else:
            ax.scatter(mine[:, 0], mine[:, 1], s=10, color=f"C{i}", label=str(c))
    ax.set(xlabel="direction 0", ylabel="samples" if Z.shape[1] == 1 else "direction 1")
    ax.legend()
    return ax
