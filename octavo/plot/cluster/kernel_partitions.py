"""Pictures of affinities before and after scaling, and of the eigenvalues that follow."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes

__all__ = ["plot_affinity_eigenvalues", "plot_scaled_affinity"]


def plot_scaled_affinity(model: Any, *, scaled: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the affinity with rows in the order of clusters.

    Parameters
    ----------
    model : DoublyStochasticSpectral
        Fitted.
    scaled : bool, default=True
        Draw the normalised affinity; the one before where False.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        An image, with lines between clusters.
    """
    ax = ax or plt.subplots()[1]
    matrix = model.scaled_affinity_ if scaled else model.affinity_matrix_
    dense = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    order = np.argsort(model.labels_, kind="stable")
    dense = dense[np.ix_(order, order)]
    off = dense[~np.eye(len(dense), dtype=bool)]
    ax.imshow(dense, cmap="Blues", vmin=0.0, vmax=float(np.quantile(off, 0.99)) or None)
    for edge in np.cumsum(np.bincount(model.labels_))[:-1]:
        ax.axhline(edge - 0.5, color="C3", lw=0.8)
        ax.axvline(edge - 0.5, color="C3", lw=0.8)
    title = f"after scaling ({model.normalization})" if scaled else "affinity"
    ax.set(xticks=[], yticks=[], title=title)
    return ax


def plot_affinity_eigenvalues(model: Any, n_values: int = 10, *, ax: Axes | None = None) -> Axes:
    """Draw the largest eigenvalues of the normalised affinity, and the gap after the clusters.

    Parameters
    ----------
    model : DoublyStochasticSpectral
        Fitted.
    n_values : int, default=10
        How many.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Dots; those whose eigenvectors are used are filled.
    """
    ax = ax or plt.subplots()[1]
    matrix = model.scaled_affinity_
    dense = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    values = np.linalg.eigvalsh(dense)[::-1][:n_values]
    k = model.n_clusters
    ax.plot(np.arange(1, len(values) + 1), values, color="0.7", zorder=0)
    ax.scatter(np.arange(1, len(values) + 1)[:k], values[:k], color="C0", label="used")
    ax.scatter(np.arange(1, len(values) + 1)[k:], values[k:], facecolor="w", edgecolor="C0")
    gap = values[k - 1] - values[k] if len(values) > k else 0.0
    ax.set(xlabel="number", ylabel="eigenvalue", title=f"{model.normalization}: gap {gap:.3f}")
    ax.legend()
    return ax
