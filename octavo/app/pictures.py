"""The map as a file: what the page shows, drawn by matplotlib."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from octavo._outside_text import literal

if TYPE_CHECKING:
    from octavo.app.controller import MapController

TOGETHER, APART, INK = "#0072b2", "#d55e00", "#1a1a1a"
TYPES = {"png": "image/png", "svg": "image/svg+xml"}


def draw_picture(controller: MapController, kind: str, *, beside: bool = False) -> dict[str, str]:
    """Return the map as a file.

    Parameters
    ----------
    controller : MapController
        Whose map.
    kind : {"png", "svg"}
        The format.
    beside : bool, default=False
        Whether plain kernel PCA is drawn beside it.

    Returns
    -------
    dict
        "type" (of the media) and "base64" (the file).
    """
    if kind not in TYPES:
        raise ValueError(f"A picture is one of {sorted(TYPES)}, not {kind!r}.")
    figure = Figure(figsize=(10.5 if beside else 6.5, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if beside else 1, squeeze=False)[0]
    session = controller.session
    _points(axes[0], session.embedding, controller)
    _constraints(axes[0], controller.drawing())
    axes[0].set_title("steered" if beside else literal(controller.table.name))
    if beside:
        _points(axes[1], session.baseline, controller)
        axes[1].set_title("plain kernel PCA")
    _key(figure, axes[-1], controller)
    file = io.BytesIO()
    # Letters stay letters in SVG, and the same map is the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "octavo"}):
        metadata: Any = {"Date": None} if kind == "svg" else None
        figure.savefig(file, format=kind, dpi=200, metadata=metadata)
    return {"type": TYPES[kind], "base64": base64.b64encode(file.getvalue()).decode()}


def _points(ax: Any, Z: np.ndarray, controller: MapController) -> None:
    size = 14 if len(Z) <= 5000 else 4
    colours = controller.colouring.rgba / 255.0
    ax.scatter(*Z.T, c=colours, s=size, alpha=0.85, linewidths=0, rasterized=len(Z) > 5000)
    ax.set(xlabel="component 1", ylabel="component 2", aspect="equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)


def _constraints(ax: Any, drawn: dict[str, dict[str, Any]]) -> None:
    for name, colour, style in (
        ("threads", INK, "-"),
        ("together", TOGETHER, "-"),
        ("apart", APART, "--"),
    ):
        for x0, y0, x1, y1 in zip(*(drawn[name][k] for k in ("x0", "y0", "x1", "y1"))):
            ax.plot([x0, x1], [y0, y1], style, color=colour, lw=0.9 if name == "threads" else 1.8)
    for x, y, marker in zip(*(drawn["pins"][k] for k in ("x", "y", "marker"))):
        shape = "s" if marker == "square" else "o"
        ax.plot(x, y, shape, ms=8, mfc="none", mec=INK, mew=1.6)
    for x, y, text in zip(*(drawn["labels"][k] for k in ("x", "y", "text"))):
        ax.annotate(
            literal(text), (x, y), (4, 4), textcoords="offset points", weight="bold", color=INK
        )


def _key(figure: Figure, ax: Any, controller: MapController) -> None:
    colouring = controller.colouring
    if colouring.ramp:
        (low, _), (high, _) = colouring.entries[:2]
        scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(float(low), float(high)), "cividis")
        figure.colorbar(scale, ax=ax, label=literal(controller.column), shrink=0.8)
        return
    for text, colour in colouring.entries:
        ax.plot([], [], "o", color=colour, label=literal(text), ms=5)
    ax.legend(
        title=literal(controller.column),
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
    )
