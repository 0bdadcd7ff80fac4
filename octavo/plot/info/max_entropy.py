"""Pictures of distributions of largest entropy."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_gibbs_distribution"]


def plot_gibbs_distribution(
    model: Any, points: ArrayLike | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw a distribution beside the prior that it is nearest to.

    Parameters
    ----------
    model : MaxEntDistribution
        Fitted.
    points : array-like of shape (n_points,), optional
        Where the support points lie; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Bars for few points, a curve for many; the prior is grey.
    """
    ax = ax or plt.subplots()[1]
    prob = np.asarray(model.prob_)
    x = np.arange(len(prob)) if points is None else np.asarray(points, dtype=float)
    prior = np.ones(len(prob)) if model.prior is None else np.asarray(model.prior, dtype=float)
    prior = prior / prior.sum()
    if len(prob) <= 40:
        gap = float(np.diff(np.sort(x)).min()) if len(x) > 1 else 1.0
        ax.bar(x, prior, width=0.8 * gap, color="0.85", label="prior")
        ax.bar(x, prob, width=0.45 * gap, color="C0", label="Gibbs")
    else:
        order = np.argsort(x)
        ax.fill_between(x[order], prior[order], color="0.85", label="prior")
        ax.plot(x[order], prob[order], color="C0", label="Gibbs")
    ax.set(xlabel="support", ylabel="probability", title=f"entropy {model.entropy_:.4g} nats")
    ax.legend()
    return ax
