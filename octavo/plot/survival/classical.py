"""Pictures of survival: groups with their curves and test, ROC curves at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy.special import ndtri

from octavo._outside_text import literal
from octavo.engine.survival.curves import greenwood, kaplan_meier
from octavo.engine.survival.groups import logrank

__all__ = ["plot_risk_groups", "plot_time_roc"]


def plot_risk_groups(
    event: ArrayLike,
    time: ArrayLike,
    groups: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Kaplan-Meier curve of each group with its band, and the log-rank test (Figure 13).

    Parameters
    ----------
    event, time : array-like of shape (n_samples,)
        What was observed.
    groups : array-like of shape (n_samples,)
        Labels.
    names : sequence of str, optional
        What the groups are called, in the order of their labels.
    level : float, default=0.95
        Coverage of the bands, pointwise, by Greenwood's formula for log(-log S).
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    event, time = np.asarray(event, bool), np.asarray(time, float)
    labels, codes = np.unique(np.asarray(groups), return_inverse=True)
    reach = float(ndtri(0.5 + 0.5 * level))
    for k, label in enumerate(labels):
        rows = codes == k
        curve = kaplan_meier(event[rows], time[rows])
        error = greenwood(event[rows], time[rows])
        at = np.concatenate([[0.0], curve.times])
        S, width = curve(at), np.exp(reach * error(at))
        name = literal(names[k] if names is not None else label)
        ax.step(at, S, where="post", color=f"C{k}", label=f"{name} ({rows.sum()})")
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = S**width, S ** (1.0 / width)
        ax.fill_between(at, low, high, step="post", color=f"C{k}", alpha=0.15)
    if len(labels) > 1 and event.any():
        statistic, p = logrank(event, time, codes.ravel(), len(labels))
        ax.set_title(f"log-rank {statistic:.1f}, p = {p:.2g}", fontsize="medium")
    ax.set(xlabel="time", ylabel="share without the event", ylim=(-0.02, 1.02))
    ax.legend(frameon=False)
    return ax


def plot_time_roc(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw ROC curves of risks at a time, with their areas (Figure 10, right).

    Parameters
    ----------
    curves : mapping of str to TimeDependentROC
        What `time_dependent_roc` returned, by name.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, curve in curves.items():
        ax.plot(curve.fpr, curve.tpr, label=f"{literal(name)} ({curve.auc:.2f})")
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    ax.set(xlabel="false positives", ylabel="true positives", aspect="equal")
    ax.legend(frameon=False)
    return ax
