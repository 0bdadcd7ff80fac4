"""Pictures of cumulative distribution networks: graph, density, conditionals, skills, tails."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo._outside_text import literal

__all__ = [
    "plot_cdn_density",
    "plot_cdn_graph",
    "plot_conditional_cdf",
    "plot_joint_tail",
    "plot_skill_functions",
]


def plot_cdn_graph(
    network: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw variables as circles and factors as diamonds.

    Parameters
    ----------
    network : CDN
        The network.
    names : sequence of str, optional
        Of the variables; X0, X1, ... by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    d = network.n_variables
    angle = 2 * np.pi * np.arange(d) / d
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    for number, scope in enumerate(network.scopes):
        center = places[list(scope)].mean(axis=0)
        if len(scope) == 1:
            center = 1.35 * center
        center = center + 0.05 * np.array([np.cos(number), np.sin(number)])
        for v in scope:
            ax.plot(*np.stack([center, places[v]]).T, color="0.6", zorder=1)
        ax.plot(*center, "D", color="C1", markersize=9, zorder=2)
    ax.scatter(places[:, 0], places[:, 1], s=500, facecolor="white", edgecolor="C0", zorder=3)
    for v, (x, y) in enumerate(places):
        label = f"X{v}" if names is None else literal(names[v])
        ax.text(x, y, label, ha="center", va="center", zorder=4)
    ax.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
    ax.axis("off")
    return ax


def plot_cdn_density(
    network: Any,
    x: Sequence[float],
    y: Sequence[float],
    *,
    n_grid: int = 120,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of a network of two variables.

    Parameters
    ----------
    network : CDN
        Over two variables; take `marginal` of a larger one.
    x, y : pair of float
        Ends of the two axes.
    n_grid : int, default=120
        Points an axis.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    first, second = np.linspace(x[0], x[1], n_grid), np.linspace(y[0], y[1], n_grid)
    rows = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    density = np.exp(network.logpdf(rows)).reshape(n_grid, n_grid)
    ax.contour(first, second, density, levels=12, cmap="viridis")
    ax.set(xlabel="x", ylabel="y")
    return ax


def plot_conditional_cdf(
    network: Any,
    target: int,
    given: dict[int, float],
    values: Sequence[float],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution function of a variable alone, given values, and given bounds.

    Parameters
    ----------
    network : CDN
        The network.
    target : int
        The variable.
    given : dict of int to float
        Values of others.
    values : sequence of float
        Where the curves are drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    at = np.asarray(values, dtype=float)
    said = ", ".join(f"X{v} {{}} {x:g}" for v, x in given.items())
    ax.plot(at, network.conditional_cdf({target: at}, {}), color="0.5", label="marginal")
    for event, sign in (("eq", "="), ("le", "≤")):
        curve = network.conditional_cdf({target: at}, given, event=event)
        ax.plot(at, curve, label=said.replace("{}", sign))
    ax.set(xlabel=f"X{target}", ylabel="distribution function")
    ax.legend(frameon=False)
    return ax


def plot_skill_functions(
    ranker: Any, players: Sequence[Hashable], *, before: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the densities of players' skill functions, and those of an earlier ranker thinly.

    Parameters
    ----------
    ranker : CDNTeamRanker
        A ranker that has played.
    players : sequence of hashable
        Whom to draw.
    before : CDNTeamRanker, optional
        The state before some games.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    middle = 0.5 * (ranker.grid_[1:] + ranker.grid_[:-1])
    for k, player in enumerate(players):
        rise = np.diff(ranker.skill_function(player)) / np.diff(ranker.grid_)
        ax.plot(middle, rise, color=f"C{k}", label=literal(player))
        if before is not None:
            rise = np.diff(before.skill_function(player)) / np.diff(before.grid_)
            ax.plot(middle, rise, color=f"C{k}", alpha=0.35, lw=1, ls="--")
    ax.set(xlabel="score", ylabel="derivative of the skill function")
    ax.legend(frameon=False)
    return ax


def plot_joint_tail(
    models: dict[str, Any],
    X: Any,
    *,
    levels: Sequence[float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how probable a high value of one variable is when the other is high.

    Parameters
    ----------
    models : dict of str to CDN
        Networks of two variables.
    X : array-like of shape (n, 2)
        Rows, whose own shares are drawn beside.
    levels : sequence of float, optional
        Quantiles; 0.5 to 0.99 by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rows = np.asarray(X, dtype=float)
    at = np.linspace(0.5, 0.99, 50) if levels is None else np.asarray(levels)
    points = np.quantile(rows, at, axis=0)
    high = rows[:, None] > points
    seen = high.all(axis=2).mean(axis=0) / np.maximum(high[..., 1].mean(axis=0), 1e-12)
    ax.plot(at, seen, ".", color="0.3", label="data")
    for name, model in models.items():
        first, second = (
            model.cdf(np.where([k == v for k in (0, 1)], points, np.inf)) for v in (0, 1)
        )
        joint = 1 - first - second + model.cdf(points)
        ax.plot(at, joint / np.maximum(1 - second, 1e-12), label=literal(name))
    ax.set(xlabel="quantile q", ylabel="P(X0 > q | X1 > q)")
    ax.legend(frameon=False)
    return ax
