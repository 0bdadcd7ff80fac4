"""Pictures of variational mixed models and of curves for mean and standard deviation."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_caterpillar",
    "plot_lower_bounds",
    "plot_partial_effects",
    "plot_posterior_density",
    "plot_prediction_fan",
    "plot_probability_transform",
]


def plot_caterpillar(
    model: Any, term: int = 0, *, column: int = 0, top: int = 60, ax: Axes | None = None
) -> Axes:
    """Draw random effects in ascending order with bands of 95 %.

    Parameters
    ----------
    model : VariationalMixedModel
        A fitted model with random effects.
    term : int, default=0
        Which term.
    column : int, default=0
        Which of its columns: 0 is the intercept, then the slopes.
    top : int, default=60
        At most so many levels, evenly spaced by rank where there are more.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    means = np.asarray(model.ranef_[term])
    means = means[:, column] if means.ndim == 2 else means
    sd = np.sqrt(model.ranef_cov_[term][:, column, column])
    order = np.argsort(means)
    if len(order) > top:
        order = order[np.linspace(0, len(order) - 1, top).round().astype(int)]
    height = np.arange(len(order))
    ax.errorbar(means[order], height, xerr=1.96 * sd[order], fmt="o", markersize=3, linewidth=1)
    ax.axvline(0.0, color="0.6", linewidth=1)
    if len(order) <= 30:
        ax.set_yticks(height, [str(label) for label in model.levels_[term][order]])
    else:
        ax.set_yticks([])
    ax.set(xlabel="random effect (mean, 95 % band)", ylabel=model.term_names_[term])
    return ax


def plot_posterior_density(
    model: Any, param: str, samples: Any = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the posterior density of a fixed effect or a variance, over draws where there are any.

    Parameters
    ----------
    model : VariationalMixedModel
        A fitted model.
    param : str
        A name of its `posterior_summary`.
    samples : array-like of shape (n_draws,), optional
        Draws of the exact posterior.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    summary = model.posterior_summary()
    row = summary[next(i for i, name in enumerate(summary["name"]) if name.startswith(param))]
    low, high = row["mean"] - 4.5 * row["sd"], row["mean"] + 4.5 * row["sd"]
    if samples is not None:
        ax.hist(samples, bins=60, density=True, color="0.8", label="draws")
        low, high = min(low, np.min(samples)), max(high, np.max(samples))
    grid = np.linspace(low, high, 400)
    ax.plot(grid, model.posterior_pdf(str(row["name"]), grid), label="variational")
    ax.set(xlabel=str(row["name"]), ylabel="posterior density", yticks=[])
    ax.legend(frameon=False)
    return ax


def plot_lower_bounds(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far the lower bound was below its last value in each iteration.

    Parameters
    ----------
    model : object with ``lower_bounds_``
        A fitted variational model.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    missing = model.lower_bounds_[-1] - model.lower_bounds_[:-1]
    ax.semilogy(np.arange(len(missing)), np.maximum(missing, 1e-12), "o-", markersize=3)
    ax.set(xlabel="iteration", ylabel="bound still to be gained")
    return ax


def plot_partial_effects(model: Any, *, level: float = 0.95, axes: Any = None) -> Any:
    """Draw every feature's curve of the mean over its curve of the standard deviation (Fig. 2).

    Parameters
    ----------
    model : HeteroscedasticAdditiveRegressor
        A fitted model.
    level : float, default=0.95
        Probability of the pointwise bands.
    axes : array of matplotlib axes of shape (2, n_features), optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : ndarray of matplotlib axes of shape (2, n_features)
        The axes.
    """
    n = model.n_features_in_
    if axes is None:
        axes = plt.subplots(2, n, figsize=(3.4 * n, 5), squeeze=False, sharex="col")[1]
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(n)])
    for row, which in enumerate(("mean", "sd")):
        for j in range(n):
            grid, center, low, high = model.partial_effect(j, which, level=level)
            axes[row, j].plot(grid, center)
            axes[row, j].fill_between(grid, low, high, alpha=0.2)
            axes[row, j].set(xlabel=str(names[j]) if row else "")
        axes[row, 0].set(ylabel="mean" if which == "mean" else "standard deviation")
    return axes


def plot_prediction_fan(
    model: Any, X: Any, y: Any = None, *, feature: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw intervals of new responses along a feature, with the data.

    Parameters
    ----------
    model : HeteroscedasticAdditiveRegressor
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Data; features other than the one drawn are held at their means.
    y : array-like of shape (n_samples,), optional
        Responses to show.
    feature : int, default=0
        Which feature.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X = np.asarray(X, dtype=float)
    grid = np.tile(X.mean(axis=0), (200, 1))
    grid[:, feature] = np.linspace(X[:, feature].min(), X[:, feature].max(), 200)
    for level in (0.5, 0.8, 0.95):
        low, high = model.predict_interval(grid, level)
        ax.fill_between(grid[:, feature], low, high, color="C0", alpha=0.18, linewidth=0)
    ax.plot(grid[:, feature], model.predict(grid), color="C0")
    if y is not None:
        ax.plot(X[:, feature], y, "k.", markersize=3)
    ax.set(xlabel=f"x{feature}", ylabel="response (50, 80 and 95 %)")
    return ax


def plot_probability_transform(
    model: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw the histogram of where responses fell in their predictive laws; flat if calibrated.

    Parameters
    ----------
    model : HeteroscedasticAdditiveRegressor
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Data that the model did not see, at best.
    y : array-like of shape (n_samples,)
        Their responses.
    n_bins : int, default=10
        Number of bins.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from scipy.special import ndtr

    ax = ax or plt.subplots()[1]
    mean, std = model.predict(X, return_std=True)
    ax.hist(ndtr((np.asarray(y) - mean) / std), bins=n_bins, range=(0, 1), density=True)
    ax.axhline(1.0, color="0.4", linewidth=1)
    ax.set(xlabel="probability of a smaller response", ylabel="density")
    return ax
