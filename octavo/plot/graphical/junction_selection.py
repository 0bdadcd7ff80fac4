"""Pictures of graphs that were found region by region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_decided_edges",
    "plot_graph_overlay",
    "plot_recovery_bars",
    "plot_region_graph",
]

Positions = Mapping[Any, Sequence[float]]


def _places(graph: nx.Graph) -> dict[Any, Any]:
    """Place each connected piece by its own springs, and the pieces in rows."""
    pieces = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    width = int(np.ceil(np.sqrt(len(pieces))))
    largest = max((len(part) for part in pieces), default=1)
    found: dict[Any, Any] = {}
    x, y, tallest = 0.0, 0.0, 0.0
    for number, part in enumerate(pieces):
        size = np.sqrt(len(part) / largest)
        if number and x > np.sqrt(width) * 1.5:
            x, y, tallest = 0.0, y - tallest - 0.25, 0.0
        inner = (
            nx.kamada_kawai_layout(graph.subgraph(part)) if len(part) > 1 else {min(part): (0, 0)}
        )
        for node, at in inner.items():
            found[node] = np.array([x + size, y - size]) + size * np.asarray(at)
        x, tallest = x + 2.0 * size + 0.25, max(tallest, 2.0 * size)
    return found


def _draw(graph: nx.Graph, at: Positions, edges: Any, ax: Axes, **style: Any) -> None:
    for i, j in edges:
        (x0, y0), (x1, y1) = at[i], at[j]
        ax.plot([x0, x1], [y0, y1], zorder=1, **style)


def _finish(graph: nx.Graph, at: Positions, names: Sequence[Any] | None, ax: Axes) -> None:
    points = np.array([at[node] for node in graph])
    ax.scatter(points[:, 0], points[:, 1], s=14, color="0.25", zorder=2)
    if names is not None:
        for node, (x, y) in zip(graph, points, strict=True):
            ax.annotate(literal(names[node]), (x, y), fontsize="x-small", ha="center", va="bottom")
    ax.set_axis_off()


def plot_decided_edges(
    model: Any,
    *,
    names: Sequence[Any] | None = None,
    positions: Positions | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a graph, its edges coloured by the row of the region graph that decided them.

    Parameters
    ----------
    model : JunctionTreeUGMS
        After fit.
    names : sequence, optional
        What the columns are called; no names by default.
    positions : mapping of int to (float, float), optional
        Where the nodes stand; by springs by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes. Pairs that were screened in and decided against are thin and grey.
    """
    ax = ax or plt.subplots(figsize=(6, 5), layout="constrained")[1]
    at = _places(model.graph_) if positions is None else positions
    row_of = {pair: step.row for step in model.history_ for pair in step.decided}
    edges = {tuple(sorted(edge)) for edge in model.graph_.edges}
    dropped = [pair for pair in row_of if pair not in edges]
    _draw(model.graph_, at, dropped, ax, color="0.85", linewidth=0.7)
    handles = [Line2D([], [], color="0.85", label=f"decided against ({len(dropped)})")]
    rows = sorted({row_of[edge] for edge in edges})
    what = {0: "clusters", 1: "separators"}
    for row in rows:
        here = [edge for edge in edges if row_of[edge] == row]
        label = f"row {row + 1}: {what.get(row, 'intersections')} ({len(here)})"
        _draw(model.graph_, at, here, ax, color=f"C{row}", linewidth=1.8)
        handles.append(Line2D([], [], color=f"C{row}", label=label))
    ax.legend(handles=handles, frameon=False, fontsize="small", loc="lower right")
    _finish(model.graph_, at, names, ax)
    return ax


def plot_graph_overlay(
    first: ArrayLike,
    second: ArrayLike,
    *,
    labels: Sequence[str] = ("first", "second"),
    positions: Positions | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw two graphs over each other: what they share, and what only one has.

    Parameters
    ----------
    first, second : array-like of shape (n_nodes, n_nodes)
        The graphs: edges where they are not zero.
    labels : sequence of two str, default=("first", "second")
        What they are called.
    positions : mapping of int to (float, float), optional
        Where the nodes stand; by springs of the first graph by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(6, 5), layout="constrained")[1]
    one, other = (np.triu(np.asarray(A) != 0, 1) for A in (first, second))
    graph = nx.from_numpy_array(one | one.T)
    at = _places(graph) if positions is None else positions
    kinds: list[tuple[str, np.ndarray, dict[str, Any]]] = [
        ("both", one & other, {"color": "0.3", "linewidth": 2.0}),
        (f"{literal(labels[0])} only", one & ~other, {"color": "C0", "linestyle": "--"}),
        (f"{literal(labels[1])} only", other & ~one, {"color": "C3", "linestyle": ":"}),
    ]
    handles = []
    for label, chosen, style in kinds:
        pairs = np.argwhere(chosen)
        _draw(graph, at, pairs.tolist(), ax, **style)
        handles.append(Line2D([], [], label=f"{label} ({len(pairs)})", **style))
    ax.legend(handles=handles, frameon=False, fontsize="small", loc="lower right")
    _finish(graph, at, None, ax)
    return ax


def plot_region_graph(regions: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the rows of a region graph, with an arc to every region that another contains.

    Parameters
    ----------
    regions : RegionGraph
        As `region_graph` returns it.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(8, 4), layout="constrained")[1]
    at = {
        (level, region): ((place + 0.5) / len(row), -level)
        for level, row in enumerate(regions.rows)
        for place, region in enumerate(row)
    }
    for (level, region), (x, y) in at.items():
        for child in regions.children[level, region]:
            x1, y1 = at[level + 1, child]
            ax.annotate(
                "",
                (x1, y1 + 0.16),
                (x, y - 0.16),
                arrowprops={"arrowstyle": "->", "color": "0.6", "linewidth": 0.8},
            )
        text = ", ".join(str(literal(v)) for v in sorted(region))
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": f"C{level}"}
        ax.text(x, y, text, ha="center", va="center", fontsize="small", bbox=box)
    ax.set(xlim=(0, 1), ylim=(-len(regions.rows) + 0.5, 0.5))
    ax.set_axis_off()
    return ax


def plot_recovery_bars(
    results: Mapping[str, ArrayLike], *, ylabel: str = "weak edges found", ax: Axes | None = None
) -> Axes:
    """Draw the mean of a measure for each method as a bar, with its standard error.

    Parameters
    ----------
    results : mapping of str to array-like of shape (n_repeats,)
        The measure in each repetition, by method.
    ylabel : str, default="weak edges found"
        What is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(layout="constrained")[1]
    values = [np.asarray(result, dtype=float) for result in results.values()]
    means = [v.mean() for v in values]
    errors = [v.std(ddof=1) / np.sqrt(len(v)) if len(v) > 1 else 0.0 for v in values]
    colors = [f"C{place}" for place in range(len(values))]
    ax.bar(range(len(values)), means, yerr=errors, color=colors, capsize=4)
    ax.set_xticks(range(len(values)), [literal(name) for name in results])
    ax.set_ylabel(ylabel)
    return ax
