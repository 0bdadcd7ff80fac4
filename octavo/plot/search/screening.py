"""Pictures of designed experiments: effects, ascents, response surfaces, cost against score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.stats import halfnorm
from scipy.stats import t as t_law

__all__ = [
    "plot_ascent",
    "plot_effects",
    "plot_experiments",
    "plot_half_normal",
    "plot_main_effects",
    "plot_response_surface",
    "plot_stepwise_residuals",
]


def _effects(screening: Any) -> tuple[list[str], Any]:
    """Return names and the coefficient of every factor, relevant or not."""
    X, y = screening.design.coded_, np.asarray(screening.responses, dtype=float)
    used = X.any(axis=1)
    return list(screening.design.space_.names), X[used].T @ y[used] / used.sum()


def plot_effects(screening: Any, *, level: float = 0.10, ax: Axes | None = None) -> Axes:
    """Draw Pareto's bars: the size of each effect, and the line of significance.

    Parameters
    ----------
    screening : ScreeningResult
        A screening.
    level : float, default=0.10
        Level of the t-test whose line is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    names, effects = _effects(screening)
    order = np.argsort(np.abs(effects))
    relevant = [names[j] in screening.relevant for j in order]
    colours = ["C0" if is_relevant else "0.8" for is_relevant in relevant]
    ax.barh([names[j] for j in order], np.abs(effects[order]), color=colours)
    for place, j in enumerate(order):
        ax.text(0.0, place, " +" if effects[j] > 0 else " −", va="center", fontsize=9)
    residual = next(row for row in screening.model.anova_ if row.source == "residual")
    if residual.df and residual.mean_sq > 0.0:
        error = np.sqrt(residual.mean_sq / len(screening.responses))
        ax.axvline(t_law.isf(level / 2, residual.df) * error, color="C3", linestyle="--")
    ax.set(xlabel="size of the effect, half a range")
    return ax


def plot_half_normal(screening: Any, *, ax: Axes | None = None) -> Axes:
    """Draw effects against half-normal quantiles: what is noise lies on a line through 0.

    Parameters
    ----------
    screening : ScreeningResult
        A screening.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    names, effects = _effects(screening)
    order = np.argsort(np.abs(effects))
    quantiles = halfnorm.ppf((np.arange(len(order)) + 0.5) / len(order))
    ax.plot(quantiles, np.abs(effects[order]), "o", color="C0")
    for q, j in zip(quantiles, order):
        ax.annotate(names[j], (q, abs(effects[j])), xytext=(5, 0), textcoords="offset points")
    ax.set(xlabel="half-normal quantile", ylabel="size of the effect", xlim=0, ylim=0)
    return ax


def plot_main_effects(screening: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the mean response at the low and the high level of each factor.

    Parameters
    ----------
    screening : ScreeningResult
        A screening.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X, y = screening.design.coded_, np.asarray(screening.responses, dtype=float)
    names = list(screening.design.space_.names)
    for j, name in enumerate(names):
        means = [y[X[:, j] == side].mean() for side in (-1, 1)]
        colour = "C0" if name in screening.relevant else "0.7"
        ax.plot([j - 0.25, j + 0.25], means, "o-", color=colour)
    ax.axhline(y.mean(), color="0.8", linewidth=0.8)
    ax.set(xticks=range(len(names)), xticklabels=names, ylabel="mean response, low to high")
    return ax


def plot_ascent(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the responses along an ascent.

    Parameters
    ----------
    path : AscentPath
        An ascent.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    responses = np.asarray(path.responses, dtype=float)
    ax.plot(range(len(responses)), responses, "o-", color="C0")
    best = np.flatnonzero(responses == path.best_response)
    if len(best):
        ax.plot(best[0], responses[best[0]], "o", color="C3", markersize=9)
    ax.set(xlabel="step", ylabel="response")
    return ax


def plot_response_surface(
    screening: Any, path: Any = None, *, surface: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw contours of the fitted response in two relevant factors, with the ascent (Figure 7).

    Parameters
    ----------
    screening : ScreeningResult
        A screening with two relevant factors or more; the first two are drawn.
    path : AscentPath, optional
        The ascent to draw.
    surface : SecondOrderModel, optional
        A quadratic in those factors, drawn in place of the plane; it has exactly two.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if len(screening.relevant) < 2:
        raise ValueError("A surface needs two relevant factors; use plot_ascent for one.")
    ax = ax or plt.subplots()[1]
    names = list(screening.design.space_.names)
    pair = [names.index(name) for name in screening.relevant[:2]]

    points = screening.design.coded_[:, pair]
    if path is not None:
        points = np.vstack([points, path.coded[:, :2]])
    low, high = points.min(axis=0) - 0.4, points.max(axis=0) + 0.4
    u, v = np.meshgrid(np.linspace(low[0], high[0], 60), np.linspace(low[1], high[1], 60))
    grid = np.column_stack([u.ravel(), v.ravel()])
    if surface is None:
        z = screening.model.intercept_ + grid @ screening.model.coef_[pair]
    else:
        z = surface.predict(grid)
    drawn = ax.contour(u, v, z.reshape(u.shape), levels=12, cmap="viridis", linewidths=0.8)
    ax.clabel(drawn, fontsize=7)
    ax.plot(*screening.design.coded_[:, pair].T, "s", color="0.5", label="screening")
    if path is not None:
        ax.plot(*path.coded[:, :2].T, "o-", color="C3", label="ascent")
    ax.set(xlabel=f"{names[pair[0]]} (coded)", ylabel=f"{names[pair[1]]} (coded)")
    ax.legend(frameon=False)
    return ax


def plot_stepwise_residuals(model: Any, X: Any, *, axes: Sequence[Axes] | None = None) -> Any:
    """Draw residuals against predictions, and against normal quantiles.

    Parameters
    ----------
    model : StepwiseOLS
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        The rows that it was fitted to.
    axes : sequence of two matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : sequence of two matplotlib axes
        The axes.
    """
    from scipy.stats import norm

    left, right = plt.subplots(1, 2, figsize=(9, 4))[1] if axes is None else axes
    left.axhline(0.0, color="0.8")
    left.plot(model.predict(X), model.residuals_, "o", color="C0")
    left.set(xlabel="predicted", ylabel="residual")
    n = len(model.residuals_)
    right.plot(norm.ppf((np.arange(n) + 0.5) / n), np.sort(model.residuals_), "o", color="C0")
    right.set(xlabel="normal quantile", ylabel="residual")
    return left, right


def plot_experiments(points: Mapping[str, tuple[Any, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw scores against experiments, one colour a procedure (the table of Figure 12).

    Parameters
    ----------
    points : dict of str to tuple
        For each procedure its numbers of experiments and its scores, one a problem.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for i, (name, (experiments, scores)) in enumerate(points.items()):
        ax.plot(experiments, scores, "osD^v"[i % 5], label=name, alpha=0.8)
    ax.set(xlabel="experiments", ylabel="score")
    ax.legend(frameon=False)
    return ax
