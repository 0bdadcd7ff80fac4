"""Pictures of policy search: learning curves, beliefs, kernels and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_model_weight",
    "plot_policy_kernels",
    "plot_policy_search",
    "plot_return_posterior",
]


def plot_policy_search(
    returns: Mapping[str, ArrayLike], *, quantiles: tuple[float, float] = (0.25, 0.75),
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the best return so far against episodes, the median of runs with a band.

    Parameters
    ----------
    returns : dict of str to array-like of shape (n_runs, n_episodes)
        Returns of each episode, by the name to show.
    quantiles : pair of float, default=(0.25, 0.75)
        Ends of the band.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in returns.items():
        best = np.maximum.accumulate(np.atleast_2d(np.asarray(values, dtype=float)), axis=1)
        episodes = np.arange(1, best.shape[1] + 1)
        (line,) = ax.plot(episodes, np.median(best, axis=0), label=name)
        low, high = np.quantile(best, quantiles, axis=0)
        ax.fill_between(episodes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    ax.set(xlabel="episode", ylabel="best return so far")
    ax.legend(frameon=False)
    return ax


def plot_return_posterior(
    search: Any,
    values: ArrayLike,
    *,
    parameter: int = 0,
    at: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what is believed of returns along one parameter (Figures 3 and 4).

    Parameters
    ----------
    search : TrajectoryBO
        With at least one policy told.
    values : array-like of shape (n,)
        Values of the parameter.
    parameter : int, default=0
        Its number.
    at : array-like of shape (n_params,), optional
        The other parameters; the best so far by default.
    truth : array-like of shape (n,), optional
        True returns to draw beside.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, with two standard deviations, and observations where there is one parameter.
    """
    ax = ax or plt.subplots()[1]
    values = np.asarray(values, dtype=float)
    thetas = np.tile(search.best_params_ if at is None else np.asarray(at, float), (len(values), 1))
    thetas[:, parameter] = values
    mean, std = search.posterior(thetas, return_std=True)
    (line,) = ax.plot(values, mean, label="posterior mean")
    ax.fill_between(values, mean - 2 * std, mean + 2 * std, color=line.get_color(), alpha=0.15)
    if search.beta_ > 0:
        ax.plot(values, search._prior_mean(thetas), "--", color="C1", label="simulator")
    if truth is not None:
        ax.plot(values, truth, ":", color="black", label="truth")
    if thetas.shape[1] == 1:
        seen = [(h["theta"][0], h["value"]) for h in search.history_]
        ax.plot(*np.array(seen).T, "o", color="black", markersize=4, label="observed")
    ax.set(xlabel=f"parameter {parameter}", ylabel="return", title=f"β = {search.beta_:.2f}")
    ax.legend(frameon=False)
    return ax


def plot_policy_kernels(
    matrices: Mapping[str, ArrayLike], values: ArrayLike, *, axes: Any = None
) -> Any:
    """Draw kernel matrices side by side, policies in the order of their returns.

    Parameters
    ----------
    matrices : dict of str to array-like of shape (n, n)
        Kernel values by the name to show.
    values : array-like of shape (n,)
        Returns of the policies.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each matrix; new axes by default.

    Returns
    -------
    axes : sequence of matplotlib axes
        The axes; the best policy is last.
    """
    if axes is None:
        width = 4 * len(matrices)
        axes = plt.subplots(1, len(matrices), figsize=(width, 3.6), squeeze=False)[1][0]
    order = np.argsort(np.asarray(values, dtype=float), kind="stable")
    for ax, (name, K) in zip(axes, matrices.items()):
        image = ax.imshow(
            np.asarray(K, float)[np.ix_(order, order)], vmin=0, vmax=1, cmap="viridis"
        )
        ax.set(title=name, xlabel="policy, by return", xticks=[], yticks=[])
    axes[0].figure.colorbar(image, ax=list(axes), label="kernel value")
    return axes


def plot_model_weight(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the weight of the simulator against evaluated policies.

    Parameters
    ----------
    search : TrajectoryBO
        After a run.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    beta = [h["beta"] for h in search.history_]
    ax.step(np.arange(1, len(beta) + 1), beta, where="mid")
    ax.set(xlabel="policy", ylabel="weight β of the simulator", ylim=(-0.05, 1.05))
    return ax
