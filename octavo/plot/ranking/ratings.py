"""Pictures of ratings: careers, leaderboards, calibration."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo._outside_text import literal

__all__ = [
    "plot_calibration",
    "plot_error_by_experience",
    "plot_head_to_head",
    "plot_leaderboard",
    "plot_rating_history",
    "plot_win_curves",
]


def plot_rating_history(
    ranker: Any, players: Sequence[Hashable] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the careers of some players with bands of two standard deviations.

    Parameters
    ----------
    ranker : OnlineRanker
        Fitted with ``record_history=True``.
    players : sequence of ids, optional
        Whom to draw; the five best by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    if players is None:
        players = [row.player for row in ranker.leaderboard()[:5]]
    place = {player: i for i, player in enumerate(ranker.players_)}
    history = ranker.history_
    for player in players:
        rows = history[history["player"] == place[player]]
        (line,) = ax.plot(rows["game"], rows["mu"], label=literal(player), drawstyle="steps-post")
        ax.fill_between(
            rows["game"],
            rows["mu"] - 2 * rows["sigma"],
            rows["mu"] + 2 * rows["sigma"],
            color=line.get_color(),
            alpha=0.12,
            step="post",
        )
    ax.set(xlabel="game", ylabel="skill (mean ± 2 sd)")
    ax.legend(frameon=False)
    return ax


def plot_leaderboard(ranker: Any, *, top: int = 15, k: float = 3.0, ax: Axes | None = None) -> Axes:
    """Draw the best players with their uncertainty, ordered by mu - k sigma.

    Parameters
    ----------
    ranker : OnlineRanker
        A ranker that has played.
    top : int, default=15
        How many players.
    k : float, default=3
        Half the length of a bar, in standard deviations.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rows = ranker.leaderboard(k)[:top]
    height = np.arange(len(rows))[::-1]
    mu = np.array([row.mu for row in rows])
    sigma = np.array([row.sigma for row in rows])
    ax.errorbar(mu, height, xerr=k * sigma, fmt="o", markersize=4, capsize=2)
    ax.set_yticks(height, [literal(row.player) for row in rows])
    ax.set(xlabel=f"skill (mean ± {k:g} sd)")
    return ax


def plot_calibration(trace: Any, *, n_bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw how often the favourite of a pair won against the probability it was given.

    Parameters
    ----------
    trace : PrequentialTrace
        From `OnlineRanker.prequential_trace`.
    n_bins : int, default=10
        Number of bins from 1/2 to 1.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    favourite = np.maximum(trace.probability, 1 - trace.probability)
    won = trace.probability > 0.5
    bins = np.minimum(((favourite - 0.5) * 2 * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    seen = counts > 0
    predicted = np.bincount(bins, favourite, n_bins)[seen] / counts[seen]
    observed = np.bincount(bins, won, n_bins)[seen] / counts[seen]
    error = 1.96 * np.sqrt(observed * (1 - observed) / counts[seen])
    ax.plot([0.5, 1], [0.5, 1], color="0.6", linewidth=1, label="perfectly calibrated")
    ax.errorbar(predicted, observed, yerr=error, fmt="o-", markersize=4, capsize=2, label="seen")
    ax.set(xlabel="predicted chance of the favourite", ylabel="fraction of wins")
    ax.legend(frameon=False)
    return ax


def plot_error_by_experience(
    traces: dict[str, Any], *, limits: Sequence[float] = (5, 10, 20, 40), ax: Axes | None = None
) -> Axes:
    """Draw the prediction error over games whose players had played few games before.

    Parameters
    ----------
    traces : dict of str to PrequentialTrace
        One per model, under the name to show.
    limits : sequence of float
        Largest average number of past games, as in Table 5 of the paper.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    labels = [f"≤ {limit:g}" for limit in limits] + ["all"]
    for name, trace in traces.items():
        errors = [trace.wrong[trace.past_games <= limit].mean() for limit in limits]
        ax.plot(labels, [100 * e for e in [*errors, trace.error]], "o-", markersize=4, label=name)
    ax.set(xlabel="games played before", ylabel="pairs predicted wrongly (%)")
    ax.legend(frameon=False)
    return ax


def plot_win_curves(*, ax: Axes | None = None) -> Axes:
    """Draw the winning chance against the gap in skill: normal and logistic (Figure 1).

    Parameters
    ----------
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from scipy.special import expit, ndtr

    ax = ax or plt.subplots()[1]
    gap = np.linspace(-5, 5, 201)
    ax.plot(gap, ndtr(gap / (4 / np.sqrt(2 * np.pi))), label="normal (Thurstone-Mosteller)")
    ax.plot(gap, expit(gap), "--", label="logistic (Bradley-Terry)")
    ax.set(xlabel="difference in skill", ylabel="chance of winning")
    ax.legend(frameon=False)
    return ax


def plot_head_to_head(
    ranker: Any, players: Sequence[Hashable] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the chance that the player of a row beats the player of a column.

    Parameters
    ----------
    ranker : OnlineRanker
        A ranker that has played.
    players : sequence of ids, optional
        Whom to draw; the ten best by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    if players is None:
        players = [row.player for row in ranker.leaderboard()[:10]]
    n = len(players)
    chance = np.full((n, n), np.nan)
    for i in range(n):
        for j in range(n):
            if i != j:
                chance[i, j] = ranker.predict_win([[players[i]], [players[j]]])[0]
    image = ax.imshow(chance, vmin=0, vmax=1, cmap="RdBu")
    ticks = [literal(player) for player in players]
    ax.set_xticks(range(n), ticks, rotation=90)
    ax.set_yticks(range(n), ticks)
    ax.set(xlabel="loses", ylabel="wins")
    ax.figure.colorbar(image, ax=ax, label="chance")
    return ax
