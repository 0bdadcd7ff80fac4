"""Pictures of transformation models: h, effects of single features, curves, paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_predicted_survival",
    "plot_sparse_path",
    "plot_transformation",
    "plot_utility_effects",
]


def plot_transformation(
    function: Any, utility: ArrayLike, y: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw outcomes against utilities with the fitted h between them (Figures 2 and 7b).

    Parameters
    ----------
    function : TransformationFunction
        The fitted h.
    utility, y : array-like of shape (n_samples,)
        Utilities and outcomes of rows.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.plot(utility, y, "o", markersize=3, alpha=0.5, label="rows")
    ax.plot(function.utilities_, function.values_, color="C3", label="h, increasing")
    ax.set(xlabel="utility", ylabel="outcome")
    ax.legend(frameon=False)
    return ax


def plot_utility_effects(
    model: Any,
    X: ArrayLike,
    *,
    features: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    n_points: int = 100,
    axes: Any = None,
) -> Any:
    """Draw what single features add to the utility, with the rows that were seen (Figure 12).

    Parameters
    ----------
    model : MinlipSurvival or MinlipRanker
        Fitted with a linear or a componentwise kernel.
    X : array-like of shape (n_samples, n_features)
        Rows.
    features : sequence of int, optional
        Which; all by default.
    names : sequence of str, optional
        What they are called.
    n_points : int, default=100
        Points a curve.
    axes : array of matplotlib axes, optional
        One a feature; a new row of them by default.

    Returns
    -------
    axes : ndarray of matplotlib axes
        The axes.
    """
    X = np.asarray(X, dtype=float)
    features = range(X.shape[1]) if features is None else features
    count = len(features)
    if axes is None:
        columns = min(4, count)
        rows = -(-count // columns)
        axes = plt.subplots(rows, columns, figsize=(2.8 * columns, 2.3 * rows), squeeze=False)[1]
    axes = np.asarray(axes, dtype=object).ravel()
    for ax, p in zip(axes, features):
        grid = np.linspace(X[:, p].min(), X[:, p].max(), n_points)
        effect = model.partial_effect(int(p), grid)
        ax.plot(grid, effect - effect.mean())
        ax.plot(
            X[:, p], np.full(len(X), 0.02), "|", color="0.5", transform=ax.get_xaxis_transform()
        )
        ax.set(xlabel=literal(names[p]) if names is not None else f"feature {p}")
    axes[0].set_ylabel("effect on the utility")
    for ax in axes[count:]:
        ax.set_axis_off()
    axes[0].figure.tight_layout()
    return axes


def plot_predicted_survival(
    model: Any,
    X: ArrayLike,
    times: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predicted survival curve of every row (Figure 9).

    Parameters
    ----------
    model : estimator
        With ``predict_survival_function``.
    X : array-like of shape (n_samples, n_features)
        Rows.
    times : array-like of shape (n_times,)
        When.
    labels : array-like of shape (n_samples,), optional
        A group of each row; groups share a colour.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    curves = model.predict_survival_function(X, times)
    groups = np.zeros(len(curves), int) if labels is None else np.asarray(labels)
    for k, group in enumerate(np.unique(groups)):
        rows = np.flatnonzero(groups == group)
        for i, row in enumerate(rows):
            name = literal(group) if labels is not None and i == 0 else None
            ax.step(
                times,
                curves[row],
                where="post",
                color=f"C{k}",
                alpha=0.4,
                linewidth=0.8,
                label=name,
            )
    ax.set(xlabel="time", ylabel="chance to be without the event", ylim=(-0.02, 1.02))
    if labels is not None:
        ax.legend(frameon=False)
    return ax


def plot_sparse_path(
    Cs: ArrayLike,
    coefs: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weights of `MinlipL1` as errors become more expensive.

    Parameters
    ----------
    Cs : array-like of shape (n_fits,)
        Weights of the errors.
    coefs : array-like of shape (n_fits, n_features)
        Weights of the features.
    names : sequence of str, optional
        What the features are called.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    coefs = np.asarray(coefs, dtype=float)
    for p in np.flatnonzero(np.abs(coefs).max(axis=0) > 0).tolist():
        label = literal(names[p]) if names is not None else f"feature {p}"
        ax.plot(Cs, coefs[:, p], marker=".", label=label)
    ax.set(xscale="log", xlabel="C", ylabel="weight")
    if len(ax.lines) <= 12:
        ax.legend(frameon=False, fontsize="small")
    return ax
