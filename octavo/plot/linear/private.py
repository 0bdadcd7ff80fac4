"""Pictures of privacy: what it costs in accuracy, and what it really spends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = [
    "plot_decision_regions",
    "plot_error_by_epsilon",
    "plot_error_by_penalty",
    "plot_error_by_size",
    "plot_privacy_budget",
    "plot_privacy_loss",
]


def _curves(
    ax: Axes, x: Sequence[float], errors: Mapping[str, Any], lines: Mapping[str, float] | None
) -> None:
    """Draw the mean error of each method with a band of one standard deviation."""
    for name, values in errors.items():
        table = np.atleast_2d(np.asarray(values, dtype=float))
        table = table.T if table.shape[0] == 1 else table  # one value a place
        mean, spread = table.mean(axis=1), table.std(axis=1)
        (line,) = ax.plot(x, mean, "o-", markersize=4, label=name)
        if table.shape[1] > 1:
            ax.fill_between(x, mean - spread, mean + spread, color=line.get_color(), alpha=0.15)
    for style, (name, level) in zip([":", "--", "-."] * 3, (lines or {}).items()):
        ax.axhline(level, color="0.4", linestyle=style, linewidth=1, label=name)
    ax.set(ylabel="error")
    ax.legend(frameon=False)


def plot_error_by_epsilon(
    epsilons: Sequence[float],
    errors: Mapping[str, ArrayLike],
    *,
    lines: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of private models against the privacy that they spend.

    Parameters
    ----------
    epsilons : sequence of float
        Privacy losses.
    errors : mapping of str to array-like of shape (n_epsilons,) or (n_epsilons, n_draws)
        Errors of each method; several draws become a mean and a band of one standard deviation.
    lines : mapping of str to float, optional
        Levels to compare with, such as the model without noise and a constant guess.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    _curves(ax, epsilons, errors, lines)
    ax.set(xlabel="ε", xscale="log")
    return ax


def plot_error_by_size(
    sizes: Sequence[float],
    errors: Mapping[str, ArrayLike],
    *,
    lines: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of private models against the number of records.

    Parameters
    ----------
    sizes : sequence of float
        Numbers of records.
    errors : mapping of str to array-like of shape (n_sizes,) or (n_sizes, n_draws)
        Errors of each method; several draws become a mean and a band of one standard deviation.
    lines : mapping of str to float, optional
        Levels to compare with.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    _curves(ax, sizes, errors, lines)
    ax.set(xlabel="number of records")
    return ax


def plot_error_by_penalty(
    alphas: Sequence[float],
    errors: Mapping[str, ArrayLike],
    *,
    published: Mapping[str, ArrayLike] | None = None,
    lines: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of private models against the strength of their penalty.

    Parameters
    ----------
    alphas : sequence of float
        Penalties.
    errors : mapping of str to array-like of shape (n_alphas,) or (n_alphas, n_draws)
        Errors of each method; several draws become a mean and a band of one standard deviation.
    published : mapping of str to array-like of shape (n_alphas,), optional
        Errors that a paper reports for the same methods, drawn as crosses.
    lines : mapping of str to float, optional
        Levels to compare with.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    _curves(ax, alphas, errors, lines)
    colours = {line.get_label(): line.get_color() for line in ax.get_lines()}
    for name, values in (published or {}).items():
        ax.plot(alphas, np.asarray(values), "x", color=colours[name], markersize=7)
    ax.set(xlabel="penalty Λ", xscale="log")
    return ax


def plot_privacy_loss(
    position: ArrayLike,
    loss: Mapping[str, ArrayLike],
    epsilon: float,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the log-quotient of the densities of a model under two neighbouring data sets.

    Parameters
    ----------
    position : array-like of shape (n_points,)
        Where each model stands, such as its coefficient.
    loss : mapping of str to array-like of shape (n_points,)
        From `log_density_ratio`, under the name to show.
    epsilon : float
        What was promised; drawn as a band that no curve may leave.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.axhspan(-epsilon, epsilon, color="0.92", label="promised: ± ε")
    ax.axhline(0.0, color="0.7", linewidth=0.8)
    for name, values in loss.items():
        ax.plot(np.asarray(position), np.asarray(values), label=name)
    ax.set(xlabel="released coefficient", ylabel="log of the density quotient")
    ax.legend(framealpha=1.0)  # the band would hide its own sample
    return ax


def plot_privacy_budget(ledger: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what a privacy ledger has spent, release by release.

    Parameters
    ----------
    ledger : PrivacyLedger
        The account.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    bars: dict[str, float] = {}
    parts = sorted({entry.part for entry in ledger.entries})
    for row, part in enumerate(parts):
        name = "/".join(part) or "all records"
        for entry in ledger.entries:
            if entry.part != part:
                continue
            start = bars.get(name, 0.0)
            ax.barh(row, entry.epsilon, left=start, height=0.6, edgecolor="white", color=f"C{row}")
            if entry.what:
                middle = start + entry.epsilon / 2
                ax.text(
                    middle, row, literal(entry.what), ha="center", va="center", fontsize="small"
                )
            bars[name] = start + entry.epsilon
    ax.axvline(ledger.epsilon, color="0.2", linewidth=1.5, label=f"budget ε = {ledger.epsilon:g}")
    label = f"spent {ledger.spent:g}"
    ax.axvline(ledger.spent, color="0.5", linestyle="--", linewidth=1, label=label)
    ax.set_yticks(range(len(parts)), list(bars))
    ax.set(xlabel="ε", xlim=(0, 1.05 * ledger.epsilon))
    ax.legend(frameon=False)
    return ax


def plot_decision_regions(
    classifier: Any, X: ArrayLike, y: ArrayLike, *, n_grid: int = 150, ax: Axes | None = None
) -> Axes:
    """Draw what a classifier of two features predicts, and the records.

    Parameters
    ----------
    classifier : estimator
        Fitted on two features and two classes.
    X : array-like of shape (n_samples, 2)
        Records.
    y : array-like of shape (n_samples,)
        Their classes.
    n_grid : int, default=150
        Points of the grid along each axis.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    points, labels = np.asarray(X, dtype=float), np.asarray(y)
    low, high = points.min(axis=0), points.max(axis=0)
    first, second = (np.linspace(low[k], high[k], n_grid) for k in range(2))
    grid = np.array([[a, b] for b in second for a in first])
    score = classifier.decision_function(grid).reshape(n_grid, n_grid)
    limit = float(np.abs(score).max()) or 1.0
    ax.contourf(first, second, score, levels=20, cmap="RdBu", alpha=0.6, vmin=-limit, vmax=limit)
    ax.contour(first, second, score, levels=[0.0], colors="0.2", linewidths=1.2)
    for k, label in enumerate(classifier.classes_):
        chosen = labels == label
        across, up = points[chosen].T
        ax.scatter(across, up, s=6, color=("C3", "C0")[k], label=str(label))
    ax.legend(frameon=True, loc="upper right")
    return ax
