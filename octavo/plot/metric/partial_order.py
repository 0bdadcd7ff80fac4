"""Pictures of partial order embeddings: weights of kernels and landmarks, accuracies, graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

__all__ = [
    "plot_beta_scores",
    "plot_comparison_graph",
    "plot_kernel_shares",
    "plot_landmark_weights",
    "plot_order_embedding",
    "plot_view_accuracy",
]


def plot_kernel_shares(
    weights: ArrayLike, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how much each kernel takes part, as shares.

    Parameters
    ----------
    weights : array-like of shape (n_kernels,)
        Such as `MultipleKernelPOE.kernel_weights_`.
    names : sequence of str, optional
        Names of the kernels.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = np.asarray(weights, dtype=float)
    shown = [str(p) for p in range(len(values))] if names is None else list(names)
    ax.barh(np.arange(len(values)), values / max(values.sum(), 1e-300))
    ax.set_yticks(np.arange(len(values)), shown)
    ax.invert_yaxis()
    ax.set(xlabel="share of the regulariser")
    return ax


def plot_landmark_weights(model: Any, names: Sequence[str] | None = None) -> Figure:
    """Draw the diagonal of each kernel's matrix: which items are landmarks for which kernel.

    Parameters
    ----------
    model : MultipleKernelPOE
        Fitted, best with ``structure="diagonal"``.
    names : sequence of str, optional
        Names of the kernels.

    Returns
    -------
    matplotlib figure
        One row a kernel, as in Figure 8 of the paper.
    """
    matrices = model.W_ if isinstance(model.W_, list) else [model.W_]
    figure, axes = plt.subplots(
        len(matrices), 1, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for p, (ax, W) in enumerate(zip(axes[:, 0], matrices, strict=True)):
        ax.bar(np.arange(len(W)), np.diagonal(W), width=1.0)
        ax.set_ylabel(str(p) if names is None else names[p], rotation=0, ha="right")
    axes[-1, 0].set_xlabel("training item")
    return figure


def plot_view_accuracy(
    accuracies: Mapping[str, tuple[float, float]], *, ax: Axes | None = None
) -> Axes:
    """Draw accuracies before and after learning, a pair of bars for each view.

    Parameters
    ----------
    accuracies : mapping of str to (float, float)
        Names, and shares of comparisons that the native and the learned space get right.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; chance is one half.
    """
    ax = ax or plt.subplots()[1]
    places = np.arange(len(accuracies))
    for shift, label, column in ((-0.2, "native", 0), (0.2, "learned", 1)):
        ax.barh(places + shift, [pair[column] for pair in accuracies.values()], 0.4, label=label)
    ax.axvline(0.5, color="0.5", linewidth=0.8)
    ax.set_yticks(places, list(accuracies))
    ax.invert_yaxis()
    ax.set(xlabel="comparisons in the right order", xlim=(0, 1))
    ax.legend(frameon=False)
    return ax


def plot_order_embedding(
    points: ArrayLike,
    labels: ArrayLike,
    new_points: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first two dimensions of a learned space, new items as crosses.

    Parameters
    ----------
    points : array-like of shape (n_items, n_dimensions)
        Such as `MultipleKernelPOE.embedding_`.
    labels : array-like of shape (n_items,)
        What colours stand for.
    new_points : array-like of shape (n_new, n_dimensions), optional
        Such as `MultipleKernelPOE.transform` returns.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    Z, labels = np.asarray(points, dtype=float), np.asarray(labels)
    for label in np.unique(labels):
        chosen = labels == label
        second = Z[chosen, 1] if Z.shape[1] > 1 else np.zeros(chosen.sum())
        ax.plot(Z[chosen, 0], second, ".", markersize=5, label=str(label))
    if new_points is not None:
        new = np.asarray(new_points, dtype=float)
        second = new[:, 1] if new.shape[1] > 1 else np.zeros(len(new))
        ax.plot(new[:, 0], second, "+", color="red", markersize=6, label="new")
    ax.set(xlabel="first direction", ylabel="second direction")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_comparison_graph(graph: Any, *, ax: Axes | None = None) -> Axes:
    """Draw comparisons between pairs of items, those on a cycle in red.

    Parameters
    ----------
    graph : ComparisonGraph
        Of few pairs, which stand on a circle.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; an arrow points from the closer pair to the farther one.
    """
    ax = ax or plt.subplots()[1]
    pairs = np.asarray(graph.pairs)
    angles = 2.0 * np.pi * np.arange(len(pairs)) / max(len(pairs), 1)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    cyclic = set(np.asarray(graph.contradictions().cyclic).tolist())
    for e, (u, v) in enumerate(zip(graph.tails, graph.heads, strict=True)):
        ax.annotate(
            "",
            places[v],
            places[u],
            arrowprops={
                "arrowstyle": "->",
                "color": "red" if e in cyclic else "0.4",
                "shrinkA": 12,
                "shrinkB": 12,
                "connectionstyle": "arc3,rad=0.08",
            },
        )
    for (i, j), (x, y) in zip(pairs, places, strict=True):
        ax.text(x, y, f"{i}-{j}", ha="center", va="center")
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.axis("off")
    return ax


def plot_beta_scores(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the share of held-out comparisons in the right order over β.

    Parameters
    ----------
    model : MultipleKernelPOECV
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; the choice is marked.
    """
    ax = ax or plt.subplots()[1]
    scores = np.asarray(model.cv_scores_)
    ax.semilogx(model.betas_, scores.mean(axis=1), "o-")
    ax.axvline(model.beta_, color="0.5", linewidth=0.8)
    ax.set(xlabel="beta", ylabel="held-out comparisons in the right order")
    return ax
