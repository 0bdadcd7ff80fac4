"""Pictures of sparse precision matrices, their graphs and how well those are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

__all__ = [
    "plot_edge_count",
    "plot_graph",
    "plot_graph_roc",
    "plot_time_by_size",
]


def plot_edge_count(
    path: Any, *, n_edges: int | None = None, n_points: int = 100, ax: Axes | None = None
) -> Axes:
    """Draw the number of edges of the graph against λ.

    Parameters
    ----------
    path : ClimePath
        From `clime_path`.
    n_edges : int, optional
        The number of edges of the true graph, where it is known.
    n_points : int, default=100
        At how many λ to count.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    first = max(alphas[min(1, len(alphas) - 1)] for alphas in path.alphas_per_column)
    alphas = np.linspace(first, path.alpha_reached, n_points)
    ax.plot(alphas, [path.n_edges(alpha) for alpha in alphas])
    if n_edges is not None:
        ax.axhline(n_edges, color="0.5", linestyle="--", linewidth=1, label="true graph")
        ax.legend(frameon=False)
    ax.set(xlabel="λ", ylabel="edges")
    ax.invert_xaxis()
    return ax


def plot_graph(
    adjacency: ArrayLike, *, truth: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a graph with its nodes on a circle; beside the truth, what is missed and made up.

    Parameters
    ----------
    adjacency : array-like of shape (n_features, n_features)
        The graph: edges where it is not zero, such as `CLIME.adjacency_`.
    truth : array-like of shape (n_features, n_features), optional
        The true graph, where it is known.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5, 5))[1]
    found = np.asarray(adjacency) != 0
    angle = 2 * np.pi * np.arange(len(found)) / len(found)
    x, y = np.cos(angle), np.sin(angle)
    kinds: list[tuple[str, np.ndarray, dict[str, Any]]] = [("edge", found, {"color": "C0"})]
    if truth is not None:
        true = np.asarray(truth) != 0
        kinds = [
            ("found", found & true, {"color": "C0"}),
            ("missed", ~found & true, {"color": "C1", "linestyle": ":"}),
            ("not in the graph", found & ~true, {"color": "C3", "alpha": 0.6}),
        ]
    handles = []
    for label, chosen, style in kinds:
        pairs = np.argwhere(np.triu(chosen, 1))
        for i, j in pairs:
            ax.plot(x[[i, j]], y[[i, j]], linewidth=1, zorder=1, **style)
        handles.append(Line2D([], [], label=f"{label} ({len(pairs)})", **style))
    ax.scatter(x, y, s=18, color="0.2", zorder=2)
    ax.legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def plot_graph_roc(
    estimates: Mapping[str, Sequence[ArrayLike]], truth: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw how many true edges a family of estimates finds against how many it makes up.

    Parameters
    ----------
    estimates : dict of str to sequence of arrays
        For each method the precision matrices along its path, in its order.
    truth : array-like of shape (n_features, n_features)
        The true graph.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    upper = np.triu_indices(len(np.asarray(truth)), 1)
    true = np.asarray(truth)[upper] != 0
    for name, matrices in estimates.items():
        found = np.array([np.asarray(matrix)[upper] != 0 for matrix in matrices])
        rates = np.array([found[:, ~true].mean(axis=1), found[:, true].mean(axis=1)])
        ax.plot(*rates, marker=".", markersize=3, label=name)
    ax.set(xlabel="share of absent edges made up", ylabel="share of true edges found")
    ax.legend(frameon=False)
    return ax


def plot_time_by_size(
    times: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    xlabel: str = "number of features",
    ax: Axes | None = None,
) -> Axes:
    """Draw running times against the size of the problem, both logarithmic.

    Parameters
    ----------
    times : dict of str to (sizes, seconds)
        One curve per solver, under the name to show.
    xlabel : str, default="number of features"
        What the size is.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, (sizes, seconds) in times.items():
        ax.loglog(np.asarray(sizes), np.asarray(seconds), "o-", markersize=4, label=name)
    ticks = sorted({float(size) for sizes, _ in times.values() for size in np.asarray(sizes)})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set(xlabel=xlabel, ylabel="seconds")
    ax.legend(frameon=False)
    return ax
