"""Pictures of multiple kernel learning: weights, alignments, errors by norm, convergence, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_error_by_norm",
    "plot_kernel_alignment",
    "plot_kernel_weights",
    "plot_mkl_convergence",
    "plot_mkl_times",
    "plot_weights_by_width",
]


def plot_kernel_weights(
    weights: Mapping[str, ArrayLike], names: Sequence[str], *, ax: Axes | None = None
) -> Axes:
    """Draw the share of every kernel in the sum of weights, one stacked bar a fit.

    Parameters
    ----------
    weights : mapping of str to array-like of shape (n_kernels,)
        Weights by the name of the fit, such as its norm p.
    names : sequence of str
        Names of the kernels, such as `LpMKLClassifier.kernel_names_`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.array([np.asarray(w, dtype=float) for w in weights.values()])
    shares = table / table.sum(axis=1, keepdims=True)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 1.0, len(names)))
    bottom = np.zeros(len(shares))
    for m, name in enumerate(names):
        ax.bar(list(weights), shares[:, m], bottom=bottom, color=colours[m], label=name)
        bottom += shares[:, m]
    ax.set(xlabel="norm p", ylabel="share of the weights", ylim=(0, 1))
    if len(names) <= 12:
        ax.legend(frameon=False, fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def plot_kernel_alignment(
    alignment: ArrayLike, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the pairwise alignments of kernels as a heat map.

    Parameters
    ----------
    alignment : array-like of shape (n_kernels, n_kernels)
        From `kernel_alignment`.
    names : sequence of str, optional
        Names of the kernels.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = np.asarray(alignment, dtype=float)
    image = ax.imshow(values, vmin=min(0.0, float(values.min())), vmax=1.0, cmap="magma")
    ax.figure.colorbar(image, ax=ax, label="alignment", shrink=0.8)
    if names is not None:
        ax.set_xticks(range(len(values)), names, rotation=90, fontsize="x-small")
        ax.set_yticks(range(len(values)), names, fontsize="x-small")
    return ax


def plot_error_by_norm(
    errors: Mapping[str, ArrayLike],
    norms: Sequence[float],
    *,
    bayes: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error against the norm p, one line a scenario.

    Parameters
    ----------
    errors : mapping of str to array-like of shape (n_norms,)
        Errors in percent by the name of the scenario.
    norms : sequence of float
        The norms, infinity included.
    bayes : float, optional
        The best possible error.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    places = range(len(norms))
    for name, values in errors.items():
        ax.plot(places, np.asarray(values, dtype=float), marker="o", markersize=4, label=name)
    if bayes is not None:
        ax.axhline(bayes, color="0.4", linestyle=":", linewidth=1, label="Bayes error")
    ax.set_xticks(list(places), ["∞" if p == np.inf else f"{p:.3g}" for p in norms])
    ax.set(xlabel="norm p", ylabel="test error (%)")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_mkl_convergence(histories: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw the duality gap after every machine, one line a fit.

    Parameters
    ----------
    histories : mapping of str to array-like of shape (n_steps, 3)
        `LpMKLClassifier.history_` by the name of the fit.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, history in histories.items():
        gaps = np.asarray(history, dtype=float)[:, 2]
        ax.semilogy(np.arange(1, len(gaps) + 1), np.maximum(gaps, 1e-16), label=name)
    ax.set(xlabel="machines (chunks, if interleaved)", ylabel="duality gap")
    ax.legend(frameon=False)
    return ax


def plot_mkl_times(
    sizes: Sequence[float],
    seconds: Mapping[str, ArrayLike],
    *,
    xlabel: str = "samples",
    ax: Axes | None = None,
) -> Axes:
    """Draw training times against the number of samples or kernels, both logarithmic.

    Parameters
    ----------
    sizes : sequence of float
        Numbers of samples or of kernels.
    seconds : mapping of str to array-like of shape (n_sizes,)
        Times by solver.
    xlabel : str, default="samples"
        What the sizes count.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, times in seconds.items():
        ax.loglog(sizes, np.asarray(times, dtype=float), marker="o", markersize=4, label=name)
    ax.set(xlabel=xlabel, ylabel="seconds")
    ax.legend(frameon=False)
    return ax


def plot_weights_by_width(
    weights: Mapping[str, ArrayLike], widths: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw the weights of a ladder of kernels against their width, one line a fit.

    Parameters
    ----------
    weights : mapping of str to array-like of shape (n_kernels,)
        Weights by the name of the fit.
    widths : array-like of shape (n_kernels,)
        Widths, such as 2σ² = 1/γ.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in weights.items():
        ax.semilogx(np.asarray(widths, dtype=float), np.asarray(values, dtype=float), label=name)
    ax.set(xlabel="width 2σ²", ylabel="weight θ")
    ax.legend(frameon=False)
    return ax
