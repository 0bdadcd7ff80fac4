"""Pictures of dependence: copulas, tails, Gram spectra, spreads of estimates, registration."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy.stats import rankdata

__all__ = [
    "plot_copula_gap",
    "plot_estimate_spread",
    "plot_gram_spectrum",
    "plot_registration_profile",
    "plot_tail_association",
]


def plot_copula_gap(
    X: ArrayLike, Y: ArrayLike, *, n_grid: int = 50, ax: Axes | None = None
) -> Axes:
    """Draw the empirical copula of two variables less that of independent ones.

    Where it is positive the variables are small together oftener than by chance. Hoeffding's
    Φ is its mean square, Schweizer and Wolff's σ and κ its mean and its largest size.

    Parameters
    ----------
    X, Y : array-like of shape (n_samples,)
        The variables, drawn together.
    n_grid : int, default=50
        Points an axis.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    levels = np.arange(1, n_grid + 1) / n_grid
    shares = [rankdata(np.ravel(np.asarray(Z))) / np.size(Z) for Z in (X, Y)]
    cells = [np.ceil(np.round(share * n_grid, 9)).astype(int) - 1 for share in shares]
    copula = np.zeros((n_grid, n_grid))
    np.add.at(copula, tuple(cells), 1.0 / np.size(X))
    gap = copula.cumsum(axis=0).cumsum(axis=1) - np.outer(levels, levels)
    ax = ax or plt.subplots(figsize=(4.8, 4))[1]
    most = max(float(np.abs(gap).max()), 1e-12)
    image = ax.imshow(
        gap.T, origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", vmin=-most, vmax=most
    )
    ax.figure.colorbar(image, ax=ax, label="copula − independence")
    ax.set(xlabel="rank of x", ylabel="rank of y")
    return ax


def plot_tail_association(
    shares: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the conditional Spearman's ρ of both tails against the share that they hold.

    Parameters
    ----------
    shares : array-like of shape (n_shares,)
        Shares of each variable in the corner.
    lower, upper : array-like of shape (n_shares,)
        The association in the two corners.
    truth : array-like of shape (n_shares,), optional
        A value to compare with, such as that of normal variables.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5.5, 3.5))[1]
    ax.plot(shares, lower, label="lower tail")
    ax.plot(shares, upper, label="upper tail")
    if truth is not None:
        ax.plot(shares, truth, color="0.5", linestyle="--", linewidth=1, label="normal variables")
    ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
    ax.set(xlabel="share of each variable in the corner", ylabel="conditional Spearman's ρ")
    ax.legend(frameon=False)
    return ax


def plot_gram_spectrum(
    grams: Mapping[str, ArrayLike], *, tol: float = 1e-12, ax: Axes | None = None
) -> Axes:
    """Draw the eigenvalues of Gram matrices over their largest; negative ones as crosses.

    Parameters
    ----------
    grams : mapping of str to array-like of shape (n, n)
        Symmetric matrices by name.
    tol : float, default=1e-12
        Share of the largest below which an eigenvalue is taken as rounding.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(5.5, 3.5))[1]
    for i, (name, gram) in enumerate(grams.items()):
        values = np.linalg.eigvalsh(np.asarray(gram))[::-1]
        values = values / values[0]
        place, colour = np.arange(1, len(values) + 1), f"C{i}"
        size = np.maximum(np.abs(values), tol)
        below = values < -tol
        label = f"{name}: {int(below.sum())} negative"
        ax.plot(place[~below], size[~below], "o", color=colour, markersize=4, label=label)
        ax.plot(place[below], size[below], "x", color=colour)
    ax.set(xlabel="eigenvalue", ylabel="size over the largest", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_estimate_spread(
    estimates: Mapping[str, ArrayLike], *, truth: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw repeated estimates of several estimators beside each other, with the true value.

    Parameters
    ----------
    estimates : mapping of str to array-like of shape (n_repeats,)
        Estimates from independent samples, by name.
    truth : float, optional
        The true value.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    names = list(estimates)
    ax = ax or plt.subplots(figsize=(6, 0.8 + 0.45 * len(names)))[1]
    runs = [np.ravel(np.asarray(estimates[name])) for name in names]
    ax.boxplot(runs, orientation="horizontal", tick_labels=names, widths=0.6)
    if truth is not None:
        ax.axvline(truth, color="C3", linewidth=1, label=f"truth {truth:.3g}")
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    ax.invert_yaxis()
    ax.set(xlabel="estimate")
    return ax


def plot_registration_profile(
    angles: ArrayLike,
    profiles: Mapping[str, ArrayLike],
    *,
    truth: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the dependence of two images against the rotation of one, each scaled to [0, 1].

    Parameters
    ----------
    angles : array-like of shape (n_angles,)
        Degrees.
    profiles : mapping of str to array-like of shape (n_angles,)
        The dependence at these angles, by estimator.
    truth : float, optional
        The true rotation.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(6, 3.5))[1]
    for name, profile in profiles.items():
        curve = np.asarray(profile, dtype=np.float64)
        height = np.ptp(curve)
        ax.plot(angles, (curve - curve.min()) / (height if height > 0 else 1.0), label=name)
    if truth is not None:
        ax.axvline(truth, color="0.5", linestyle="--", linewidth=1, label="true rotation")
    ax.set(xlabel="rotation in degrees", ylabel="dependence, scaled")
    ax.legend(frameon=False, fontsize="small")
    return ax
