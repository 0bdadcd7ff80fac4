"""Tables from JSON and from Excel."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from octavo.compare.table.reading import InputError, Table, need_pandas


def read_json(path: Path, text: str) -> Table:
    """Read JSON lines, or one list of objects; an object is a row.

    Parameters
    ----------
    path : Path
        The file, for messages.
    text : str
        What it holds.

    Returns
    -------
    table : Table
        A column a name.
    """
    pd = need_pandas()
    rows: list[Any] = []
    place = 0
    try:
        if text.lstrip().startswith("["):
            rows = json.loads(text)
        else:
            for number, line in enumerate(text.split("\n"), start=1):
                place = number
                if line.strip():
                    rows.append(json.loads(line))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {place or error.lineno}: not JSON ({error.msg}); a line is an object "
            'such as {"age": 41, "kind": "a"}.'
        ) from error
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a table.") from None
    odd = next((k for k, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise InputError(
            f"{path}: row {odd + 1} is no object but {type(rows[odd]).__name__}; a row is an "
            'object such as {"age": 41, "kind": "a"}.'
        )
    frame = pd.DataFrame.from_records(rows)
    frame.columns = [str(c).strip() for c in frame.columns]
    n_partly = sum(len(row) < frame.shape[1] for row in rows)
    notes = (
        [f"{n_partly:,} rows lack some of the {frame.shape[1]} names; those cells are missing."]
        if n_partly
        else []
    )
    return Table(frame, path.name, notes)


def read_excel(path: Path, content: bytes, header: bool | None) -> Table:
    """Read the first sheet of a workbook.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
        What it holds.
    header : bool or None
        False where the first line holds values; else it holds names.

    Returns
    -------
    table : Table
        Without rows that are empty.
    """
    pd = need_pandas()
    try:
        book = pd.ExcelFile(io.BytesIO(content))
        frame = pd.read_excel(book, header=None if header is False else 0)  # the first sheet
    except ImportError as error:
        missing = getattr(error.__cause__, "name", None) or "openpyxl"
        how = "'octavo[excel]'" if missing == "openpyxl" else f"{missing}, or save it as .xlsx"
        raise InputError(
            f"Reading {path} needs {missing}, which is not installed: pip install {how}."
        ) from error
    except Exception as error:  # each engine has errors of its own, for those who wrote it
        raise InputError(f"{path} is not a sound Excel file; save it again as .xlsx.") from error
    notes = []
    if len(book.sheet_names) > 1:
        others = ", ".join(map(repr, book.sheet_names[1:4]))
        notes.append(f"Only the sheet {book.sheet_names[0]!r} was read; there is also {others}.")
    if header is False:
        frame.columns = [f"c{k + 1}" for k in range(frame.shape[1])]
    frame = frame.dropna(how="all").reset_index(drop=True)
    frame.columns = [str(c).strip() for c in frame.columns]
    return Table(frame, path.name, notes)
