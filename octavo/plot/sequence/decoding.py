"""Pictures of decoded paths: families of paths, trade-offs, posteriors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

__all__ = [
    "plot_decoding_gain",
    "plot_decoding_tradeoff",
    "plot_path_family",
    "plot_posterior_path",
]


def plot_path_family(
    paths: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    truth: ArrayLike | None = None,
    states: Sequence[str] | None = None,
    blank: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw paths as strips of colour below each other, the truth on top.

    Parameters
    ----------
    paths : array-like of int of shape (n_paths, T)
        One path a row, as `decode_path_family` returns them.
    names : sequence of str, optional
        What the rows are called.
    truth : array-like of int of shape (T,), optional
        The true path.
    states : sequence of str, optional
        What the states are called, for the legend.
    blank : int, optional
        A state that is left white, usually the dominant one.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    rows = np.atleast_2d(np.asarray(paths))
    labels = [str(n) for n in range(len(rows))] if names is None else list(names)
    if truth is not None:
        rows = np.vstack([np.asarray(truth)[None], rows])
        labels = ["truth", *labels]
    ax = ax or plt.subplots(figsize=(9, 0.6 + 0.25 * len(rows)))[1]
    n_states = int(rows.max()) + 1 if states is None else len(states)
    palette = np.array(plt.get_cmap("tab10" if n_states <= 10 else "tab20").colors)  # type: ignore[attr-defined]
    colours = palette[np.arange(n_states) % len(palette)]
    if blank is not None:
        colours[blank] = 1.0
    ax.imshow(colours[rows], aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(rows)), labels)
    for edge in np.arange(len(rows) - 1) + 0.5:
        ax.axhline(edge, color="0.85", linewidth=0.5)
    ax.set(xlabel="position")
    title = [str(s) for s in range(n_states)] if states is None else list(states)
    patches = [Patch(facecolor=c, edgecolor="0.7", label=t) for c, t in zip(colours, title)]
    ax.legend(
        handles=patches, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=n_states
    )
    return ax


def plot_decoding_tradeoff(
    families: Mapping[str, tuple[Any, Any]],
    *,
    alphas: ArrayLike | None = None,
    points: dict[str, tuple[float, float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw error against path probability along families of decoders (Figure 6).

    Parameters
    ----------
    families : dict of str to (error, probability)
        For each family the share of wrong positions and the geometric mean probability of a
        position of the path, exp(-R̄∞), of its members.
    alphas : array-like of float, optional
        Values of alpha to write beside the members of the first family.
    points : dict of str to (error, probability), optional
        Single decoders.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for place, (name, (error, probability)) in enumerate(families.items()):
        x, y = np.asarray(probability, float), 100 * np.asarray(error, float)
        ax.plot(x, y, "o-" if place == 0 else "s--", markersize=4, label=name)
        if place == 0 and alphas is not None:
            for xi, yi, alpha in zip(x, y, np.asarray(alphas, float)):
                ax.annotate(
                    f"{alpha:.3g}", (xi, yi), fontsize=7, xytext=(4, -9), textcoords="offset points"
                )
    for name, (error, probability) in (points or {}).items():
        ax.plot(probability, 100 * error, "x", color="0.2")
        ax.annotate(
            name, (probability, 100 * error), xytext=(5, 3), textcoords="offset points", fontsize=8
        )
    ax.set(xlabel="path probability per position, exp(-R̄∞)", ylabel="wrong positions (%)")
    ax.legend(frameon=False)
    return ax


def plot_decoding_gain(
    error: ArrayLike,
    baseline: ArrayLike,
    *,
    names: tuple[str, str] = ("posterior decoding", "Viterbi"),
    bins: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw the histogram of what one decoder gains over another, sequence by sequence (Figure 3).

    Parameters
    ----------
    error, baseline : array-like of shape (n_sequences,)
        Shares of wrong positions of the two decoders.
    names : tuple of two str
        What they are called.
    bins : int, default=40
        Number of bins.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    gain = 100 * (np.asarray(baseline, float) - np.asarray(error, float))
    ax.hist(gain, bins=bins, color="C0", alpha=0.8)
    ax.axvline(0, color="0.3", linewidth=1)
    ax.axvline(gain.mean(), color="C1", linewidth=1.5, label=f"mean {gain.mean():.1f} points")
    ax.set(
        xlabel=f"wrong positions by {names[1]} less those by {names[0]} (points)",
        ylabel="sequences",
        title=f"{names[0]} is better in {100 * np.mean(gain > 0):.0f} % of sequences",
    )
    ax.legend(frameon=False)
    return ax


def plot_posterior_path(
    gamma: ArrayLike,
    paths: dict[str, ArrayLike],
    *,
    states: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the posterior probabilities of the states with paths on top of them.

    Parameters
    ----------
    gamma : array-like of shape (T, K)
        Posterior marginals.
    paths : dict of str to array-like of int of shape (T,)
        Paths under the names to show.
    states : sequence of str, optional
        What the states are called.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    values = np.asarray(gamma, float)
    ax = ax or plt.subplots(figsize=(9, 1.2 + 0.35 * values.shape[1]))[1]
    image = ax.imshow(
        values.T, aspect="auto", cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
    )
    offsets = np.linspace(-0.15, 0.15, len(paths)) if len(paths) > 1 else [0.0]
    for offset, (name, path) in zip(offsets, paths.items()):
        place: Any = np.asarray(path) + offset
        ax.step(np.arange(len(place)), place, where="mid", linewidth=1.3, label=name)
    ax.set_yticks(range(values.shape[1]), states or [str(s) for s in range(values.shape[1])])
    ax.set(xlabel="position")
    ax.figure.colorbar(image, ax=ax, label="posterior", pad=0.01)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(paths))
    return ax
