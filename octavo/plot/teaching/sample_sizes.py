"""Pictures of how many labelings and how many examples there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

__all__ = ["plot_growth", "plot_sample_sizes"]


def plot_growth(counts: Sequence[int], bounds: Sequence[int], *, ax: Axes | None = None) -> Axes:
    """Draw the growth function beside 2^m and Sauer's bound.

    Parameters
    ----------
    counts : sequence of int
        Labelings of m points for m = 0, 1, 2, ...
    bounds : sequence of int
        Sauer's bound for the same m.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Three lines, on a logarithmic axis.
    """
    ax = ax or plt.subplots()[1]
    m = np.arange(len(counts))
    ax.plot(m, 2.0**m, color="0.7", ls=":", label="2^m")
    ax.plot(np.arange(len(bounds)), bounds, color="C3", ls="--", label="Sauer's bound")
    ax.plot(m, counts, color="C0", marker="o", label="growth function")
    ax.set(xlabel="m", ylabel="labelings", yscale="log")
    ax.legend()
    return ax


def plot_sample_sizes(
    size: Callable[[float, float], Any],
    *,
    eps: Sequence[float] = tuple(np.geomspace(0.01, 0.3, 25)),
    delta: Sequence[float] = tuple(np.geomspace(0.001, 0.3, 25)),
    ax: Axes | None = None,
) -> Axes:
    """Draw how many examples are needed, by the error and the chance of failure that are allowed.

    Parameters
    ----------
    size : callable
        Number of examples of (eps, delta).
    eps : sequence of float
        Errors.
    delta : sequence of float
        Chances of failure.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Contours of equal numbers.
    """
    ax = ax or plt.subplots()[1]
    sizes = np.array([[float(size(e, d)) for e in eps] for d in delta])
    levels = np.unique(np.round(np.geomspace(sizes.min(), sizes.max(), 9)))
    lines = ax.contour(eps, delta, sizes, levels=levels[1:-1], cmap="viridis")
    ax.clabel(lines, fmt="%d")
    ax.set(xlabel="error", ylabel="chance of failure", xscale="log", yscale="log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    return ax
