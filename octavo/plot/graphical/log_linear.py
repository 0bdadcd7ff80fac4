"""Pictures of log-linear networks: who interacts, by which features, and which learner is ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo._outside_text import literal

__all__ = [
    "plot_feature_lengths",
    "plot_feature_weights",
    "plot_interaction_graph",
    "plot_relative_scores",
]


def _names(network: Any) -> list[str]:
    named = getattr(network, "feature_names_in_", None)
    return [str(n) for n in (range(len(network.cardinalities_)) if named is None else named)]


def plot_interaction_graph(network: Any, *, ax: Axes | None = None) -> Axes:
    """Draw variables on a ring, joined where they share a feature, as wide as its weight.

    Parameters
    ----------
    network : network
        Anything with `graph_`, whose edges carry `weight`, and `cardinalities_`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    names = _names(network)
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    x, y = np.sin(angles), np.cos(angles)
    edges = list(network.graph_.edges(data="weight"))
    heaviest = max((weight for _, _, weight in edges), default=1.0) or 1.0
    for a, b, weight in edges:
        share = weight / heaviest
        ax.plot(x[[a, b]], y[[a, b]], color="C0", alpha=0.15 + 0.85 * share, linewidth=4 * share)
    ax.scatter(x, y, color="white", edgecolor="0.3", s=250, zorder=3)
    for k, name in enumerate(names):
        ax.text(x[k], y[k], literal(name), ha="center", va="center", fontsize="small", zorder=4)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _words(feature: Any, names: list[str]) -> str:
    signs = {"==": "=", "!=": "≠"}
    return literal(", ".join(f"{names[k]} {signs[sign]} {value}" for k, sign, value in feature))


def plot_feature_weights(network: Any, *, n_features: int = 15, ax: Axes | None = None) -> Axes:
    """Draw the features of the largest weights as a table of bars.

    Parameters
    ----------
    network : network
        Anything with `features_`, `weights_` and `cardinalities_`.
    n_features : int, default=15
        How many.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    weights, names = np.asarray(network.weights_), _names(network)
    chosen = np.argsort(-np.abs(weights), kind="stable")[:n_features][::-1]
    at = np.arange(len(chosen))
    ax.barh(at, weights[chosen], color=np.where(weights[chosen] > 0, "C0", "C3"))
    ax.set_yticks(at, [_words(network.features_[f], names) for f in chosen], fontsize="x-small")
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel("weight")
    return ax


def plot_feature_lengths(networks: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw how many tests the features of networks have.

    Parameters
    ----------
    networks : mapping of str to network
        Networks by name; anything with `features_`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    lengths = {name: [len(f) for f in network.features_] for name, network in networks.items()}
    longest = max((max(of, default=1) for of in lengths.values()), default=1)
    width = 0.8 / max(len(lengths), 1)
    for place, (name, of) in enumerate(lengths.items()):
        counts = np.bincount(of, minlength=longest + 1)[1:]
        shift = (place - (len(lengths) - 1) / 2) * width
        ax.bar(np.arange(1, longest + 1) + shift, counts, width, label=literal(name))
    ax.set(xlabel="tests in a feature", ylabel="features")
    ax.legend(frameon=False)
    return ax


def plot_relative_scores(
    scores: Mapping[str, Mapping[str, float]], reference: str, *, ax: Axes | None = None
) -> Axes:
    """Draw scores of learners on several tables less that of one of them, as in Figure 5.

    Parameters
    ----------
    scores : mapping of str to mapping of str to float
        Score by learner, then by table; larger is better.
    reference : str
        The learner that is the zero line.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; bars below zero are better, as in the paper.
    """
    if reference not in scores:
        raise ValueError(f"reference must be one of {list(scores)}, got {reference!r}.")
    ax = ax or plt.subplots()[1]
    tables, others = list(scores[reference]), [name for name in scores if name != reference]
    at, width = np.arange(len(tables)), 0.8 / max(len(others), 1)
    for place, name in enumerate(others):
        loss = [scores[reference][t] - scores[name][t] for t in tables]
        ax.bar(at + (place - (len(others) - 1) / 2) * width, loss, width, label=literal(name))
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set_xticks(at, [literal(t) for t in tables], rotation=30, ha="right")
    ax.set_ylabel(f"loss less that of {literal(reference)}")
    ax.legend(frameon=False)
    return ax
