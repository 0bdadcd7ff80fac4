"""The Bokeh document of a tab: two scatters, what is drawn over them, and a line to Python.

The page writes a gesture, as JSON, into the source `gesture`; Python hands it to the tab's
`MapController` and answers in the source `answer`, all in one message. The page takes the new map
from there and draws it. Everything else on the page is HTML (``page.html``, ``page.js``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
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
    Scatter,
    WheelZoomTool,
)
from bokeh.plotting import figure
from jinja2 import Template

from octavo import __version__
from octavo.app.controller import STRENGTHS, MapController
from octavo.app.pictures import APART, INK, TOGETHER

HERE = Path(__file__).parent
TOOLBAR = 30  # pixels
MANY = 5_000  # points above which the graphics card draws them
SCRIPTS = (
    "page_tip.js",
    "page_theme.js",
    "page_log.js",
    "page_map.js",
    "page_meter.js",
    "page_thumbnails.js",
    "page_guide.js",
    "page.js",
)
SEGMENT = ("x0", "y0", "x1", "y1")


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
        self.drawn = {
            name: ColumnDataSource(columns) for name, columns in controller.drawing().items()
        }
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
        steered = self._plot("steered", self.points)
        plain = self._plot("plain", self.plain, steered)
        self._draw_over(steered)
        ready = CustomJS(
            args={
                "steered": steered,
                "plain": plain,
                "points": self.points,
                "baseline": self.plain,
                "gesture": self.gesture,
                "answer": self.answer,
                "drawn": self.drawn,
            },
            code="window.octavo.start({steered, plain, points, baseline, gesture, answer, drawn})",
        )
        self.doc.js_on_event("document_ready", ready)
        self.doc.js_on_event("connection_lost", CustomJS(code="window.octavo.lost()"))
        self.doc.js_on_event("client_reconnected", CustomJS(code="window.octavo.found()"))
        self.doc.config.notify_connection_status = False  # the page has its own words for it
        # Models that are in no layout reach the page as tags of one that is.
        steered.tags = [self.gesture, self.answer]
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

    def _plot(self, name: str, source: ColumnDataSource, beside: Any = None) -> Any:
        many = len(self.controller.table) > MANY
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
            output_backend="webgl" if many else "canvas",
            lod_threshold=None,
            min_border=4,
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
        size = 3.5 if many else 7
        look: dict[str, Any] = {"x": "x", "y": "y", "fill_color": "colour", "size": size}
        glyph = Scatter(**look, line_color=None, fill_alpha=0.82)
        chosen = Scatter(**{**look, "size": size + 6}, line_color=INK, line_width=2, fill_alpha=1.0)
        plot.add_glyph(
            source, glyph, selection_glyph=chosen, nonselection_glyph=glyph, name="points"
        )
        return plot

    def _draw_over(self, plot: Any) -> None:
        ends = {name: name for name in SEGMENT}
        # By their names, the page finds what it has to draw in other colours where it is dark.
        plot.segment(
            **ends, source=self.drawn["threads"], line_color=INK, line_width=1.2, name="ink"
        )
        for name, colour, dash in (("together", TOGETHER, "solid"), ("apart", APART, "dashed")):
            plot.segment(
                **ends,
                source=self.drawn[name],
                line_color=colour,
                line_width=2.5,
                line_dash=dash,
                name=name,
            )
        plot.scatter(
            "x",
            "y",
            marker="marker",
            source=self.drawn["pins"],
            size=13,
            fill_color=None,
            line_color=INK,
            line_width=2,
            name="ink",
        )
        plot.text(
            "x",
            "y",
            "text",
            source=self.drawn["labels"],
            x_offset=8,
            y_offset=-6,
            text_font_size="12px",
            text_font_style="bold",
            text_color=INK,
            background_fill_color="#ffffff",
            background_fill_alpha=0.85,
            border_radius=3,
            padding=2,
            name="names",
        )


def packed(rgba: np.ndarray) -> np.ndarray:
    """Return colours (n, 4) of bytes as one 0xRRGGBBAA a row, which Bokeh sends as it is."""
    return np.ascontiguousarray(rgba).view(">u4").ravel().astype(np.uint32)
