"""Pictures of several networks: what they share, and the nodes by which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_edge_recovery",
    "plot_network_difference",
    "plot_networks",
    "plot_node_scores",
    "plot_penalty_surface",
    "plot_screening_speed",
]


def _draw_matrix(ax: Axes, A: np.ndarray, limit: float) -> Any:
    """Draw a matrix in red and blue, white at zero."""
    image = ax.imshow(A, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    return image


def _limit(A: np.ndarray) -> float:
    off = A - np.einsum("...ii->...i", A)[..., None] * np.eye(A.shape[-1])
    return max(float(np.abs(off).max(initial=0.0)), 1e-12)


def plot_networks(
    precisions: ArrayLike,
    *,
    scores: ArrayLike | None = None,
    labels: Sequence[object] | None = None,
    axes: Any = None,
) -> np.ndarray:
    """Draw precision matrices side by side, the nodes of largest score first.

    Parameters
    ----------
    precisions : array-like of shape (n_networks, n_features, n_features)
        The matrices, such as ``precisions_``.
    scores : array-like of shape (n_features,), optional
        What to sort the nodes by, such as ``node_scores_``; their own order by default.
    labels : sequence, optional
        What the networks are called.
    axes : array of matplotlib axes, optional
        Where to draw, one a network; new axes by default.

    Returns
    -------
    axes : ndarray of matplotlib axes
        The axes.
    """
    matrices = np.asarray(precisions, dtype=float)
    if axes is None:
        size = (4.0 * len(matrices), 4.0)
        axes = plt.subplots(1, len(matrices), figsize=size, squeeze=False, layout="constrained")[1]
    axes = np.atleast_1d(axes).ravel()
    if scores is not None:
        order = np.argsort(-np.asarray(scores), kind="stable")
        matrices = matrices[:, order][:, :, order]
    limit, names = _limit(matrices), range(len(matrices)) if labels is None else labels
    for ax, A, name in zip(axes, matrices, names):
        image = _draw_matrix(ax, A, limit)
        ax.set_title(literal(name), fontsize="small")
    axes[0].figure.colorbar(image, ax=list(axes), shrink=0.8)
    return axes


def plot_network_difference(
    precisions: ArrayLike,
    *,
    nodes: ArrayLike = (),
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference of two precision matrices, and mark the rows of perturbed nodes.

    Parameters
    ----------
    precisions : array-like of shape (2, n_features, n_features)
        The two matrices.
    nodes : array-like of int, default=()
        Nodes to mark.
    names : sequence of str, optional
        Names of all features; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(layout="constrained")[1]
    one, other = np.asarray(precisions, dtype=float)
    image = _draw_matrix(ax, one - other, _limit(one - other))
    nodes = np.asarray(nodes, dtype=int)
    shown = [str(j) if names is None else literal(names[j]) for j in nodes]
    ax.set_yticks(nodes, shown, color="C3", fontsize="small")
    ax.set_xticks(nodes, shown, color="C3", fontsize="small", rotation=90)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    return ax


def plot_node_scores(
    scores: ArrayLike,
    *,
    perturbed: ArrayLike = (),
    cohubs: ArrayLike = (),
    n_deviations: float = 5.5,
    ax: Axes | None = None,
) -> Axes:
    """Draw the column norm of every node, with the threshold above which a node is detected.

    Parameters
    ----------
    scores : array-like of shape (n_features,)
        Norms of columns: ``node_scores_``, or a row of ``column_norms_``.
    perturbed, cohubs : array-like of int, default=()
        True nodes to mark, where they are known.
    n_deviations : float, default=5.5
        Standard deviations above the mean at which the threshold is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    scores = np.asarray(scores, dtype=float)
    ax.vlines(np.arange(len(scores)), 0.0, scores, color="0.6", linewidth=1)
    ax.plot(scores, ".", color="0.4", markersize=4)
    for nodes, style, name in ((perturbed, "C3s", "perturbed"), (cohubs, "C0o", "co-hub")):
        nodes = np.asarray(nodes, dtype=int)
        if len(nodes):
            ax.plot(nodes, scores[nodes], style, label=name)
    threshold = scores.mean() + n_deviations * scores.std()
    label = f"mean + {n_deviations:g} sd"
    ax.axhline(threshold, color="0.3", linestyle="--", linewidth=1, label=label)
    ax.set(xlabel="node", ylabel="norm of its column")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_edge_recovery(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    ylabel: str = "true positive edges",
    ax: Axes | None = None,
) -> Axes:
    """Draw true positive edges, or another measure, against positive edges.

    Parameters
    ----------
    curves : mapping of str to (array-like, array-like)
        For each method, positive edges along its path and what is drawn over them.
    ylabel : str, default="true positive edges"
        What is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, (positive, value) in curves.items():
        order = np.argsort(np.asarray(positive), kind="stable")
        ax.plot(np.asarray(positive)[order], np.asarray(value)[order], ".-", label=name)
    ax.set(xlabel="positive edges", ylabel=ylabel)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_penalty_surface(
    model: Any, *, criterion: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the criterion by which both penalties were chosen, over their grid.

    Parameters
    ----------
    model : NodeJointGraphicalLassoCV
        After fit.
    criterion : str, optional
        A key of ``cv_results_``; the criterion of the selection by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(layout="constrained")[1]
    criterion = criterion or next(iter(model.cv_results_))
    image = ax.imshow(model.cv_results_[criterion], cmap="viridis", aspect="auto")
    ax.set_xticks(range(len(model.alphas_joint_)), [f"{lam:.3g}" for lam in model.alphas_joint_])
    ax.set_yticks(range(len(model.alphas_l1_)), [f"{lam:.3g}" for lam in model.alphas_l1_])
    column = int(np.argmin(np.abs(model.alphas_joint_ - model.alpha_joint_)))
    row = int(np.argmin(np.abs(model.alphas_l1_ - model.alpha_l1_)))
    ax.plot(column, row, "C3s", markersize=12, fillstyle="none", markeredgewidth=2)
    ax.set(xlabel="alpha_joint", ylabel="alpha_l1", title=criterion.replace("_", " "))
    ax.figure.colorbar(image, ax=ax)
    return ax


def plot_screening_speed(
    n_blocks: ArrayLike, ratios: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the time with screening over the time without, against the number of blocks.

    Parameters
    ----------
    n_blocks : array-like
        Blocks into which each problem fell apart.
    ratios : array-like
        Time with screening divided by time without.
    label : str, optional
        What the curve is called.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.plot(np.asarray(n_blocks), np.asarray(ratios), "o-", label=label)
    ax.axhline(1.0, color="0.6", linewidth=0.8)
    ax.set(xlabel="blocks", ylabel="time with screening / without", ylim=(0.0, None))
    if label is not None:
        ax.legend(frameon=False, fontsize="small")
    return ax
