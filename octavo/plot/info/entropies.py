"""Pictures of information estimators: accuracy, bias, Gram matrices of distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_accuracy",
    "plot_bias_map",
    "plot_dependence_matrix",
    "plot_distribution_gram",
    "plot_estimate_by_size",
]


def plot_estimate_by_size(
    estimates: Mapping[str, ArrayLike],
    sizes: ArrayLike,
    truth: float,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean of estimates, one standard deviation to each side, over the sample size.

    Parameters
    ----------
    estimates : dict of str to array-like of shape (n_sizes, n_repeats)
        The estimates of each method at each size.
    sizes : array-like of shape (n_sizes,)
        Sample sizes.
    truth : float
        The true value, drawn as a line.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    sizes = np.asarray(sizes, dtype=float)
    for i, (name, values) in enumerate(estimates.items()):
        table = np.asarray(values, dtype=float)
        shift = 1.03 ** (i - 0.5 * (len(estimates) - 1))  # bars side by side
        ax.errorbar(
            sizes * shift, table.mean(axis=1), table.std(axis=1), marker="o", ms=3, label=name
        )
    ax.axhline(truth, color="0.3", linestyle="--", linewidth=1, label="truth")
    ax.set(xscale="log", xlabel="samples", ylabel="estimate")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_bias_map(
    bias: ArrayLike, ks: Sequence[int], dimensions: Sequence[int], *, ax: Axes | None = None
) -> Axes:
    """Draw the bias of an estimator over the number of neighbours and the dimension.

    Parameters
    ----------
    bias : array-like of shape (n_ks, n_dimensions)
        Mean estimate less truth.
    ks : sequence of int
        Numbers of neighbours.
    dimensions : sequence of int
        Dimensions.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.asarray(bias, dtype=float)
    reach = float(np.abs(table).max()) or 1.0
    image = ax.imshow(table, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto", origin="lower")
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            dark = abs(value) > 0.6 * reach
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize="x-small",
                    color="white" if dark else "0.2")  # fmt: skip
    ax.set_xticks(range(len(dimensions)), [str(d) for d in dimensions])
    ax.set_yticks(range(len(ks)), [str(k) for k in ks])
    ax.set(xlabel="dimension", ylabel="k")
    ax.figure.colorbar(image, ax=ax, label="bias")
    return ax


def plot_distribution_gram(
    gram: ArrayLike, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the Gram matrix of a kernel between distributions as a heat map.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        From `distribution_gram`.
    names : sequence of str, optional
        Names of the distributions; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.asarray(gram, dtype=float)
    image = ax.imshow(table, cmap="viridis")
    if names is not None:
        ax.set_xticks(range(len(names)), list(names), rotation=45, ha="right")
        ax.set_yticks(range(len(names)), list(names))
    ax.figure.colorbar(image, ax=ax, label="kernel")
    return ax


def plot_dependence_matrix(
    matrix: ArrayLike,
    blocks: Sequence[Sequence[int]] | None = None,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw pairwise dependence of variables, with groups of them framed.

    Parameters
    ----------
    matrix : array-like of shape (n_variables, n_variables)
        Pairwise dependence, such as mutual information; the diagonal is not shown.
    blocks : sequence of sequence of int, optional
        Groups of variables; rows and columns are drawn in their order.
    names : sequence of str, optional
        Names of the variables; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    table = np.array(matrix, dtype=float)
    np.fill_diagonal(table, np.nan)
    order = list(range(len(table))) if blocks is None else [i for b in blocks for i in b]
    image = ax.imshow(table[np.ix_(order, order)], cmap="magma")
    start = 0
    for block in blocks or []:
        size = len(block)
        frame = plt.Rectangle((start - 0.5, start - 0.5), size, size, fill=False, ec="C0", lw=2)
        ax.add_patch(frame)
        start += size
    shown = [str(i) if names is None else names[i] for i in order]
    ax.set_xticks(range(len(order)), shown, rotation=0 if names is None else 90)
    ax.set_yticks(range(len(order)), shown)
    ax.figure.colorbar(image, ax=ax, label="dependence")
    return ax


def plot_accuracy(table: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw bias and deviation of many estimators, in units of the deviation, with their numbers.

    Parameters
    ----------
    table : sequence of AccuracyRow
        From `accuracy_table`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default, high enough for all rows.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    if ax is None:
        ax = plt.subplots(figsize=(8.5, 1.2 + 0.2 * len(table)))[1]
    for i, row in enumerate(table):
        ratio = row.bias / row.deviation
        color = "C0" if abs(ratio) <= 1 else "C1" if abs(ratio) <= 3 else "C3"
        ax.errorbar(np.clip(ratio, -3.5, 3.5), i, xerr=1.0, fmt="o", ms=3, color=color, lw=1)
        numbers = f"n={row.n}  bias {row.bias:+.4f}  sd {row.deviation:.4f}"
        ax.text(1.01, i, numbers, transform=ax.get_yaxis_transform(), va="center", fontsize=6)
    ax.axvline(0.0, color="0.3", linewidth=1)
    ax.axvspan(-1, 1, color="0.93", zorder=0)
    ax.set_yticks(range(len(table)), [row.name for row in table], fontsize=6)
    ax.set(xlim=(-5, 5), ylim=(len(table) - 0.5, -0.5), xlabel="bias in deviations")
    return ax
