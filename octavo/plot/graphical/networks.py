"""Pictures of Bayesian networks, of their search and of what pruning saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from octavo._outside_text import literal

__all__ = [
    "plot_anytime_bounds",
    "plot_bayesian_network",
    "plot_cache_sizes",
    "plot_cpdag",
    "plot_two_slices",
]

Places = dict[Any, tuple[float, float]]


def _layers(graph: Any) -> list[list[Any]]:
    """Return the nodes by the length of the longest path that leads to them."""
    depth: dict[Any, int] = {}
    waiting = list(graph.nodes)
    while waiting:
        for node in list(waiting):
            parents = list(graph.predecessors(node))
            if all(p in depth for p in parents):
                depth[node] = 1 + max((depth[p] for p in parents), default=-1)
                waiting.remove(node)
    return [[n for n in graph.nodes if depth[n] == k] for k in range(max(depth.values()) + 1)]


def _layered_places(graph: Any) -> Places:
    """Place parents above children, near the mean of their parents."""
    places: Places = {}
    for row, layer in enumerate(_layers(graph)):
        wish = {n: np.mean([places[p][0] for p in graph.predecessors(n)] or [0.0]) for n in layer}
        ordered = sorted(layer, key=lambda n: wish[n])
        for k, node in enumerate(ordered):
            places[node] = (k - (len(layer) - 1) / 2 + 0.23 * (row % 2), -float(row))
    return places


def _ring_places(graph: Any) -> Places:
    angles = np.linspace(0, 2 * np.pi, graph.number_of_nodes(), endpoint=False)
    return {n: (float(np.sin(a)), float(np.cos(a))) for n, a in zip(graph.nodes, angles)}


def _draw_nodes(ax: Axes, places: Places) -> None:
    for node, (x, y) in places.items():
        ax.text(
            x, y, literal(node), ha="center", va="center", fontsize="small", zorder=3,
            bbox={"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "0.5"},
        )  # fmt: skip
    spots = np.array(list(places.values()))
    ax.set_xlim(spots[:, 0].min() - 0.6, spots[:, 0].max() + 0.6)
    ax.set_ylim(spots[:, 1].min() - 0.4, spots[:, 1].max() + 0.4)
    ax.axis("off")


def _draw_arc(ax: Axes, start: Any, end: Any, color: str = "0.3", style: str = "-|>", **kw: Any):
    ax.annotate(
        "", xy=end, xytext=start,
        arrowprops={"arrowstyle": style, "color": color, "shrinkA": 12, "shrinkB": 12, **kw},
    )  # fmt: skip


def plot_bayesian_network(learner: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a learned network with required arcs and forbidden arcs in colour.

    Parameters
    ----------
    learner : BayesianNetworkStructureLearner
        A fitted learner; anything with `dag_` will do.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    graph = learner.dag_
    nodes = list(graph.nodes)
    required = {(nodes[a], nodes[b]) for a, b in getattr(learner, "required_arcs_", [])}
    forbidden = {(nodes[a], nodes[b]) for a, b in getattr(learner, "forbidden_arcs_", [])}
    places = _layered_places(graph)
    for a, b in graph.edges:
        color, width = ("C0", 2.0) if (a, b) in required else ("0.3", 1.0)
        _draw_arc(ax, places[a], places[b], color, linewidth=width)
    for a, b in forbidden - {(b, a) for a, b in graph.edges}:
        _draw_arc(ax, places[a], places[b], "C3", "-", linewidth=0.6, linestyle=":", alpha=0.6)
    _draw_nodes(ax, places)
    if required or forbidden:
        handles = [
            Line2D([], [], color="C0", linewidth=2, label="required"),
            Line2D([], [], color="C3", linestyle=":", label="forbidden"),
        ]
        ax.legend(handles=handles, frameon=False, fontsize="small")
    return ax


def plot_cpdag(graph: Any, *, ax: Axes | None = None) -> Axes:
    """Draw an equivalence class: arrows where all members agree, plain lines elsewhere.

    Parameters
    ----------
    graph : networkx.DiGraph
        What `cpdag` returns; a pair of arcs is a link without direction.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    places = _ring_places(graph)
    for a, b in graph.edges:
        if not graph.has_edge(b, a):
            _draw_arc(ax, places[a], places[b])
        elif str(a) < str(b):
            _draw_arc(ax, places[a], places[b], "C1", "-", linewidth=1.5)
    _draw_nodes(ax, places)
    return ax


def plot_anytime_bounds(learner: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the best score and the upper bound of a search against time.

    Parameters
    ----------
    learner : BayesianNetworkStructureLearner or NetworkResult
        Anything with `history_` or `trace`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    trace = np.array(getattr(learner, "history_", None) or learner.trace, dtype=float)
    ax.step(trace[:, 0], trace[:, 1], where="post", color="C0", label="best network")
    finite = np.isfinite(trace[:, 2])
    ax.step(trace[finite, 0], trace[finite, 2], where="post", color="C3", label="upper bound")
    ax.set(xlabel="seconds", ylabel="score")
    ax.legend(frameon=False)
    return ax


def plot_cache_sizes(caches: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw how many parent sets were evaluated and kept, with and without pruning.

    Parameters
    ----------
    caches : mapping of str to ParentSetCache
        Caches by name, such as one for each value of `pruning`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    at = np.arange(len(caches))
    evaluated = [cache.n_evaluated for cache in caches.values()]
    kept = [int(np.sum(cache.n_sets)) for cache in caches.values()]
    for shift, counts, label in ((-0.2, evaluated, "evaluated"), (0.2, kept, "kept")):
        bars = ax.bar(at + shift, counts, 0.38, label=label)
        ax.bar_label(bars, fontsize="small")
    ax.set_xticks(at, list(caches))
    ax.set(yscale="log", ylabel="parent sets")
    ax.legend(frameon=False)
    return ax


def _slice_places(names: Sequence[str]) -> Places:
    n = len(names) // 2
    rows: NDArray[np.float64] = -np.arange(n, dtype=float)
    return {name: (2.0 * (k // n), float(rows[k % n])) for k, name in enumerate(names)}


def plot_two_slices(learner: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a transition network: the slice before on the left, the slice on the right.

    Parameters
    ----------
    learner : DynamicBNLearner
        A fitted learner.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    graph = learner.dag_
    places = _slice_places(list(graph.nodes))
    for a, b in graph.edges:
        inside = places[a][0] == places[b][0]
        bend = {"connectionstyle": "arc3,rad=-0.4"} if inside else {}
        _draw_arc(ax, places[a], places[b], "C1" if inside else "0.3", **bend)
    _draw_nodes(ax, places)
    return ax
