"""Pictures of ellipsoids around data, recovery curves, and anchor words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = [
    "plot_anchor_words",
    "plot_contact_ellipsoid",
    "plot_contact_values",
    "plot_recovery",
]


def _surface(shape: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Return points of the boundary: a circle or a grid on the sphere, turned by a root of L."""
    angle = np.linspace(0, 2 * np.pi, 200 if len(shape) == 2 else 25)
    ball = np.array([np.cos(angle), np.sin(angle)])
    if len(shape) == 3:
        height = np.linspace(-np.pi / 2, np.pi / 2, 13)
        round_ = ball[:, :, None] * np.cos(height)
        ball = np.concatenate([round_, np.broadcast_to(np.sin(height), (1, 25, 13))])
    root = np.linalg.inv(np.linalg.cholesky(shape)).T
    return np.tensordot(root, ball, 1) + center.reshape(-1, *[1] * (ball.ndim - 1))


def plot_contact_ellipsoid(
    points: ArrayLike,
    L: ArrayLike,
    active: ArrayLike,
    *,
    center: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw points in two or three dimensions, an ellipsoid, and where it touches them.

    Parameters
    ----------
    points : array-like of shape (n_points, 2) or (n_points, 3)
        Points, such as `EllipsoidalRoundingNMF.reduced_points_`.
    L : array-like of shape (2, 2) or (3, 3)
        The ellipsoid {x: (x - center)ᵀ L (x - center) ≤ 1}.
    active : array-like of int
        Indices of the points of contact.
    center : array-like, optional
        Centre of the ellipsoid; the origin by default, and then the mirror images of the points
        of contact are drawn too.
    ax : matplotlib axes, optional
        Where to draw, with three dimensions where the points have; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    x, shape = np.asarray(points, dtype=float), np.asarray(L, dtype=float)
    d = x.shape[1]
    if d not in (2, 3) or shape.shape != (d, d):
        raise ValueError(
            f"points must have 2 or 3 columns and L as many rows and columns, got {x.shape} and "
            f"{shape.shape}."
        )
    if ax is None:
        ax = plt.figure().add_subplot(projection="3d" if d == 3 else None)
    touching = x[np.asarray(active, dtype=int)]
    if center is None:
        ax.plot(*-touching.T, "o", mfc="none", color="C3", label="mirror images")
    centre = np.zeros(d) if center is None else np.asarray(center, dtype=float)
    ax.plot(*x.T, ".", ms=3, color="0.6", label="points")
    ax.plot(*touching.T, "o", color="C3", label="points of contact")
    surface = _surface(shape, centre)
    if d == 3:
        ax.plot_wireframe(*surface, color="C0", alpha=0.25, lw=0.6)  # type: ignore[attr-defined]
    else:
        ax.plot(*surface, color="C0")
    ax.set_aspect("equal")
    ax.legend(frameon=False)
    return ax


def plot_contact_values(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how many points come how near to the ellipsoid.

    Parameters
    ----------
    model : EllipsoidalRoundingNMF
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax.hist(model.contact_values_, bins=np.linspace(0, 1, 51).tolist(), color="0.7")
    ax.plot(
        model.contact_values_[model.candidate_indices_],
        np.ones(len(model.candidate_indices_)),
        "|",
        ms=14,
        color="C3",
        label=f"{len(model.candidate_indices_)} candidates",
    )
    ax.set(xlabel="contact (1 on the ellipsoid)", ylabel="points", yscale="log")
    ax.legend(frameon=False)
    return ax


def plot_recovery(
    noise: ArrayLike, recovery: Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw the share of anchors recovered against the noise, a line for each method.

    Parameters
    ----------
    noise : array-like of shape (n_levels,)
        Standard deviations of the noise.
    recovery : mapping of str to array-like of shape (n_levels,)
        Shares by the name of the method. Names that begin with "ER-" are drawn solid, others
        dashed, in the colour of the selector that they share.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    selectors = list(dict.fromkeys(name.removeprefix("ER-") for name in recovery))
    for name, shares in recovery.items():
        colour = f"C{selectors.index(name.removeprefix('ER-'))}"
        style = "-" if name.startswith("ER-") else "--"
        ax.plot(np.asarray(noise), 100 * np.asarray(shares), style, color=colour, label=name)
    ax.set(xlabel="noise δ", ylabel="anchors recovered (%)", ylim=(0, 102))
    ax.legend(frameon=False)
    return ax


def plot_anchor_words(model: Any, *, n_words: int = 5, ax: Axes | None = None) -> Axes:
    """Draw a table of anchor words with the heaviest words of their topics.

    Parameters
    ----------
    model : AnchorTopics
        Fitted.
    n_words : int, default=5
        How many words of each topic.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots(figsize=(8, 0.4 * len(model.anchor_words_) + 0.8))[1]
    rows = [
        [str(anchor), *map(str, words)]
        for anchor, words in zip(model.anchor_words_, model.top_words(n_words))
    ]
    width = max(len(row) for row in rows)
    header = ["anchor word", *map(str, range(1, width))]
    cells = [[*row, *[""] * (width - len(row))] for row in rows]
    table = ax.table(cells, colLabels=header, loc="center", cellLoc="center")
    table.scale(1, 1.3)
    for i in range(len(rows)):
        table[i + 1, 0].get_text().set_fontweight("bold")
    ax.set_axis_off()
    return ax
