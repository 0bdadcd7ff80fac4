"""Pictures of graphs to come: matrices side by side, scores over time, spectra, coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_auc_by_length",
    "plot_graph_forecast",
    "plot_graph_spectrum",
    "plot_phase_transition",
    "plot_var_coefficients",
]


def plot_graph_forecast(A: Any, scores: Any, *, axes: Any = None) -> Any:
    """Draw the matrix that came beside the one that was foreseen.

    Parameters
    ----------
    A : matrix of shape (n, m)
        What came, dense or sparse.
    scores : matrix of shape (n, m)
        What was foreseen.
    axes : sequence of two matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : sequence of matplotlib axes
        Rows and columns from the heaviest on; one scale of colours for both.
    """
    axes = plt.subplots(1, 2, layout="constrained")[1] if axes is None else axes
    came, foreseen = (M.toarray() if hasattr(M, "toarray") else np.asarray(M) for M in (A, scores))
    order = np.ix_(
        np.argsort(-came.sum(axis=1), kind="stable"), np.argsort(-came.sum(axis=0), kind="stable")
    )
    top = max(float(np.abs(came).max()), 1e-300)
    titles = ("came", "foreseen")
    for ax, matrix, title in zip(axes, (came, foreseen), titles, strict=True):
        ax.imshow(matrix[order], cmap="Greys", vmin=0, vmax=top, interpolation="nearest")
        ax.set(title=title, xlabel="column, by weight")
    axes[0].set(ylabel="row, by weight")
    return axes


def plot_auc_by_length(
    lengths: ArrayLike, scores: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw how well links are predicted as the series grows.

    Parameters
    ----------
    lengths : array-like
        Numbers of snapshots.
    scores : mapping of str to array-like of shape (n_lengths,) or (n_lengths, n_repeats)
        Of each method; means and their 95 % intervals are drawn where there are repeats.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in scores.items():
        table = np.asarray(values, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        spread = 1.96 * table.std(axis=1) / np.sqrt(table.shape[1])
        ax.errorbar(np.asarray(lengths), table.mean(axis=1), spread, marker="o", label=name)
    ax.set(xlabel="snapshots", ylabel="area under the ROC curve")
    ax.legend(frameon=False)
    return ax


def plot_phase_transition(
    ranks: ArrayLike, lengths: ArrayLike, auc: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw how well links are predicted for each rank and each length of the series.

    Parameters
    ----------
    ranks, lengths : array-like
        As given to `phase_transition`.
    auc : array-like of shape (n_ranks, n_lengths)
        What it returned.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    image = ax.imshow(np.asarray(auc, dtype=float), origin="lower", aspect="auto", cmap="viridis")
    ax.set_xticks(np.arange(len(np.asarray(lengths))), np.asarray(lengths))
    ax.set_yticks(np.arange(len(np.asarray(ranks))), np.asarray(ranks))
    ax.set(xlabel="snapshots", ylabel="rank")
    ax.figure.colorbar(image, ax=ax, label="area under the ROC curve")
    return ax


def plot_graph_spectrum(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the singular values of the graph that is foreseen.

    Parameters
    ----------
    model : AutoregressiveLinkPredictor
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = model.singular_values_
    ax.stem(np.arange(1, len(values) + 1), values, basefmt=" ")
    ax.set(xlabel="number", ylabel="singular value")
    return ax


def plot_var_coefficients(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the coefficients of an autoregression: which feature feeds which.

    Parameters
    ----------
    model : AutoregressiveLinkPredictor or SparseVAR
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Rows are earlier features, columns later ones; lags stand below each other.
    """
    ax = ax or plt.subplots()[1]
    coef = np.atleast_2d(model.var_coef_ if hasattr(model, "var_coef_") else model.coef_)
    top = max(float(np.abs(coef).max()), 1e-300)
    image = ax.imshow(coef, cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto")
    ax.set(xlabel="feature, next", ylabel="feature, now (and before)")
    ax.figure.colorbar(image, ax=ax, label="coefficient")
    return ax
