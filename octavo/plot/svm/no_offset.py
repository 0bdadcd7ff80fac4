"""Pictures of support vector machines without offset: ascent, strategies, grid, boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_dual_ascent",
    "plot_offset_boundaries",
    "plot_strategies",
    "plot_svm_grid",
    "plot_warm_starts",
]


def plot_dual_ascent(machine: Any, *, pair: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the duality gap, the clipped gap and the distance to the optimum by iteration.

    Parameters
    ----------
    machine : NoOffsetSVC
        Fitted with ``trace=True``.
    pair : int, default=0
        Which two classes, where there are more than two.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    value, gap, clipped = np.asarray(machine.trace_[pair]).T
    steps = np.arange(value.size)
    ax.plot(steps, gap, label="duality gap")
    shown = clipped > 0
    ax.plot(steps[shown], clipped[shown], label="clipped gap, while positive")
    ax.plot(steps[:-1], value[-1] - value[:-1], "--", label="dual objective still to gain")
    ax.set(xlabel="iteration", ylabel="value", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_strategies(searches: Mapping[str, Any], *, axes: Any = None) -> Any:
    """Draw iterations and seconds of several working-set strategies over the same grid.

    Parameters
    ----------
    searches : dict of str to NoOffsetSVCCV
        Fitted searches under the names to show.
    axes : two matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : array of two matplotlib axes
        The axes: iterations, seconds.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")[1]
    names = list(searches)
    height = np.arange(len(names))[::-1]
    cells = next(iter(searches.values())).n_iter_grid_.size
    for ax, label, totals in (
        (axes[0], "iterations a grid point", [s.n_iter_grid_.sum() for s in searches.values()]),
        (axes[1], "seconds a grid point", [s.time_grid_.sum() for s in searches.values()]),
    ):
        ax.barh(height, np.asarray(totals) / cells, color="C0", alpha=0.8)
        ax.set_yticks(height, names)
        ax.set(xlabel=label)
    axes[0].set_ylabel("working set")
    return axes


def plot_svm_grid(search: Any, *, axes: Any = None) -> Any:
    """Draw cross-validation error and iterations over alpha and gamma; the best pair is marked.

    Parameters
    ----------
    search : NoOffsetSVCCV
        A fitted search.
    axes : two matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : array of two matplotlib axes
        The axes: error, iterations.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
    iterations = np.maximum(search.n_iter_grid_, 1)
    for ax, title, values in (
        (axes[0], "cross-validation error (%)", 100 * search.cv_error_),
        (axes[1], "iterations (log10)", np.log10(iterations)),
    ):
        mesh = ax.pcolormesh(search.gammas_, search.alphas_, values, shading="nearest")
        ax.plot(search.best_gamma_, search.best_alpha_, "o", mfc="none", mec="w", ms=10, mew=2)
        ax.set(xscale="log", yscale="log", xlabel="gamma", ylabel="alpha", title=title)
        ax.figure.colorbar(mesh, ax=ax)
    return axes


def plot_warm_starts(searches: Mapping[str, Any], *, axes: Any = None) -> Any:
    """Draw iterations and seconds along λ of several ways to start.

    Parameters
    ----------
    searches : dict of str to NoOffsetSVCCV
        Searches over the same grid under the names to show.
    axes : two matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : array of two matplotlib axes
        The axes: iterations, seconds.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
    for name, search in searches.items():
        axes[0].plot(search.alphas_, np.maximum(search.n_iter_grid_.sum(axis=1), 1), "o-", ms=4)
        axes[1].plot(search.alphas_, search.time_grid_.sum(axis=1), "o-", ms=4, label=name)
    axes[0].set(ylabel="iterations, all gammas and folds")
    axes[1].set(ylabel="seconds, all gammas and folds")
    for ax in axes:
        ax.set(xscale="log", yscale="log", xlabel="λ")
        ax.invert_xaxis()
    axes[1].legend(frameon=False)
    return axes


def plot_offset_boundaries(
    machines: Mapping[str, Any], X: Any, y: Any, *, ax: Axes | None = None
) -> Axes:
    """Draw the decision boundaries of several binary classifiers on two features.

    Parameters
    ----------
    machines : dict of str to classifier
        Fitted classifiers with a ``decision_function``, under the names to show.
    X : array of shape (n_samples, 2)
        Samples.
    y : array of shape (n_samples,)
        Their classes.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X, classes = np.asarray(X), np.unique(y)
    for value, marker in zip(classes, "os"):
        chosen = np.asarray(y) == value
        ax.scatter(
            X[chosen, 0], X[chosen, 1], s=14, marker=marker, alpha=0.6, label=f"class {value}"
        )
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = (np.linspace(low[k], high[k], 150) for k in (0, 1))
    points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    for at, (name, machine) in enumerate(machines.items()):
        values = machine.decision_function(points).reshape(up.size, across.size)
        colour = f"C{at + 2}"
        ax.contour(across, up, values, levels=[0.0], colors=colour)
        ax.plot([], [], color=colour, label=name)
    ax.set(xlabel="first feature", ylabel="second feature")
    ax.legend(frameon=False)
    return ax
