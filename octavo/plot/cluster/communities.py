"""Pictures of graph clusterings: phase diagram, axioms, profile over scales, graph, matrix."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from numpy.typing import ArrayLike

__all__ = [
    "plot_axiom_matrix",
    "plot_cluster_adjacency",
    "plot_communities",
    "plot_resolution_map",
    "plot_resolution_profile",
]

OUTCOMES = ("0.93", "#9ecae1", "#e34a33")


def plot_resolution_map(resolution: Any, *, ax: Axes | None = None) -> Axes:
    """Draw which clustering of two cliques is best, by weight within and between.

    Parameters
    ----------
    resolution : ResolutionMap
        From `octavo.cluster.resolution_map`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    w, b, outcome = resolution.w, resolution.b, np.asarray(resolution.outcome)
    ax.pcolormesh(
        w, b, outcome, cmap=ListedColormap(OUTCOMES), vmin=0.5, vmax=3.5, shading="nearest"
    )
    for number in (1, 2, 3):
        rows, columns = np.nonzero(outcome == number)
        if rows.size > 0.01 * outcome.size:
            # the point of the region nearest to its middle
            middle = np.abs(rows - rows.mean()) / len(b) + np.abs(columns - columns.mean()) / len(w)
            at = int(np.argmin(middle))
            ax.text(w[columns[at]], b[rows[at]], str(number), ha="center", va="center")
    ax.set(
        xlabel="weight within each clique", ylabel="weight between", title=str(resolution.quality)
    )
    return ax


def plot_axiom_matrix(reports: dict[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw which axioms were found violated, a row for each quality function.

    Parameters
    ----------
    reports : dict of str to dict
        What `octavo.cluster.check_axioms` returns, by the name of the quality function.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(layout="constrained")[1]
    names = list(reports)
    axioms = list(dict.fromkeys(name for report in reports.values() for name in report))
    held = np.array(
        [[report.get(axiom) is None for axiom in axioms] for report in reports.values()]
    )
    ax.imshow(held, cmap=ListedColormap(("#f4a582", "#a6dba0")), vmin=0, vmax=1, aspect="auto")
    for i, j in np.ndindex(held.shape):
        found = list(reports.values())[i].get(axioms[j])
        nodes = (
            "" if found is None or not found.graphs else f"\n{max(map(len, found.graphs))} nodes"
        )
        ax.text(j, i, "✓" if held[i, j] else f"–{nodes}", ha="center", va="center", fontsize=8)
    words = [axiom.replace("_", " ") for axiom in axioms]
    ax.set_xticks(range(len(axioms)), words, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names)
    return ax


def plot_resolution_profile(profile: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the number of clusters and the quality over the scale M.

    Parameters
    ----------
    profile : ResolutionProfile
        From `octavo.cluster.resolution_profile`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes of the number of clusters; the quality has an axis on the right.
    """
    ax = ax or plt.subplots()[1]
    scales = np.asarray(profile.Ms)
    order = np.argsort(scales)
    ax.step(scales[order], profile.n_clusters[order], where="mid", color="C0", marker="o", ms=3)
    positive = scales[scales > 0]
    ax.set_xscale("symlog", linthresh=float(positive.min()) if positive.size else 1.0)
    ax.set_yscale("log")
    ax.set(xlabel="scale M", ylabel="number of clusters")
    right = ax.twinx()
    right.plot(scales[order], profile.qualities[order], color="C1", lw=1)
    right.set_ylabel("quality", color="C1")
    return ax


def plot_communities(
    graph: Any, labels: ArrayLike, *, positions: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a graph with its nodes coloured by cluster.

    Parameters
    ----------
    graph : networkx graph or square matrix
        The graph; of a networkx graph the nodes in their order.
    labels : array-like of shape (n_nodes,)
        Clusters.
    positions : array-like of shape (n_nodes, 2), default=None
        Where nodes stand; a spring layout by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    import networkx as nx

    ax = ax or plt.subplots()[1]
    if not hasattr(graph, "edges"):
        graph = nx.from_scipy_sparse_array(sp.csr_array(graph))
    clusters = np.asarray(labels)
    if positions is None:
        placed = nx.spring_layout(graph, seed=0)
        positions = np.array([placed[node] for node in graph.nodes])
    points = np.asarray(positions, dtype=np.float64)
    place = {node: k for k, node in enumerate(graph.nodes)}
    for u, v in graph.edges:
        ends = points[[place[u], place[v]]]
        inside = clusters[place[u]] == clusters[place[v]]
        ax.plot(*ends.T, color="0.4" if inside else "0.85", lw=0.8, zorder=1)
    ax.scatter(
        points[:, 0],
        points[:, 1],
        c=[f"C{int(c) % 10}" for c in clusters],
        s=60,
        edgecolors="w",
        zorder=2,
    )
    ax.set_axis_off()
    return ax


def plot_cluster_adjacency(graph: Any, labels: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the matrix of a graph with its nodes in the order of their clusters.

    Parameters
    ----------
    graph : sparse or dense matrix of shape (n_nodes, n_nodes)
        Symmetric.
    labels : array-like of shape (n_nodes,)
        Clusters.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    clusters = np.asarray(labels)
    order = np.argsort(clusters, kind="stable")
    matrix = sp.csr_array(graph)[order][:, order].tocoo()
    size = max(0.3, min(6.0, 250.0 / max(1, len(order))))
    ax.plot(matrix.col, matrix.row, "s", color="C0", ms=size, mew=0)
    ends = np.cumsum(np.bincount(np.unique(clusters, return_inverse=True)[1]))
    starts = np.concatenate([[0], ends[:-1]])
    for start, end in zip(starts, ends):
        box = plt.Rectangle(
            (start - 0.5, start - 0.5), end - start, end - start, fill=False, ec="C3"
        )
        ax.add_patch(box)
    n = len(order)
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal", xticks=[], yticks=[])
    ax.set_xlabel("nodes, by cluster")
    return ax
