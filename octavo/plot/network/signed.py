"""Pictures of signed networks: the matrix in groups, cycles against chance, accuracy curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_cycle_surprise",
    "plot_embeddedness_curve",
    "plot_sign_accuracy",
    "plot_signed_matrix",
    "plot_signed_spectrum",
]


def plot_signed_matrix(A: Any, labels: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the links of a signed network with its nodes in groups.

    Parameters
    ----------
    A : array or sparse matrix of shape (n_nodes, n_nodes)
        1 and -1 at links, 0 where none is known.
    labels : array-like of shape (n_nodes,)
        Group of each node.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Blue squares on the diagonal and red elsewhere are a weakly balanced network.
    """
    ax = ax or plt.subplots()[1]
    matrix = A.toarray() if hasattr(A, "toarray") else np.asarray(A, dtype=float)
    labels = np.asarray(labels)
    order = np.argsort(labels, kind="stable")
    ax.imshow(matrix[np.ix_(order, order)], cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
    for edge in np.flatnonzero(np.diff(labels[order])) + 0.5:
        ax.axhline(edge, color="black", linewidth=0.8)
        ax.axvline(edge, color="black", linewidth=0.8)
    ax.set(xlabel="node, by group", ylabel="node, by group")
    return ax


def plot_cycle_surprise(report: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the shares of each kind of cycle beside what chance gives.

    Parameters
    ----------
    report : BalanceReport
        From `balance_report`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The number above a pair of bars is the surprise, in standard deviations.
    """
    ax = ax or plt.subplots()[1]
    names = list(report.shares)
    places = np.arange(len(names))
    ax.bar(places - 0.2, [report.shares[name] for name in names], 0.4, label="seen")
    ax.bar(places + 0.2, [report.expected_shares[name] for name in names], 0.4, label="by chance")
    for place, name in zip(places, names, strict=True):
        top = np.nanmax([report.shares[name], report.expected_shares[name], 0.0])
        ax.text(
            float(place), top, f"{report.surprises[name]:.0f}", ha="center", va="bottom", fontsize=7
        )
    ax.set_xticks(places, names, rotation=60, ha="right")
    ax.set(ylabel="share of cycles")
    ax.legend(frameon=False)
    return ax


def plot_sign_accuracy(
    densities: ArrayLike, accuracies: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw how many hidden signs are found as more links are seen.

    Parameters
    ----------
    densities : array-like
        Share of the pairs whose link is seen.
    accuracies : mapping of str to array-like
        Of each predictor, one number a density.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in accuracies.items():
        ax.plot(np.asarray(densities), np.asarray(values), marker="o", label=name)
    ax.set(xlabel="share of links seen", ylabel="signs found")
    ax.legend(frameon=False)
    return ax


def plot_embeddedness_curve(
    thresholds: ArrayLike, accuracy: ArrayLike, *, ax: Axes | None = None, label: str | None = None
) -> Axes:
    """Draw the accuracy on links whose ends share at least so many neighbours.

    Parameters
    ----------
    thresholds, accuracy : array-like
        From `embeddedness_curve`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.
    label : str, optional
        Name of the curve.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.plot(np.asarray(thresholds), np.asarray(accuracy), label=label)
    ax.set(xlabel="common neighbours, at least", ylabel="signs found")
    if label:
        ax.legend(frameon=False)
    return ax


def plot_signed_spectrum(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the singular values of a completed network: as many large ones as groups.

    Parameters
    ----------
    model : SignedCompletion
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    inner = np.linalg.qr(model.W_)[1] @ np.linalg.qr(model.H_)[1].T
    values = np.linalg.svd(inner, compute_uv=False)
    ax.stem(np.arange(1, len(values) + 1), values, basefmt=" ")
    ax.set(xlabel="number", ylabel="singular value of the completion")
    return ax
