"""Pictures of semi-supervised fits: curves by unlabelled rows, densities, bounds on the bias."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_bias_bounds",
    "plot_class_densities",
    "plot_improvement_bars",
    "plot_unlabelled_curves",
]


def _nearest(fractions: Any, labelled: float | None) -> int:
    values = np.asarray(fractions)
    return 0 if labelled is None else int(np.abs(values - labelled).argmin())


def plot_unlabelled_curves(
    study: Any, *, score: str = "nll", labelled: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a score on test rows against the part of rows that is unlabelled (Figures 1 and 2).

    Parameters
    ----------
    study : SemiSupervisedStudy
        From `semi_supervised_study`.
    score : {"nll", "error"}, default="nll"
        Which score.
    labelled : float, optional
        Which fraction of labelled rows; the first by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Means over repeats with standard errors.
    """
    ax = ax or plt.subplots()[1]
    row = _nearest(study.labelled_fractions, labelled)
    for name, values in zip(study.objectives, getattr(study, score), strict=True):
        cell = values[row]
        error = cell.std(axis=1) / np.sqrt(cell.shape[1])
        ax.errorbar(
            study.unlabelled_fractions, cell.mean(axis=1), error, marker="o", capsize=3, label=name
        )
    ax.set(
        xlabel="unlabelled part of the training rows",
        ylabel="-log p(x, y) on test rows" if score == "nll" else "error on test rows",
        title=f"{study.labelled_fractions[row]:g} labelled",
    )
    ax.legend(frameon=False)
    return ax


def plot_improvement_bars(
    study: Any, *, score: str = "nll", labelled: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often each objective beats the labelled rows alone (Figures 3 to 5).

    Parameters
    ----------
    study : SemiSupervisedStudy
        From `semi_supervised_study`, with "labelled" among its objectives.
    score : {"nll", "error"}, default="nll"
        Which score.
    labelled : float, optional
        Which fraction of labelled rows; the first by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Above the line at one half, unlabelled rows help more often than not.
    """
    ax = ax or plt.subplots()[1]
    row = _nearest(study.labelled_fractions, labelled)
    found = study.improvement(score)
    width = 0.8 / len(found)
    places = np.arange(len(study.unlabelled_fractions))
    for number, (name, shares) in enumerate(found.items()):
        ax.bar(places + (number - 0.5 * (len(found) - 1)) * width, shares[row], width, label=name)
    ax.axhline(0.5, color="black", linewidth=0.8)
    ax.set_xticks(places, [f"{value:g}" for value in study.unlabelled_fractions])
    ax.set(
        xlabel="unlabelled part of the training rows",
        ylabel="share of repeats that improve",
        ylim=(0, 1),
    )
    ax.legend(frameon=False)
    return ax


def plot_class_densities(
    model: Any, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None, resolution: int = 80
) -> Axes:
    """Draw the density of a fitted model on two features, its boundary and the labelled rows.

    Parameters
    ----------
    model : SemiSupervisedGenerativeClassifier
        Fitted to two features.
    X : array-like of shape (n, 2)
        Rows.
    y : array-like of shape (n,)
        Labels, -1 where unknown.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.
    resolution : int, default=80
        Points a side of the grid.

    Returns
    -------
    ax : matplotlib axes
        Grey dots are unlabelled.
    """
    ax = ax or plt.subplots()[1]
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    low, high = X.min(axis=0), X.max(axis=0)
    sides = [np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    shape = (resolution, resolution)
    density = model.log_density(grid).reshape(shape)
    levels = np.linspace(density.max() - 8.0, density.max(), 8)
    ax.contour(*sides, density, levels=levels, cmap="Greys", linewidths=0.8)
    joint = model.predict_joint_log_proba(grid)
    for k in range(joint.shape[1]):
        margin = joint[:, k] - np.delete(joint, k, axis=1).max(axis=1)
        if margin.min() < 0.0 < margin.max():
            ax.contour(*sides, margin.reshape(shape), levels=[0.0], colors="black")
    known = np.isin(y, model.classes_)
    ax.scatter(X[~known, 0], X[~known, 1], s=4, color="0.75")
    for k, label in enumerate(model.classes_):
        rows = X[y == label]
        ax.scatter(rows[:, 0], rows[:, 1], s=28, color=f"C{k}", edgecolor="black", label=str(label))
    ax.legend(frameon=False)
    return ax


def plot_bias_bounds(
    p_unlabelled: ArrayLike,
    divergences: ArrayLike,
    d_star: float,
    d_unsupervised: float | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the divergence at the maximum-likelihood fit between its bounds (Theorems 7 and 9).

    Parameters
    ----------
    p_unlabelled : array-like
        Shares of unlabelled rows, below one.
    divergences : array-like
        D(P(X, Y)) at the fit for each of them.
    d_star : float
        The smallest divergence of the family.
    d_unsupervised : float, optional
        That of the fit to x alone.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The curve and its bounds.
    """
    ax = ax or plt.subplots()[1]
    share = np.asarray(p_unlabelled, dtype=float)
    fine = np.linspace(share.min(), share.max(), 200)
    upper = d_star / (1.0 - fine)
    if d_unsupervised is not None:
        upper = np.minimum(upper, d_unsupervised)
    ax.fill_between(fine, np.full_like(fine, d_star), upper, color="0.9", label="bounds")
    ax.plot(share, np.asarray(divergences), marker="o", label="maximum likelihood")
    ax.axhline(d_star, color="C1", label="unbiased")
    ax.set(xlabel="share of rows without a label", ylabel="divergence of (x, y)")
    ax.legend(frameon=False)
    return ax
