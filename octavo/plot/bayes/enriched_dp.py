"""Pictures of nested partitions: clusters of rows, conditional densities, bands, traces, a tree."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "plot_cluster_traces",
    "plot_cluster_tree",
    "plot_co_clustering",
    "plot_conditional_density",
    "plot_nested_partition",
    "plot_predictive_bands",
]


def plot_nested_partition(
    model: Any, X: Any, y: Any, *, column: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw y against a column, coloured by the estimated y-partition (Figure 1).

    Parameters
    ----------
    model : estimator
        A fitted mixture.
    X : array-like of shape (n_samples, n_features)
        The rows of fit.
    y : array-like of shape (n_samples,)
        Their responses.
    column : int, default=0
        Which column.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A scatter with a colour for each y-cluster.
    """
    check_is_fitted(model)
    labels = model.y_partition_
    x = np.asarray(X, dtype=float)[:, column]
    if len(x) != len(labels):
        raise ValueError(f"X must hold the {len(labels)} rows of fit; got {len(x)}.")
    ax = ax or plt.subplots()[1]
    for j in range(labels.max() + 1):
        own = labels == j
        ax.scatter(x[own], np.asarray(y)[own], s=14, color=f"C{j % 10}", label=f"{own.sum()} rows")
    ax.set(xlabel=f"column {column}", ylabel="y")
    if labels.max() < 10:
        ax.legend(frameon=False, fontsize="small")
    return ax


def plot_conditional_density(
    model: Any, X: Any, y_grid: Any, *, band: float | None = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw f(y | x) of some rows with credible ribbons (Figures 3 and 4).

    Parameters
    ----------
    model : estimator
        A fitted `EnrichedDPRegressor` or `DPMixtureRegressor`.
    X : array-like of shape (n_rows, n_features)
        Rows.
    y_grid : array-like of shape (n_grid,)
        Responses.
    band : float or None, default=0.95
        Probability of the ribbons; None for lines alone.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A line and a ribbon for each row.
    """
    check_is_fitted(model)
    grid = np.asarray(y_grid, dtype=float)
    ax = ax or plt.subplots()[1]
    if band is None:
        density, lower, upper = model.predict_density(X, grid), None, None
    else:
        density, lower, upper = model.predict_density(X, grid, band=band)
    for i, line in enumerate(density):
        ax.plot(grid, line, color=f"C{i % 10}", label=f"row {i}")
        if lower is not None and upper is not None:
            ax.fill_between(grid, lower[i], upper[i], color=f"C{i % 10}", alpha=0.25, lw=0)
    ax.set(xlabel="y", ylabel="density given x")
    ax.legend(frameon=False)
    return ax


def plot_predictive_bands(
    model: Any, X: Any, *, column: int = 0, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw predictions with credible intervals of the mean, or of the probability, by a column.

    Parameters
    ----------
    model : estimator
        A fitted mixture.
    X : array-like of shape (n_rows, n_features)
        Rows.
    column : int, default=0
        Which column goes across.
    level : float, default=0.95
        Probability of the intervals.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A point and a bar for each row (Figures 2 and 7).
    """
    check_is_fitted(model)
    ax = ax or plt.subplots()[1]
    x = np.asarray(X, dtype=float)[:, column]
    if hasattr(model, "predict_proba"):
        if len(model.classes_) > 2:
            raise ValueError("plot_predictive_bands draws two classes; the model has more.")
        centre, ends = model.predict_proba(X)[:, 1], model.predict_interval(X, level)
        ax.set_ylabel(f"probability of {model.classes_[1]}")
    else:
        centre, ends = model.predict(X), model.predict_interval(X, level, target="mean")
        ax.set_ylabel("mean of y given x")
    gaps = np.maximum([centre - ends[0], ends[1] - centre], 0.0)
    ax.errorbar(x, centre, gaps, fmt="o", ms=4, lw=1, capsize=2)
    ax.set_xlabel(f"column {column}")
    return ax


def plot_co_clustering(model: Any, *, nested: bool = False, ax: Axes | None = None) -> Axes:
    """Draw how often two rows share a cluster, rows in the order of the estimated partition.

    Parameters
    ----------
    model : estimator
        A fitted mixture.
    nested : bool, default=False
        Whether sharing an x-cluster is meant, not only a y-cluster.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A heat map.
    """
    check_is_fitted(model)
    pairs = model.co_clustering_x_ if nested else model.co_clustering_y_
    order = np.lexsort((-pairs.sum(axis=1), model.y_partition_))
    ax = ax or plt.subplots()[1]
    image = ax.imshow(pairs[np.ix_(order, order)], vmin=0, vmax=1, cmap="viridis")
    ax.figure.colorbar(image, ax=ax, label="probability of one cluster")
    ax.set(xlabel="rows by y-cluster", ylabel="rows by y-cluster")
    return ax


def plot_cluster_traces(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the numbers of y- and of x-clusters over the draws.

    Parameters
    ----------
    model : estimator
        A fitted mixture.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Two lines.
    """
    check_is_fitted(model)
    ax = ax or plt.subplots()[1]
    ax.plot(model.kx_trace_, lw=0.8, label="x-clusters")
    ax.plot(model.k_trace_, lw=0.8, label="y-clusters")
    ax.set(xlabel="draw", ylabel="number")
    ax.legend(frameon=False)
    return ax


def plot_cluster_tree(model: Any, *, threshold: float = 0.5, ax: Axes | None = None) -> Axes:
    """Draw the nested partition as rings: y-clusters inside, their x-clusters outside.

    Parameters
    ----------
    model : estimator
        A fitted mixture.
    threshold : float, default=0.5
        Rows of a y-cluster are in one ring segment while they share an x-cluster more often.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Two rings; angles are numbers of rows.
    """
    check_is_fitted(model)
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must lie between 0 and 1; got {threshold!r}.")
    pairs, labels = model.co_clustering_x_, model.y_partition_
    inner, outer, colors = [], [], []
    for j in range(labels.max() + 1):
        rows = np.flatnonzero(labels == j)
        inner.append(rows.size)
        while rows.size:
            together = pairs[rows[0], rows] > threshold
            together[0] = True
            outer.append(int(together.sum()))
            colors.append(f"C{j % 10}")
            rows = rows[~together]
    ax = ax or plt.subplots()[1]
    edge = {"edgecolor": "white", "linewidth": 0.8}
    first = [f"C{j % 10}" for j in range(len(inner))]
    ax.pie(inner, radius=0.7, colors=first, wedgeprops={"width": 0.35} | edge, labels=None)
    rings = ax.pie(outer, radius=1.0, colors=colors, wedgeprops={"width": 0.28} | edge)
    for wedge in rings[0]:
        wedge.set_alpha(0.6)
    ax.set_title(f"{len(inner)} y-clusters, {len(outer)} x-clusters")
    return ax
