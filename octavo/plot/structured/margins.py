"""Pictures of margins and of phrases that move: priced confusions, jumps, aligned sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_jump_distances",
    "plot_phrase_alignment",
    "plot_priced_confusion",
    "plot_score_by_size",
]


def plot_priced_confusion(
    y_true: Any,
    y_pred: Any,
    class_distance: Any,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often classes are confused, with the price of each confusion.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Class numbers.
    class_distance : array-like of shape (n_classes, n_classes)
        Price of answering the column's class where the row's is right.
    names : sequence of str, optional
        Names of the classes; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; a cell's colour is its count times its price, green where the price is zero.
    """
    prices = np.asarray(class_distance, dtype=float)
    n = len(prices)
    if prices.shape != (n, n):
        raise ValueError(f"A class_distance must be a square table, got shape {prices.shape}.")
    true, found = np.asarray(y_true, dtype=int), np.asarray(y_pred, dtype=int)
    if true.shape != found.shape or true.size == 0 or min(true.min(), found.min()) < 0:
        raise ValueError("Parameters `y_true` and `y_pred` must be class numbers of equal length.")
    if max(true.max(), found.max()) >= n:
        raise ValueError(f"Class numbers must be below {n}, the size of class_distance.")
    ax = ax or plt.subplots(figsize=(4.8, 4.4))[1]
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (true, found), 1)
    shown = np.ma.masked_where(prices == 0.0, counts * prices)
    ax.set_facecolor("#d5ecd4")  # seen through the cells that cost nothing
    ax.imshow(shown, cmap="OrRd")
    for i in range(n):
        for j in range(n):
            price = f"\n× {prices[i, j]:g}" if prices[i, j] else ""
            dark = prices[i, j] > 0.0 and counts[i, j] * prices[i, j] > 0.6 * shown.max()
            words, colour = f"{counts[i, j]}{price}", "white" if dark else "black"
            ax.text(j, i, words, ha="center", va="center", fontsize=8, color=colour)
    labels = [str(k) for k in range(n)] if names is None else [str(name) for name in names]
    ax.set_xticks(range(n), labels)
    ax.set_yticks(range(n), labels)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    total = float((counts * prices).sum() / max(counts.sum(), 1))
    ax.set_title(f"mean price {total:.3g}", fontsize=10)
    return ax


def plot_jump_distances(distances: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how many phrases jump how far.

    Parameters
    ----------
    distances : array-like of int of shape (n_phrases,)
        As `phrase_examples` and `reordering_distances` give them.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; forward jumps are negative, and counts are on a logarithmic scale.
    """
    ax = ax or plt.subplots(figsize=(5.5, 3.5))[1]
    jumps = np.asarray(distances, dtype=int).ravel()
    if not jumps.size:
        raise ValueError("There is no jump to draw.")
    places, counts = np.unique(jumps, return_counts=True)
    colours = ["C0" if d < 0 else "0.6" if d == 0 else "C1" for d in places]
    ax.bar(places, counts, color=colours)
    ax.set_yscale("log")
    ax.set_xlabel("words jumped (forward < 0 < back)")
    ax.set_ylabel("phrases")
    return ax


def plot_phrase_alignment(
    source: Any,
    target: Any,
    alignment: Any,
    derivation: Any = (),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the links of a sentence pair, the phrases of a translation and their jumps.

    Parameters
    ----------
    source, target : sequence of str or str
        Words.
    alignment : set of (int, int)
        Links (source position, target position).
    derivation : sequence of PhrasePair, optional
        Phrases in the order of the target; an arrow leads from each to the next.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes: source words across, target words down.
    """
    across = source.split() if isinstance(source, str) else list(source)
    down = target.split() if isinstance(target, str) else list(target)
    ax = ax or plt.subplots(figsize=(1.5 + 0.5 * len(across), 1.2 + 0.4 * len(down)))[1]
    for i, j in sorted(alignment):
        ax.add_patch(Rectangle((i - 0.35, j - 0.35), 0.7, 0.7, color="0.3"))
    centres = []
    for (a, b), (c, d) in derivation:
        ax.add_patch(
            Rectangle((a - 0.47, c - 0.47), b - a - 0.06, d - c - 0.06, fill=False, edgecolor="C0")
        )
        centres.append((a, b, (c + d - 1) / 2.0))
    for (_, b, y), (a, _, z) in pairwise(centres):
        colour = "0.6" if a == b else "C1"
        ax.annotate(
            "", (a, z), (b - 1, y), arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.5}
        )
    ax.set_xlim(-0.6, len(across) - 0.4)
    ax.set_ylim(len(down) - 0.4, -0.6)
    ax.set_xticks(range(len(across)), across, rotation=45, ha="right")
    ax.set_yticks(range(len(down)), down)
    ax.set_aspect("equal")
    return ax


def plot_score_by_size(
    sizes: Any, scores: Mapping[str, Any], *, ylabel: str = "F1", ax: Axes | None = None
) -> Axes:
    """Draw the scores of several learners against the size of the training set.

    Parameters
    ----------
    sizes : array-like of shape (n_sizes,)
        Training sentences.
    scores : dict of str to array-like of shape (n_sizes,)
        By the name of the learner.
    ylabel : str, default="F1"
        What the scores are.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5.5, 3.8))[1]
    at = np.asarray(sizes, dtype=float)
    for name, values in scores.items():
        heights = np.asarray(values, dtype=float)
        if heights.shape != at.shape:
            raise ValueError(f"Scores of {name!r} must be {at.size}, one for each size.")
        ax.plot(at, heights, marker="o", label=name)
    ax.set_xscale("log")
    ax.set_xlabel("training sentences")
    ax.set_ylabel(ylabel)
    ax.legend()
    return ax
