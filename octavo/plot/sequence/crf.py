"""Pictures of label patterns: what order brings, what weighs, what is probable, the automaton."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_accuracy_by_order",
    "plot_label_marginals",
    "plot_pattern_automaton",
    "plot_top_patterns",
]


def plot_accuracy_by_order(
    accuracy: Mapping[str, Mapping[int, float]] | Mapping[int, float],
    n_states: Mapping[int, int] | None = None,
    *,
    ylabel: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw how well models of growing order do, and how many states they need.

    Parameters
    ----------
    accuracy : mapping of order to number, or of names to such mappings
        One curve, or several with names.
    n_states : mapping of order to int, optional
        Drawn as bars on an axis of its own.
    ylabel : str, default="accuracy"
        What the number is.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes of the accuracy.
    """
    ax = ax or plt.subplots()[1]
    named = all(isinstance(value, Mapping) for value in accuracy.values())
    curves: Mapping[str, Any] = accuracy if named else {"": accuracy}  # type: ignore[assignment]
    for name, curve in curves.items():
        orders = sorted(curve)
        ax.plot(orders, [curve[k] for k in orders], "o-", markersize=4, label=name)
    ax.set(xlabel="maximum order", ylabel=ylabel)
    ax.set_xticks(sorted({k for curve in curves.values() for k in curve}))
    if named:
        ax.legend(frameon=False)
    if n_states is not None:
        twin = ax.twinx()
        orders = sorted(n_states)
        twin.bar(orders, [n_states[k] for k in orders], width=0.4, color="0.88", zorder=0)
        twin.set_ylabel("states", color="0.5")
        twin.tick_params(axis="y", colors="0.5")
        ax.set_zorder(twin.get_zorder() + 1)
        ax.patch.set_visible(False)
    return ax


def _written(pattern: Sequence[Hashable]) -> str:
    """Return a pattern in words; single characters are run together."""
    words = [literal(getattr(label, "name", label)) for label in pattern]
    return ("" if all(len(word) == 1 for word in words) else " → ").join(words)


def plot_top_patterns(
    model: Any, *, top: int = 20, min_order: int = 1, ax: Axes | None = None
) -> Axes:
    """Draw the patterns with the largest weights, liked and disliked.

    Parameters
    ----------
    model : HighOrderCRF or HighOrderSemiCRF
        Fitted.
    top : int, default=20
        How many.
    min_order : int, default=1
        Shorter patterns are left out; 0 includes single labels.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    items = [(z, w) for z, w in model.pattern_coef_.items() if len(z) > min_order]
    items = sorted(items, key=lambda item: -abs(item[1]))[:top]
    items.sort(key=lambda item: item[1])
    ax = ax or plt.subplots(figsize=(6, 0.8 + 0.22 * len(items)))[1]
    weights = [w for _, w in items]
    colours = ["C0" if w > 0 else "C3" for w in weights]
    ax.barh(range(len(items)), weights, color=colours, height=0.7)
    ax.set_yticks(range(len(items)), [_written(z) for z, _ in items])
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set(xlabel="weight")
    return ax


def plot_label_marginals(
    marginals: ArrayLike,
    classes: Sequence[Hashable],
    *,
    path: Sequence[Any] | None = None,
    tokens: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability of every label at every position, with the decoded labels on top.

    Parameters
    ----------
    marginals : array-like of shape (T, n_labels)
        From `predict_marginals`.
    classes : sequence
        What the columns are.
    path : sequence of labels, or of (start, stop, label), optional
        Decoded labels are drawn as dots; segments as brackets.
    tokens : sequence, optional
        What stands below the positions, such as words.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    values = np.asarray(marginals, dtype=float)
    names = list(classes)
    width = max(4.0, 1.5 + 0.4 * len(values))
    ax = ax or plt.subplots(figsize=(width, 1.2 + 0.3 * len(names)))[1]
    image = ax.imshow(values.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="probability", pad=0.02)
    if path is not None and len(path):
        if isinstance(path[0], tuple) and len(path[0]) == 3:
            for start, stop, label in path:
                row = names.index(label)
                left, right = start - 0.42, stop - 0.58
                ax.plot(
                    [left, left, right, right],
                    [row - 0.15, row + 0.3, row + 0.3, row - 0.15],
                    color="C3",
                    linewidth=1.8,
                )
        else:
            ax.plot(range(len(values)), [names.index(y) for y in path], "o", color="C3", ms=4)
    ax.set_yticks(range(len(names)), [literal(name) for name in names])
    if tokens is not None:
        ax.set_xticks(range(len(values)), [literal(t) for t in tokens], rotation=60, ha="right")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("position")
    return ax


def plot_pattern_automaton(automaton: Any, *, max_states: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the states of a small automaton by length, and where each label leads.

    Parameters
    ----------
    automaton : PatternAutomaton
        Of few states.
    max_states : int, default=40
        More are an error: nothing could be seen.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes. Solid arrows make the history longer, dashed ones forget part of it.
    """
    states = list(automaton.states)
    if len(states) > max_states:
        raise ValueError(f"{len(states)} states are too many to draw; max_states={max_states}.")
    sizes = [len(state) for state in states]
    ax = ax or plt.subplots(figsize=(2.2 + 1.9 * (max(sizes) + 1), 4.5))[1]
    place = {}
    for size in range(max(sizes) + 1):
        level = [i for i, n in enumerate(sizes) if n == size]
        for k, i in enumerate(level):
            place[i] = (float(size), (len(level) - 1) / 2 - k)
    for i, row in enumerate(automaton.delta):
        for label, j in zip(automaton.labels, row.tolist()):
            if len(states[j]) == 1 and len(states[i]) != 0:
                continue  # back to a single label: drawn by no arrow, said below
            longer = len(states[j]) == len(states[i]) + 1
            bend = 0.0 if longer else (0.5 if i == j else 0.25)
            arrow = FancyArrowPatch(
                place[i],
                place[j],
                connectionstyle=f"arc3,rad={bend}",
                arrowstyle="-|>",
                mutation_scale=10,
                shrinkA=16,
                shrinkB=16,
                color="0.2" if longer else "0.6",
                linestyle="-" if longer else "--",
            )
            ax.add_patch(arrow)
            x, y = (np.array(place[i]) + np.array(place[j])) / 2
            ax.annotate(literal(label), (x, y + 0.08), ha="center", fontsize=8, color="0.2")
    for i, (x, y) in place.items():
        text = _written(states[i]) or "ε"
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "C0"}
        ax.text(x, y, text, ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    heights = [y for _, y in place.values()]
    ax.set(xlim=(-0.5, max(sizes) + 0.5), ylim=(min(heights) - 0.7, max(heights) + 0.7))
    ax.set_xticks(range(max(sizes) + 1))
    ax.set_yticks([])
    ax.set_xlabel("labels remembered (labels without an arrow lead back to a single label)")
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    return ax
