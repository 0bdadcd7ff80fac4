"""Pictures of click logs: when, from where, at which gaps, and how well frauds are ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_click_timeline",
    "plot_country_shares",
    "plot_elimination",
    "plot_gap_profile",
    "plot_precision_recall",
    "plot_redflags",
]

COLORS = {"fraud": "black", "observation": "0.55", "ok": "tab:blue"}


def plot_click_timeline(
    log: Any, entity: Any, *, seconds: int = 60, ax: Axes | None = None
) -> Axes:
    """Draw an entity's clicks per bin of time.

    Parameters
    ----------
    log : ClickLog
        The log.
    entity : object
        One of its entities.
    seconds : int, default=60
        Width of the bins.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    place = np.flatnonzero(log.entities == entity)
    if not len(place):
        raise ValueError(f"The log has no entity {entity!r}.")
    rows = slice(log.offsets[place[0]], log.offsets[place[0] + 1])
    edges = np.arange(log.start, log.end + seconds, seconds)
    count, _ = np.histogram(log.time[rows], edges)
    hours = (edges[:-1] - log.start) / 3600
    some = count > 0
    ax.vlines(hours[some], 0, count[some], linewidth=0.8, color="tab:blue")
    ax.set(
        xlabel="hours since the window began",
        ylabel=f"clicks in {seconds} s",
        title=literal(f"publisher {entity}"),
        xlim=(0, hours[-1]),
    )
    return ax


def plot_country_shares(
    log: Any, status: ArrayLike, *, n_countries: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the mean share of clicks of each country by status, darker for more.

    Parameters
    ----------
    log : ClickLog
        The log.
    status : array-like of shape (n_entities,)
        Status of each entity.
    n_countries : int, default=12
        Countries with the most clicks.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    column, status = log.columns["usercountry"], np.asarray(status)
    some = column.codes >= 0
    total = np.bincount(column.codes[some], minlength=len(column.values))
    top = np.argsort(-total, kind="stable")[:n_countries]
    cell = log.entity[some].astype(np.int64) * len(column.values) + column.codes[some]
    count = np.bincount(cell, minlength=len(log.entities) * len(column.values))
    count = count.reshape(len(log.entities), -1)
    share = count / np.maximum(np.diff(log.offsets), 1)[:, None]
    names = [name for name in COLORS if (status == name).any()] or list(np.unique(status))
    table = np.stack([share[status == name].mean(axis=0)[top] for name in names])
    image = ax.imshow(table, aspect="auto", cmap="YlOrRd", vmin=0)
    ax.set_xticks(range(len(top)), [literal(str(column.values[k])) for k in top])
    ax.set_yticks(range(len(names)), [literal(str(name)) for name in names])
    ax.figure.colorbar(image, ax=ax, label="mean share of clicks")
    return ax


def plot_gap_profile(
    X: ArrayLike,
    names: Sequence[str],
    status: ArrayLike,
    *,
    profile: str = "long",
    ax: Axes | None = None,
) -> Axes:
    """Draw how gaps between clicks of one source are distributed, by status.

    Parameters
    ----------
    X : array-like of shape (n_entities, n_features)
        Features that hold the family "profiles".
    names : sequence of str
        Their names.
    status : array-like of shape (n_entities,)
        Status of each entity.
    profile : {"long", "short", "same_url"}, default="long"
        Which profile.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    own = [k for k, name in enumerate(names) if str(name).startswith(f"{profile}_")]
    if not own:
        raise ValueError(f"No column belongs to the profile {profile!r}.")
    count, status = np.asarray(X, dtype=float)[:, own], np.asarray(status)
    labels = [str(names[k])[len(profile) + 1 :].replace("_", "-") for k in own]
    groups = [name for name in COLORS if (status == name).any()] or list(np.unique(status))
    for j, name in enumerate(groups):
        total = count[status == name].sum(axis=0)
        share = total / max(total.sum(), 1.0)
        at = np.arange(len(own)) + 0.27 * (j - 1)
        ax.bar(at, share, 0.27, label=literal(str(name)), color=COLORS.get(str(name)))
    ax.set_xticks(range(0, len(own), 3), labels[::3], rotation=60, fontsize="small")
    ax.set(xlabel="seconds between clicks of one address", ylabel="share of gaps")
    ax.legend(frameon=False)
    return ax


def plot_redflags(redflag: ArrayLike, status: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw entities by falling red flag, in the colour of their status.

    Parameters
    ----------
    redflag : array-like of shape (n_entities,)
        Red flags.
    status : array-like of shape (n_entities,)
        Status of each entity.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    flags, status = np.asarray(redflag, dtype=float), np.asarray(status)
    order = [k for k in np.argsort(-flags, kind="stable") if flags[k] > 0]
    for name in dict.fromkeys([*COLORS, *np.unique(status).tolist()]):
        own = [j for j, k in enumerate(order) if status[k] == name]
        if own:
            height = [flags[order[j]] for j in own]
            ax.bar(own, height, 1.0, color=COLORS.get(str(name)), label=literal(str(name)))
    ax.set(xlabel="publishers with a red flag, by rank", ylabel="red flag", yscale="symlog")
    ax.legend(frameon=False)
    return ax


def plot_elimination(path: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the score against the number of features of an elimination.

    Parameters
    ----------
    path : sequence of EliminationStep
        The path of `BackwardElimination` or `IterativeElimination`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    kept = [(step.n_features, step.score) for step in path if np.isfinite(step.score)]
    size, score = np.array(kept, dtype=float).T
    ax.plot(size, score, marker="o", markersize=3)
    best = len(score) - 1 - int(np.argmax(score[::-1]))
    ax.axvline(size[best], color="0.6", linestyle="--", label=f"best: {int(size[best])} features")
    ax.axhline(score[0], color="0.8", label="all features")
    ax.invert_xaxis()
    ax.set(xlabel="features left", ylabel="average precision on validation")
    ax.legend(frameon=False)
    return ax


def plot_precision_recall(
    y: ArrayLike, scores: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw precision against recall of rankings, with their average precisions.

    Parameters
    ----------
    y : array-like of shape (n,)
        1 for what should come first.
    scores : dict of str to array-like of shape (n,)
        Scores by name of the model.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve

    ax = ax or plt.subplots()[1]
    for name, score in scores.items():
        precision, recall, _ = precision_recall_curve(y, score)
        value = average_precision_score(y, score)
        ax.step(recall, precision, where="post", label=literal(f"{name}: {value:.2f}"))
    ax.set(xlabel="recall", ylabel="precision", ylim=(0, 1.02))
    ax.legend(frameon=False, title="average precision")
    return ax
