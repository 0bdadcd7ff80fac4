"""Pictures of clusters of hidden Markov models: assignments, trees, centres, maps, bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from octavo._outside_text import literal
from octavo.plot.ellipses import covariance_ellipse

__all__ = [
    "plot_bound_history",
    "plot_hmm",
    "plot_hmm_map",
    "plot_hmm_tree",
    "plot_responsibilities",
]


def plot_responsibilities(
    model: Any, classes: Sequence[Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the probability of each cluster for each HMM or sequence as a heat map.

    Parameters
    ----------
    model : HMMClustering, HMMMixture or another with ``responsibilities_``
        A fitted clustering.
    classes : sequence, optional
        The true class of each row; rows are then sorted by it, with lines between classes.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    share = np.asarray(model.responsibilities_)
    order = np.arange(len(share))
    if classes is not None:
        names, place = np.unique(np.asarray(classes), return_inverse=True)
        order = np.argsort(place, kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(place))])
        for edge in edges[1:-1]:
            ax.axhline(edge - 0.5, color="0.4", linewidth=0.8)
        ax.set_yticks((edges[1:] + edges[:-1] - 1) / 2, [literal(name) for name in names])
    # Clusters in the order in which rows meet them, so that the picture is near diagonal.
    first = [np.flatnonzero(share[order].argmax(axis=1) == k) for k in range(share.shape[1])]
    columns = sorted(range(share.shape[1]), key=lambda k: first[k][0] if len(first[k]) else 1e9)
    image = ax.imshow(
        share[order][:, columns], aspect="auto", vmin=0, vmax=1, cmap="Blues", interpolation="none"
    )
    ax.set_xticks(range(len(columns)), [str(k) for k in columns])
    ax.set(xlabel="cluster", ylabel="HMM" if classes is None else "class")
    ax.figure.colorbar(image, ax=ax, label="probability")
    return ax


def plot_hmm_tree(
    tree: Any, classes: Sequence[Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw a tree of clusters as rows of bars, coloured by the classes in each (Figure 2).

    Parameters
    ----------
    tree : HierarchicalHMMClustering, or PPKSpectralClustering with several levels
        A fitted tree.
    classes : sequence, optional
        The true class of each HMM; one class by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    labels = [np.asarray(level.labels) for level in tree.levels_]
    n = labels[0].size
    names, place = np.unique(
        np.zeros(n, dtype=int) if classes is None else np.asarray(classes), return_inverse=True
    )
    colors = plt.get_cmap("tab10")(np.arange(len(names)) % 10)
    # HMMs side by side in the order of the tree, from its top down.
    order = np.lexsort((place, *labels))
    for depth, level in enumerate([np.arange(n), *labels]):
        left, where = 0, level[order]
        while left < n:
            width = int(np.argmax(where[left:] != where[left])) or n - left
            mine = np.bincount(place[order[left : left + width]], minlength=len(names))
            bottom = float(depth)
            for c in np.flatnonzero(mine):
                height = 0.7 * mine[c] / width
                ax.bar(
                    left + width / 2,
                    height,
                    0.96 * width if width > 1 else 1.0,
                    bottom,
                    color=colors[c],
                )
                bottom += height
            if depth:
                for edge in (left, left + width):
                    ax.plot([edge, edge], [depth, depth - 0.3], color="0.6", linewidth=0.6)
            left += width
    ax.set_yticks(
        np.arange(len(labels) + 1) + 0.35,
        ["HMMs", *(f"{level.max() + 1} clusters" for level in labels)],
    )
    ax.set(xlim=(0, n), xticks=[])
    for side in ("top", "right", "bottom", "left"):
        ax.spines[side].set_visible(False)
    if classes is not None:
        handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors]
        ax.legend(
            handles,
            [str(name) for name in names],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=min(len(names), 5),
            frameon=False,
        )
    return ax


def _spreads(hmm: Any, d: int) -> Any:
    """Return the covariance matrices (S, M, d, d) of a model."""
    covars = np.asarray(hmm.covars)
    if hmm.covariance_type == "full":
        return covars
    if hmm.covariance_type == "spherical":
        covars = np.repeat(covars[..., None], d, axis=-1)
    return covars[..., None] * np.eye(d)


def _draw_transitions(ax: Axes, places: Any, transmat: Any, smallest: float) -> None:
    for a, b in np.argwhere(transmat >= smallest):
        if a == b:
            continue
        chance = float(transmat[a, b])
        arrow = FancyArrowPatch(
            tuple(places[a]),
            tuple(places[b]),
            connectionstyle="arc3,rad=0.2",
            arrowstyle="-|>",
            mutation_scale=8 + 8 * chance,
            linewidth=0.5 + 3 * chance,
            color="0.3",
            shrinkA=8,
            shrinkB=8,
        )
        ax.add_patch(arrow)


def plot_hmm(
    hmm: Any,
    *,
    features: tuple[int, int] = (0, 1),
    smallest: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw an HMM as its states' Gaussians with arrows for transitions.

    Parameters
    ----------
    hmm : HMMParams
        A model of Gaussian emissions, such as a cluster's centre.
    features : pair of int, default=(0, 1)
        The two features to show as ellipses of two standard deviations; a model of one feature is
        drawn with its states one above the other.
    smallest : float, default=0.05
        Transitions below this probability are left out.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    means = np.asarray(hmm.means)
    S, M, d = means.shape
    spreads = _spreads(hmm, d)
    colors = plt.get_cmap("tab10")(np.arange(S) % 10)
    centers = np.einsum("sm,smd->sd", hmm.weights, means)
    if d > 1:
        pick = list(features)
        places = centers[:, pick]
        for s in range(S):
            for m in range(M):
                cov = spreads[s, m][np.ix_(pick, pick)]
                shade = 0.15 + 0.3 * float(hmm.weights[s, m])
                ax.add_patch(
                    covariance_ellipse(
                        means[s, m, pick],
                        cov,
                        [0, 1],
                        2.0,
                        fill=True,
                        facecolor=colors[s],
                        alpha=shade,
                        lw=0,
                    )
                )
        ax.set(xlabel=f"feature {pick[0]}", ylabel=f"feature {pick[1]}")
    else:
        places = np.column_stack([centers[:, 0], -np.arange(S)])
        for s in range(S):
            for m in range(M):
                reach = 2 * np.sqrt(spreads[s, m, 0, 0])
                ax.plot(
                    means[s, m, 0] + np.array([-reach, reach]),
                    [-s, -s],
                    color=colors[s],
                    linewidth=8,
                    alpha=0.15 + 0.3 * float(hmm.weights[s, m]),
                    solid_capstyle="round",
                )
        ax.set(xlabel="value (mean ± 2 sd)", yticks=-np.arange(S), ylim=(-S + 0.4, 0.6))
        ax.set_yticklabels([f"state {s}" for s in range(S)])
    _draw_transitions(ax, places, np.asarray(hmm.transmat), smallest)
    size = 30 + 300 * np.asarray(hmm.startprob)
    ax.scatter(places[:, 0], places[:, 1], s=size, color=colors, zorder=3)
    for s in range(S):
        stay = f"{float(hmm.transmat[s, s]):.2f}".lstrip("0")
        ax.annotate(stay, tuple(places[s]), (7, 7), textcoords="offset points", fontsize=8)
    if d > 1:
        ax.autoscale_view()
    return ax


def plot_hmm_map(
    distances: Any, labels: Sequence[Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw HMMs as points whose distances are those between their distributions.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        As from `hmm_distance_matrix`; both directions are averaged. The map is classical
        multidimensional scaling of their square roots, as divergences behave like squares.
    labels : sequence, optional
        The cluster of each HMM.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    squares = np.maximum(0.5 * (np.asarray(distances) + np.asarray(distances).T), 0.0)
    n = len(squares)
    middle = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * middle @ squares @ middle)
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    groups = np.zeros(n, dtype=int) if labels is None else np.asarray(labels)
    for name in np.unique(groups):
        some = points[groups == name]
        ax.scatter(some[:, 0], some[:, 1], s=20, label=None if labels is None else literal(name))
    if labels is not None:
        ax.legend(frameon=False, title="cluster")
    ax.set(xlabel="first axis", ylabel="second axis")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def plot_bound_history(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the objective of EM after each iteration.

    Parameters
    ----------
    model : estimator with ``lower_bounds_``
        A fitted model, such as `HMMClustering`, `HMMMixture` or `GMMReduction`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    history = np.asarray(model.lower_bounds_)
    ax.plot(np.arange(history.size), history, "o-", markersize=3)
    ax.set(xlabel="iteration", ylabel="lower bound")
    return ax
