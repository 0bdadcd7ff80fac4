"""Pictures of latent Gaussian models: marginals, bounds, hyper-parameters, maps, volatility."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_correction_bounds",
    "plot_field_map",
    "plot_hyper_grid",
    "plot_marginal_methods",
    "plot_volatility",
]


def plot_marginal_methods(
    model: Any,
    i: int,
    methods: Sequence[str] | None = None,
    *,
    draws: ArrayLike | None = None,
    exact: tuple[ArrayLike, ArrayLike] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one marginal by several methods, over a histogram of draws or the exact density.

    Parameters
    ----------
    model : LatentGaussianModel
        A fitted model.
    i : int
        The latent.
    methods : sequence of str, optional
        Names of marginals; the cheap ones of the model's own method by default.
    draws : array-like, optional
        Draws of the latent by a sampler.
    exact : pair of array-like, optional
        Points and density of a reference.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    if methods is None:
        methods = (
            ("ep-g", "ep-l", "ep-fact") if model.method == "ep" else ("lm-g", "lm-l", "la-fact")
        )
    if draws is not None:
        ax.hist(np.asarray(draws), bins=80, density=True, color="0.85", label="draws")
    if exact is not None:
        ax.fill_between(*exact, color="0.85", label="exact")
    for name in methods:
        marginal = model.marginal(i, name)
        ax.plot(marginal.x, marginal.pdf, label=name.upper(), lw=1.4)
    ax.set(xlabel=f"latent {i}", ylabel="density", ylim=(0, None))
    ax.legend(frameon=False)
    return ax


def plot_correction_bounds(model: Any, i: int, *, ax: Axes | None = None) -> Axes:
    """Draw the bounds on the factor by which other terms correct a marginal.

    Parameters
    ----------
    model : LatentGaussianModel
        A fitted model.
    i : int
        The latent.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    bounds = model.bounds(i)
    top = bounds.upper[np.isfinite(bounds.upper)].max(initial=2.0 * bounds.lower.max())
    upper = np.where(np.isfinite(bounds.upper), bounds.upper, 10.0 * top)
    ax.fill_between(bounds.x, bounds.lower, upper, color="C0", alpha=0.2, label="bounds")
    ax.plot(bounds.x, bounds.lower, color="C0", lw=1)
    own, local = model.marginal(i), model.marginal(i, "ep-l" if model.method == "ep" else "lm-l")
    inside = (bounds.x > max(own.x[0], local.x[0])) & (bounds.x < min(own.x[-1], local.x[-1]))
    x = bounds.x[inside]
    ratio = own.density(x) / np.maximum(local.density(x), 1e-300)
    middle = np.argmin(abs(x - model.mean_[i]))
    between = np.sqrt(bounds.lower[inside][middle] * max(upper[inside][middle], 1e-300))
    ax.plot(x, ratio / ratio[middle] * between, color="k", label="correction, to scale")
    ax.set(xlabel=f"latent {i}", ylabel="correction factor", ylim=(0, 1.3 * top))
    ax.legend(frameon=False)
    return ax


def plot_hyper_grid(model: Any, pair: tuple[int, int] = (0, 1), *, ax: Axes | None = None) -> Axes:
    """Draw the nodes of the hyper-parameters, as large as their weights.

    Parameters
    ----------
    model : LatentGaussianModel
        A fitted model with hyper-parameters.
    pair : pair of int, default=(0, 1)
        Which two are shown; the marginal of the first is drawn if there is only one.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    if model.theta_grid_ is None:
        raise ValueError("The model has no hyper-parameters to draw.")
    if model.theta_grid_.shape[1] == 1:
        marginal = model.hyper_marginal(0)
        ax.plot(marginal.x, marginal.pdf, color="k")
        ax.vlines(model.theta_grid_[:, 0], 0, marginal.density(model.theta_grid_[:, 0]), color="C0")
        ax.set(xlabel="θ₁", ylabel="density", ylim=(0, None))
        return ax
    a, b = pair
    weights = model.theta_weights_ / model.theta_weights_.max()
    x, y = model.theta_grid_[:, [a, b]].T
    ax.scatter(x, y, s=4 + 120 * weights, color="C0", alpha=0.6)
    ax.plot(model.theta_mode_[a], model.theta_mode_[b], "k+", ms=10, label="mode")
    ax.set(xlabel=f"θ{a + 1}", ylabel=f"θ{b + 1}")
    ax.legend(frameon=False)
    return ax


def plot_field_map(
    mean: ArrayLike, sd: ArrayLike, *, points: ArrayLike | None = None, axes: Any = None
) -> Any:
    """Draw a posterior field on a grid: its mean beside its standard deviation.

    Parameters
    ----------
    mean, sd : array-like of shape (n_rows, n_columns)
        The field.
    points : array-like of shape (n_points, 2), optional
        Rows and columns of points to mark on the mean.
    axes : pair of matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : array of two matplotlib axes
        The axes.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(10, 3.2))[1]
    for ax, field, name, colors in zip(
        axes, (mean, sd), ("mean", "standard deviation"), ("viridis", "magma"), strict=True
    ):
        image = ax.imshow(np.asarray(field, dtype=float), origin="lower", cmap=colors)
        ax.figure.colorbar(image, ax=ax, shrink=0.8)
        ax.set(title=name, xticks=[], yticks=[])
    if points is not None:
        rows, columns = np.asarray(points, dtype=float).T
        axes[0].plot(columns, rows, "w.", ms=2)
    return axes


def plot_volatility(model: Any, returns: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw returns with the band of two posterior standard deviations of a return.

    Parameters
    ----------
    model : StochasticVolatility
        A fitted model.
    returns : array-like of shape (n_returns,)
        What it was fitted to.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(9, 3))[1]
    values = np.asarray(returns, dtype=float)
    t = np.arange(values.size)
    spread = np.sqrt(model.var_)
    for sign in (-1.0, 1.0):
        low, high = (np.exp(0.5 * (model.mean_ + s * 2 * spread)) for s in (-1.0, 1.0))
        ax.fill_between(t, 2 * sign * low, 2 * sign * high, color="C1", alpha=0.4, lw=0)
        ax.plot(t, 2 * sign * model.volatility_, color="C1", lw=1.2)
    ax.plot(t, values, color="0.4", lw=0.6)
    ax.set(xlabel="time", ylabel="return")
    return ax
