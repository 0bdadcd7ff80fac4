"""Pictures of searches: convergence, learning rates, distributions, run lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo.plot.ellipses import covariance_ellipse

__all__ = [
    "plot_run_lengths",
    "plot_search_distributions",
    "plot_search_progress",
    "plot_search_rate",
    "plot_success_rate",
]


def plot_search_progress(results: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the best value and the scale of searches against evaluations.

    Parameters
    ----------
    results : dict of str to OptimizeResult
        Results of `minimize_nes`, under the names to show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for i, (name, result) in enumerate(results.items()):
        history, colour = result.history, f"C{i}"
        ax.plot(history["n_evals"], history["best_f"], color=colour, label=name)
        ax.plot(history["n_evals"], history["sigma"], color=colour, linewidth=0.8, linestyle=":")
    ax.set(xlabel="evaluations", ylabel="best value (line), scale σ (dots)", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_search_rate(results: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the learning rate of the scale against evaluations (Figure 3, below).

    Parameters
    ----------
    results : dict of str to OptimizeResult
        Results of `minimize_nes`, under the names to show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, result in results.items():
        ax.plot(result.history["n_evals"], result.history["eta_sigma"], label=name)
    ax.set(xlabel="evaluations", ylabel=r"learning rate $\eta_\sigma$", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_search_distributions(
    states: Sequence[tuple[Any, Any]], *, dims: tuple[int, int] = (0, 1), ax: Axes | None = None
) -> Axes:
    """Draw search distributions as ellipses of one standard deviation, from light to dark.

    Parameters
    ----------
    states : sequence of (mean, covariance)
        The search distribution at some generations.
    dims : tuple of int, default=(0, 1)
        The two coordinates to draw.
    ax : matplotlib axes, optional
        Where to draw, e.g. over contours of the function; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    pair = list(dims)
    means = np.array([np.asarray(mean)[pair] for mean, _ in states])
    for k, (mean, cov) in enumerate(states):
        shade = 0.2 + 0.8 * (k + 1) / len(states)
        ax.add_patch(covariance_ellipse(mean, cov, pair, color="C0", alpha=shade))
    ax.plot(*means.T, ".-", color="C1", linewidth=0.8, markersize=3)
    ax.set(xlabel=f"coordinate {dims[0]}", ylabel=f"coordinate {dims[1]}")
    ax.autoscale_view()
    return ax


def plot_run_lengths(
    lengths: Mapping[str, Any], n_dims: int, *, n_runs: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the share of runs solved within a budget (Figure 4).

    Parameters
    ----------
    lengths : dict of str to array-like
        Evaluations until the target, under the names to show; NaN where it was not reached.
    n_dims : int
        Dimensions, by which evaluations are divided.
    n_runs : int, optional
        Number of runs, if it is larger than the number of lengths.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in lengths.items():
        values = np.asarray(values, dtype=float)
        solved = np.sort(values[np.isfinite(values)]) / n_dims
        share = np.arange(1, len(solved) + 1) / (n_runs or len(values))
        ax.step(solved, share, where="post", label=name)
    ax.set(xlabel="evaluations / dimension", ylabel="share of runs", xscale="log", ylim=(0, 1.02))
    ax.legend(frameon=False)
    return ax


def plot_success_rate(lengths: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the cumulative success rate against evaluations (Figure 8, left).

    Parameters
    ----------
    lengths : dict of str to array-like
        Evaluations until success, under the names to show; NaN for a failure.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = plot_run_lengths(lengths, 1, ax=ax)
    ax.set(xlabel="evaluations", ylabel="success rate")
    return ax
