"""Pictures of dependency grammars: arcs with posteriors, kinds of dependencies, learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_dependency_arcs",
    "plot_dependency_kinds",
    "plot_grammar_bounds",
    "plot_sigma_path",
]


def plot_dependency_arcs(
    tags: Sequence[Any],
    posteriors: Any,
    *,
    heads: Any = None,
    threshold: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw a sentence with its edges, as dark as they are probable.

    Parameters
    ----------
    tags : sequence of str or int
        Tags of the sentence.
    posteriors : array-like of shape (n + 1, n)
        Chances of edges, row 0 those of the root, as from ``DMV.predict_proba``.
    heads : array-like of int, optional
        True heads, drawn below the sentence.
    threshold : float, default=0.05
        Edges of smaller chance are left out.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    table, n = np.asarray(posteriors, dtype=float), len(tags)
    if table.shape != (n + 1, n):
        raise ValueError(f"Posteriors must have the shape {(n + 1, n)}, got {table.shape}.")
    ax = ax or plt.subplots(figsize=(1.1 * n + 1.5, 3.0))[1]
    top = 1.0
    for c in range(n):
        for h in range(n + 1):
            chance = float(table[h, c])
            if chance >= threshold:
                top = max(top, _arc(ax, h - 1, c, 1.0, chance, "C0", f"{chance:.2f}"))
    low = 0.0
    if heads is not None:
        for c, h in enumerate(np.asarray(heads, dtype=int)):
            low = max(low, _arc(ax, int(h) - 1, c, -1.0, 1.0, "C1", ""))
    for i, tag in enumerate(tags):
        ax.text(i, 0.0, str(tag), ha="center", va="center", backgroundcolor="white")
    ax.set(xlim=(-0.7, n - 0.3), ylim=(-low - 0.5, top + 0.4))
    ax.set_axis_off()
    return ax


def _arc(ax: Axes, h: int, c: int, side: float, chance: float, color: str, text: str) -> float:
    """Draw one edge and return its height."""
    style = {"arrowstyle": "->", "color": color, "alpha": 0.15 + 0.85 * chance, "lw": 1.5}
    if h < 0:
        height = 1.0
        ax.annotate("", xy=(c, 0.18 * side), xytext=(c, height * side), arrowprops=style)
        ax.text(c + 0.05, 0.8 * height * side, text, fontsize=7, color=color)
        return height
    width = abs(h - c)
    height = 0.45 * width + 0.2
    x = np.linspace(h, c, 40)
    y = 0.18 + (height - 0.18) * np.sqrt(np.maximum(1 - ((x - (h + c) / 2) / (width / 2)) ** 2, 0))
    ax.plot(x, side * y, color=color, alpha=style["alpha"], lw=1.5)
    ax.annotate(
        "", xy=(c, 0.15 * side), xytext=(x[-2], side * y[-2]), arrowprops={**style, "lw": 1.2}
    )
    shift = 0.06 if c > h else -0.12
    ax.text((h + c) / 2, side * (height + shift), text, fontsize=7, ha="center", color=color)
    return height


def plot_dependency_kinds(
    posteriors: Any, tags: Any, *, reference: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw for each pair of parent and child tags the largest chance of an edge.

    Parameters
    ----------
    posteriors : list of array-like of shape (n + 1, n)
        Chances of edges, as from ``DMV.predict_proba``.
    tags : list of list of str or int
        Tags of each sentence.
    reference : list of array-like of shape (n + 1, n), optional
        Other chances of the same edges; what is drawn is the difference from them then.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    names = sorted({tag for sentence in tags for tag in sentence})
    table = _largest(posteriors, tags, names)
    if reference is None:
        image = ax.imshow(table, cmap="Blues", vmin=0.0, vmax=1.0)
        label = "largest posterior"
    else:
        image = ax.imshow(
            table - _largest(reference, tags, names), cmap="PiYG", vmin=-1.0, vmax=1.0
        )
        label = "difference of largest posteriors"
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    ax.set_xticks(range(len(names)), [str(name) for name in names])
    ax.set_yticks(range(len(names) + 1), ["root", *(str(name) for name in names)])
    ax.set(xlabel="child", ylabel="parent")
    return ax


def _largest(posteriors: Any, tags: Any, names: list[Any]) -> np.ndarray:
    number = {name: i for i, name in enumerate(names)}
    found = np.zeros((len(names) + 1, len(names)))
    for table, sentence in zip(posteriors, tags):
        child = np.array([number[tag] for tag in sentence])
        parent = np.append(0, child + 1)
        np.maximum.at(found, (parent[:, None], child[None, :]), np.asarray(table, dtype=float))
    return found


def plot_grammar_bounds(models: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw how the bound of each model rises over its iterations.

    Parameters
    ----------
    models : mapping of str to DMV
        Fitted models by name.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, model in models.items():
        ax.plot(model.lower_bounds_, label=name)
    ax.set(xlabel="iteration", ylabel="lower bound (nats)")
    ax.legend(frameon=False)
    return ax


def plot_sigma_path(
    sigmas: Sequence[float],
    accuracies: Sequence[float],
    ambiguities: Sequence[float],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw accuracy against ambiguity as the penalty grows.

    Parameters
    ----------
    sigmas : sequence of float
        Strengths of the penalty.
    accuracies, ambiguities : sequence of float
        `attachment_score` and `dependency_ambiguity` at each of them.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if not len(sigmas) == len(accuracies) == len(ambiguities) > 0:
        raise ValueError("Expected as many accuracies and ambiguities as strengths, at least one.")
    ax = ax or plt.subplots()[1]
    ax.plot(ambiguities, accuracies, "o-")
    for sigma, x, y in zip(sigmas, ambiguities, accuracies):
        ax.annotate(f"{sigma:g}", (x, y), textcoords="offset points", xytext=(4, 4), fontsize=8)
    ax.set(xlabel="ambiguity (kinds of dependencies)", ylabel="directed accuracy")
    return ax
