"""Pictures of Gaussian mixtures."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo.plot.ellipses import covariance_ellipse

__all__ = ["plot_gmm_reduction"]


def plot_gmm_reduction(mixture: Any, reduced: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a Gaussian mixture and what it was reduced to, group by group.

    Parameters
    ----------
    mixture : GaussianMixture or (weights, means, covariances)
        What was reduced; its first two features are shown.
    reduced : GMMReduction
        The fitted reduction.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    if hasattr(mixture, "means_"):
        parts = (mixture.weights_, mixture.means_, mixture.covariances_)
    else:
        parts = mixture
    weights, means, covars = (np.asarray(part, dtype=float) for part in parts)
    n, d = means.shape
    if d < 2:
        raise ValueError(f"A mixture of two features at least is needed, got {d}.")
    if getattr(mixture, "covariance_type", "") == "tied":
        covars = np.repeat(covars[None], n, axis=0)
    colors = plt.get_cmap("tab10")(np.arange(len(reduced.weights_)) % 10)
    for i in range(n):
        style = {"facecolor": colors[reduced.labels_[i]], "lw": 0}
        shade = 0.08 + 0.35 * weights[i] / weights.max()
        matrix = _matrix(covars[i])
        ax.add_patch(
            covariance_ellipse(means[i], matrix, [0, 1], 2.0, fill=True, alpha=shade, **style)
        )
    for j, covar in enumerate(np.asarray(reduced.covariances_)):
        outline = {"edgecolor": colors[j], "linewidth": 2}
        ax.add_patch(covariance_ellipse(reduced.means_[j], _matrix(covar), [0, 1], 2.0, **outline))
    ax.scatter(*reduced.means_[:, :2].T, color=colors, zorder=3)
    ax.autoscale_view()
    ax.set(xlabel="feature 0", ylabel="feature 1")
    return ax


def _matrix(covar: Any) -> Any:
    """Return the covariance of the first two features from a matrix, variances or one variance."""
    if np.ndim(covar) == 2:
        return covar[:2, :2]
    return np.eye(2) * (covar if np.ndim(covar) == 0 else covar[:2])
