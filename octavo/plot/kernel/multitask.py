"""Pictures of switches: along alpha, task by task, as penalties, and as edges of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_edge_scores", "plot_switch_path", "plot_switch_penalty", "plot_task_switches"]


def plot_switch_path(
    alphas: Any, switches: Any, *, truth: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw each switch against alpha.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        Values of alpha; those that are not positive are left out.
    switches : array-like of shape (n_alphas, n_switches)
        Of a `MEDMultitaskPath`: ``path.switches_path_[c]``.
    truth : array-like of int, optional
        Switches that should stay open, drawn in colour.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, with the least that a switch can be, 1/(1 + alpha), dashed.
    """
    ax = ax or plt.subplots()[1]
    alphas, switches = np.asarray(alphas, dtype=float), np.asarray(switches, dtype=float)
    shown = alphas > 0.0
    known = np.zeros(switches.shape[1], dtype=bool)
    if truth is not None:
        known[np.asarray(truth, dtype=int)] = True
    for d in np.argsort(known, kind="stable"):
        style = {"color": "C0", "zorder": 3} if known[d] else {"color": "0.75"}
        ax.plot(alphas[shown], switches[shown, d], linewidth=1.0, **style)
    ax.plot(alphas[shown], 1.0 / (1.0 + alphas[shown]), "k--", linewidth=0.8)
    ax.set(xscale="log", xlabel="alpha", ylabel="switch", ylim=(0.0, 1.02))
    return ax


def plot_task_switches(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how much each task uses a machine of its own.

    Parameters
    ----------
    model : estimator
        Fitted `MEDAdaptivePoolingSVC` or `MEDAdaptivePoolingSVR`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, a bar a task, with the prior 1/(1 + alpha) dashed.
    """
    ax = ax or plt.subplots()[1]
    names = ["0"] if model.tasks_ is None else [str(name) for name in model.tasks_]
    ax.bar(np.arange(len(names)), model.switches_, color="C0")
    ax.axhline(1.0 / (1.0 + model.alpha), color="k", linewidth=0.8, linestyle="--")
    ax.set_xticks(np.arange(len(names)), names, fontsize="small")
    ax.set(xlabel="task", ylabel="switch of its own machine", ylim=(0.0, 1.0))
    return ax


def plot_switch_penalty(w: Any, curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw penalties on a coefficient, each divided by its value at the right end.

    Parameters
    ----------
    w : array-like of shape (n_points,)
        Coefficients, ascending.
    curves : mapping of str to array-like of shape (n_points,)
        Penalties by what they are called: ``{"alpha=1": med_penalty(w, 1.0)}``.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, with the square and the absolute value dotted.
    """
    ax = ax or plt.subplots()[1]
    w = np.asarray(w, dtype=float)
    for name, values in curves.items():
        values = np.asarray(values, dtype=float)
        ax.plot(w, values / values[-1], label=name)
    ax.plot(w, (w / w[-1]) ** 2, "k:", linewidth=0.8)
    ax.plot(w, np.abs(w / w[-1]), "k:", linewidth=0.8)
    ax.set(xlabel="coefficient", ylabel="penalty, relative to the right end")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_edge_scores(scores: Any, *, truth: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the scores of pairs as a map, with the true edges marked.

    Parameters
    ----------
    scores : array-like of shape (n_nodes, n_nodes)
        ``edge_scores_`` of `MEDIsingStructure` or `NodewiseL1Ising`.
    truth : array-like of bool of shape (n_nodes, n_nodes), optional
        The true adjacency: a ring on each edge.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    scores = np.array(scores, dtype=float)
    np.fill_diagonal(scores, np.nan)
    image = ax.imshow(scores, cmap="Blues", vmin=0.0)
    if truth is not None:
        rows, columns = np.nonzero(np.asarray(truth))
        ax.plot(columns, rows, "o", markerfacecolor="none", markeredgecolor="C3", markersize=12)
    ax.figure.colorbar(image, ax=ax, label="score")
    ax.set(xlabel="node", ylabel="node")
    return ax
