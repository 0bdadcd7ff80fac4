"""Pictures of survival: groups with their curves and test, ROC curves at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from octavo._outside_text import literal

__all__ = ["plot_risk_groups", "plot_time_roc"]


def plot_risk_groups(
    curves: Mapping[str, Any],
    *,
    errors: Mapping[str, Any] | None = None,
    p_value: float | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Kaplan-Meier curves of groups, and the log-rank test between them (Figure 13).

    Parameters
    ----------
    curves : mapping of str to Steps
        What `kaplan_meier` returned for each group, by its name.
    errors : mapping of str to Steps, optional
        Standard errors of log(-log S), for bands around the curves.
    p_value : float, optional
        Of `logrank_test`, for the title.
    level : float, default=0.95
        Coverage of the bands, pointwise.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    reach = float(ndtri(0.5 + 0.5 * level))
    for k, (name, curve) in enumerate(curves.items()):
        at = np.concatenate([[0.0], curve.times])
        S = curve(at)
        ax.step(at, S, where="post", color=f"C{k}", label=literal(name))
        if errors is not None:
            width = np.exp(reach * errors[name](at))
            low, high = S**width, S ** (1.0 / width)
            ax.fill_between(at, low, high, step="post", color=f"C{k}", alpha=0.15)
    if p_value is not None:
        ax.set_title(f"log-rank p = {p_value:.2g}", fontsize="medium")
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
