"""Pictures of ground metrics: the metric, a map of bins, its descent, errors, one transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_bin_map",
    "plot_criterion_descent",
    "plot_error_by_neighbors",
    "plot_ground_metric",
    "plot_transport_flow",
]


def _names(names: Sequence[Any] | None, d: int) -> list[str]:
    return [str(t) for t in range(d)] if names is None else [str(name) for name in names]


def plot_ground_metric(
    M: ArrayLike, names: Sequence[Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw a ground metric as a heat map, bins that lie close together side by side.

    Parameters
    ----------
    M : array-like of shape (d, d)
        Distances between bins.
    names : sequence, optional
        Names of the bins; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    M = np.asarray(M, dtype=float)
    ax = ax or plt.subplots()[1]
    order = np.arange(len(M))
    if len(M) > 2:
        flat = squareform(M, checks=False)
        order = leaves_list(linkage(flat, "average", optimal_ordering=len(M) <= 200))
    picture = ax.imshow(M[np.ix_(order, order)], cmap="viridis")
    ax.figure.colorbar(picture, ax=ax, label="distance")
    if len(M) <= 40:
        labels = [_names(names, len(M))[t] for t in order]
        ax.set_xticks(range(len(M)), labels, rotation=90, fontsize="small")
        ax.set_yticks(range(len(M)), labels, fontsize="small")
    ax.set(xlabel="bin", ylabel="bin")
    return ax


def plot_bin_map(
    M: ArrayLike,
    names: Sequence[Any] | None = None,
    groups: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw bins in a plane that keeps their distances as well as a plane can (classical MDS).

    Parameters
    ----------
    M : array-like of shape (d, d)
        Distances between bins.
    names : sequence, optional
        Names of the bins; their numbers by default.
    groups : array-like of shape (d,), optional
        Colours the bins.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    M = np.asarray(M, dtype=float)
    ax = ax or plt.subplots()[1]
    top = M.max() or 1.0
    J = np.eye(len(M)) - 1.0 / len(M)
    values, vectors = np.linalg.eigh(-0.5 * J @ (M / top) ** 2 @ J)
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0)) * top
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(len(M))])
    codes = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    ax.scatter(points[:, 0], points[:, 1], c=codes, cmap="tab10", s=20)
    for name, point in zip(_names(names, len(M)), points, strict=True):
        ax.annotate(name, point, xytext=(3, 3), textcoords="offset points", fontsize="small")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="first direction", ylabel="second direction")
    return ax


def plot_criterion_descent(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the values of all steps of a fit, with a mark where a convex problem begins.

    Parameters
    ----------
    model : GroundMetricLearner
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    history = np.asarray(model.history_, dtype=float)
    ax = ax or plt.subplots()[1]
    ax.plot(history[:, 2], linewidth=1)
    starts = np.flatnonzero(history[:, 1] == 0)
    ax.plot(starts, history[starts, 2], "o", markersize=4, label="new tangent")
    ax.set(xlabel="step", ylabel="criterion, or its majorant")
    ax.legend(frameon=False)
    return ax


def plot_error_by_neighbors(
    neighbors: ArrayLike, errors: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw errors over the number of neighbours that vote, a curve for each distance.

    Parameters
    ----------
    neighbors : array-like of shape (n_counts,)
        Numbers of neighbours.
    errors : mapping of str to array-like of shape (n_counts,)
        Names of distances, and errors in percent.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in errors.items():
        ax.plot(np.asarray(neighbors), np.asarray(values, dtype=float), ".-", label=name)
    ax.set(xlabel="neighbours", ylabel="error (%)", ylim=(0, None))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_transport_flow(plan: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw a transport plan: two histograms, and lines as thick as the mass that moves.

    Parameters
    ----------
    plan : array-like of shape (d, d)
        Mass from each bin of the upper histogram to each bin of the lower.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    X = np.asarray(plan, dtype=float)
    ax = ax or plt.subplots()[1]
    above, below = X.sum(axis=1), X.sum(axis=0)
    top = max(above.max(), below.max()) or 1.0
    bins = np.arange(len(X))
    ax.bar(bins, 0.5 * above / top, bottom=1.0, color="C0")
    ax.bar(bins, -0.5 * below / top, color="C1")
    for i, j in zip(*np.nonzero(X / top > 1e-12), strict=True):
        stays = i == j
        ax.plot(
            [i, j],
            [1.0, 0.0],
            color="0.8" if stays else "0.3",
            linewidth=8.0 * X[i, j] / top,
            solid_capstyle="butt",
            zorder=0,
        )
    ax.set(xlabel="bin", yticks=[])
    return ax
