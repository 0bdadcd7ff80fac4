"""Pictures of averaged SGD: rates, forgiving steps, certificates, iterates and dual weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_certificate",
    "plot_dual_weights",
    "plot_excess_risk",
    "plot_iterate_path",
    "plot_step_sensitivity",
]


def _mean_and_ends(values: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean and the 10 and 90 % quantiles, a place at a time."""
    table = [np.atleast_1d(np.asarray(place, dtype=float)) for place in values]
    low, high = (np.array([np.quantile(place, q) for place in table]) for q in (0.1, 0.9))
    return np.array([place.mean() for place in table]), low, high


def plot_excess_risk(
    sizes: Sequence[int],
    risks: Mapping[str, Any],
    *,
    lines: Mapping[str, ArrayLike] | None = None,
    dimension: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw excess risk against the number of rows, with the slopes -1/2 and -1.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of rows.
    risks : mapping of str to sequence
        A number or several (one a stream) for each size; several become a mean and a band from
        the 10 to the 90 % quantile.
    lines : mapping of str to array-like of shape (n_sizes,), optional
        Curves to compare with, such as bounds.
    dimension : int, optional
        Number of parameters; the best rate, dimension / (2 rows), is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    x = np.asarray(sizes, dtype=float)
    top = 0.0
    for name, values in risks.items():
        mean, low, high = _mean_and_ends(values)
        (line,) = ax.plot(x, mean, "o-", markersize=4, label=name)
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.12)
        top = max(top, float(mean[0]))
    for style, (name, values) in zip(["--", "-."] * 3, (lines or {}).items()):
        ax.plot(x, np.asarray(values, dtype=float), style, color="0.4", linewidth=1, label=name)
    if dimension is not None:
        ax.plot(x, dimension / (2 * x), ":", color="k", linewidth=1.2, label="d / (2N)")
    for slope, label in ((-0.5, "slope -1/2"), (-1.0, "slope -1")):
        ax.plot(x, 1.5 * top * (x / x[0]) ** slope, color="0.85", linewidth=4, zorder=0)
        ax.annotate(label, (x[-1], 1.5 * top * (x[-1] / x[0]) ** slope), color="0.5", fontsize=8)
    ax.set(xscale="log", yscale="log", xlabel="rows N", ylabel="excess risk")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_step_sensitivity(
    lengths: Sequence[float],
    means: Mapping[float, ArrayLike],
    newest: Mapping[float, ArrayLike],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw excess risk against the length c of steps, of the mean and of the newest iterate.

    Parameters
    ----------
    lengths : sequence of float
        Values of c.
    means, newest : mapping of float to array-like
        Excess risks of each c, one a stream, of the mean of the iterates and of the last one.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for values, label in ((means, "mean of the iterates"), (newest, "newest iterate")):
        mean, low, high = _mean_and_ends([values[c] for c in lengths])
        (line,) = ax.plot(lengths, mean, "o-", markersize=4, label=label)
        ax.fill_between(lengths, low, high, color=line.get_color(), alpha=0.15)
    ax.set(xscale="log", yscale="log", xlabel="length of steps c", ylabel="excess risk")
    ax.legend(frameon=False)
    return ax


def plot_certificate(
    n_rows: ArrayLike,
    bounds: ArrayLike,
    gaps: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw certified bounds on the excess along a run, and the true excess where it is known.

    Parameters
    ----------
    n_rows : array-like of shape (n_points,)
        Rows seen.
    bounds : array-like of shape (n_points,)
        Certified bounds; where infinite, a mark at the top says that nothing is certain yet.
    gaps : array-like of shape (n_points,), optional
        How far above the optimum the model was.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    x, bound = np.asarray(n_rows, dtype=float), np.asarray(bounds, dtype=float)
    known = np.isfinite(bound)
    ax.plot(x[known], bound[known], "o-", markersize=4, label="certified bound")
    if gaps is not None:
        ax.plot(x, np.asarray(gaps, dtype=float), "o-", markersize=4, label="true excess")
    if (~known).any():
        top = np.full(int((~known).sum()), 0.97)
        ax.plot(
            x[~known], top, "x", color="0.5", transform=ax.get_xaxis_transform(), label="no bound"
        )
    ax.set(yscale="log", xlabel="rows seen", ylabel="f(θ̄) - f*")
    ax.legend(frameon=False)
    return ax


def plot_iterate_path(
    iterates: ArrayLike,
    means: ArrayLike,
    *,
    optimum: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the iterates of two weights and their running mean.

    Parameters
    ----------
    iterates, means : array-like of shape (n_points, 2)
        The newest iterate and the mean, along a stream.
    optimum : array-like of shape (2,), optional
        Where they should end.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for values, colour, width, label in (
        (iterates, "C0", 0.6, "iterates θ"),
        (means, "C3", 1.8, "mean θ̄"),
    ):
        across, up = np.asarray(values, dtype=float).T
        ax.plot(across, up, color=colour, linewidth=width, label=label)
    if optimum is not None:
        across, up = np.asarray(optimum, dtype=float)
        ax.plot(across, up, "k*", markersize=11, label="optimum")
    ax.set(xlabel="first weight", ylabel="second weight")
    ax.legend(frameon=False)
    return ax


def plot_dual_weights(model: Any, X: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the rows that a kernel machine of two classes and two features is a sum over.

    Parameters
    ----------
    model : KernelAveragedSGD
        Fitted.
    X : array-like of shape (n_samples, 2)
        The rows that it was fitted on.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    points = np.asarray(X, dtype=float)
    low, high = points.min(axis=0) - 0.3, points.max(axis=0) + 0.3
    first, second = (np.linspace(low[k], high[k], 120) for k in range(2))
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(first, second)])
    score = model.decision_function(grid).reshape(120, 120)
    limit = float(np.abs(score).max()) or 1.0
    ax.contourf(first, second, score, levels=20, cmap="RdBu", alpha=0.4, vmin=-limit, vmax=limit)
    ax.contour(first, second, score, levels=[0.0], colors="0.2", linewidths=1.2)
    weights, kept = model.dual_coef_[0], points[model.support_]
    size = 90 * np.abs(weights) / (np.abs(weights).max() or 1.0)
    colours = np.where(weights > 0, "C0", "C3")
    ax.scatter(kept[:, 0], kept[:, 1], s=size, c=list(colours), alpha=0.6, linewidths=0)
    ax.set(title="area: weight of the row in the mean")
    return ax
