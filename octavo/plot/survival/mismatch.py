"""Pictures of recordings: their symbols, how they differ, and what the unusual ones risk."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_group_survival",
    "plot_maxmin_curve",
    "plot_mismatch_matrix",
    "plot_mismatch_spectrum",
    "plot_prototypes",
]


def plot_prototypes(symbols: Any, *, n_symbols: int = 6, ax: Axes | None = None) -> Axes:
    """Draw the prototypes of a recording with their frequencies, side by side.

    Parameters
    ----------
    symbols : Symbols or MaxMinSymbolizer
        Prototypes and frequencies, or what has found them.
    n_symbols : int, default=6
        How many to draw, the most frequent first.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    prototypes, shares = getattr(symbols, "symbols_", symbols)
    start, ticks = 0.0, []
    for i in np.argsort(-np.asarray(shares), kind="stable")[:n_symbols]:
        size = len(prototypes[i])
        ax.plot(start + np.arange(size), prototypes[i])
        ticks.append((start + size / 2, f"{shares[i]:.1%}"))
        start += 1.15 * size
    ax.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
    ax.set(xlabel="share of the cycles", ylabel="signal")
    return ax


def plot_maxmin_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the largest difference of a cycle to its prototype, and where the fit ended.

    Parameters
    ----------
    model : MaxMinSymbolizer
        A fitted symboliser.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    curve = np.asarray(model.maxmin_curve_)
    ax.plot(np.arange(1, len(curve) + 1), curve)
    last = int(np.flatnonzero(curve <= model.threshold_)[0])
    ax.plot([last + 1], [curve[last]], "o", label=f"{last + 1} symbols")
    ax.set(xlabel="symbols", ylabel="largest difference to a prototype")
    ax.legend(frameon=False)
    return ax


def plot_mismatch_matrix(mismatch: Any, *, marked: Any = None, ax: Axes | None = None) -> Axes:
    """Draw mismatches as a heat map, in the order of average linkage.

    Parameters
    ----------
    mismatch : array-like of shape (n_records, n_records)
        Mismatch of all pairs.
    marked : array-like of bool, optional
        Recordings to mark beside the map.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    ax = ax or plt.subplots()[1]
    values = np.array(mismatch, dtype=np.float64)
    plain = values - min(0.0, values.min())
    np.fill_diagonal(plain, 0.0)
    order = leaves_list(linkage(squareform(plain, checks=False), "average"))
    image = ax.imshow(values[np.ix_(order, order)], cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="mismatch")
    if marked is not None:
        at = np.flatnonzero(np.asarray(marked)[order])
        ax.plot(np.full(len(at), -1.5), at, ">", color="C3", clip_on=False)
    ax.set(xlabel="recording", ylabel="recording")
    return ax


def plot_mismatch_spectrum(transform: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues before and after a spectrum transformation.

    Parameters
    ----------
    transform : SpectrumTransform
        A fitted transformation.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, symmetric-logarithmic.
    """
    ax = ax or plt.subplots()[1]
    before = np.asarray(transform.eigenvalues_)
    after = np.linalg.eigvalsh(transform.matrix_)[::-1]
    rank = np.arange(1, len(before) + 1)
    ax.plot(rank, before, ".", label=f"before, {transform.n_positive_} positive")
    ax.plot(rank, after, "_", label=f"after: {transform.method}")
    ax.axhline(0.0, color="0.7", lw=0.8)
    ax.set_yscale("symlog", linthresh=1e-4 * max(float(np.abs(before).max()), 1e-300))
    ax.set(xlabel="rank", ylabel="eigenvalue")
    ax.legend(frameon=False)
    return ax


def plot_group_survival(
    report: Any, *, durations: Any = None, high_risk: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the share with an event over time in the high-risk group and in the rest.

    Parameters
    ----------
    report : RiskReport
        What `risk_report` found.
    durations, high_risk : array-like, optional
        What the report was made of: the numbers at risk are then written below the axis.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    end = max(float(curve.times[-1]) for curve in (report.high_curve, report.low_curve))
    grid = np.linspace(0.0, end, 400)
    for name, curve, n, events in (
        ("high risk", report.high_curve, report.n_high, report.events_high),
        ("low risk", report.low_curve, report.n_low, report.events_low),
    ):
        ax.step(grid, 1.0 - curve(grid), where="post", label=f"{name}: {events} of {n}")
    if durations is not None and high_risk is not None:
        group, left = np.asarray(high_risk, dtype=bool), np.asarray(durations)
        ticks = np.linspace(0.0, end, 4)
        counts = [(int((left[group] >= t).sum()), int((left[~group] >= t).sum())) for t in ticks]
        ax.set_xticks(ticks, [f"{t:.3g}\n{a}\n{b}" for t, (a, b) in zip(ticks, counts)])
    ax.set(
        xlabel="time" if durations is None else "time; at risk: high, low",
        ylabel="share with an event",
        title=f"hazard ratio {report.hazard_ratio:.2f} "
        f"({report.ci_low:.2f} to {report.ci_high:.2f})",
    )
    ax.legend(frameon=False)
    return ax
