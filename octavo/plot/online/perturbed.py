"""Pictures of games without a bound on the losses: volume, fluctuation, trading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_fluctuation",
    "plot_leader_probability",
    "plot_normalized_regret",
    "plot_trading",
]


def plot_trading(run: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the gains of the two experts and of the learner, and the volume (Figure 6).

    Parameters
    ----------
    run : TradingRun
        From `trade_zero_sum`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    gains = -np.cumsum(run.trace.losses_, axis=0)
    t = np.arange(1, len(gains) + 1)
    ax.plot(t, gains[:, 0], color="tab:blue", label="expert 1: trend")
    ax.plot(t, gains[:, 1], color="tab:green", label="expert 2: return")
    ax.plot(t, np.cumsum(run.gain), color="black", linestyle=":", linewidth=2, label="learner")
    if np.any(run.cost):
        ax.plot(t, run.net, color="tab:red", linewidth=1, label="learner after costs")
    ax.plot(t, run.trace.volume_, color="0.5", linestyle="--", label="volume")
    ax.set(xlabel="step", ylabel="gain")
    ax.legend(frameon=False)
    return ax


def plot_fluctuation(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the scaled fluctuation of a game against its assumed bound γ (Figure 5).

    Parameters
    ----------
    found : GameDiagnostics
        From `game_diagnostics`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    t = np.arange(1, len(found.volume) + 1)
    seen = np.where(found.fluctuation > 0, found.fluctuation, np.nan)
    ax.plot(t, seen, linewidth=0.8, label="fluctuation")
    ax.plot(t, found.gamma, color="black", linestyle="--", label="γ(t)")
    if found.exceeds.any():
        ax.plot(
            t[found.exceeds], found.fluctuation[found.exceeds], "o", color="tab:red",
            markersize=3, label="exceeds γ",
        )  # fmt: skip
    ax.set(xlabel="round", ylabel="scaled fluctuation", yscale="log", xscale="log")
    ax.legend(frameon=False)
    return ax


def plot_normalized_regret(traces: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the regret over the volume on logarithmic axes; negative values are left out.

    Parameters
    ----------
    traces : dict of str to GameTrace
        One per strategy, under the name to show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, trace in traces.items():
        t = np.arange(1, trace.n_rounds + 1)
        value = trace.normalized_regret_
        ax.plot(t, np.where(value > 0, value, np.nan), label=name, linewidth=1.2)
    ax.set(xlabel="round", ylabel="regret / volume", xscale="log", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_leader_probability(traces: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the weight on the expert that leads before each round.

    Parameters
    ----------
    traces : dict of str to GameTrace
        Traces that have kept their weights, under the name to show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, trace in traces.items():
        totals = np.cumsum(trace.losses_, axis=0)
        leader = np.argmin(totals, axis=1)[:-1]
        weight = trace.weights_[np.arange(1, trace.n_rounds), leader]
        ax.plot(np.arange(2, trace.n_rounds + 1), weight, label=name, linewidth=1.2)
    ax.set(xlabel="round", ylabel="weight of the leader", ylim=(0, 1.02))
    ax.legend(frameon=False)
    return ax
