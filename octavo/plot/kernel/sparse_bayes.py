"""Pictures of sparse Bayes kernel machines: traces, active vectors, calibration, relevance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_active_surface",
    "plot_active_trace",
    "plot_hairiness",
    "plot_inclusion",
    "plot_relevance",
    "plot_reliability",
]


def plot_active_trace(model: Any, *, name: str = "n_active", ax: Axes | None = None) -> Axes:
    """Draw a trace sweep by sweep, the burn-in shaded.

    Parameters
    ----------
    model : SparseBayesKernelClassifier or SparseBayesKernelRegressor
        A fitted model.
    name : str, default="n_active"
        Which trace.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    chains = np.asarray(model.traces_[name])
    if model.n_chains == 1:
        chains = chains[None]
    for chain in chains:
        ax.plot(chain, linewidth=0.6)
    ax.axvspan(0, model.burn_in, color="0.9", zorder=0)
    words = {"n_active": "active vectors"}
    ax.set(xlabel="sweep", ylabel=words.get(name, name), xlim=(0, chains.shape[1]))
    return ax


def plot_inclusion(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how often each training sample is active, with two Monte Carlo errors.

    Parameters
    ----------
    model : SparseBayesKernelClassifier or SparseBayesKernelRegressor
        A fitted model.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    probs = model.inclusion_probs_
    at = np.arange(probs.size)
    ax.vlines(at, 0.0, probs, linewidth=0.8)
    errors = np.nan_to_num(model.inclusion_errors_)
    ax.errorbar(at, probs, 2.0 * errors, fmt=".", markersize=3, linewidth=0.6)
    ax.set(xlabel="training sample", ylabel="inclusion probability", ylim=(0, None))
    return ax


def plot_active_surface(
    model: Any, X: ArrayLike, y: ArrayLike, *, resolution: int = 60, ax: Axes | None = None
) -> Axes:
    """Draw probabilities of the second class over two features; active samples stand out.

    Parameters
    ----------
    model : SparseBayesKernelClassifier
        Fitted on two features and two classes.
    X : array-like of shape (n_samples, 2)
        The training samples.
    y : array-like of shape (n_samples,)
        Their labels.
    resolution : int, default=60
        Points of the grid along each feature.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.1 * (high - low)
    sides = [np.linspace(a, b, resolution) for a, b in zip(low - pad, high + pad)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    P = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(resolution, resolution)
    filled = ax.contourf(*sides, P, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    ax.contour(*sides, P, levels=[0.5], colors="k", linewidths=1)
    sizes = 8.0 + 150.0 * model.inclusion_probs_
    colours = np.where(y == model.classes_[1], "C3", "C0")
    ax.scatter(X[:, 0], X[:, 1], s=sizes, c=colours, edgecolors="k", linewidths=0.5)
    ax.figure.colorbar(filled, ax=ax, label=f"probability of {model.classes_[1]}")
    return ax


def plot_reliability(
    y: ArrayLike,
    probabilities: Mapping[str, ArrayLike],
    *,
    n_bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often the second class comes true where it is given a probability.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True where the second class is the label.
    probabilities : dict of str to array-like of shape (n_samples,)
        What each method said.
    n_bins : int, default=10
        Bins of equal width.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    truth = np.asarray(y, dtype=float)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    for name, given in probabilities.items():
        p = np.asarray(given, dtype=float)
        where = np.minimum((p * n_bins).astype(int), n_bins - 1)
        full = [b for b in range(n_bins) if np.any(where == b)]
        said = [p[where == b].mean() for b in full]
        seen = [truth[where == b].mean() for b in full]
        ax.plot(said, seen, "o-", markersize=4, label=name)
    ax.set(xlabel="probability given", ylabel="share that came true")
    ax.legend(frameon=False)
    return ax


def plot_relevance(model: Any, *, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the draws of 1/θ² after the burn-in, one box per feature.

    Parameters
    ----------
    model : SparseBayesKernelClassifier or SparseBayesKernelRegressor
        Fitted with ``ard=True``.
    names : sequence of str, optional
        Names of the features.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    widths = np.asarray(model.traces_["width"])
    late = widths[..., model.burn_in :, :].reshape(-1, widths.shape[-1])
    ax.boxplot(1.0 / np.square(late), showfliers=False)
    if names is not None:
        ax.set_xticks(np.arange(1, late.shape[1] + 1), list(names), rotation=90)
    ax.set(xlabel="feature", ylabel="1 / width²", yscale="log")
    return ax


def plot_hairiness(hairiness: ArrayLike, bounds: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the share of turns of a chain's cumulative sums between their bounds.

    Parameters
    ----------
    hairiness : array-like of shape (n_steps,)
        D_t, as `cusum_hairiness` returns it.
    bounds : array-like of shape (n_steps, 2)
        Its bounds.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    path, ends = np.asarray(hairiness, dtype=float), np.asarray(bounds, dtype=float)
    t = np.arange(1, path.size + 1)
    ax.fill_between(t, ends[:, 0], ends[:, 1], color="0.88")
    ax.plot(t, path, linewidth=1)
    ax.set(xlabel="draw", ylabel="share of turns", ylim=(0, 1))
    return ax
