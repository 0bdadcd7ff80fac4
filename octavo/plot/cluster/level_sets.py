"""Pictures of level sets, of eigenvalues along a scale, and of trees of clusters."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_consistency",
    "plot_feature_space",
    "plot_level_set",
    "plot_level_tree",
    "plot_scale_path",
]


def plot_level_set(model: Any, X: Any, *, contour: bool = True, ax: Axes | None = None) -> Axes:
    """Draw kept rows by cluster, dropped rows in grey, and the level of the density.

    Parameters
    ----------
    model : LevelSetSpectralClustering
        Fitted.
    X : array-like of shape (n_samples, n_features)
        The rows it was fitted on; the first two columns are drawn.
    contour : bool, default=True
        Whether the level of the density is drawn, interpolated between rows; of two columns.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(model.labels_)
    across = rows[:, 0]
    up = rows[:, 1] if rows.shape[1] > 1 else np.asarray(model.density_)
    for label in np.unique(labels):
        inside = labels == label
        colour = "0.7" if label < 0 else f"C{int(label) % 10}"
        name = "noise" if label < 0 else f"cluster {label}"
        ax.scatter(across[inside], up[inside], s=6, color=colour, linewidths=0, label=name)
    if contour and rows.shape[1] == 2 and np.ptp(model.density_) > 0:
        ax.tricontour(across, up, model.density_, levels=[model.level_], colors="k", linewidths=0.8)
    elif rows.shape[1] == 1:
        ax.axhline(model.level_, color="k", linewidth=0.8)
    ax.set(xlabel="column 0", ylabel="column 1" if rows.shape[1] > 1 else "density")
    ax.set_title(f"h = {model.h_:.3g}, level {model.level_:.3g}", fontsize=9)
    ax.legend(markerscale=3, frameon=False, fontsize=8)
    return ax


def plot_scale_path(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the distance of leading eigenvalues from 1 along h, with the plateau shaded.

    Parameters
    ----------
    path : ScalePath
        Of `scale_path`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    away = np.maximum(1.0 - np.asarray(path.eigenvalues), 1e-12)
    for j in range(away.shape[1]):
        ax.plot(path.hs, away[:, j], marker=".", label=f"$\\lambda_{{{j + 1}}}$")
    low, high = path.plateau
    if np.isfinite(low):
        count = int(path.n_clusters[np.searchsorted(path.hs, low)])
        ax.axvspan(low, high, color="0.9", zorder=0, label=f"{count} clusters")
    ax.set(xscale="log", yscale="log", xlabel="h", ylabel="1 - eigenvalue")
    ax.legend(frameon=False, fontsize=8)
    return ax


def plot_feature_space(
    model: Any, *, dims: tuple[int, int] = (0, 1), ax: Axes | None = None
) -> Axes:
    """Draw the kept rows in feature space: clusters gather on orthogonal directions.

    Parameters
    ----------
    model : LevelSetSpectralClustering
        Fitted.
    dims : tuple of int, default=(0, 1)
        The two eigenvectors that are drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    points = np.asarray(model.embedding_)
    labels = np.asarray(model.labels_)[model.core_sample_indices_]
    across = points[:, min(dims[0], points.shape[1] - 1)]
    up = points[:, dims[1]] if points.shape[1] > dims[1] else np.zeros(len(points))
    for label in np.unique(labels):
        inside = labels == label
        ax.scatter(across[inside], up[inside], s=14, color=f"C{int(label) % 10}", alpha=0.4)
        ax.plot([0, across[inside].mean()], [0, up[inside].mean()], color="0.8", zorder=0)
    ax.set(xlabel=f"eigenvector {dims[0] + 1}", ylabel=f"eigenvector {dims[1] + 1}")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def plot_level_tree(tree: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the components at every level, each under those that lie in it.

    Parameters
    ----------
    tree : LevelTree
        Of `level_tree`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes. A component's width is its share of the rows.
    """
    ax = ax or plt.subplots()[1]
    labels, n = np.asarray(tree.labels), np.asarray(tree.labels).shape[1]
    # rows in the order of their path through the tree: what stays together lies together
    order = np.lexsort([*labels[::-1]])
    place = np.empty(n)
    place[order] = np.arange(n)
    for i, level in enumerate(tree.levels):
        for c in range(int(tree.n_components[i])):
            inside = labels[i] == c
            middle, width = place[inside].mean() / n, inside.mean()
            ax.plot([middle - width / 2, middle + width / 2], [level] * 2, color="C0", linewidth=3)
            if i and tree.parents[i - 1][c] >= 0:
                below = labels[i - 1] == tree.parents[i - 1][c]
                start = place[below].mean() / n
                ax.plot([start, middle], [tree.levels[i - 1], level], color="0.7", zorder=0)
    ax.set(xlabel="rows", ylabel="level of the density", xticks=[])
    return ax


def plot_consistency(curve: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how features and operators settle as samples grow.

    Parameters
    ----------
    curve : ConsistencyCurve
        Of `consistency_curve`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    sizes = np.asarray(curve.sizes)
    ax.plot(sizes, np.maximum(curve.operator_gaps, 1e-16), marker="o", label="operator gap")
    wide = np.asarray(curve.diameters)
    if (wide > 1e-12).all():
        ax.plot(sizes, wide, marker="s", label="diameter in feature space")
    ax.plot(sizes, curve.operator_gaps[0] * np.sqrt(sizes[0] / sizes), "k:", label="1/√n")
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="gap")
    ax.legend(frameon=False, fontsize=8)
    return ax
