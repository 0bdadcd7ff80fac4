"""The map as one HTML file that opens without a server, without octavo and without a network."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo.app.map_tables import MapTable, cell_text

if TYPE_CHECKING:
    from octavo.app.controller import MapController

HERE = Path(__file__).parent
SCRIPTS = ("page_drawing.js", "exported_page.js")
WIDEST = 16  # pixels of a thumbnail's side: larger pictures are averaged down
HEAVIEST = 4_000_000  # bytes of thumbnails in one file; beyond, the file does without
CELLS = 120_000  # cells of rows in one file; of larger tables, fewer columns


def write_page(controller: MapController) -> str:
    """Return a page with the map, plain kernel PCA, the rows' cells and the constraints.

    Parameters
    ----------
    controller : MapController
        Whose map.

    Returns
    -------
    str
        HTML that loads nothing: it can be mailed, and opened from a disk.
    """
    from jinja2 import Template

    table, session = controller.table, controller.session
    state = controller.state()
    held = {
        "name": table.name,
        "rows": len(table),
        "features": int(table.X.shape[1]),
        "steered": _floats(session.embedding),
        "plain": _floats(session.baseline),
        "colour": _bytes(controller.colouring.rgba),
        "key": state["key"],
        "column": controller.column,
        "drawing": controller.drawing(),
        "constraints": session.constraints,
        "meter": controller.metered(),
        "code": controller.code(),
        "cells": _cells(table),
        "thumbnails": thumbnails(table),
    }
    page = Template((HERE / "exported_page.html").read_text("utf-8"), autoescape=True)
    return page.render(
        name=table.name,
        style=(HERE / "exported_page.css").read_text("utf-8"),
        scripts=[(HERE / name).read_text("utf-8") for name in SCRIPTS],
        held=_within_script(held),
    )


def read_constraints(text: str) -> Any:
    """Return the constraints of an exported page.

    Parameters
    ----------
    text : str
        The page.

    Returns
    -------
    object
        What its JSON holds; a ValueError where the text is no such page.
    """
    begin, end = '<script type="application/json" id="held">', "</script>"
    _, found, rest = text.partition(begin)
    if not found:
        raise ValueError("It is a page, but none that octavo exported.")
    held = json.loads(rest.partition(end)[0])
    if not isinstance(held, dict) or "constraints" not in held:
        raise ValueError("It is a page, but none that octavo exported.")
    return held["constraints"]


def thumbnails(table: MapTable) -> dict[str, Any] | None:
    """Return small pictures of all rows, one byte a pixel, or None where there are none.

    Parameters
    ----------
    table : MapTable
        With or without pictures.

    Returns
    -------
    dict or None
        "height", "width" and "base64" (rows one after the other, 255 for ink).
    """
    if table.pixels is None:
        return None
    pixels = table.pixels
    step = -(-max(pixels.shape[1:]) // WIDEST)
    if step > 1:
        n, height, width = pixels.shape
        pixels = np.pad(pixels, ((0, 0), (0, -height % step), (0, -width % step)))
        height, width = pixels.shape[1] // step, pixels.shape[2] // step
        pixels = pixels.reshape(n, height, step, width, step).mean(axis=(2, 4))
    if pixels.size > HEAVIEST:
        return None
    flat = np.clip(np.round(255.0 * pixels), 0, 255).astype(np.uint8)
    return {"height": pixels.shape[1], "width": pixels.shape[2], "base64": _bytes(flat)}


def _cells(table: MapTable) -> dict[str, Any]:
    """Return names of columns and what the rows say in them, column by column."""
    first = [name for name, _ in table.row(0)["cells"]]
    names = first[: max(1, CELLS // len(table))]
    return {"names": names, "texts": [[cell_text(v) for v in table.columns[n]] for n in names]}


def _floats(values: NDArray[Any]) -> str:
    return _bytes(np.asarray(values, dtype="<f4"))


def _bytes(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _within_script(held: dict[str, Any]) -> str:
    # A "<" in data must not end the script that holds it.
    return json.dumps(held).replace("<", "\\u003c")
