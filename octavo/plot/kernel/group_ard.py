"""Pictures of group relevance: paths, variances, errors, trade-offs, impulse responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_group_relevance",
    "plot_impulse_responses",
    "plot_relative_errors",
    "plot_variance_path",
    "plot_zero_tradeoff",
]


def plot_variance_path(
    path: Any, *, true_groups: Sequence[int] = (), what: str = "lambdas", ax: Axes | None = None
) -> Axes:
    """Draw variances or coefficients' norms of all groups along the rate γ.

    Parameters
    ----------
    path : VariancePath
        As `group_variance_path` returns it.
    true_groups : sequence of int, default=()
        Groups drawn in colour, such as those known to matter; all if there is none.
    what : {"lambdas", "norms"}, default="lambdas"
        What is drawn.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = getattr(path, what)
    coloured = list(true_groups) or list(range(values.shape[1]))
    for i in range(values.shape[1]):
        if i in coloured:
            label = f"group {i}" if len(coloured) <= 10 else None
            ax.plot(path.gammas, values[:, i], color=f"C{coloured.index(i) % 10}", label=label)
        else:
            ax.plot(path.gammas, values[:, i], color="0.7", lw=0.8, zorder=1)
    label = "variance λ" if what == "lambdas" else "‖θ‖"
    ax.set(xscale="log", xlabel="rate γ", ylabel=label)
    ax.set_ylim(bottom=0)
    if len(coloured) <= 10:
        ax.legend(frameon=False)
    return ax


def plot_group_relevance(
    model: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the prior deviation √λ of every group as a bar.

    Parameters
    ----------
    model : GroupARDRegression, GroupLassoEB or ImpulseResponseSelector
        A fitted model.
    names : sequence of str, optional
        Names of the groups; those of the kernels, or their indices, by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    places = np.arange(len(model.lambda_))
    if names is None:
        names = getattr(model, "kernel_names_", None) or [str(i) for i in places]
    active = model.lambda_ > 0
    ax.bar(places[active], np.sqrt(model.lambda_[active]), color="C0")
    ax.plot(places[~active], np.zeros((~active).sum()), "x", color="0.5", label="left out")
    ax.set_xticks(places, names, rotation=90 if max(map(len, names)) > 3 else 0)
    ax.set(xlabel="group", ylabel="deviation of its coefficients, √λ")
    if not active.all():
        ax.legend(frameon=False)
    return ax


def plot_relative_errors(study: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the relative errors of each method over all runs as boxes (Figure 3).

    Parameters
    ----------
    study : GroupSparseStudy
        As `group_sparse_study` returns it.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.boxplot(list(study.errors.T), tick_labels=list(study.methods))
    for place, rate in enumerate(study.zero_rates, start=1):
        top = study.errors[:, place - 1].max()
        ax.annotate(
            f"{100 * rate:.0f} % of zeros",
            (place, top),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
        )
    ax.set(ylabel="relative error of the coefficients")
    ax.set_ylim(0, 1.1 * study.errors.max())
    return ax


def plot_zero_tradeoff(curves: Mapping[str, tuple[Any, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw how often a group without effect is left out against the error of one with effect.

    Parameters
    ----------
    curves : dict of str to (array-like, array-like)
        By method: mean squared errors of the group that matters, and probabilities that the other
        is zero, along the rate (`orthogonal_mse`, `zero_probability`; Figure 4, top).
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, (errors, chances) in curves.items():
        ax.plot(errors, chances, label=name)
    ax.set(xlabel="mean squared error of the group that matters", ylabel="P(other group is zero)")
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False)
    return ax


def plot_impulse_responses(
    model: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the impulse responses of the inputs that act, with ± 2 standard deviations.

    Parameters
    ----------
    model : ImpulseResponseSelector
        A fitted selector.
    names : sequence of str, optional
        Names of the inputs.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    lags = model.delay + np.arange(model.impulse_responses_.shape[1])
    for place, i in enumerate(model.active_groups_):
        mean, spread = model.impulse_responses_[i], 2 * model.impulse_std_[i]
        label = names[i] if names is not None else f"input {i}"
        ax.plot(lags, mean, "o-", ms=3, color=f"C{place % 10}", label=label)
        ax.fill_between(lags, mean - spread, mean + spread, color=f"C{place % 10}", alpha=0.2)
    ax.axhline(0.0, color="0.6", lw=0.8)
    ax.set(xlabel="lag", ylabel="impulse response")
    if len(model.active_groups_):
        ax.legend(frameon=False)
    return ax
