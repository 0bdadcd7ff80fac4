"""Pictures of separable factorisation by linear programs: weights of rows, noise levels, images."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

__all__ = ["plot_sorted_diagonal", "plot_trace_path", "plot_weight_images"]


def plot_sorted_diagonal(
    model: Any, *, n_weights: int = 40, threshold: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the weights of the rows in decreasing order, the chosen ones filled.

    Parameters
    ----------
    model : SeparableNMFLP or Hottopixx
        Fitted.
    n_weights : int, default=40
        How many weights to draw.
    threshold : float, optional
        Where to draw a line; by default 1 - min(1, ρ)/2 (Algorithm 2), if the model has a ρ.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    weights = np.asarray(model.diagonal_)
    order = np.argsort(-weights, kind="stable")[:n_weights]
    chosen = np.isin(order, model.selected_indices_)
    outlying = np.isin(order, model.outlier_indices_)
    places = np.arange(1, len(order) + 1)
    ax.vlines(places, 0.0, weights[order], color="0.7", lw=1)
    for which, marker, colour, label in (
        (~chosen & ~outlying, "o", "0.5", None),
        (chosen, "o", "C0", f"{int(chosen.sum())} selected"),
        (outlying, "x", "C3", f"{int(outlying.sum())} outliers"),
    ):
        if which.any():
            face = "none" if colour == "0.5" else colour
            ax.scatter(
                places[which],
                weights[order][which],
                marker=marker,
                facecolors=None if marker == "x" else face,
                edgecolors=None if marker == "x" else colour,
                color=colour if marker == "x" else None,
                label=label,
                zorder=3,
            )
    if threshold is None and hasattr(model, "rho"):
        threshold = 1.0 - min(1.0, float(model.rho)) / 2.0
    if threshold is not None:
        ax.axhline(threshold, color="C1", ls="--", lw=1, label=f"threshold {threshold:.2g}")
    ax.set(xlabel="rows by weight", ylabel="weight", ylim=(0.0, 1.05))
    ax.legend(frameon=False)
    return ax


def plot_trace_path(epsilons: ArrayLike, traces: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw how many rows are needed against the noise level that is allowed.

    Parameters
    ----------
    epsilons : array-like of shape (n_levels,)
        Noise levels.
    traces : array-like of shape (n_levels,)
        What `trace_path` returns for them.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.plot(np.asarray(epsilons), np.asarray(traces), "o-", ms=4)
    ax.set(xlabel="noise level ε", ylabel="trace of Y: rows needed", ylim=(0.0, None))
    ax.grid(alpha=0.3)
    return ax


def plot_weight_images(weights: ArrayLike, shape: tuple[int, int], *, n_columns: int = 8) -> Figure:
    """Draw the weights of all pixels on each chosen one as an image.

    Parameters
    ----------
    weights : array-like of shape (n_pixels, n_components)
        What ``transform`` returns for pixels as rows.
    shape : tuple of int
        Rows and columns of an image.
    n_columns : int, default=8
        Images in a row.

    Returns
    -------
    fig : matplotlib figure
        The figure.
    """
    stack = np.asarray(weights, dtype=float).T
    n_rows = -(-len(stack) // n_columns)
    fig, axes = plt.subplots(n_rows, n_columns, figsize=(n_columns, 1.8 * n_rows), squeeze=False)
    for ax in axes.ravel():
        ax.set_axis_off()
    for ax, image in zip(axes.ravel(), stack):
        ax.imshow(image.reshape(shape), cmap="gray_r", vmin=0.0, vmax=1.0)
    fig.tight_layout()
    return fig
