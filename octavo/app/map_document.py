"""The Bokeh document of a tab: two empty plots with their tools, the maps, and a line to Python.

The page writes a gesture, as JSON, into the source `gesture`; Python hands it to the tab's
`MapController` and answers in the source `answer`, all in one message. The page takes the new map
from there and draws it over the plot. Everything else on the page is HTML (``page.html``,
``page.js``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import MISSING_RENDERERS
from bokeh.document import Document
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    CustomJS,
    InlineStyleSheet,
    LassoSelectTool,
    PanTool,
    Range1d,
    ResetTool,
    WheelZoomTool,
)
from bokeh.plotting import figure
from jinja2 import Template

from octavo import __version__
from octavo.app.controller import STRENGTHS, MapController

HERE = Path(__file__).parent
TOOLBAR = 30  # pixels
LABELS = 38  # pixels of the numbers on the left: Bokeh is late in making room for longer ones
SCRIPTS = (
    "page_tip.js",
    "page_theme.js",
    "page_log.js",
    "page_map.js",
    "page_meter.js",
    "page_drawing.js",
    "page_thumbnails.js",
    "page_layer.js",
    "page_guide.js",
    "page.js",
)


silence(MISSING_RENDERERS)  # the page draws the points


class MapDocument:
    """Binds a controller to a document.

    Parameters
    ----------
    doc : Document
        An empty document of a new tab.
    controller : MapController
        The tab's own.
    """

    def __init__(self, doc: Document, controller: MapController) -> None:
        self.doc, self.controller = doc, controller
        self.gesture = ColumnDataSource({"json": []})
        self.answer = ColumnDataSource({"json": [], "points": [], "colours": []})
        colour = packed(controller.colouring.rgba)
        x, y = controller.points.T
        self.points = ColumnDataSource({"x": x, "y": y, "colour": colour})
        x, y = controller.session.baseline.astype(np.float32).T
        self.plain = ColumnDataSource({"x": x, "y": y, "colour": colour})
        self._fill_document()
        self.gesture.on_change("data", self._on_gesture)

    # --- the line --------------------------------------------------------------------------------

    def _on_gesture(self, attr: str, old: Any, new: Any) -> None:
        """Answer a gesture that the page wrote."""
        try:
            gesture = json.loads(new["json"][0])
        except (LookupError, TypeError, ValueError):
            gesture = None
        reply = self.controller.handle(gesture)
        number = gesture.get("number") if isinstance(gesture, dict) else None
        told = {"number": number, **vars(reply), "state": self.controller.state()}
        moved, coloured = reply.ok and reply.moved, reply.ok and reply.coloured
        if moved:
            told["drawing"] = self.controller.drawing()
        # One message: numbers in a list go as bytes, and every message more costs milliseconds.
        self.answer.data = {
            "json": [json.dumps(told)],
            "points": [np.ascontiguousarray(self.controller.points.T).ravel() if moved else None],
            "colours": [packed(self.controller.colouring.rgba) if coloured else None],
        }

    # --- what the document holds -----------------------------------------------------------------

    def _fill_document(self) -> None:
        table = self.controller.table
        steered = self._plot("steered")
        plain = self._plot("plain", steered)
        ready = CustomJS(
            args={
                "steered": steered,
                "plain": plain,
                "points": self.points,
                "baseline": self.plain,
                "gesture": self.gesture,
                "answer": self.answer,
            },
            code="window.octavo.start({steered, plain, points, baseline, gesture, answer})",
        )
        self.doc.js_on_event("document_ready", ready)
        self.doc.js_on_event("connection_lost", CustomJS(code="window.octavo.lost()"))
        self.doc.js_on_event("client_reconnected", CustomJS(code="window.octavo.found()"))
        self.doc.config.notify_connection_status = False  # the page has its own words for it
        # Models that are in no layout reach the page as tags of one that is.
        steered.tags = [self.gesture, self.answer, self.points, self.plain]
        for root in (steered, plain):
            self.doc.add_root(root)
        self.doc.title = f"{table.name} · octavo"
        self.doc.template = Template((HERE / "page.html").read_text("utf-8"), autoescape=True)
        about = {
            "rows": len(table),
            "columns": list(table.columns),
            "label": table.label,
            "guide": table.guide,
            "pictures": table.pixels is not None,
            "strengths": STRENGTHS,
            "state": self.controller.state(),
            "drawing": self.controller.drawing(),
        }
        self.doc.template_variables.update(
            style=(HERE / "page.css").read_text("utf-8"),
            scripts=[(HERE / name).read_text("utf-8") for name in SCRIPTS],
            # A "<" in data must not end the script that holds it.
            about=json.dumps(about).replace("<", "\\u003c"),
            name=table.name,
            n_rows=f"{len(table):,}",
            n_features=table.X.shape[1],
            notes=table.notes,
            version=__version__,
        )

    def _plot(self, name: str, beside: Any = None) -> Any:
        ranges = (
            {"x_range": beside.x_range, "y_range": beside.y_range}
            if beside
            else {name: Range1d(start=-1, end=1) for name in ("x_range", "y_range")}
        )
        plot = figure(
            name=name,
            **ranges,
            tools=[PanTool(), BoxZoomTool(match_aspect=True), LassoSelectTool(), ResetTool()],
            toolbar_location=None if beside else "right",
            sizing_mode="stretch_both",
            min_border=4,
            min_border_left=LABELS,
            min_border_right=TOOLBAR if beside else 4,  # both frames have one size
            outline_line_color=None,
            background_fill_color="#ffffff",
            border_fill_color="#ffffff",
            stylesheets=[InlineStyleSheet(css=":host(:focus) { outline: none; }")],
        )
        wheel = WheelZoomTool()
        plot.add_tools(wheel)
        plot.toolbar.active_scroll = wheel
        plot.toolbar.active_drag = None  # to drag a point pins it
        plot.toolbar.logo = None
        plot.grid.grid_line_color = "#eef0f3"
        for axis in plot.axis:
            axis.update(
                axis_line_color="#c9ced6",
                major_tick_line_color="#c9ced6",
                minor_tick_line_color=None,
                major_label_text_color="#6b7280",
                major_label_text_font_size="11px",
                major_tick_in=0,
                major_tick_out=4,
            )
        return plot


def packed(rgba: np.ndarray) -> np.ndarray:
    """Return colours (n, 4) of bytes as one 0xRRGGBBAA a row, which Bokeh sends as it is."""
    return np.ascontiguousarray(rgba).view(">u4").ravel().astype(np.uint32)
