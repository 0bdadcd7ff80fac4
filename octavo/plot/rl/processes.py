"""Pictures of value functions: maps, limits with traces, regularisation paths, features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_error_by_lambda",
    "plot_lasso_td_path",
    "plot_spectral_radius",
    "plot_state_features",
    "plot_value_map",
]


def plot_value_map(
    value: ArrayLike,
    shape: tuple[int, int],
    *,
    marks: Mapping[str, Sequence[int]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of a grid of states as a heat map.

    Parameters
    ----------
    value : array-like of shape (n_states,)
        Values, row by row.
    shape : pair of int
        Rows and columns of the grid.
    marks : dict of str to sequence of int, optional
        Symbols and the states that bear them, such as ``{"*": [63]}`` for a goal.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.asarray(value, dtype=float).reshape(shape)
    image = ax.imshow(table, cmap="viridis")
    ax.figure.colorbar(image, ax=ax, label="value")
    for symbol, states in (marks or {}).items():
        for state in states:
            row, column = divmod(int(state), shape[1])
            ax.text(column, row, symbol, ha="center", va="center", color="white")
    ax.set(xticks=[], yticks=[])
    return ax


def plot_spectral_radius(
    lambdas: ArrayLike, radii: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw the spectral radius of the projected Bellman operator against λ.

    Parameters
    ----------
    lambdas : array-like of shape (n_lambdas,)
        Trace parameters.
    radii : dict of str to array-like of shape (n_lambdas,) or (n_problems, n_lambdas)
        Spectral radii by the name to show; of several problems, the median is drawn with a band
        from the smallest to the largest.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, with a line at one, above which LSPE diverges.
    """
    ax = ax or plt.subplots()[1]
    for name, values in radii.items():
        table = np.atleast_2d(np.asarray(values, dtype=float))
        (line,) = ax.plot(lambdas, np.median(table, axis=0), label=name)
        if len(table) > 1:
            low, high = table.min(axis=0), table.max(axis=0)
            ax.fill_between(lambdas, low, high, color=line.get_color(), alpha=0.12)
    ax.axhline(1.0, color="black", linestyle="--", linewidth=1)
    ax.annotate("LSPE diverges above", (0.02, 1.0), xycoords=("axes fraction", "data"), va="bottom")
    ax.set(xlabel="λ", ylabel="spectral radius")
    ax.legend(frameon=False)
    return ax


def plot_error_by_lambda(
    tuning: Mapping[str, Sequence[Any]], *, statistic: str = "median", ax: Axes | None = None
) -> Axes:
    """Draw the error of each method against λ, at its best other settings (Figure 1).

    Parameters
    ----------
    tuning : dict of str to sequence of EvaluatorScore
        Scores of settings by method, as ``GarnetStudy.tuning``.
    statistic : {"median", "mean"}, default="median"
        Which error of a score is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, logarithmic in the error.
    """
    ax = ax or plt.subplots()[1]
    for name, scores in tuning.items():
        best: dict[float, float] = {}
        for score in scores:
            lam, error = score.settings["lam"], getattr(score, statistic)
            best[lam] = min(error, best.get(lam, np.inf))
        lambdas = sorted(best)
        ax.plot(lambdas, [best[lam] for lam in lambdas], marker="o", label=name)
    ax.set(xlabel="λ", ylabel=f"{statistic} error", yscale="log")
    ax.legend(frameon=False, ncols=2)
    return ax


def plot_lasso_td_path(
    path: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the coefficients of Lasso-TD against the strength of the penalty.

    Parameters
    ----------
    path : LassoTDPath
        As by `lasso_td_path`.
    names : sequence of str, optional
        Names of the features, shown in a legend.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; the penalty falls to the right.
    """
    ax = ax or plt.subplots()[1]
    lines = ax.plot(path.alphas, path.coefs, marker=".", markersize=3)
    ax.invert_xaxis()
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set(xlabel="α", ylabel="coefficient")
    if names is not None:
        ax.legend(lines, names, frameon=False)
    return ax


def plot_state_features(states: ArrayLike, features: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the features of the states of one variable, a curve each (Figure 13).

    Parameters
    ----------
    states : array-like of shape (n_states,)
        The states, in order.
    features : array-like of shape (n_states, n_features)
        Their features.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.plot(np.ravel(states), np.asarray(features, dtype=float))
    ax.set(xlabel="state", ylabel="feature")
    return ax
