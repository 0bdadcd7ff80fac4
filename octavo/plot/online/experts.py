"""Pictures of games with expert advice: regret, learning rates, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_expert_weights",
    "plot_fixed_eta_regret",
    "plot_learning_rate",
    "plot_regret",
    "plot_regret_bounds",
]

_STYLES = ("-", "--", "-.", ":")


def plot_regret(
    traces: Mapping[str, Any], *, top: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the regret of several strategies in one game.

    Parameters
    ----------
    traces : dict of str to GameTrace
        One per strategy, under the name to show.
    top : float, optional
        Upper end of the axis, where the worst strategy would hide the others.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, trace in traces.items():
        ax.plot(np.arange(1, trace.n_rounds + 1), trace.regret_, label=name, linewidth=1.2)
    lowest = min(float(trace.regret_.min()) for trace in traces.values())
    if top is not None:
        ax.set_ylim(min(lowest, 0.0) - 0.02 * top, top)
    ax.set(xlabel="round", ylabel="regret")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def plot_fixed_eta_regret(
    etas: Any, regret: Any, *, leader: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the final regret of Hedge against its learning rate (Figures 3-6, above).

    Parameters
    ----------
    etas : array-like of shape (n_etas,)
        Finite learning rates.
    regret : array-like of shape (n_etas,)
        From `regret_of_fixed_eta`.
    leader : float, optional
        Regret of Follow-the-Leader, drawn at the right end as the rate ∞.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    rates = np.asarray(etas, dtype=float)
    (line,) = ax.plot(rates, regret)
    ax.set_xscale("log")
    if leader is not None:
        far = rates.max() * (rates.max() / rates.min()) ** 0.08
        ax.plot([far], [leader], "o", color=line.get_color(), clip_on=False)
        ax.annotate("∞", (far, leader), xytext=(0, -16), textcoords="offset points", ha="center")
    ax.set(
        xlabel="learning rate",
        ylabel="regret of Hedge",
        ylim=(0, 1.05 * max(np.max(regret), leader or 0.0)),
    )
    return ax


def plot_expert_weights(
    trace: Any, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how the weights are divided among the experts, as stacked areas.

    Parameters
    ----------
    trace : GameTrace
        A trace that has kept its weights.
    names : sequence of str, optional
        Names of the experts.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    weights = trace.weights_
    t = np.arange(1, len(weights) + 1)
    labels = names if names is not None else [f"expert {k}" for k in range(weights.shape[1])]
    ax.stackplot(t, weights.T, labels=labels, alpha=0.85)
    ax.set(xlabel="round", ylabel="weight", xlim=(1, max(len(weights), 2)), ylim=(0, 1))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def plot_learning_rate(trace: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the learning rate, with bands where FlipFlop follows the leader.

    Parameters
    ----------
    trace : GameTrace
        Of a strategy with exponential weights.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    t = np.arange(1, trace.n_rounds + 1)
    finite = np.isfinite(trace.eta_)
    ax.plot(t, np.where(finite, trace.eta_, np.nan), label="finite rate")
    edges = np.flatnonzero(np.diff(np.concatenate([[False], ~finite, [False]]).astype(int)))
    for i, (first, last) in enumerate(zip(edges[::2], edges[1::2])):
        ax.axvspan(
            first + 0.5, last + 0.5, color="tab:orange", alpha=0.3, linewidth=0,
            label="leader followed (∞)" if i == 0 else None,
        )  # fmt: skip
    ax.set(xlabel="round", ylabel="learning rate", xlim=(0.5, trace.n_rounds + 0.5))
    if finite.any():
        ax.set_yscale("log")
    ax.legend(frameon=False)
    return ax


def plot_regret_bounds(
    trace: Any, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the regret beside the bounds that are proven for it.

    Parameters
    ----------
    trace : GameTrace
        Of a strategy with bounds.
    names : sequence of str, optional
        Which bounds; all by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    t = np.arange(1, trace.n_rounds + 1)
    ax.plot(t, trace.regret_, color="black", label="regret")
    bounds = trace.bounds()
    for i, name in enumerate(names if names is not None else bounds):
        bound = np.where(np.isfinite(bounds[name]), bounds[name], np.nan)
        ax.plot(t, bound, _STYLES[1 + i % 3], label=name, linewidth=1.2)
    ax.set(xlabel="round", ylabel="regret")
    ax.legend(frameon=False)
    return ax
