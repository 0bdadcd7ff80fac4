"""Pictures of matrices of fixed rank: descents, fits on a plane, errors by rank, learned maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_cost_descent",
    "plot_error_by_rank",
    "plot_form_ellipse",
    "plot_learned_map",
]


def plot_cost_descent(histories: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw costs over iterations, a curve for each fit.

    Parameters
    ----------
    histories : mapping of str to array-like
        Names, and costs such as `FixedRankPSDRegressor.cost_history_`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, costs in histories.items():
        values = np.maximum(np.asarray(costs, dtype=float), np.finfo(float).tiny)
        ax.semilogy(np.arange(len(values)), values, label=name)
    ax.set(xlabel="step", ylabel="cost")
    ax.legend(frameon=False)
    return ax


def plot_form_ellipse(model: Any, A: ArrayLike, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw a fit of rank two: rows within the learned plane, scaled so that the fit is an ellipse.

    Parameters
    ----------
    model : FixedRankPSDRegressor
        Fitted, of rank two.
    A : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets; rows with a target above zero are drawn, at Uᵀa/√y.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes. A perfect fit has all points on the ellipse.
    """
    basis, root = np.asarray(model.basis_), np.asarray(model.R_)
    if basis.shape[1] != 2:
        raise ValueError(f"An ellipse needs a model of rank 2; this one has {basis.shape[1]}.")
    ax = ax or plt.subplots()[1]
    y = np.asarray(y, dtype=float)
    kept = y > 0.0
    points = np.asarray(A, dtype=float)[kept] @ basis / np.sqrt(y[kept])[:, None]
    ax.plot(points[:, 0], points[:, 1], ".", markersize=3)
    angles = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    ellipse = circle @ np.linalg.pinv(root)  # x with ‖Rᵀx‖ = 1
    ax.plot(ellipse[:, 0], ellipse[:, 1], color="C1")
    ax.set_aspect("equal")
    ax.set(xlabel="first direction", ylabel="second direction")
    return ax


def plot_error_by_rank(
    ranks: ArrayLike, errors: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw test errors over the rank, a curve for each method.

    Parameters
    ----------
    ranks : array-like of shape (n_ranks,)
        Ranks.
    errors : mapping of str to array-like of shape (n_ranks,)
        Names, and errors in percent.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, values in errors.items():
        ax.plot(np.asarray(ranks), np.asarray(values, dtype=float), "o-", label=name)
    ax.set(xlabel="rank", ylabel="error (%)", ylim=(0, None))
    ax.legend(frameon=False)
    return ax


def plot_learned_map(Z: ArrayLike, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the first two columns of mapped rows, coloured by class.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        Mapped rows, such as `LowRankMahalanobis.transform` returns; one column is drawn on a line.
    y : array-like of shape (n_samples,)
        Classes.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    Z, y = np.asarray(Z, dtype=float), np.asarray(y)
    second = Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
    for label in np.unique(y):
        chosen = y == label
        ax.plot(Z[chosen, 0], second[chosen], ".", markersize=4, label=str(label))
    ax.set(xlabel="first direction", ylabel="second direction")
    ax.legend(frameon=False, fontsize="small")
    return ax
