"""Pictures of steered maps: pins and links on the map, before and after, a map to drag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_before_and_after",
    "plot_draggable_map",
    "plot_map_distortion",
    "plot_steered_map",
]

MUST, CANNOT, PIN = "tab:green", "tab:red", "black"


def _map_of(thing: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the embedding and the constraints of a fitted model or of a session."""
    if hasattr(thing, "embedding_"):
        return thing.embedding_, thing.constraints_
    return thing.embedding, thing.constraints


def _plane(Z: np.ndarray) -> np.ndarray:
    """Return the first two components; a second of zeros where there is one."""
    return Z[:, :2] if Z.shape[1] > 1 else np.column_stack([Z[:, 0], np.zeros(len(Z))])


def _scatter(ax: Axes, Z: np.ndarray, color: Any) -> Any:
    """Draw the points, classes in the colours of a cycle and numbers on a scale."""
    values = None if color is None else np.asarray(color)
    cmap: str | None = None if values is None else "viridis"
    ends: tuple[float | None, float | None] = (None, None)
    if values is not None and values.dtype.kind not in "fc":
        classes, values = np.unique(values, return_inverse=True)
        cmap, ends = ("tab10", (-0.5, 9.5)) if len(classes) <= 10 else ("turbo", ends)
    return ax.scatter(
        Z[:, 0],
        Z[:, 1],
        s=14,
        c=values,
        cmap=cmap,
        vmin=ends[0],
        vmax=ends[1],
        alpha=0.8,
        linewidths=0,
    )


def _draw_constraints(ax: Axes, Z: np.ndarray, constraints: Mapping[str, Any]) -> None:
    for link in constraints["links"]:
        ends = Z[link["points"]]
        must = link["sign"] > 0
        ax.plot(*ends.T, color=MUST if must else CANNOT, linestyle="-" if must else ":", lw=1.2)
    for placement in constraints["placements"]:
        point = Z[placement["point"]]
        at = point.copy()
        for axis, x in enumerate(placement["at"][:2]):
            at[axis] = point[axis] if x is None else x
        ax.plot(*np.column_stack([point, at]), color=PIN, linewidth=0.8)
        marker = "s" if placement["hard"] else "o"
        ax.plot(*at, marker, markersize=7, markerfacecolor="none", markeredgecolor=PIN)
    for entry in constraints["labels"]:
        sign = next(y for y in entry["label"] if y)
        marker = "$+$" if sign > 0 else "$-$"
        ax.plot(*Z[entry["point"]], marker=marker, markersize=9, color=PIN)


def plot_steered_map(model: Any, *, color: Any = None, ax: Axes | None = None) -> Axes:
    """Draw a map with its pins, links and labels.

    A ring is where a point was placed (a square where it must be), with a line to where the map
    has it; green lines join points that belong together, dotted red ones those that do not.

    Parameters
    ----------
    model : KnowledgeKernelPCA or InteractiveSession
        A fitted model, or a session as it is now.
    color : array-like of shape (n_samples,), default=None
        Classes or numbers to colour the points by.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    Z, constraints = _map_of(model)
    Z = _plane(Z)
    _scatter(ax, Z, color)
    _draw_constraints(ax, Z, constraints)
    ax.set(xlabel="component 1", ylabel="component 2")
    return ax


def plot_before_and_after(model: Any, *, color: Any = None, axes: Any = None) -> Any:
    """Draw plain kernel PCA beside the steered map.

    Parameters
    ----------
    model : KnowledgeKernelPCA or InteractiveSession
        A fitted model, or a session as it is now.
    color : array-like of shape (n_samples,), default=None
        Classes or numbers to colour the points by.
    axes : pair of matplotlib axes, optional
        Where to draw; a new row by default.

    Returns
    -------
    axes : pair of matplotlib axes
        The axes.
    """
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")[1]
    before = model.baseline_ if hasattr(model, "baseline_") else model.baseline
    _scatter(axes[0], _plane(before), color)
    axes[0].set(title="kernel PCA", xlabel="component 1", ylabel="component 2")
    plot_steered_map(model, color=color, ax=axes[1])
    axes[1].set(title="steered")
    return axes


def plot_map_distortion(
    x: Any, curves: Mapping[str, Any], *, xlabel: str = "perturbation", ax: Axes | None = None
) -> Axes:
    """Draw the distortion of maps, with the range over runs.

    Parameters
    ----------
    x : array-like of shape (m,)
        Sizes of the perturbation, or numbers of control points.
    curves : mapping of str to array-like of shape (n_runs, m)
        Distortions, one row a run, under the name to show.
    xlabel : str, default="perturbation"
        What `x` is.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, runs in curves.items():
        runs = np.atleast_2d(np.asarray(runs, dtype=float))
        (line,) = ax.plot(x, runs.mean(axis=0), "o-", markersize=4, label=name)
        ax.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=line.get_color(), alpha=0.15)
    ax.set(xlabel=xlabel, ylabel="distortion (median distances)")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax


class _Dragging:
    """The handlers of a draggable map."""

    def __init__(self, session: Any, color: Any, ax: Axes) -> None:
        self.session, self.color, self.ax = session, color, ax
        self.held: int | None = None
        self.canvas = ax.figure.canvas
        handlers: Any = (
            ("button_press_event", self.press),
            ("motion_notify_event", self.move),
            ("button_release_event", self.let_go),
            ("key_press_event", self.key),
        )
        for event, handler in handlers:
            self.canvas.mpl_connect(event, handler)
        self.draw()

    def draw(self) -> None:
        self.ax.clear()
        plot_steered_map(self.session, color=self.color, ax=self.ax)
        self.canvas.draw_idle()

    def pinned(self) -> set[int]:
        return {p["point"] for p in self.session.constraints["placements"]}

    def nearest(self, event: Any) -> int | None:
        """Return the point under the mouse, within eight pixels."""
        Z = _plane(self.session.embedding)
        apart = np.hypot(*(self.ax.transData.transform(Z) - (event.x, event.y)).T)
        i = int(np.argmin(apart))
        return i if apart[i] <= 8 else None

    def press(self, event: Any) -> None:
        if event.inaxes is not self.ax:
            return
        i = self.nearest(event)
        if event.button == 1:
            self.held = i
        elif event.button == 3 and i in self.pinned():
            self.session.release(i)
            self.draw()

    def move(self, event: Any) -> None:
        if self.held is None or event.inaxes is not self.ax:
            return
        rest = [None] * (self.session.embedding.shape[1] - 2)
        at = [event.xdata, event.ydata, *rest][: self.session.embedding.shape[1]]
        self.session.place(self.held, at, drag=True)
        self.draw()

    def let_go(self, event: Any) -> None:
        self.held = None

    def key(self, event: Any) -> None:
        if event.key in ("z", "ctrl+z") and self.session.can_undo:
            self.session.undo()
        elif event.key in ("y", "ctrl+y") and self.session.can_redo:
            self.session.redo()
        else:
            return
        self.draw()


def plot_draggable_map(session: Any, *, color: Any = None, ax: Axes | None = None) -> Axes:
    """Draw a map whose points can be dragged with the mouse, in an interactive backend.

    The left button drags a point and pins it, the right one releases a pin; z undoes, y does
    again.

    Parameters
    ----------
    session : InteractiveSession
        The session that is steered.
    color : array-like of shape (n_samples,), default=None
        Classes or numbers to colour the points by.
    ax : matplotlib axes, optional
        Where to draw; new axes by default. They keep the handlers alive.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    ax._dragging = _Dragging(session, color, ax)  # type: ignore[attr-defined]
    return ax
