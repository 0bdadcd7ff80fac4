"""Pictures of hidden features: who has them, what they change, which go together."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "plot_buffet_sweeps",
    "plot_feature_matrix",
    "plot_feature_pairs",
    "plot_feature_patterns",
    "plot_feature_profiles",
]


def plot_feature_matrix(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the features of rows as an image, rows with equal features together.

    Parameters
    ----------
    model : estimator
        A fitted `IBPCategorical` or `IBPLinearGaussian`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Rows down, features across; black is on.
    """
    check_is_fitted(model)
    Z = np.asarray(model.Z_)
    order = np.lexsort(-Z.T[::-1]) if Z.shape[1] else np.arange(len(Z))
    ax = ax or plt.subplots()[1]
    ax.imshow(Z[order], cmap="Greys", aspect="auto", interpolation="nearest", vmin=0, vmax=1)
    ax.set(xlabel="feature", ylabel="row (sorted)", xticks=range(Z.shape[1]))
    return ax


def plot_buffet_sweeps(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the log evidence of each sweep, or the bound of each iteration (Figures 4f and 6).

    Parameters
    ----------
    model : estimator
        A fitted `IBPCategorical` or `IBPLinearGaussian`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The number of features of the draws that were kept has an axis of its own, at the right.
    """
    check_is_fitted(model)
    ax = ax or plt.subplots()[1]
    if hasattr(model, "lower_bounds_") and model.engine == "variational":
        ax.plot(model.lower_bounds_, color="tab:blue")
        ax.set(xlabel="iteration", ylabel="lower bound")
        return ax
    n = len(model.log_evidences_)
    ax.plot(np.arange(1, n + 1), model.log_evidences_, color="tab:blue")
    ax.set_xlabel("sweep")
    ax.set_ylabel("log p(X | Z)", color="tab:blue")
    right = ax.twinx()
    draws = model.k_draws_
    right.step(np.arange(n - len(draws) + 1, n + 1), draws, color="tab:red", where="mid")
    right.set_ylabel("features", color="tab:red")
    return ax


def plot_feature_profiles(
    report: Any, level: int = 1, *, ratio: bool = False, names: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the probability of a level of each column, with no feature and with each alone.

    Parameters
    ----------
    report : ComorbidityReport
        From `comorbidity_report`.
    level : int, default=1
        Which level of each column; the last where a column has fewer.
    ratio : bool, default=False
        Divide by the share of the level in the table (Figure 8).
    names : array-like of str, optional
        Names of columns.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        One line for no feature, one a feature, and the baseline dashed.
    """
    tables = report.ratios if ratio else report.profiles
    lines = np.array([t[:, min(level, t.shape[1] - 1)] for t in tables]).T
    base = np.array([b[min(level, b.size - 1)] for b in report.baseline])
    ax = ax or plt.subplots(figsize=(8, 3.5))[1]
    for k, line in enumerate(lines):
        label = "none" if k == 0 else f"feature {k - 1}"
        ax.plot(line, marker="o", ms=3, color="0.4" if k == 0 else f"C{(k - 1) % 10}", label=label)
    ax.plot(np.ones_like(base) if ratio else base, "k--", lw=1, label="baseline")
    ax.set(xlabel="column", ylabel="ratio to baseline" if ratio else "probability")
    if names is not None:
        ax.set_xticks(range(len(base)), [str(name) for name in names], rotation=70, ha="right")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_feature_pairs(report: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far pairs of features are from independent, in standard deviations (Table 3).

    Parameters
    ----------
    report : ComorbidityReport
        From `comorbidity_report`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A heat map; above the diagonal shares of rows with both, below it the products; stars mark
        more than three standard deviations.
    """
    z = report.z_scores
    ax = ax or plt.subplots()[1]
    top = max(3.0, float(np.abs(z).max())) if z.size else 3.0
    image = ax.imshow(z, cmap="RdBu_r", vmin=-top, vmax=top)
    for i, j in np.argwhere(~np.eye(len(z), dtype=bool)):
        value = report.empirical[i, j] if i < j else report.product[i, j]
        star = "*" if abs(z[i, j]) > 3.0 else ""
        ax.text(j, i, f"{100 * value:.1f}{star}", ha="center", va="center", fontsize="small")
    ax.set(xlabel="feature", ylabel="feature", xticks=range(len(z)), yticks=range(len(z)))
    ax.figure.colorbar(image, ax=ax, label="standard deviations")
    return ax


def plot_feature_patterns(report: Any, n: int = 12, *, ax: Axes | None = None) -> Axes:
    """Draw the most common combinations of features: bars above, dots for what is on (Table 5).

    Parameters
    ----------
    report : ComorbidityReport
        From `comorbidity_report`.
    n : int, default=12
        How many combinations.
    ax : matplotlib axes, optional
        Where to draw the bars; dots go below zero of the same axes.

    Returns
    -------
    ax : matplotlib axes
        Counts of rows, with a row of dots for each feature.
    """
    counts, patterns = report.pattern_counts[:n], report.patterns[:n]
    ax = ax or plt.subplots()[1]
    ax.bar(range(len(counts)), counts, color="0.5")
    K, top = patterns.shape[1], float(counts.max())
    places = -top * 0.08 * (1 + np.arange(K))
    for k in range(K):
        on = np.flatnonzero(patterns[:, k])
        ax.scatter(range(len(counts)), np.full(len(counts), places[k]), color="0.9", s=25)
        ax.scatter(on, np.full(on.size, places[k]), color=f"C{k % 10}", s=25)
    ticks = [t for t in ax.get_yticks() if 0 <= t <= top]
    ax.set_yticks(
        [*places, *ticks], [*(f"feature {k}" for k in range(K)), *(f"{t:g}" for t in ticks)]
    )
    ax.set_ylim(-top * 0.08 * (K + 1), 1.05 * top)
    ax.set(ylabel="rows", xticks=[])
    return ax
