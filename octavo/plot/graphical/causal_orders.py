"""Pictures of causal orders and DAGs with probabilities."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_causal_dag", "plot_effect_intervals", "plot_order_candidates"]


def plot_causal_dag(
    model: Any,
    *,
    truth: Any = None,
    names: Any = None,
    threshold: float = 0.5,
    ax: Axes | None = None,
) -> Axes:
    """Draw a DAG on a circle, with the probability of an edge as its width.

    Parameters
    ----------
    model : SLIM, SLIMDAG or SNIM
        Fitted.
    truth : array-like of shape (d, d), optional
        Known effects, [i, j] of j on i: edges that are reversed are green, false ones red.
    names : sequence of str, optional
        Names of the variables.
    threshold : float, default=0.5
        Edges below this probability are left out.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    probability = np.asarray(model.edge_prob_)
    d = len(probability)
    places = np.empty((d, 2))
    turns = np.pi / 2 - 2 * np.pi * np.arange(d) / d
    places[list(model.causal_order_)] = np.column_stack([np.cos(turns), np.sin(turns)])
    known = None if truth is None else np.asarray(truth) != 0
    for i, j in zip(*np.nonzero(probability > threshold), strict=True):
        color = "0.25"
        if known is not None and not known[i, j]:
            color = "tab:green" if known[j, i] else "tab:red"
        ax.annotate(
            "",
            xy=places[i],
            xytext=places[j],
            arrowprops={
                "arrowstyle": "-|>",
                "lw": 0.5 + 3.0 * probability[i, j] ** 2,
                "color": color,
                "shrinkA": 14,
                "shrinkB": 14,
                "connectionstyle": "arc3,rad=0.08",
            },
        )
    for k in range(d):
        label = str(k) if names is None else str(names[k])
        box = {"boxstyle": "circle", "fc": "white", "ec": "0.25"}
        ax.text(places[k, 0], places[k, 1], label, ha="center", va="center", bbox=box)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xticks=[], yticks=[])
    return ax


def plot_order_candidates(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how often orders were visited, and the held-out density of their DAGs.

    Parameters
    ----------
    model : SLIM
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes of the frequencies; densities have an axis of their own on the right.
    """
    ax = ax or plt.subplots()[1]
    found = model.ordering_candidates_
    numbers = np.arange(1, len(found) + 1)
    ax.bar(numbers, [candidate.frequency for candidate in found], color="0.8")
    ax.set(xlabel="candidate", ylabel="share of visits", xticks=numbers)
    right = ax.twinx()
    right.plot(numbers, model.test_loglik_["dags"], "s-", color="tab:blue", label="DAGs")
    right.axhline(model.test_loglik_["factor"], ls="--", color="tab:orange", label="factor model")
    right.set_ylabel("mean log density of held-out rows")
    right.legend(loc="best", fontsize="small")
    return ax


def plot_effect_intervals(model: Any, *, truth: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the effects that an order allows, with their 95 % credible intervals.

    Parameters
    ----------
    model : SLIM, SLIMDAG or SNIM
        Fitted.
    truth : array-like of shape (d, d), optional
        Known effects, drawn as squares.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    place = np.argsort(model.causal_order_)
    effects, causes = np.nonzero(place[:, None] > place[None, :])
    middle = np.asarray(model.B_median_)[effects, causes]
    low, high = np.asarray(model.B_interval_)[:, effects, causes]
    numbers = np.arange(len(middle))
    ax.vlines(numbers, low, high, color="0.6", lw=3)
    ax.plot(numbers, middle, "k.", label="median")
    if truth is not None:
        known = np.asarray(truth)[effects, causes]
        ax.plot(numbers, known, "s", mfc="none", color="tab:red", label="truth")
    ax.axhline(0.0, lw=0.5, color="k")
    labels = [f"{j}→{i}" for i, j in zip(effects, causes, strict=True)]
    ax.set_xticks(numbers, labels, rotation=90)
    ax.set_ylabel("effect")
    ax.legend(loc="best", fontsize="small")
    return ax
