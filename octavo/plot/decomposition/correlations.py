"""Pictures of canonical correlations."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_canonical_variates"]


def plot_canonical_variates(
    model: Any, X: Any, Y: Any, component: int = 0, *, color: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the variates of one set of variables against those of the other.

    Parameters
    ----------
    model : ExactCCA or KernelCCA
        Fitted.
    X : array-like of shape (n_samples, n_x_features)
        Rows of the first set.
    Y : array-like of shape (n_samples, n_y_features)
        Rows of the other.
    component : int, default=0
        Which pair.
    color : array-like of shape (n_samples,), optional
        Numbers that colour the points.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        One dot per row; the title has the correlation on these rows.
    """
    ax = ax or plt.subplots()[1]
    u, v = (variates[:, component] for variates in model.transform(X, Y))
    ax.scatter(u, v, s=12, c="C0" if color is None else np.asarray(color))
    r = float(np.corrcoef(u, v)[0, 1])
    ax.set(
        xlabel=f"variate {component} of X",
        ylabel=f"variate {component} of Y",
        title=f"correlation {r:.3f}",
    )
    return ax
