"""Pictures of anechoic mixtures: sources with their weights and delays, and errors of delays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_anechoic_model", "plot_delay_errors", "plot_source_overlay"]


def plot_anechoic_model(model: Any, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw the sources of a fitted mixture, and its weights and delays as tables of colours.

    Parameters
    ----------
    model : AnechoicMixture or AnechoicNMF
        Fitted; its sources, weights and delays are shown.
    axes : sequence of three matplotlib axes, optional
        Where to draw; new axes in a row by default. Of images the first source is shown.

    Returns
    -------
    axes : list of matplotlib axes
        Sources, weights, delays.
    """
    if axes is None:
        axes = plt.subplots(1, 3, figsize=(11, 3.2), width_ratios=(2, 1, 1))[1]
    sources = np.asarray(model.sources_)
    if sources.ndim == 2:
        apart = 1.1 * np.ptp(sources)
        for j, source in enumerate(sources):
            axes[0].plot(source - j * apart, color=f"C{j}", label=f"source {j}")
        axes[0].set_yticks([])
        axes[0].legend(fontsize="small", loc="upper right")
        axes[0].set(xlabel="time")
    else:
        axes[0].imshow(np.hstack(list(sources)), cmap="gray")
        axes[0].set_axis_off()
    axes[0].set_title("sources")
    delays = np.asarray(model.delays_)
    delays = np.hypot(*np.moveaxis(delays, -1, 0)) if delays.ndim == 3 else delays
    for ax, table, title in ((axes[1], model.weights_, "weights"), (axes[2], delays, "delays")):
        most = float(np.abs(table).max()) or 1.0
        shown = ax.imshow(table, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
        ax.figure.colorbar(shown, ax=ax)
        ax.set(xlabel="source", ylabel="channel", title=title)
        ax.set_xticks(range(np.shape(table)[1]))
    return list(axes)


def plot_source_overlay(
    estimates: ArrayLike, sources: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw true sources and what was found of them, matched, scaled and shifted onto them.

    Parameters
    ----------
    estimates : array-like of shape (n_sources, n_times)
        Sources that were found.
    sources : array-like of shape (n_sources, n_times)
        True sources.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(7, 3.5))[1]
    found, true = np.asarray(estimates, dtype=float), np.asarray(sources, dtype=float)
    apart = 1.2 * np.ptp(true)
    for j, source in enumerate(true):
        c = np.fft.irfft(np.fft.rfft(source) * np.fft.rfft(found).conj(), n=len(source))
        norms = np.linalg.norm(found, axis=1)
        c = c / np.where(norms > 0, norms, 1.0)[:, None]
        k, lag = np.unravel_index(np.abs(c).argmax(), c.shape)
        fitted = np.roll(found[k], lag) * c[k, lag] / (norms[k] or 1.0)
        ax.plot(source - j * apart, color="0.7", linewidth=3, label="source" if j == 0 else None)
        ax.plot(fitted - j * apart, color=f"C{j}", linewidth=1, label=f"estimate {j}")
    ax.set_yticks([])
    ax.legend(fontsize="small", loc="upper right")
    ax.set(xlabel="time")
    return ax


def plot_delay_errors(
    snrs: ArrayLike, errors: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw root mean square errors of delays against the ratio of signal to noise, as Fig. 7.

    Parameters
    ----------
    snrs : array-like of shape (n_levels,)
        Ratios in decibels.
    errors : mapping of str to array-like of shape (n_levels,)
        Errors in samples by name; one named "bound" is drawn dashed.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5, 3.5))[1]
    for name, values in errors.items():
        style = {"linestyle": "--", "color": "k"} if name == "bound" else {"marker": "o"}
        ax.semilogy(np.asarray(snrs), np.asarray(values), label=name, **style)
    ax.legend(fontsize="small")
    ax.set(xlabel="signal over noise (dB)", ylabel="error of delays (samples)")
    return ax
