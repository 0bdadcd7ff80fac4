"""Pictures of questions about pairs: what they cost, which were asked, what each stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_cluster_pairs", "plot_pair_weights", "plot_queried_pairs", "plot_query_curve"]


def plot_query_curve(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    best: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw error against questions.

    Parameters
    ----------
    curves : dict of str to (array-like, array-like)
        For each method the numbers of questions and the errors.
    best : float, optional
        The paper's ν, the least error of all, drawn as a line.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, (queries, errors) in curves.items():
        ax.plot(queries, errors, "o-", label=name)
    if best is not None:
        ax.axhline(best, color="0.5", linestyle="--", label="ν, all pairs")
    ax.set(xlabel="questions", ylabel="share of pairs in wrong order", ylim=0)
    ax.legend(frameon=False)
    return ax


def plot_queried_pairs(ranker: Any, *, n_bins: int = 60, ax: Axes | None = None) -> Axes:
    """Draw the share of pairs that were asked, under the order that was found.

    Parameters
    ----------
    ranker : SRRARanker
        A fitted ranker.
    n_bins : int, default=60
        Cells a side; no more than items.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    n = ranker.n_items_
    bins = max(1, min(n_bins, n))
    cell = np.asarray(ranker.position_)[ranker.pairs_] * bins // n
    asked = np.zeros((bins, bins))
    np.add.at(asked, (cell[:, 0], cell[:, 1]), 1.0)
    np.add.at(asked, (cell[:, 1], cell[:, 0]), 1.0)
    size = np.bincount(np.arange(n) * bins // n, minlength=bins)
    pairs = np.outer(size, size) - np.diag(size)
    share = np.divide(asked, pairs, out=np.zeros_like(asked), where=pairs > 0)
    image = ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, extent=(0, n, n, 0))
    ax.figure.colorbar(image, ax=ax, label="share of pairs asked")
    ax.set(xlabel="place of an item", ylabel="place of the other")
    return ax


def plot_pair_weights(model: Any, *, n_bins: int = 30, ax: Axes | None = None) -> Axes:
    """Draw how many ordered pairs the answers of the last round stand for.

    Parameters
    ----------
    model : SRRARanker or SRRAClusterer
        A fitted model.
    n_bins : int, default=30
        Bars.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.hist(model.weights_, bins=n_bins, color="C0")
    ax.set(xlabel="ordered pairs that an answer stands for", ylabel="answers", yscale="log")
    return ax


def plot_cluster_pairs(clusterer: Any, *, ax: Axes | None = None) -> Axes:
    """Draw which pairs are together, items sorted by cluster, and which were asked.

    Parameters
    ----------
    clusterer : SRRAClusterer
        A fitted clusterer.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    order = np.argsort(clusterer.labels_, kind="stable")
    labels = clusterer.labels_[order]
    place = np.argsort(order)
    ax.imshow(labels[:, None] == labels, cmap="Greys", vmin=0.0, vmax=3.0)
    cell = place[clusterer.pairs_]
    ax.plot(cell.max(axis=1), cell.min(axis=1), ",", color="C0")
    ax.set(xlabel="item, by cluster", ylabel="item, by cluster")
    return ax
