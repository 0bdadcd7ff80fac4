"""Pictures of mixtures, their overlap, and of clustering algorithms judged by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo.plot.ellipses import covariance_ellipse

__all__ = ["plot_mixture", "plot_overlap_map", "plot_parallel_distribution", "plot_referee"]


def plot_mixture(
    mixture: Any,
    X: Any = None,
    y: Any = None,
    *,
    dims: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Draw a mixture's components as ellipses of one and two standard deviations.

    Parameters
    ----------
    mixture : GaussianMixtureSpec
        The mixture.
    X, y : array-like, optional
        Points to draw too, and their components.
    dims : tuple of int, default=(0, 1)
        The two coordinates to draw.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    pair = list(dims)
    if X is not None:
        labels = np.zeros(len(X), dtype=int) if y is None else np.asarray(y)
        colours = ["0.6" if label < 0 else f"C{label % 10}" for label in labels]
        across, up = np.asarray(X)[:, pair].T
        ax.scatter(across, up, c=colours, s=6, alpha=0.6, linewidths=0)
    for k, (mean, cov) in enumerate(zip(mixture.means, mixture.covariances)):
        for reach in (1, 2):
            style = {"color": f"C{k % 10}", "linewidth": 1.4 / reach}
            ax.add_patch(covariance_ellipse(mean, cov, pair, reach, **style))
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.set(xlabel=f"coordinate {dims[0]}", ylabel=f"coordinate {dims[1]}")
    return ax


def plot_overlap_map(overlap: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the probabilities that points of one component are taken for another's.

    Parameters
    ----------
    overlap : OverlapMap
        As `GaussianMixtureSpec.overlap_map` returns.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    shown = np.array(overlap.omega)
    np.fill_diagonal(shown, np.nan)
    image = ax.imshow(shown, cmap="magma_r")
    ax.figure.colorbar(image, ax=ax, label="probability")
    K = len(shown)
    ax.set(xlabel="taken for", ylabel="component", xticks=range(K), yticks=range(K))
    return ax


def plot_referee(referee: Any, *, metric: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw median scores against overlap, with bands between the quartiles.

    Parameters
    ----------
    referee : ClusteringReferee
        One that has run.
    metric : str, optional
        Which metric; the first by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    records = referee.records_
    metric = metric or records[0]["metric"]
    names = list(dict.fromkeys(row["clusterer"] for row in records))
    overlaps = sorted({row["overlap"] for row in records})
    for i, name in enumerate(names):
        bands = []
        for overlap in overlaps:
            scores = [
                row["score"]
                for row in records
                if (row["clusterer"], row["overlap"], row["metric"]) == (name, overlap, metric)
            ]
            bands.append(np.nanquantile(scores, [0.25, 0.5, 0.75]))
        low, median, high = np.array(bands).T
        ax.plot(overlaps, median, "o-", color=f"C{i}", label=name, markersize=4)
        ax.fill_between(overlaps, low, high, color=f"C{i}", alpha=0.15, linewidth=0)
    ax.set(xlabel="overlap", ylabel=metric.replace("_", " "), xscale="log")
    ax.legend(frameon=False)
    return ax


def plot_parallel_distribution(
    mixture: Any, *, levels: Sequence[float] = (0.5, 0.9, 0.99), ax: Axes | None = None
) -> Axes:
    """Draw every component in parallel coordinates of the mixture's principal directions.

    Parameters
    ----------
    mixture : GaussianMixtureSpec
        The mixture, of any number of dimensions.
    levels : sequence of float, default=(0.5, 0.9, 0.99)
        Central shares of each marginal distribution that the bands cover.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from scipy.special import ndtri

    ax = ax or plt.subplots()[1]
    weights, means = mixture.weights, mixture.means
    centre = weights @ means
    total = np.einsum("k,kab->ab", weights, mixture.covariances)
    total = total + ((means - centre).T * weights) @ (means - centre)
    values, directions = np.linalg.eigh(total)
    directions = directions[:, ::-1] / np.sqrt(values[::-1])
    where = np.arange(1, means.shape[1] + 1)
    for k, (mean, cov) in enumerate(zip(means, mixture.covariances)):
        middle = (mean - centre) @ directions
        spread = np.sqrt(np.einsum("ab,ac,cb->b", directions, cov, directions))
        for level in levels:
            reach = ndtri(0.5 + level / 2) * spread
            ax.fill_between(
                where, middle - reach, middle + reach, color=f"C{k % 10}", alpha=0.12, linewidth=0
            )
        ax.plot(where, middle, color=f"C{k % 10}", linewidth=1.2)
    ax.set(xlabel="principal direction", ylabel="standardised coordinate", xticks=where)
    return ax
