"""Pictures of interactions: one intersection tree, prevalences of patterns, boards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = ["plot_board_patterns", "plot_intersection_tree", "plot_pattern_prevalence"]


def _places(parents: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return where nodes stand: leaves side by side, parents above the middle of their children."""
    n = len(parents)
    children: list[list[int]] = [[] for _ in range(n)]
    depth = np.zeros(n)
    for node in range(1, n):
        children[parents[node]].append(node)
        depth[node] = depth[parents[node]] + 1
    x, free = np.zeros(n), 0
    stack = [(0, False)] if n else []
    while stack:
        node, done = stack.pop()
        if children[node] and not done:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children[node]))
        elif children[node]:
            x[node] = np.mean([x[child] for child in children[node]])
        else:
            x[node], free = free, free + 1
    return x, -depth


def plot_intersection_tree(
    tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    max_members: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """Draw one intersection tree: what each node holds, and which branches have ended.

    Parameters
    ----------
    tree : IntersectionTree
        From `intersection_tree`.
    feature_names : sequence of str, optional
        Names of the columns; numbers by default.
    max_members : int, default=6
        Larger sets are shown by their size.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(10, 5))[1]
    x, depth = _places(tree.parents)
    leaves = set(tree.leaves)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            ax.plot(x[[parent, node]], depth[[parent, node]], color="0.75", linewidth=0.8, zorder=1)
        held = tree.sets[node]
        words = [str(k) if feature_names is None else str(feature_names[k]) for k in held]
        text = ", ".join(words) if len(held) <= max_members else f"{len(held)} columns"
        color = "C2" if node in leaves else ("0.3" if tree.admissible[node] else "C3")
        ax.annotate(
            literal(text) if held else "∅",
            (x[node], depth[node]),
            ha="center",
            va="center",
            fontsize="x-small",
            color=color,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": color, "lw": 0.8},
        )
    ax.set(
        xticks=[], ylabel="depth", xlim=(x.min() - 1, x.max() + 1), ylim=(depth.min() - 0.5, 0.5)
    )
    ax.set_yticks(np.arange(int(depth.min()), 1), np.arange(-int(depth.min()), -1, -1))
    ax.set_title("green: collected; red: too common outside the class", fontsize="medium")
    return ax


def plot_pattern_prevalence(model: Any, *, label: int = 5, ax: Axes | None = None) -> Axes:
    """Draw patterns by their prevalence in the target class and outside.

    Parameters
    ----------
    model : RandomIntersectionTrees
        Fitted.
    label : int, default=5
        How many of the most frequently found are named.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; areas are proportional to the number of trees.
    """
    ax = ax or plt.subplots()[1]
    inside, outside = np.asarray(model.prevalence_).reshape(-1, 2).T
    counts = np.asarray(model.counts_, dtype=float)
    area = 150 * counts / max(1.0, counts.max(initial=1.0))
    ax.scatter(outside, inside, s=area, alpha=0.6)
    for found in model.top(label):
        text = literal(" & ".join(found.names))
        ax.annotate(text, (found.outside, found.inside), fontsize="x-small")
    ax.set(xlabel="prevalence outside", ylabel="prevalence in the target class")
    return ax


def plot_board_patterns(
    patterns: Sequence[Sequence[int]],
    counts: ArrayLike,
    *,
    n_patterns: int = 16,
    ax: Axes | None = None,
) -> Axes:
    """Draw patterns of tic-tac-toe as boards whose area says how often they were found.

    Parameters
    ----------
    patterns : sequence of sequences of int
        Columns of `octavo.data.make_tic_tac_toe`: nine cells of the first player (filled), nine
        of the second (empty circles); columns of noise are left out.
    counts : array-like of shape (n_patterns,)
        In how many trees each was found.
    n_patterns : int, default=16
        How many are drawn, the most frequent first.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(10, 3))[1]
    counts = np.asarray(counts, dtype=float)
    order = np.argsort(-counts, kind="stable")[:n_patterns]
    for place, s in enumerate(order):
        side = 0.9 * float(np.sqrt(counts[s] / counts[order[0]]))
        left, bottom = place % 8 - side / 2, -(place // 8) - side / 2
        for line in range(4):
            at = line * side / 3
            ax.plot([left, left + side], [bottom + at] * 2, color="0.7", linewidth=0.6)
            ax.plot([left + at] * 2, [bottom, bottom + side], color="0.7", linewidth=0.6)
        for k in patterns[s]:
            if k < 18:
                row, column = divmod(k % 9, 3)
                centre = (left + (column + 0.5) * side / 3, bottom + (2.5 - row) * side / 3)
                ax.add_patch(plt.Circle(centre, side / 8, fill=k < 9, color="k", linewidth=1))
    ax.set(xlim=(-0.6, 7.6), aspect="equal")
    ax.set_axis_off()
    return ax
