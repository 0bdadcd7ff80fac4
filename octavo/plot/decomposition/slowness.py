"""Pictures of slow features: sources against estimates, Δ-values, and recovery by length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_correlation_by_length",
    "plot_delta_spectrum",
    "plot_mixture_scatter",
    "plot_source_match",
]

MOST_POINTS = 5000


def _thinned(values: np.ndarray) -> np.ndarray:
    return values[:: max(1, len(values) // MOST_POINTS)]


def plot_source_match(
    estimates: ArrayLike,
    sources: ArrayLike,
    match: Any = None,
    *,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw each source against the estimate that belongs to it: a rising curve if it was found.

    Parameters
    ----------
    estimates : array-like of shape (n_times, n_estimates)
        What was found.
    sources : array-like of shape (n_times, n_sources)
        What there was.
    match : SourceMatch, optional
        Which estimate belongs to which source, from `octavo.decomposition.source_match`; in the
        order given by default.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each source; new axes in a row by default.

    Returns
    -------
    axes : list of matplotlib axes
        The axes.
    """
    E, S = np.atleast_2d(np.asarray(estimates)), np.atleast_2d(np.asarray(sources))
    order = np.arange(S.shape[1]) if match is None else np.asarray(match.order)
    signs = np.ones(S.shape[1]) if match is None else np.asarray(match.signs)
    if axes is None:
        width = 2.8 * S.shape[1]
        axes = plt.subplots(1, S.shape[1], figsize=(width, 2.8), squeeze=False)[1][0]
    for k, ax in enumerate(axes[: S.shape[1]]):
        if order[k] >= 0:
            pairs = _thinned(np.column_stack([S[:, k], signs[k] * E[:, order[k]]]))
            ax.plot(*pairs.T, ".", markersize=1.5, alpha=0.4, color=f"C{k}", rasterized=True)
        title = f"source {k}" if match is None else f"source {k}: {match.cc[k]:.3f}"
        ax.set_title(title, fontsize="small")
        ax.set(xlabel="source", ylabel="estimate")
    return list(axes)


def plot_delta_spectrum(
    delta_values: ArrayLike, predicted: Any = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the Δ-values of outputs, and those that the theory predicts.

    Parameters
    ----------
    delta_values : array-like of shape (n_outputs,)
        Ascending Δ-values, such as those of `SFA`.
    predicted : PredictedSpectrum, optional
        From `octavo.decomposition.predicted_spectrum`; its products of harmonics are written
        beside their values.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(6, 3.6))[1]
    found = np.asarray(delta_values, dtype=np.float64)
    places = np.arange(1, len(found) + 1)
    ax.plot(places, found, "o", color="C0", label="found")
    if predicted is not None:
        expected = np.asarray(predicted.delta_values)[: len(found)]
        ax.plot(places[: len(expected)], expected, "_", color="C1", markersize=16, label="theory")
        for place, value, orders in zip(places, expected, predicted.orders):
            text = "(" + ",".join(str(int(i)) for i in orders) + ")"
            ax.annotate(
                text,
                (place, value),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize="x-small",
            )
        ax.legend(loc="lower right")
    ax.set(xlabel="output", ylabel="Δ")
    return ax


def plot_correlation_by_length(
    lengths: ArrayLike, cc: ArrayLike, *, shaded: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how well sources are recovered from series of growing length.

    Parameters
    ----------
    lengths : array-like of shape (n_lengths,)
        Lengths of the training series.
    cc : array-like of shape (n_lengths, n_runs, n_sources)
        Correlations of sources and estimates in each run.
    shaded : int, optional
        The source whose quartiles are shaded; the middle one by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, with medians over the runs.
    """
    ax = ax or plt.subplots(figsize=(6, 3.6))[1]
    at, values = np.asarray(lengths), np.asarray(cc)
    chosen = values.shape[2] // 2 if shaded is None else shaded
    for k in range(values.shape[2]):
        ax.plot(at, np.median(values[:, :, k], axis=1), "o-", markersize=3, label=f"source {k}")
    low, high = np.quantile(values[:, :, chosen], (0.25, 0.75), axis=1)
    ax.fill_between(at, low, high, color="0.85", zorder=0)
    ax.set_xscale("log")
    ax.set(xlabel="length of the series", ylabel="correlation", ylim=(None, 1.02))
    ax.legend(fontsize="small")
    return ax


def plot_mixture_scatter(
    sources: ArrayLike, mixture: ArrayLike, *, axes: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw two sources beside the mixture that hides them (compare Figure 3 of the paper).

    Parameters
    ----------
    sources : array-like of shape (n_times, 2)
        Two sources.
    mixture : array-like of shape (n_times, 2)
        Two mixtures of them; colours are those of the first source in both pictures.
    axes : sequence of matplotlib axes, optional
        Two axes; new ones by default.

    Returns
    -------
    axes : list of matplotlib axes
        The axes.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(7.5, 3.6))[1]
    S, X = _thinned(np.asarray(sources)), _thinned(np.asarray(mixture))
    for ax, points, title in zip(axes, (S, X), ("sources", "mixture")):
        ax.scatter(points[:, 0], points[:, 1], c=S[:, 0], s=1.5, cmap="viridis", rasterized=True)
        ax.set_title(title, fontsize="small")
        ax.set_aspect("equal", adjustable="datalim")
    return list(axes)
