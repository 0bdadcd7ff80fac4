"""Pictures of early stopping: error along the path, where each rule stops, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_bias_variance",
    "plot_critical_crossing",
    "plot_error_path",
    "plot_stopped_fits",
]


def plot_error_path(
    errors: Any, times: Mapping[str, int] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the error of every iterate, with the times at which rules stop.

    Parameters
    ----------
    errors : array-like of shape (n_steps + 1,) or dict of str to array-like
        Error at t = 0, 1, ...; several curves by name.
    times : dict of str to int, optional
        Stopping times by the name of their rule, marked on the first curve.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    curves = errors if isinstance(errors, Mapping) else {"": errors}
    for name, curve in curves.items():
        ax.plot(np.arange(len(curve)), curve, label=name or None)
    first = np.asarray(next(iter(curves.values())))
    for i, (name, t) in enumerate((times or {}).items()):
        at = min(int(t), len(first) - 1)
        ax.plot([at], [first[at]], "o", color=f"C{i + len(curves)}", label=f"{name}: t = {int(t)}")
    ax.set(xlabel="iteration t", ylabel="mean squared error")
    if any(curves) or times:
        ax.legend(frameon=False)
    return ax


def plot_critical_crossing(
    model: Any, *, n_times: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the complexity R(η^(-1/2)) and the threshold B/(constant · σ η) where they cross.

    Parameters
    ----------
    model : KernelGDRegressor
        A fitted model of one output.
    n_times : int, optional
        How many iterations to show; four times the crossing by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    complexity = np.asarray(model.complexity_curve_)
    steps = np.broadcast_to(np.asarray(model.step_), len(complexity) - 1)
    etas = np.cumsum(steps)
    # at the critical radius ε the two meet: R(ε) = ε²/(constant σ/B), η = 1/ε²
    square = float(model.critical_radius_) ** 2
    crossing = float(np.interp(1.0 / square, etas, complexity[1:]))
    slope = crossing / square
    T = int(np.searchsorted(etas, 1.0 / square))
    shown = min(len(etas), n_times or max(4 * T, 20))
    t = np.arange(1, shown + 1)
    ax.plot(t, complexity[1 : shown + 1], label="complexity R(η$^{-1/2}$)")
    ax.plot(t, slope / etas[:shown], label="threshold B / (constant · σ η)")
    ax.axvline(T, color="0.5", lw=1, ls=":", label=f"t = {T}")
    ax.set(xlabel="iteration t", xscale="log", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_bias_variance(curves: Any, *, ax: Axes | None = None) -> Axes:
    """Draw squared bias and variance of every iterate, one on the other.

    Parameters
    ----------
    curves : BiasVariance
        What `bias_variance` returns.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    t = np.arange(len(curves.bias))
    ax.stackplot(t, curves.bias, curves.variance, labels=("squared bias", "variance"), alpha=0.7)
    best = int(np.argmin(curves.bias + curves.variance))
    ax.axvline(best, color="0.3", lw=1, ls=":", label=f"best t = {best}")
    ax.set(xlabel="iteration t", ylabel="expected squared error")
    ax.legend(frameon=False)
    return ax


def plot_stopped_fits(
    model: Any, X: Any, y: Any, times: Any = None, *, truth: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw a fit on a line long before, at and long after the stopping time.

    Parameters
    ----------
    model : KernelGDRegressor
        A fitted model of one column, with ``solver="eigh"``.
    X : array-like of shape (n, 1)
        Places.
    y : array-like of shape (n,)
        What was measured.
    times : sequence of int, optional
        Times; a tenth of the stopping time, itself, and thirty times it by default.
    truth : array-like of shape (n,), optional
        The true function there.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    places = np.asarray(X)
    order = np.argsort(places[:, 0])
    places = places[order]
    ax.plot(places[:, 0], np.asarray(y)[order], ".", color="0.75", zorder=0)
    if truth is not None:
        ax.plot(places[:, 0], np.asarray(truth)[order], "k--", lw=1, label="f*")
    T = int(model.n_iter_)
    for t in times if times is not None else (max(1, T // 10), T, 30 * max(T, 1)):
        label = f"t = {t}" + (" (stopped)" if t == T else "")
        ax.plot(places[:, 0], model.predict(places, n_iter=int(t)), label=label)
    ax.set(xlabel="x", ylabel="y")
    ax.legend(frameon=False)
    return ax
