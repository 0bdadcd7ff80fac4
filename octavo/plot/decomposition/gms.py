"""Pictures of robust subspaces, robust scatter and matrices split in two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike

__all__ = [
    "plot_background",
    "plot_objective_descent",
    "plot_precision_spectrum",
    "plot_recovery_map",
    "plot_residual_histogram",
    "plot_shape_ellipses",
]


def plot_precision_spectrum(
    eigenvalues: ArrayLike,
    *,
    n_components: int | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the eigenvalues of a robust precision on a logarithmic axis, with the chosen gap.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_features,)
        Eigenvalues, such as `GeometricMedianSubspace.eigenvalues_`; zeros are drawn at rounding.
    n_components : int, optional
        Dimension of the subspace: the gap behind the D - d largest is shaded.
    label : str, optional
        Name of the points in the legend.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = np.sort(np.asarray(eigenvalues, dtype=float))[::-1]
    values = np.maximum(values, np.finfo(float).eps * values[0])
    ax.semilogy(np.arange(1, len(values) + 1), values, ".", label=label)
    if n_components is not None and 0 < n_components < len(values):
        last = len(values) - n_components
        ax.axvspan(last, last + 1, color="C1", alpha=0.3, linewidth=0)
        ax.set_title(f"gap behind {last}: dimension {n_components}", fontsize="small")
    ax.set(xlabel="number", ylabel="eigenvalue of Q")
    if label is not None:
        ax.legend(frameon=False)
    return ax


def plot_residual_histogram(
    distances: ArrayLike, is_inlier: ArrayLike | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how far rows are from a subspace, inliers apart from outliers where they are known.

    Parameters
    ----------
    distances : array-like of shape (n_samples,)
        Distances, such as the negative of `GeometricMedianSubspace.score_samples`.
    is_inlier : array-like of shape (n_samples,), optional
        True for inliers.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    distances = np.asarray(distances, dtype=float)
    bins = np.histogram_bin_edges(distances, bins=40).tolist()
    if is_inlier is None:
        ax.hist(distances, bins=bins, color="C0")
    else:
        inside = np.asarray(is_inlier, dtype=bool)
        ax.hist(distances[inside], bins=bins, alpha=0.7, label="inliers")
        ax.hist(distances[~inside], bins=bins, alpha=0.7, label="outliers")
        ax.legend(frameon=False)
    ax.set(xlabel="distance to the subspace", ylabel="rows")
    return ax


def plot_recovery_map(
    dimension_shares: Sequence[float],
    outlier_shares: Sequence[float],
    probability: ArrayLike,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often a subspace is recovered, by its dimension and the share of outliers.

    Parameters
    ----------
    dimension_shares : sequence of float
        Values of d / D, one a column.
    outlier_shares : sequence of float
        Shares of outliers, one a row.
    probability : array-like of shape (n_outlier_shares, n_dimension_shares)
        How often the subspace was recovered.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    image = ax.pcolormesh(
        np.asarray(dimension_shares),
        np.asarray(outlier_shares),
        np.asarray(probability),
        vmin=0.0,
        vmax=1.0,
        cmap="viridis",
        shading="nearest",
    )
    ax.figure.colorbar(image, ax=ax, label="share of runs with exact recovery")
    ax.set(xlabel="d / D", ylabel="share of outliers")
    return ax


def plot_objective_descent(
    paths: ArrayLike | Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw how far the objective is above its last value, iteration by iteration.

    Parameters
    ----------
    paths : array-like or dict of str to array-like
        Objectives, such as `GeometricMedianSubspace.objectives_`, one curve each.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    named = paths if isinstance(paths, Mapping) else {"": paths}
    for name, path in named.items():
        values = np.asarray(path, dtype=float)
        above = np.maximum((values - values.min()) / values.min(), np.finfo(float).eps)
        ax.semilogy(np.arange(len(values)), above, ".-", label=name)
    ax.set(xlabel="iteration", ylabel="objective above the smallest, relative")
    if any(named):
        ax.legend(frameon=False)
    return ax


def plot_background(
    frame: ArrayLike,
    background: ArrayLike,
    shape: tuple[int, int],
    *,
    axes: Sequence[Axes] | None = None,
) -> np.ndarray:
    """Draw a frame, the background that a subspace or a low rank gives it, and what is left.

    Parameters
    ----------
    frame : array-like of shape (n_pixels,)
        The picture as a row of the data.
    background : array-like of shape (n_pixels,)
        Its part of low rank.
    shape : tuple of int
        Height and width.
    axes : sequence of three matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : ndarray of matplotlib axes
        The three axes.
    """
    if axes is None:
        axes = plt.subplots(1, 3, figsize=(9, 3))[1]
    frame, background = np.asarray(frame).reshape(shape), np.asarray(background).reshape(shape)
    low, high = float(frame.min()), float(frame.max())
    parts = {"frame": frame, "background": background}
    for ax, (title, picture) in zip(axes, parts.items()):
        ax.imshow(picture, cmap="gray", vmin=low, vmax=high)
        ax.set_title(title, fontsize="small")
    axes[2].imshow(np.abs(frame - background), cmap="gray_r")
    axes[2].set_title("foreground", fontsize="small")
    for ax in axes:
        ax.set_axis_off()
    return np.asarray(axes)


def plot_shape_ellipses(
    X: ArrayLike, scatters: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw two features and the ellipses of several scatter matrices, all of the same area.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Rows.
    scatters : dict of str to array-like of shape (2, 2)
        Scatter matrices under the names to show; only their shapes are compared.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X = np.asarray(X, dtype=float)
    ax.plot(X[:, 0], X[:, 1], ".", color="0.6", markersize=3)
    reach = 2.0 * np.median(np.linalg.norm(X, axis=1))
    for number, (name, scatter) in enumerate(scatters.items()):
        values, vectors = np.linalg.eigh(np.asarray(scatter, dtype=float))
        axes_lengths = 2.0 * reach * np.sqrt(values / np.sqrt(values.prod()))
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        ellipse = Ellipse(
            (0.0, 0.0),
            axes_lengths[1],
            axes_lengths[0],
            angle=angle,
            fill=False,
            color=f"C{number}",
            linewidth=1.5,
            label=name,
        )
        ax.add_patch(ellipse)
    ax.set(xlim=(-3 * reach, 3 * reach), ylim=(-3 * reach, 3 * reach))
    ax.set_aspect("equal")
    ax.legend(frameon=False)
    return ax
