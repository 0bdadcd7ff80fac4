"""Pictures of teaching: the table with the chosen examples, the hierarchy, sizes by model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_concept_matrix",
    "plot_set_sizes",
    "plot_teaching_dimensions",
    "plot_teaching_hierarchy",
]


def plot_concept_matrix(analysis: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the concepts as rows, with a box around each example that the teacher shows.

    Parameters
    ----------
    analysis : TeachingAnalysis
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Dark cells are instances of the concept.
    """
    ax = ax or plt.subplots()[1]
    concepts = analysis.concepts_
    z, n = concepts.matrix.shape
    ax.imshow(concepts.matrix, cmap="Greys", vmin=-0.3, vmax=1.6, aspect="auto")
    for i in range(z):
        for j, _ in analysis.teach(i):
            box = Rectangle((j - 0.42, i - 0.42), 0.84, 0.84, fill=False, edgecolor="C3", lw=1.8)
            ax.add_patch(box)
    if n <= 40:
        names = [literal(name) for name in concepts.instance_names]
        ax.set_xticks(range(n), names, rotation=90 if n > 8 else 0)
    if z <= 40:
        ax.set_yticks(range(z), [literal(name) for name in concepts.concept_names])
    ax.set(xlabel="instance", ylabel="concept")
    return ax


def plot_teaching_hierarchy(analysis: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the levels in which concepts are taught, easy ones first.

    Parameters
    ----------
    analysis : TeachingAnalysis
        Fitted with ``kind="rtd"``.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A dot a concept, a row a level; the number at the right is the dimension.
    """
    ax = ax or plt.subplots()[1]
    widest = max(len(level) for _, level in analysis.hierarchy_)
    for depth, (dimension, level) in enumerate(analysis.hierarchy_):
        places = np.arange(len(level)) - (len(level) - 1) / 2.0
        ax.plot(places, np.full(len(level), -depth), "o", color=f"C{dimension}")
        ax.text(widest / 2.0 + 0.3, -depth, str(dimension), va="center")
        if widest <= 12:
            for place, i in zip(places, level, strict=True):
                name = literal(analysis.concepts_.concept_names[i])
                ax.text(place, -depth + 0.12, name, ha="center", va="bottom", fontsize=7)
    levels = range(len(analysis.hierarchy_))
    ax.set_yticks([-depth for depth in levels], [str(depth + 1) for depth in levels])
    ax.set(ylabel="level", xticks=[], xlim=(-widest / 2.0 - 0.5, widest / 2.0 + 0.8))
    ax.set_ylim(-len(analysis.hierarchy_) + 0.4, 0.6)
    return ax


def plot_teaching_dimensions(
    sizes: ArrayLike, dims: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw how many examples each model needs as a class grows.

    Parameters
    ----------
    sizes : array-like
        Sizes of the class, such as numbers of variables.
    dims : mapping of str to array-like
        Dimensions of each model, one a size.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Bars on a logarithmic axis.
    """
    ax = ax or plt.subplots()[1]
    places = np.arange(len(np.asarray(sizes)))
    width = 0.8 / max(1, len(dims))
    for k, (name, values) in enumerate(dims.items()):
        ax.bar(places + (k - (len(dims) - 1) / 2) * width, np.asarray(values), width, label=name)
    ax.set_yscale("log", base=2)
    ax.set_xticks(places, [str(size) for size in np.asarray(sizes).tolist()])
    ax.set(ylabel="examples for the hardest concept")
    ax.legend(frameon=False)
    return ax


def plot_set_sizes(analysis: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how the sets of each concept shrink over the iterations.

    Parameters
    ----------
    analysis : TeachingAnalysis
        Fitted with ``kind="std"`` or ``kind="btd"``.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A line a concept, the thick one is the largest.
    """
    ax = ax or plt.subplots()[1]
    sizes = np.array([[len(family[0]) for family in sets] for sets in analysis.history_])
    ax.plot(sizes, color="C0", alpha=0.4, marker=".")
    ax.plot(sizes.max(axis=1), color="C3", linewidth=2.5, label="hardest concept")
    ax.set(xlabel="iteration", ylabel="examples", xticks=range(len(sizes)))
    ax.legend(frameon=False)
    return ax
