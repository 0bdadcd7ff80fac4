"""Pictures of grouped kernel learning: nested weights, gaps by machines, accuracy by norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_accuracy_by_q", "plot_gap_by_machines", "plot_group_weights"]


def plot_group_weights(
    shares: Sequence[ArrayLike],
    gamma: ArrayLike,
    *,
    q: float = 1.0,
    names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weight of every group as a bar, divided into those of its kernels.

    Parameters
    ----------
    shares : sequence of array-like
        Weights within each group, such as `VSKLClassifier.lambda_`.
    gamma : array-like of shape (n_groups,)
        Weights of the groups, such as `VSKLClassifier.gamma_`.
    q : float, default=1.0
        The norm of the fit: γ divides for q ≥ 1 and multiplies below.
    names : sequence, optional
        Names of the groups.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    weights = np.asarray(gamma, dtype=float)
    if q >= 1.0:
        weights = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0.0)
    colours = plt.get_cmap("viridis")
    for j, (share, weight) in enumerate(zip(shares, weights)):
        bottom, parts = 0.0, np.asarray(share, dtype=float)
        for k, part in enumerate(parts):
            colour = colours(k / max(len(parts) - 1, 1))
            ax.bar(j, weight * part, bottom=bottom, color=colour, edgecolor="white", linewidth=0.5)
            bottom += weight * part
    labels = [str(name) for name in (range(len(weights)) if names is None else names)]
    ax.set_xticks(range(len(weights)), labels)
    ax.set(xlabel="group", ylabel="weight, by kernel")
    return ax


def plot_gap_by_machines(histories: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw the certified gap, relative to the objective, against the machines solved.

    Parameters
    ----------
    histories : mapping of str to array-like of shape (n_iterations, 4)
        `VSKLClassifier.history_` by the name of the fit.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, history in histories.items():
        table = np.asarray(history, dtype=float)
        best = np.minimum.accumulate(table[:, 0])
        ax.semilogy(table[:, 3], np.maximum(table[:, 2] / np.abs(best), 1e-16), label=name)
    ax.set(xlabel="machines", ylabel="duality gap / objective")
    ax.legend(frameon=False)
    return ax


def plot_accuracy_by_q(
    qs: Sequence[float],
    accuracies: ArrayLike,
    rivals: Mapping[str, float] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw accuracy against the norm across groups, with rivals as lines.

    Parameters
    ----------
    qs : sequence of float
        Norms, infinity included.
    accuracies : array-like of shape (n_qs,)
        Accuracies in percent.
    rivals : mapping of str to float, optional
        Accuracies of methods without a q, by name.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    places = range(len(qs))
    ax.plot(places, np.asarray(accuracies, dtype=float), marker="o", label="groups")
    for line, (name, value) in zip(("--", ":", "-."), (rivals or {}).items()):
        ax.axhline(value, linestyle=line, color="0.4", label=name)
    ax.set_xticks(list(places), ["∞" if q == np.inf else f"{q:g}" for q in qs])
    ax.set(xlabel="norm q across groups", ylabel="accuracy (%)")
    ax.legend(frameon=False)
    return ax
