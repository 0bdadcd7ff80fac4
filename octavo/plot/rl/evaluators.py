"""Pictures of policy evaluation: learning curves, parameter maps, objectives, uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from numpy.typing import ArrayLike

__all__ = [
    "plot_evaluation_curves",
    "plot_objective_paths",
    "plot_parameter_map",
    "plot_trace_weights",
    "plot_value_band",
]


def plot_evaluation_curves(
    curves: Mapping[str, tuple[Any, Any]],
    *,
    ylabel: str = "root mean squared error",
    log: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the error of methods falls with the number of transitions.

    Parameters
    ----------
    curves : dict of str to (times, errors)
        By the name to show. ``errors`` has one row a trial, or is a single curve; the mean is
        drawn, with a band of one standard deviation where there are several trials.
    ylabel : str
        What the errors are.
    log : bool, default=True
        Whether errors stand on a logarithmic scale.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, (times, errors) in curves.items():
        table = np.atleast_2d(np.asarray(errors, dtype=float))
        mean = table.mean(axis=0)
        (line,) = ax.plot(times, mean, label=name)
        if len(table) > 1:
            spread = table.std(axis=0, ddof=1)
            # on a logarithmic scale a band below zero has no lower end: stop at half the mean
            low = np.maximum(mean - spread, mean / 2) if log else mean - spread
            ax.fill_between(times, low, mean + spread, color=line.get_color(), alpha=0.12)
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="transitions", ylabel=ylabel)
    ax.legend(frameon=False)
    return ax


def plot_parameter_map(
    scores: ArrayLike,
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    row_name: str = "eps",
    column_name: str = "lam",
    label: str = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw the error over two parameters as a map; divergence is white.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_columns)
        Errors; not finite where a method diverged.
    rows, columns : sequence
        Values of the parameters.
    row_name, column_name : str
        Their names.
    label : str
        What the colours are.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, with a mark on the best pair.
    """
    ax = ax or plt.subplots()[1]
    table = np.asarray(scores, dtype=float)
    shown = np.ma.masked_invalid(table)
    image = ax.imshow(shown, cmap="viridis_r", norm=LogNorm(), aspect="auto")
    ax.set_xticks(range(len(columns)), [f"{value:g}" for value in columns])
    ax.set_yticks(range(len(rows)), [f"{value:g}" for value in rows])
    best = np.unravel_index(np.argmin(shown.filled(np.inf)), table.shape)
    ax.plot(best[1], best[0], "*", color="white", markersize=12, markeredgecolor="black")
    ax.set(xlabel=column_name, ylabel=row_name)
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def plot_objective_paths(
    objective: Any,
    paths: Mapping[str, Any],
    *,
    other: Any = None,
    names: tuple[str, str] = ("MSPBE", "MSE"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the contours of objectives of two coefficients and the paths of methods across them.

    Parameters
    ----------
    objective : callable
        ``objective(theta)``, drawn as filled contours.
    paths : dict of str to array-like of shape (n_times, 2)
        Coefficients over time, by the name to show.
    other : callable, optional
        A second objective, drawn as lines.
    names : tuple of two str
        Names of the objectives.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    points = np.concatenate([np.asarray(path, dtype=float) for path in paths.values()])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.15 * np.maximum(high - low, 1e-9)
    first, second = (np.linspace(low[k] - margin[k], high[k] + margin[k], 80) for k in (0, 1))

    def heights(function: Any) -> np.ndarray:
        return np.array([[function(np.array([a, b])) for a in first] for b in second])

    filled = ax.contourf(first, second, np.sqrt(heights(objective)), levels=16, cmap="Blues_r")
    ax.figure.colorbar(filled, ax=ax, label=f"root of the {names[0]}")
    if other is not None:
        lines = np.sqrt(heights(other))
        ax.contour(first, second, lines, levels=10, colors="0.35", linewidths=0.7)
        ax.plot([], [], color="0.35", linewidth=0.7, label=f"root of the {names[1]}")
    for name, path in paths.items():
        steps = np.asarray(path, dtype=float)
        (line,) = ax.plot(steps[:, 0], steps[:, 1], label=name)
        ax.plot(*steps[-1], "o", color=line.get_color(), markersize=5)
    ax.set(xlabel="first coefficient", ylabel="second coefficient")
    ax.legend(frameon=True)
    return ax


def plot_value_band(
    model: Any,
    features: ArrayLike,
    *,
    places: ArrayLike | None = None,
    value: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a posterior of values: its mean and two standard deviations either side.

    Parameters
    ----------
    model : GPTD or KTD
        Fitted.
    features : array-like of shape (n_states, n_features)
        Features of the states to show, in order.
    places : array-like of shape (n_states,), optional
        Where the states lie on the axis; 0, 1, ... by default.
    value : array-like of shape (n_states,), optional
        True values.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    mean, std = model.predict(features, return_std=True)
    where = np.arange(len(mean)) if places is None else np.asarray(places)
    (line,) = ax.plot(where, mean, label="posterior mean ± 2 sd")
    ax.fill_between(where, mean - 2 * std, mean + 2 * std, color=line.get_color(), alpha=0.2)
    if value is not None:
        ax.plot(where, value, "k--", linewidth=1, label="true value")
    ax.set(xlabel="state", ylabel="value")
    ax.legend(frameon=False)
    return ax


def plot_trace_weights(
    weights: ArrayLike | dict[str, ArrayLike], *, n_bins: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw how much weight traces and importance ratios give to how many transitions.

    Parameters
    ----------
    weights : array-like of shape (n_transitions,) or dict of them
        From `octavo.rl.trace_weights`; by the name to show when there are several.
    n_bins : int, default=40
        Number of bins.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    several = weights if isinstance(weights, dict) else {"": weights}
    tables = {name: np.asarray(values, dtype=float) for name, values in several.items()}
    top = max(float(table.max()) for table in tables.values())
    bins = np.linspace(0.0, max(top, 1e-12), n_bins + 1).tolist()
    for name, table in tables.items():
        size = table.sum() ** 2 / max(float(table @ table), 1e-300)
        label = f"{name + ': ' if name else ''}effective size {size:.0f} of {table.size}"
        ax.hist(table, bins=bins, histtype="step", label=label)
    ax.set_yscale("log")
    ax.set(xlabel="weight of a temporal difference", ylabel="transitions")
    ax.legend(frameon=False)
    return ax
