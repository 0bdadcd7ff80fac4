"""Pictures of energies on graphs: their fall over time, label maps, and shapes of potentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_energy_curves", "plot_label_map", "plot_truncated_potentials"]


def plot_energy_curves(results: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw energies against time, with the best lower bound below them.

    Parameters
    ----------
    results : dict of str to MRFResult
        From `octavo.graphical.minimize_mrf`, all of one energy, by name.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    latest = max(float(result.seconds[-1]) for result in results.values())
    for name, result in results.items():
        seconds = np.append(result.seconds, latest)
        history = np.append(result.history, result.history[-1])
        ax.step(seconds, history, where="post", label=name.replace("_", " "))
    bound = max(result.lower_bound for result in results.values())
    ax.axhline(bound, color="0.5", ls="--", lw=1, label="lower bound")
    best = min(result.energy for result in results.values())
    worst = max(result.energy for result in results.values())
    room = max(worst - bound, 1e-3 * abs(best), 1e-12)
    ax.set_ylim(bound - 0.1 * room, worst + 0.5 * room)
    ax.set(xlabel="seconds", ylabel="energy")
    ax.legend(fontsize=8)
    return ax


def plot_label_map(
    labels: Any, *, n_labels: int | None = None, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the labels of an image: a disparity map, a denoised image.

    Parameters
    ----------
    labels : MRFResult or array-like of int of shape (height, width)
        A result, whose energy becomes the title, or labels.
    n_labels : int or None, default=None
        The number of labels, for one scale over several maps; the largest in the map by default.
    title : str or None, default=None
        The title.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    if hasattr(labels, "energy"):
        title = title or (
            f"{labels.method.replace('_', ' ')}: {labels.energy:.6g} (at least "
            f"{labels.lower_bound:.6g})"
        )
        labels = labels.labels
    image = np.asarray(labels)
    if image.ndim != 2:
        raise ValueError(f"labels must be those of an image; got shape {image.shape}.")
    top = int(image.max()) if n_labels is None else n_labels - 1
    drawn = ax.imshow(image, cmap="viridis", vmin=0, vmax=max(top, 1))
    ax.figure.colorbar(drawn, ax=ax, label="label")
    ax.set(xticks=[], yticks=[])
    if title:
        ax.set_title(title, fontsize=9)
    return ax


def plot_truncated_potentials(mrf: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what a difference of labels costs, with and without truncation.

    Parameters
    ----------
    mrf : PairwiseMRF
        The energy.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    d = np.asarray(mrf.differences)[:-1]
    x = np.arange(len(d))
    both = np.concatenate([-x[:0:-1], x])
    full = np.concatenate([d[:0:-1], d])
    ax.plot(both, full, color="0.7", lw=1, label="d")
    ax.plot(both, np.minimum(full, mrf.truncation), "o-", ms=3, label="min(d, M)")
    if np.isfinite(mrf.truncation):
        ax.set_ylim(-0.05 * mrf.truncation, 2.0 * mrf.truncation)
    ax.set(xlabel="difference of labels", ylabel="cost of a unit of weight")
    ax.legend(fontsize=8)
    return ax
