"""Pictures of searches: targets found, how spread out they are, and what they look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_construction", "plot_dispersion", "plot_found_graphs"]


def plot_construction(
    curves: Mapping[str, Any], *, rate: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw targets found against questions.

    Parameters
    ----------
    curves : dict of str to array-like
        For each search what `construction_curve` gives.
    rate : float, optional
        Share of targets among proposals, drawn as a line.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    longest = max((len(curve) for curve in curves.values()), default=0)
    for name, curve in curves.items():
        ax.plot(np.arange(1, len(curve) + 1), curve, label=name)
    if rate is not None:
        ax.plot([0, longest], [0, rate * longest], "--", color="0.5", label="proposals")
    ax.set(xlabel="questions", ylabel="different targets found", ylim=0)
    ax.legend(frameon=False)
    return ax


def plot_dispersion(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw how much of the targets' space was reached against questions.

    Parameters
    ----------
    curves : dict of str to array-like
        For each search what `dispersion_curve` gives.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, curve in curves.items():
        ax.plot(np.arange(1, len(curve) + 1), curve, label=name)
    ax.axhline(1.0, color="0.5", linestyle="--", label="targets only")
    ax.set(xlabel="questions", ylabel="share of the targets' space", ylim=0)
    ax.legend(frameon=False)
    return ax


def plot_found_graphs(graphs: Sequence[Any], *, n_columns: int = 8, ax: Axes | None = None) -> Axes:
    """Draw graphs side by side, without crossings where that is possible.

    Parameters
    ----------
    graphs : list of networkx.Graph
        What a search found.
    n_columns : int, default=8
        Graphs in a row.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    import networkx as nx

    ax = ax or plt.subplots()[1]
    for i, graph in enumerate(graphs):
        row, column = divmod(i, n_columns)
        layout = nx.planar_layout if nx.is_planar(graph) else nx.circular_layout
        place = layout(graph, scale=0.4, center=(column, -row))
        for u, v in graph.edges():
            ax.plot(*zip(place[u], place[v]), color="0.6", linewidth=0.8, zorder=1)
        x, y = np.array(list(place.values())).T
        ax.scatter(x, y, s=8, color="C0", zorder=2)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax
