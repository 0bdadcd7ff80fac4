"""Pictures of conditional machines: hidden units, filled-in channels, horizons, styles, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo._outside_text import literal

__all__ = [
    "plot_frame_scores",
    "plot_hidden_activity",
    "plot_horizon_errors",
    "plot_imputed_channels",
    "plot_style_blend",
]


def plot_hidden_activity(probability: Any, *, ax: Axes | None = None) -> Axes:
    """Draw which hidden units are on over time (Figure 3).

    Parameters
    ----------
    probability : array of shape (n_frames, n_hidden)
        What ``transform`` of a machine returns.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    shown = np.asarray(probability)
    # Units that are on at similar times next to each other: sorted by their mean time.
    weight = shown / np.maximum(shown.sum(axis=0), 1e-12)
    order = np.argsort(np.arange(len(shown)) @ weight)
    image = ax.imshow(
        shown[:, order].T, aspect="auto", cmap="Greys", vmin=0, vmax=1, interpolation="none"
    )
    ax.set(xlabel="frame", ylabel="hidden unit")
    ax.figure.colorbar(image, ax=ax, label="probability to be on")
    return ax


def plot_imputed_channels(
    truth: Any,
    filled: Mapping[str, Any],
    missing: Any,
    channels: Sequence[int] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw channels with the stretches that methods filled in (Figure 8).

    Parameters
    ----------
    truth : array of shape (T, D)
        The frames before values were taken away.
    filled : dict of str to array of shape (T, D)
        For each method, its frames.
    missing : array of bool of shape (T, D)
        Which values were missing.
    channels : sequence of int, optional
        Channels to draw; the first three with missing values by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    known, holes = np.asarray(truth, dtype=float), np.asarray(missing, dtype=bool)
    chosen = np.flatnonzero(holes.any(axis=0))[:3] if channels is None else np.asarray(channels)
    step = 1.2 * max(float(np.ptp(known[:, c])) for c in chosen)
    for place, channel in enumerate(chosen):
        shift = -place * step
        ax.plot(known[:, channel] + shift, color="0.6", label="truth" if place == 0 else None)
        for number, (name, frames) in enumerate(filled.items()):
            line = np.where(holes[:, channel], np.asarray(frames)[:, channel] + shift, np.nan)
            ax.plot(line, color=f"C{number}", label=literal(name) if place == 0 else None)
    ax.set_yticks([-p * step for p in range(len(chosen))], [f"channel {c}" for c in chosen])
    ax.set(xlabel="frame")
    ax.legend(loc="upper left", fontsize="small")
    return ax


def plot_horizon_errors(errors: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the error of predictions against how far ahead they look (Figure 14).

    Parameters
    ----------
    errors : dict of str to array of shape (n_steps,)
        For each model, the mean squared error at horizons 1, 2, ...
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, curve in errors.items():
        values = np.asarray(curve, dtype=float)
        ax.plot(np.arange(1, values.size + 1), values, marker=".", label=literal(name))
    ax.set(xlabel="frames ahead", ylabel="mean squared error", ylim=(0, None))
    ax.legend()
    return ax


def plot_style_blend(frames: Any, styles: Any, *, channel: int = 0, ax: Axes | None = None) -> Axes:
    """Draw a generated channel, coloured by the share of the last style.

    Parameters
    ----------
    frames : array of shape (T, D)
        Generated frames.
    styles : array of shape (T, P)
        The style of each frame, as `blend_styles` makes them.
    channel : int, default=0
        Channel to draw.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    line, weights = np.asarray(frames)[:, channel], np.asarray(styles, dtype=float)
    way = weights[-1] - weights[0]
    size = float(way @ way)
    share = (weights - weights[0]) @ way / size if size else np.zeros(len(weights))
    ax.plot(line, color="0.8", linewidth=0.8)
    dots = ax.scatter(np.arange(line.size), line, c=share, cmap="viridis", s=8, vmin=0, vmax=1)
    ax.set(xlabel="frame", ylabel=f"channel {channel}")
    ax.figure.colorbar(dots, ax=ax, label="share of the last style")
    return ax


def plot_frame_scores(
    scores: Any, *, marked: Any = None, label: str = "log density", ax: Axes | None = None
) -> Axes:
    """Draw the score of each frame over time, as a search for anomalies wants it.

    Parameters
    ----------
    scores : array of shape (n_frames,)
        What ``log_likelihood`` or ``score_samples`` returns.
    marked : array of bool of shape (n_frames,), optional
        Frames to shade, such as known anomalies.
    label : str, default="log density"
        What the scores are.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = np.asarray(scores, dtype=float)
    ax.plot(values, color="C0", linewidth=1)
    if marked is not None:
        ax.fill_between(
            np.arange(values.size),
            0,
            1,
            where=np.asarray(marked, dtype=bool),
            transform=ax.get_xaxis_transform(),
            color="C1",
            alpha=0.25,
            linewidth=0,
        )
    ax.set(xlabel="frame", ylabel=literal(label))
    return ax
