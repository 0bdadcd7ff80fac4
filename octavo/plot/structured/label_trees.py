"""Pictures of label trees: the learned graph of labels, gaps by round, certified shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_certified_share", "plot_label_graph", "plot_label_losses", "plot_tree_gaps"]


def plot_label_graph(
    edge_weights: Any,
    *,
    names: Sequence[str] | None = None,
    true_edges: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw labels on a circle, with pairs as wide as their weights.

    Parameters
    ----------
    edge_weights : array-like of shape (n_labels, n_labels)
        Such as ``edge_weights_`` of `SpanningTreeMultiLabel`.
    names : sequence of str, optional
        Names of the labels; their numbers by default.
    true_edges : array-like of shape (n_edges, 2), optional
        Pairs that are known to matter, drawn in another colour.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(4.5, 4.5))[1]
    weights = np.asarray(edge_weights, dtype=float)
    n = len(weights)
    if weights.ndim != 2 or weights.shape != (n, n) or n < 2:
        raise ValueError(f"edge_weights must be a square table of pairs, got {weights.shape}.")
    angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    x, y = np.cos(angles), np.sin(angles)
    known = {tuple(sorted(map(int, e))) for e in ([] if true_edges is None else true_edges)}
    for i in range(n):
        for j in range(i):
            if weights[i, j] > 1e-3 or (j, i) in known:
                colour = "C1" if (j, i) in known else "C0"
                width = 5.0 * weights[i, j]
                ax.plot(x[[i, j]], y[[i, j]], color=colour, linewidth=width, alpha=0.8, zorder=1)
    ax.scatter(x, y, s=220, color="white", edgecolor="black", zorder=2)
    for i in range(n):
        text = str(i) if names is None else str(names[i])
        ax.annotate(text, (x[i], y[i]), ha="center", va="center", fontsize=8, zorder=3)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.1)
    return ax


def plot_tree_gaps(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the objective of each round with what its duality gap leaves open.

    Parameters
    ----------
    model : SpanningTreeMultiLabel or RandomSpanningTreeMultiLabel
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rounds = np.arange(len(model.objectives_))
    ax.plot(rounds, model.duality_gaps_ / model.objectives_, label="relative duality gap")
    if model.n_trees_.any():
        trees = ax.twinx()
        trees.plot(rounds, model.n_trees_, ":", color="C1")
        trees.set_ylabel("trees in the mixture", color="C1")
    ax.axhline(model.tol, color="grey", linewidth=0.8)
    ax.set(yscale="log", xlabel="round", ylabel="gap / objective")
    return ax


def plot_certified_share(
    model: Any, X: Any, *, lengths: Sequence[int] = (1, 2, 4, 8, 16, 32), ax: Axes | None = None
) -> Axes:
    """Draw which share of rows is certified, against the length of the trees' lists.

    Parameters
    ----------
    model : SpanningTreeMultiLabel, RandomSpanningTreeMultiLabel or MaxMarginTrees
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows.
    lengths : sequence of int, default=(1, 2, 4, 8, 16, 32)
        Lengths to try.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    before = model.k_best
    try:
        shares = []
        for length in lengths:
            model.k_best = int(length)
            shares.append(float(model.predict_certified(X)[1].mean()))
    finally:
        model.k_best = before
    ax.plot(list(lengths), shares, "o-")
    ax.set_xscale("log", base=2)
    ax.set(xlabel="length K of each tree's list", ylabel="share of rows certified", ylim=(0, 1.03))
    return ax


def plot_label_losses(losses: Mapping[str, Sequence[float]], *, ax: Axes | None = None) -> Axes:
    """Draw shares of wrong label sets and of wrong labels side by side, model by model.

    Parameters
    ----------
    losses : mapping of str to sequence of two float
        Zero-one and Hamming loss of each model, under the name to show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.array([list(pair) for pair in losses.values()], dtype=float)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError("losses must give two numbers per model: zero-one and Hamming loss.")
    places = np.arange(len(table))
    for column, (name, shift) in enumerate((("wrong label sets", -0.2), ("wrong labels", 0.2))):
        ax.bar(places + shift, table[:, column], width=0.4, label=name)
    ax.set_xticks(places, list(losses))
    ax.set_ylabel("share")
    ax.legend(frameon=False)
    return ax
