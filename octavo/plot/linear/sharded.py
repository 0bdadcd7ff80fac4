"""Pictures of distributed fits: convergence, speed-up, and where nodes spend their time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_node_times", "plot_speedup", "plot_suboptimality", "plot_time_split"]


def plot_suboptimality(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], best: float, *, ax: Axes | None = None
) -> Axes:
    """Draw how far each strategy is from the optimum after each pass over the data.

    Parameters
    ----------
    curves : dict of str to (passes, objectives)
        By name of the strategy.
    best : float
        The optimal objective.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, (passes, objectives) in curves.items():
        gap = np.asarray(objectives, dtype=float) / best - 1
        gap[gap <= 0] = np.nan  # the optimum itself has no place on a logarithmic axis
        ax.semilogy(passes, gap, marker="o", markersize=3, label=name)
    ax.set(xlabel="passes over the data", ylabel="objective above the optimum (relative)")
    ax.legend(frameon=False)
    return ax


def plot_speedup(
    n_machines: Sequence[int],
    times: Mapping[str, ArrayLike],
    *,
    seconds: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw speed-up over the smallest number of machines, with the ideal line.

    Parameters
    ----------
    n_machines : sequence of int
        Numbers of machines, rising.
    times : dict of str to array-like
        Seconds for each number, by name; NaN where there is no time.
    seconds : bool, default=False
        Draw the times themselves.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    machines = np.asarray(n_machines, dtype=float)
    rows = {name: np.asarray(own, dtype=float) for name, own in times.items()}
    if seconds:
        longest = max(float(own[0]) for own in rows.values() if np.isfinite(own[0]))
        ax.loglog(machines, longest * machines[0] / machines, "--", color="0.5", label="ideal")
        ax.set(ylabel="seconds")
    else:
        ax.loglog(machines, machines / machines[0], "--", color="0.5", label="ideal")
        ax.set(ylabel=f"speed-up over {n_machines[0]} machines")
    for name, own in rows.items():
        ax.loglog(machines, own if seconds else own[0] / own, marker="o", label=name)
    ax.set(xlabel="machines")
    ax.legend(frameon=False)
    return ax


def plot_time_split(timing: Any, *, phase: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw, for every node, how long it computed, stalled and communicated.

    Parameters
    ----------
    timing : FitTiming
        The ``timing_`` of a fitted model.
    phase : str, optional
        Only this kind of phase, such as "probe"; all of them by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    phases = timing.phases if phase is None else timing.of(phase)
    nodes = sorted({node for own in phases for node in own.nodes})
    split = np.zeros((3, len(nodes)))
    for own in phases:
        at = [nodes.index(node) for node in own.nodes]
        split[0, at] += own.busy
        split[1, at] += own.stall
        split[2, at] += own.communication
    bottom = np.zeros(len(nodes))
    for seconds, label in zip(split, ("computing", "stalling", "communicating")):
        ax.bar(np.arange(len(nodes)), seconds, bottom=bottom, label=label)
        bottom += seconds
    ax.set_xticks(np.arange(len(nodes)))
    ax.set(xlabel="node", ylabel="seconds")
    ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def plot_node_times(
    times: Mapping[str, ArrayLike], *, n_bins: int = 30, ax: Axes | None = None
) -> Axes:
    """Draw histograms of the nodes' times for a pass, with and without a defence, say.

    Parameters
    ----------
    times : dict of str to array-like
        Seconds of every node, by name of the run.
    n_bins : int, default=30
        Number of bins, on a logarithmic scale.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    columns = {name: np.asarray(own, dtype=float) for name, own in times.items()}
    low = min(own.min() for own in columns.values())
    high = max(own.max() for own in columns.values())
    bins = np.geomspace(low, high * 1.0001, n_bins + 1)
    for name, own in columns.items():
        ax.hist(own, bins=bins.tolist(), alpha=0.55, label=f"{name}: slowest {own.max():.3g} s")
    ax.set(xscale="log", yscale="log", xlabel="seconds of a node", ylabel="nodes")
    ax.legend(frameon=False)
    return ax
