"""Pictures of clusters of any shape: rows in the plane, coloured by their labels."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_clusters"]


def plot_clusters(
    X: ArrayLike, labels: ArrayLike, *, max_points: int = 5000, ax: Axes | None = None
) -> Axes:
    """Draw rows as points, one colour for each cluster.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows; of more than two features the two leading principal components are drawn.
    labels : array-like of shape (n_rows,)
        Their clusters; negative ones are noise and grey.
    max_points : int, default=5000
        About how many rows are drawn: every second, third, ... where there are more.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rows, clusters = np.asarray(X, dtype=np.float64), np.asarray(labels)
    names = ["coordinate 0", "coordinate 1"]
    if rows.shape[1] > 2:
        centred = rows - rows.mean(axis=0)
        rows = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
        names = ["principal component 0", "principal component 1"]
    step = -(-len(rows) // max_points)
    rows, clusters = rows[::step], clusters[::step]
    for label in np.unique(clusters):
        points = rows[clusters == label]
        colour = "0.6" if label < 0 else f"C{int(label) % 10}"
        name = "noise" if label < 0 else f"cluster {label}"
        up = points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
        ax.scatter(points[:, 0], up, s=6, color=colour, alpha=0.6, linewidths=0, label=name)
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.legend(markerscale=3, frameon=False)
    return ax
