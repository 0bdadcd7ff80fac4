"""Pictures of ensembles of kernel machines: what they cost, share, and decide."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_ensemble_boundary",
    "plot_ensemble_tradeoff",
    "plot_machine_correlation",
    "plot_oob_error",
    "plot_shared_support",
]


def plot_ensemble_tradeoff(
    n_estimators: Sequence[int],
    max_samples: Sequence[int],
    accuracy: ArrayLike,
    seconds: ArrayLike,
    *,
    single: tuple[float, float] | None = None,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, Axes]:
    """Draw accuracy and training time by the number of machines, a line a sample size.

    Parameters
    ----------
    n_estimators : sequence of int
        Numbers of machines.
    max_samples : sequence of int
        Rows of a sample.
    accuracy : array-like of shape (len(n_estimators), len(max_samples))
        Test accuracy.
    seconds : array-like of shape (len(n_estimators), len(max_samples))
        Training time.
    single : tuple of two floats, optional
        Accuracy and training time of one machine on all rows, drawn as a dashed line.
    axes : sequence of two matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : tuple of two matplotlib axes
        The axes of accuracy and of time.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")[1]
    left, right = axes
    for ax, values, label in ((left, accuracy, "accuracy"), (right, seconds, "training time (s)")):
        for j, size in enumerate(max_samples):
            ax.plot(
                n_estimators, np.asarray(values)[:, j], "o-", markersize=4, label=f"{size} rows"
            )
        ax.set(xlabel="machines", ylabel=label)
    if single is not None:
        for ax, value in zip((left, right), single):
            ax.axhline(value, color="0.4", linestyle="--", linewidth=1, label="one SVM, all rows")
    right.set_yscale("log")
    left.legend(frameon=False)
    return left, right


def plot_shared_support(ensemble: Any, *, ax: Axes | None = None) -> Axes:
    """Draw distinct support vectors and their sum over machines as machines are added.

    Parameters
    ----------
    ensemble : EnsembleSVC
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    n_machines = ensemble.intercept_.shape[0]
    used = ensemble.dual_coef_.tocsc()
    columns = used.shape[1] // n_machines  # as many as classes where there are more than two
    ends = used.indptr[columns::columns]
    distinct = [len(np.unique(used.indices[:end])) for end in ends]
    count = np.arange(1, n_machines + 1)
    ax.plot(count, ends, "s--", markersize=3, color="0.5", label="of all machines")
    ax.plot(count, distinct, "o-", markersize=3, label="distinct, in the pool")
    ax.set(xlabel="machines", ylabel="support vectors", ylim=(0, None))
    ax.legend(frameon=False)
    return ax


def plot_oob_error(
    ensemble: Any, n_estimators: Sequence[int] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the error out of bag of the first machines, more and more of them.

    Parameters
    ----------
    ensemble : EnsembleSVC
        Fitted with ``oob_score=True`` and an aggregation that is not trained.
    n_estimators : sequence of int, optional
        Numbers of machines to draw; all by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    n_machines = ensemble.intercept_.shape[0]
    shown = range(1, n_machines + 1) if n_estimators is None else n_estimators
    errors = []
    with warnings.catch_warnings():  # few machines leave few rows out; that is what is drawn
        warnings.simplefilter("ignore", UserWarning)
        for count in shown:
            first = ensemble.prune((np.arange(n_machines) < count).astype(float))
            errors.append(100 * (1 - first.oob_score_))
    ax.plot(list(shown), errors, "o-", markersize=3)
    ax.set(xlabel="machines", ylabel="error out of bag (%)")
    return ax


def plot_machine_correlation(ensemble: Any, X: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the correlation of the decision values of every two machines.

    Parameters
    ----------
    ensemble : EnsembleSVC
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows to decide on.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    values = np.asarray(ensemble.base_decision_function(X))
    if values.ndim == 3:  # all classes of a machine together
        values = values.transpose(0, 2, 1).reshape(-1, values.shape[1])
    correlation = np.atleast_2d(np.corrcoef(values, rowvar=False))
    image = ax.imshow(correlation, vmax=1.0, cmap="viridis")
    ax.set(xlabel="machine", ylabel="machine")
    ax.figure.colorbar(image, ax=ax, label="correlation of decision values")
    return ax


def plot_ensemble_boundary(
    ensemble: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_grid: int = 150,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the machines change their mind (thin) and where the ensemble does (thick).

    Parameters
    ----------
    ensemble : EnsembleSVC
        Fitted on two features and two classes.
    X : array-like of shape (n_samples, 2)
        Rows to draw.
    y : array-like of shape (n_samples,)
        Their labels.
    n_grid : int, default=150
        Points of the grid a side.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    X, y = np.asarray(X), np.asarray(y)
    if X.shape[1] != 2 or len(ensemble.classes_) != 2:
        raise ValueError(
            f"A boundary is drawn for two features and two classes; got {X.shape[1]} features and "
            f"{len(ensemble.classes_)} classes."
        )
    ax = ax or plt.subplots()[1]
    sides = [np.linspace(column.min(), column.max(), n_grid) for column in X.T]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    values = ensemble.base_decision_function(grid.reshape(-1, 2)).reshape(n_grid, n_grid, -1)
    whole = ensemble.decision_function(grid.reshape(-1, 2)).reshape(n_grid, n_grid)
    for label, colour in zip(ensemble.classes_, ("C0", "C1")):
        rows = X[y == label]
        ax.plot(*rows.T, ".", markersize=2, color=colour, alpha=0.4, label=str(label))
    for b in range(values.shape[2]):
        ax.contour(*sides, values[:, :, b], levels=[0.0], colors="0.4", linewidths=0.4)
    ax.contour(*sides, whole, levels=[0.0], colors="k", linewidths=2.0)
    ax.set(xlabel="feature 0", ylabel="feature 1")
    return ax
