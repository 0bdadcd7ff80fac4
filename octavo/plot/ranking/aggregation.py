"""Pictures of rank aggregation: scores with doubts, experts, preferences and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

__all__ = [
    "plot_adherence",
    "plot_ndcg_curves",
    "plot_query_ranks",
    "plot_score_forest",
    "plot_variance_support",
    "plot_weight_squares",
]


def plot_score_forest(
    model: Any, names: Sequence[str] | None = None, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw the best items' scores with bars of one variance to each side.

    Parameters
    ----------
    model : MultinomialPreferenceModel
        Fitted to one instance.
    names : sequence of str, optional
        What the items are called; their numbers by default.
    top : int, default=20
        How many items.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    best = np.asarray(model.ranking_)[:top]
    scores, spread = np.asarray(model.scores_)[best], np.asarray(model.variances_)[best]
    places = np.arange(len(best))
    ax.errorbar(scores, places, xerr=spread, fmt="o", color="C0", ecolor="0.6", markersize=4)
    labels = [str(i) for i in best] if names is None else [str(names[i]) for i in best]
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set(xlabel="score ± γ", ylabel="item")
    return ax


def plot_variance_support(variances: Any, support: Any, *, ax: Axes | None = None) -> Axes:
    """Draw each item's variance against how many experts have seen it.

    Parameters
    ----------
    variances : array-like of shape (n_items,)
        The model's ``variances_``.
    support : array-like of shape (n_items,)
        How many ratings or ranks an item has.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.scatter(support, variances, s=12, alpha=0.6)
    ax.set(xlabel="number of ratings", ylabel="variance γ", xscale="symlog", yscale="log")
    return ax


def plot_weight_squares(
    matrix: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix as squares: area is size, white on grey is positive and black negative.

    Parameters
    ----------
    matrix : array-like of shape (n_rows, n_columns)
        Strengths of preference, or weights of experts.
    rows, columns : sequence of str, optional
        What they are called.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.atleast_2d(np.asarray(matrix, dtype=float))
    largest = np.abs(table).max(initial=0.0) or 1.0
    ax.set_facecolor("0.6")
    for (i, j), value in np.ndenumerate(table):
        side = 0.9 * np.sqrt(abs(value) / largest)
        colour = "white" if value > 0 else "black"
        ax.add_patch(Rectangle((j - side / 2, i - side / 2), side, side, color=colour, lw=0))
    ax.set(xlim=(-0.5, table.shape[1] - 0.5), ylim=(table.shape[0] - 0.5, -0.5), aspect="equal")
    ax.set_xticks(range(table.shape[1]), columns or [str(j) for j in range(table.shape[1])])
    ax.set_yticks(range(table.shape[0]), rows or [str(i) for i in range(table.shape[0])])
    ax.tick_params(length=0)
    return ax


def plot_adherence(
    model: Any, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how far each expert follows the consensus.

    Parameters
    ----------
    model : MultinomialPreferenceModel or SupervisedPreferenceModel
        Fitted.
    names : sequence of str, optional
        What the experts are called; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    theta = np.asarray(model.adherence_)
    labels = [str(e) for e in range(theta.size)] if names is None else [str(n) for n in names]
    ax.bar(range(theta.size), theta)
    ax.set_xticks(range(theta.size), labels, rotation=90 if names is not None else 0)
    ax.set(xlabel="expert", ylabel="adherence θ", ylim=(0, 1.05))
    return ax


def plot_ndcg_curves(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw NDCG by where the list is cut, a line a method.

    Parameters
    ----------
    curves : mapping of str to sequence of float
        NDCG at 1, 2, 3, ... of each method.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in curves.items():
        ax.plot(np.arange(1, len(values) + 1), values, marker="o", markersize=4, label=name)
    ax.set(xlabel="k", ylabel="NDCG@k")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_query_ranks(R: Any, scores: Any, relevance: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw one query: who ranked which item where, items by their final score.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts)
        Ranks, 1 is best, NaN is missing.
    scores : array-like of shape (n_items,)
        By which the items are sorted, best on top.
    relevance : array-like of shape (n_items,), optional
        Grades, written beside the items.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ranks = np.asarray(R, dtype=float)
    order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
    image = ax.imshow(ranks[order], aspect="auto", cmap="viridis_r")
    labels = [str(i) for i in order]
    if relevance is not None:
        labels = [f"{i} ({np.asarray(relevance)[i]:g})" for i in order]
    ax.set_yticks(range(len(order)), labels)
    ax.set(xlabel="expert", ylabel="item" if relevance is None else "item (relevance)")
    ax.figure.colorbar(image, ax=ax, label="rank")
    return ax
