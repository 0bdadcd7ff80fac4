"""Pictures of independent subspaces: the product of unmixing and mixing, and the sources found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_hinton", "plot_sources"]


def _lines_between(blocks: Sequence[Any] | None) -> np.ndarray:
    return np.empty(0) if blocks is None else np.cumsum([len(block) for block in blocks])[:-1] - 0.5


def plot_hinton(
    matrix: ArrayLike,
    row_blocks: Sequence[Any] | None = None,
    column_blocks: Sequence[Any] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix as squares whose areas are the sizes of its entries, white if positive.

    The product of an unmixing and the true mixing matrix shows one full block in each row and
    column of blocks where sources were taken apart.

    Parameters
    ----------
    matrix : array-like of shape (n_rows, n_columns)
        The matrix; of complex ones the sizes are shown.
    row_blocks, column_blocks : sequence of sequence of int, optional
        Groups of rows and columns, which are drawn in their order with lines in between.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(4.5, 4.5))[1]
    table = np.asarray(matrix)
    table = np.abs(table) if np.iscomplexobj(table) else table.astype(np.float64)
    orders = [
        np.arange(size) if blocks is None else np.concatenate([np.ravel(b) for b in blocks])
        for size, blocks in zip(table.shape, (row_blocks, column_blocks))
    ]
    shown = table[np.ix_(*orders)]
    most = max(float(np.abs(shown).max()), 1e-300)
    for (row, column), value in np.ndenumerate(shown):
        side = 0.95 * np.sqrt(abs(value) / most)
        colour = "white" if value > 0 else "black"
        corner = (column - side / 2, row - side / 2)
        ax.add_patch(plt.Rectangle(corner, side, side, facecolor=colour, edgecolor="none"))
    for place in _lines_between(row_blocks):
        ax.axhline(place, color="C0", linewidth=1.2)
    for place in _lines_between(column_blocks):
        ax.axvline(place, color="C0", linewidth=1.2)
    ax.set_facecolor("0.6")
    ax.set_aspect("equal")
    ax.set(xlim=(-0.5, shown.shape[1] - 0.5), ylim=(shown.shape[0] - 0.5, -0.5))
    ax.set_xticks(range(shown.shape[1]), [str(i) for i in orders[1]])
    ax.set_yticks(range(shown.shape[0]), [str(i) for i in orders[0]])
    ax.set(xlabel="source", ylabel="component")
    return ax


def plot_sources(
    S: ArrayLike, subspaces: Sequence[Any], *, axes: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw the sample of each subspace: points of its first two coordinates, or a histogram.

    Parameters
    ----------
    S : array-like of shape (n_samples, n_components)
        Coordinates of the sources.
    subspaces : sequence of sequence of int
        The columns of each source.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each source; new axes in a row by default.

    Returns
    -------
    axes : list of matplotlib axes
        The axes.
    """
    sources = np.asarray(S)
    if axes is None:
        width = 2.6 * len(subspaces)
        axes = plt.subplots(1, len(subspaces), figsize=(width, 2.8), squeeze=False)[1][0]
    for m, (group, ax) in enumerate(zip(subspaces, axes)):
        columns = np.ravel(group)
        if len(columns) == 1:
            ax.hist(sources[:, columns[0]], bins=40, color="C0")
        else:
            ax.plot(*sources[:, columns[:2]].T, ".", markersize=2, alpha=0.5)
            ax.set_aspect("equal")
        ax.set_title(f"source {m}, dimension {len(columns)}", fontsize="small")
    return list(axes)
