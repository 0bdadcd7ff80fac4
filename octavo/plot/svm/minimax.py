"""Pictures of minimax probability machines: touching ellipsoids, guarantees, accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot.ellipses import covariance_ellipse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_accuracy_by",
    "plot_guarantee_by_uncertainty",
    "plot_guarantee_curve",
    "plot_moment_ellipsoids",
]


def _reach_and_ridges(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return κ and what a machine adds to the covariance, for each class."""
    if hasattr(model, "A_"):  # Eq. (3.16)
        kappa = model.kappa_
        return np.full(2, kappa), model.A_ + model.offset_ / kappa**2
    kappas = model.kappas_ if hasattr(model, "kappas_") else np.full(2, model.kappa_)
    return kappas, np.full(2, model.alpha_)


def plot_moment_ellipsoids(model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Axes:
    """Draw two classes in the plane, the ellipsoids of a machine, and where they touch.

    Parameters
    ----------
    model : MinimaxProbabilityMachine, HighProbabilityMPM, BiasedMPM or MinimumErrorMPM
        A machine without kernel, fitted to these rows, that has a guarantee to show.
    X : array-like of shape (n_samples, 2)
        Rows.
    y : array-like of shape (n_samples,)
        Their classes.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if X.shape[1] != 2 or not hasattr(model, "coef_"):
        raise ValueError(f"Ellipsoids are drawn for linear machines of 2 features, got {X.shape}.")
    reaches, ridges = _reach_and_ridges(model)
    for j, (label, reach, ridge) in enumerate(zip(model.classes_, reaches, ridges)):
        rows = X[y == label]
        cov = np.cov(rows.T, bias=True) + ridge * np.eye(2)
        mean = rows.mean(axis=0)
        ax.plot(*rows.T, "o", markersize=3, alpha=0.5, color=f"C{j}", label=str(label))
        ax.plot(*mean, "+", markersize=10, color=f"C{j}")
        ax.add_patch(covariance_ellipse(mean, cov, [0, 1], reach, color=f"C{j}"))
    w, b = model.coef_.ravel(), -float(model.intercept_[0])
    ax.axline(w * b / (w @ w), w * b / (w @ w) + np.array([-w[1], w[0]]), color="black")
    ax.set_aspect("equal")
    ax.set_title(f"worst-case error {model.worst_case_error_:.3f}")
    ax.legend(frameon=False)
    return ax


def plot_guarantee_by_uncertainty(
    model: Any, X: Any, y: Any, *, n_points: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw κ and the worst-case error as the allowed uncertainty grows to the largest feasible.

    Parameters
    ----------
    model : HighProbabilityMPM
        A machine; copies of it are fitted.
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Their classes.
    n_points : int, default=40
        Number of shares.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    from sklearn.base import clone

    ax = ax or plt.subplots()[1]
    top = clone(model).set_params(uncertainty="auto").fit(X, y).nu_max_
    shares = top * np.geomspace(1e-6, 0.999, n_points)
    fitted = [clone(model).set_params(uncertainty=nu).fit(X, y) for nu in shares]
    ax.plot(shares, [m.kappa_ for m in fitted], label="κ")
    ax.plot(shares, [m.worst_case_error_ for m in fitted], "--", label="worst-case error")
    ax.axvline(top, color="grey", linewidth=0.8)
    ax.annotate("largest feasible", (top, 0), rotation=90, ha="right", va="bottom", fontsize=8)
    ax.set(xscale="log", xlabel="share ν of the uncertainty")
    ax.legend(frameon=False)
    return ax


def plot_accuracy_by(
    values: Sequence[float],
    accuracies: Mapping[str, Any],
    *,
    xlabel: str = "share of the rows for training",
    ax: Axes | None = None,
) -> Axes:
    """Draw mean accuracies with bands of two standard errors, against a share or a rate.

    Parameters
    ----------
    values : sequence of float
        Training shares, rates of label noise or the like.
    accuracies : mapping of str to array-like of shape (n_values, n_repeats)
        Accuracies of each algorithm, under the name to show.
    xlabel : str, default="share of the rows for training"
        What the values are.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, scores in accuracies.items():
        scores = np.asarray(scores, dtype=float)
        mean = scores.mean(axis=1)
        band = 2 * scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        (line,) = ax.plot(values, mean, "o-", markersize=3, label=name)
        ax.fill_between(values, mean - band, mean + band, color=line.get_color(), alpha=0.15)
    ax.set(xlabel=xlabel, ylabel="accuracy")
    ax.legend(frameon=False)
    return ax


def plot_guarantee_curve(
    frontier: Sequence[Any], machines: Mapping[str, Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the best pairs of worst-case accuracies, and where machines stand on them.

    Parameters
    ----------
    frontier : sequence of BiasedMPM
        Fitted machines with a range of accuracies for the protected class.
    machines : mapping of str to fitted machine, optional
        Machines to mark, under the name to show.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    pairs = np.array([model.worst_case_accuracy_ for model in frontier])
    ax.plot(*pairs[np.argsort(pairs[:, 0])].T, color="grey")
    for name, model in (machines or {}).items():
        ax.plot(*model.worst_case_accuracy_, "o", label=name)
    ax.plot([0, 1], [0, 1], ":", color="grey", linewidth=0.8)
    first, second = frontier[0].classes_
    ax.set(xlabel=f"worst-case accuracy of {first}", ylabel=f"worst-case accuracy of {second}")
    if machines:
        ax.legend(frameon=False)
    return ax
