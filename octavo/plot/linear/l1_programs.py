"""Pictures of solution paths in λ: of coefficients and of linear programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_l1_path", "plot_lp_path"]


def _draw_lines(ax: Axes, alphas: np.ndarray, values: np.ndarray, names: Sequence[str]) -> None:
    """Draw the columns of `values` over λ, the largest ten with names; mark the breakpoints."""
    order = np.argsort(-np.abs(values).max(axis=0), kind="stable")
    for rank, j in enumerate(order):
        named = {"label": names[j]} if rank < 10 else {"color": "0.75", "linewidth": 0.8}
        ax.plot(alphas, values[:, j], zorder=3 if rank < 10 else 2, **named)
    for alpha in alphas:
        ax.axvline(alpha, color="0.93", linewidth=0.6, zorder=0)
    ax.axhline(0.0, color="0.4", linewidth=0.6)
    ax.set(xlabel="λ (breakpoints in grey)")
    ax.invert_xaxis()
    if len(order):
        ax.legend(frameon=False, fontsize="small", ncols=2)


def plot_l1_path(
    path: Any, *, names: Sequence[str] | None = None, log: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw the coefficients of a path against λ, with its breakpoints.

    Parameters
    ----------
    path : L1Path
        A column of a `ClimePath` (``path.columns[i]``) or `DantzigSelector.path_`.
    names : sequence of str, optional
        Names of all features; their numbers by default. The ten largest are shown.
    log : bool, default=False
        Whether to draw λ on a logarithmic scale.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    used = np.unique(path.coefs.indices)
    names = [str(j) if names is None else names[j] for j in used]
    _draw_lines(ax, path.alphas, path.coefs[:, used].toarray(), names)
    if log:
        ax.set_xscale("log")
    ax.set(ylabel="coefficient")
    if path.status == "infeasible":
        ax.axvline(path.alpha_end, color="C3", linestyle="--", linewidth=1)
        ax.set_title(f"no λ below {path.alpha_end:.3g} is feasible", fontsize="small", color="C3")
    return ax


def plot_lp_path(path: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the solution of a parametric linear program against λ.

    Parameters
    ----------
    path : LPPath
        From `parametric_simplex`.
    names : sequence of str, optional
        Names of all variables; x1, x2, ... by default. The ten largest are shown.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    # Where a cost depends on λ the solution jumps: look just inside both ends of each segment.
    ends = np.stack([path.lambdas[:-1], path.lambdas[1:]], axis=1)
    inside = (ends + 1e-9 * (ends[:, ::-1] - ends)).ravel()
    alphas = inside if inside.size else path.lambdas
    values = np.array([path.at(alpha) for alpha in alphas])
    used = np.flatnonzero(np.abs(values).max(axis=0) > 0)
    shown = [f"x{j + 1}" if names is None else names[int(j)] for j in used]
    _draw_lines(ax, alphas, values[:, used], shown)
    ax.set(ylabel="optimal x")
    if path.status != "optimal":
        ax.set_title(
            f"{path.status} below λ = {path.lambdas[-1]:.3g}", fontsize="small", color="C3"
        )
    return ax
