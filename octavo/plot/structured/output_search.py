"""Pictures of a search among outputs: accuracy by steps, the way it went, where loss comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_anytime_curves",
    "plot_classifier_errors",
    "plot_search_losses",
    "plot_search_trajectory",
]


def plot_anytime_curves(
    curves: Mapping[str, Sequence[Any]],
    *,
    xlabel: str = "search steps",
    ylabel: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw how good outputs are after every step or some seconds of search.

    Parameters
    ----------
    curves : mapping of name to numbers, or to (x, y) pairs
        Accuracies by step, the start first; or pairs of when and how good.
    xlabel, ylabel : str
        What the axes show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    by_step = all(np.ndim(curve) == 1 for curve in curves.values())
    for name, curve in curves.items():
        points = np.asarray(curve, dtype=float)
        if points.ndim == 1:
            points = np.stack([np.arange(points.size), points], axis=1)
        ax.plot(points[:, 0], points[:, 1], "o-", markersize=3, label=literal(name))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if by_step:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False)
    return ax


def plot_search_trajectory(
    outputs: Sequence[ArrayLike],
    *,
    truth: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the labels of a sequence after every step, with the cells that changed framed.

    Parameters
    ----------
    outputs : sequence of array-like of shape (T,)
        One labelling per step, the start first.
    truth : array-like of shape (T,), optional
        Drawn below; right labels of the outputs are then green, wrong ones red.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    rows = [np.asarray(output).ravel() for output in outputs]
    if not rows or any(row.size != rows[0].size for row in rows):
        raise ValueError("outputs must be labellings of one sequence, at least one.")
    answer = None if truth is None else np.asarray(truth).ravel()
    if answer is not None and answer.size != rows[0].size:
        raise ValueError(f"truth has {answer.size} labels, but outputs have {rows[0].size}.")
    n, size = len(rows) + (answer is not None), rows[0].size
    ax = ax or plt.subplots(figsize=(1.5 + 0.4 * size, 0.8 + 0.35 * n))[1]
    for r, row in enumerate(rows):
        for t, label in enumerate(row.tolist()):
            shade = "0.93"
            if answer is not None:
                shade = "#cfe8cf" if label == answer.tolist()[t] else "#f3c9c5"
            ax.add_patch(Rectangle((t - 0.5, r - 0.5), 1, 1, facecolor=shade, edgecolor="white"))
            ax.text(t, r, literal(label), ha="center", va="center", fontsize=9)
            if r and label != rows[r - 1].tolist()[t]:
                box = Rectangle((t - 0.45, r - 0.45), 0.9, 0.9, fill=False, edgecolor="C0", lw=1.8)
                ax.add_patch(box)
    names = ["start", *(str(r) for r in range(1, len(rows)))]
    if answer is not None:
        for t, label in enumerate(answer.tolist()):
            text = literal(label)
            ax.text(t, len(rows), text, ha="center", va="center", fontsize=9, weight="bold")
        names.append("truth")
    ax.set(xlim=(-0.5, size - 0.5), ylim=(n - 0.5, -0.5), xlabel="position", ylabel="step")
    ax.set_yticks(range(n), names)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def plot_search_losses(reports: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the loss of searches as that of generation and, on top, that of selection.

    Parameters
    ----------
    reports : mapping of name to SearchReport
        From `search_report`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; a line marks the loss before any search.
    """
    ax = ax or plt.subplots()[1]
    place = np.arange(len(reports))
    generation = np.array([report.generation_loss for report in reports.values()])
    selection = np.array([report.selection_loss for report in reports.values()])
    ax.bar(place, generation, width=0.6, color="C1", label="generation: never met")
    ax.bar(
        place, selection, width=0.6, bottom=generation, color="C0", label="selection: not chosen"
    )
    for x, report in zip(place, reports.values()):
        start = report.initial_loss
        ax.plot([x - 0.38, x + 0.38], [start, start], color="0.3", linewidth=1.2)
    ax.set_xticks(place, [literal(name) for name in reports])
    ax.set(ylabel="loss (line: before search)")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


def plot_classifier_errors(report: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the recurrent classifier's errors by sequence: after true labels, and on its own.

    Parameters
    ----------
    report : SearchReport
        From `search_report`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes. Points above the diagonal suffer from errors that breed errors: there limited
        discrepancies need fewer corrections than flipped labels.
    """
    ax = ax or plt.subplots(figsize=(4.5, 4.5))[1]
    pairs = np.stack([report.imitation_errors, report.recurrent_errors], axis=1)
    points, counts = np.unique(pairs.round(6), axis=0, return_counts=True)
    ax.scatter(points[:, 0], points[:, 1], s=12 + 10 * np.sqrt(counts), alpha=0.5)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    ax.set(
        xlabel="imitation error (labels before are true)",
        ylabel="recurrent error (labels before are its own)",
        xlim=(-0.04, 1.04),
        ylim=(-0.04, 1.04),
    )
    return ax
