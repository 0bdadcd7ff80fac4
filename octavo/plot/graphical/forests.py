"""Pictures of forest densities: where the second part stops, the forest, its pairs, and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_density_scores",
    "plot_forest",
    "plot_heldout_edges",
    "plot_mutual_information",
    "plot_pair_density",
]


def plot_heldout_edges(model: Any, *, glasso: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the held-out log-likelihood against the number of edges.

    Parameters
    ----------
    model : ForestDensityEstimator
        Fitted.
    glasso : RefitGraphicalLasso, optional
        Fitted with ``alpha="holdout"`` on the same split: its path is drawn beside the forest's.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    curve = np.asarray(model.heldout_curve_)
    ax.step(np.arange(len(curve)), curve, where="post", color="black", label="forest")
    ax.plot(model.n_edges_, curve[model.n_edges_], "o", color="black")
    if glasso is not None and glasso.heldout_scores_ is not None:
        edges = np.asarray(glasso.n_edges_path_)
        styles = (("tab:red", "*", "graphical lasso"), ("tab:blue", "o", "refitted lasso"))
        for column, (color, marker, name) in enumerate(styles):
            scores = np.asarray(glasso.heldout_scores_)[:, column]
            shown = np.isfinite(scores) & (scores > curve[0] - 2 * np.ptp(curve) - 1.0)
            ax.plot(edges[shown], scores[shown], marker, color=color, label=name, fillstyle="none")
        ax.legend()
    ax.set(xlabel="edges", ylabel="held-out log-likelihood")
    return ax


def plot_forest(
    model: Any, *, names: Sequence[object] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the forest, each tree in its colour, edges as wide as they are informative.

    Parameters
    ----------
    model : ForestDensityEstimator or RefitGraphicalLasso
        Fitted, with ``graph_``.
    names : sequence, optional
        What the variables are called; column numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    import networkx as nx

    if ax is None:
        ax = plt.subplots(figsize=(6, 6), layout="constrained")[1]
    graph = model.graph_
    trees = sorted(nx.connected_components(graph), key=len, reverse=True)
    colors = plt.get_cmap("tab10")
    place = nx.spring_layout(graph, seed=0, weight=None, k=1.5 / max(len(graph), 1) ** 0.5)
    largest = max((abs(w) for _, _, w in graph.edges(data="weight")), default=1.0)
    for i, j, weight in graph.edges(data="weight"):
        (x, y), (u, v) = place[i], place[j]
        ax.plot([x, u], [y, v], color="0.5", lw=0.5 + 3 * abs(weight) / largest, zorder=1)
    for t, tree in enumerate(trees):
        at = np.array([place[k] for k in tree])
        color = colors(t % 10) if len(tree) > 1 else "0.8"
        ax.scatter(at[:, 0], at[:, 1], s=80, color=color, edgecolor="white", zorder=2)
    for k in graph:
        label = str(k) if names is None else literal(names[k])
        ax.annotate(label, place[k], fontsize="x-small", ha="center", va="center", zorder=3)
    ax.set_axis_off()
    return ax


def plot_pair_density(
    model: Any,
    X: ArrayLike,
    edge: int = 0,
    *,
    names: Sequence[object] | None = None,
    ax: Any = None,
) -> Axes:
    """Draw rows of one edge over the contours of what the forest would draw there.

    Parameters
    ----------
    model : ForestDensityEstimator
        Fitted to columns of numbers.
    X : array-like of shape (n_samples, n_features)
        Rows.
    edge : int, default=0
        Which of ``edges_``.
    names : sequence, optional
        What the variables are called.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    rows = np.asarray(X, dtype=float)
    i, j = model.edges_[edge]
    drawn = np.asarray(model.sample(4000, random_state=0), dtype=float)
    h = model.bandwidths_[1]
    axes = [np.linspace(rows[:, k].min() - h[k], rows[:, k].max() + h[k], 60) for k in (i, j)]
    kernels = [
        np.exp(-0.5 * ((axis[:, None] - drawn[:, k]) / (0.5 * h[k])) ** 2)
        for axis, k in zip(axes, (i, j))
    ]
    ax.contour(axes[0], axes[1], (kernels[0] @ kernels[1].T).T, levels=8, cmap="viridis")
    ax.plot(rows[:, i], rows[:, j], ".", color="0.4", ms=3, zorder=0)
    told = [f"column {k}" if names is None else literal(names[k]) for k in (i, j)]
    ax.set(xlabel=told[0], ylabel=told[1])
    return ax


def plot_mutual_information(
    model: Any, *, names: Sequence[object] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the mutual informations of all pairs, the forest's edges framed.

    Parameters
    ----------
    model : ForestDensityEstimator
        Fitted.
    names : sequence, optional
        What the variables are called.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    M = np.array(model.mutual_info_)
    image = ax.imshow(np.maximum(M, 0.0), cmap="magma", interpolation="nearest")
    for i, j in model.edges_:
        for x, y in ((i, j), (j, i)):
            ax.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, ec="cyan", lw=0.8))
    if names is not None:
        told = [literal(name) for name in names]
        ax.set_xticks(range(len(M)), told, rotation=90, fontsize="x-small")
        ax.set_yticks(range(len(M)), told, fontsize="x-small")
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="mutual information")
    return ax


def plot_density_scores(
    model: Any, X: ArrayLike, others: ArrayLike | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw histograms of log-densities: low ones are anomalies.

    Parameters
    ----------
    model : ForestDensityEstimator or RefitGraphicalLasso
        Fitted, with ``score_samples``.
    X : array-like of shape (n_samples, n_features)
        Rows.
    others : array-like of shape (n_others, n_features), optional
        Rows to compare with, such as suspects.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    scores = [model.score_samples(X)]
    if others is not None:
        scores.append(model.score_samples(others))
    bins = np.histogram_bin_edges(np.concatenate(scores), bins=40).tolist()
    for values, name in zip(scores, ("rows", "others")):
        ax.hist(values, bins=bins, density=True, alpha=0.6, label=name)
    ax.set(xlabel="log-density", ylabel="share of rows")
    if others is not None:
        ax.legend()
    return ax
