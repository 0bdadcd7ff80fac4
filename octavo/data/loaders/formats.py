"""Readers of the formats that data sets are kept in: CSV, ARFF, ts, po, npz, pickled arrays.

A text table stays text until its columns are asked for as numbers or as codes, so that an
error can name the file, the line and the value. Nothing that is read is ever executed.
"""

from __future__ import annotations

import csv
import gzip
import io
import pickle
import re
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Never
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from octavo._outside_text import clause
from octavo._unpacking import unpack

__all__ = ["CorruptDatasetError"]

MISSING = "?"
# What a damaged file makes its reader raise.
UNREADABLE = (
    EOFError,
    ValueError,
    KeyError,
    csv.Error,
    gzip.BadGzipFile,
    pickle.UnpicklingError,
    tarfile.TarError,
    ElementTree.ParseError,
    zipfile.BadZipFile,
    zlib.error,
)


class CorruptDatasetError(ValueError):
    """A data file that is damaged, cut short, or another one than its name says.

    Examples
    --------
    >>> from octavo.data import CorruptDatasetError
    >>> issubclass(CorruptDatasetError, ValueError)
    True
    """


@dataclass(frozen=True)
class Table:
    """The cells of a text file, as text.

    Parameters
    ----------
    path : Path
        The file, for messages.
    names : list of str
        Names of the columns; empty where the file has none.
    cells : ndarray of str objects, of shape (n_rows, n_columns)
        What the file says, without surrounding blanks and quotes.
    lines : list of int
        The line of the file that each row stands on.
    categories : dict of int to list of str
        The categories that the file declares for a column.
    """

    path: Path
    names: list[str]
    cells: NDArray[np.object_]
    lines: list[int]
    categories: dict[int, list[str]] = field(default_factory=dict)

    def refuse(self, row: int, column: int, wanted: str) -> Never:
        """Raise the error that points at one cell."""
        where = f"column {self.names[column] if self.names else column + 1}"
        raise CorruptDatasetError(
            f"{self.path}, line {self.lines[row]}, {where}: "
            f"expected {wanted}, got {self.cells[row, column]!r}."
        )

    def numbers(self, column: int) -> NDArray[np.float64]:
        """Return a column as floats, NaN where a value is missing."""
        cells = self.cells[:, column]
        try:
            return np.where(cells == MISSING, "nan", cells).astype(np.float64)
        except ValueError:
            for row, cell in enumerate(cells):
                if cell != MISSING and not is_number(cell):
                    self.refuse(row, column, "a number")
            raise

    def codes(self, column: int, labels: Sequence[str]) -> NDArray[np.int64]:
        """Return the position of each cell of a column among the labels."""
        position = {label: k for k, label in enumerate(labels)}
        cells = self.cells[:, column]
        codes = np.fromiter((position.get(cell, -1) for cell in cells), np.int64, len(cells))
        if (codes < 0).any():
            self.refuse(int(np.argmin(codes)), column, f"one of {', '.join(labels)}")
        return codes

    def features(self, columns: Sequence[int], categorical: Iterable[int]) -> dict[str, Any]:
        """Return columns as features: one float array, or a mixed table and its parts."""
        chosen = set(categorical)
        mask = np.array([column in chosen for column in columns], dtype=bool)
        numeric = [self.numbers(column) for column in columns if column not in chosen]
        values = np.column_stack(numeric) if numeric else np.empty((len(self.cells), 0))
        if not chosen:
            return {"data": values, "categorical": mask}
        raw = self.cells[:, list(columns)]
        missing = raw == MISSING
        data = np.where(missing, np.nan, raw)
        data[:, ~mask] = values
        return {
            "data": data,
            "categorical": mask,
            "numeric": values,
            "nominal": raw[:, mask],
            "categories": [self._categories(c) for c in columns if c in chosen],
            "missing": missing,
            "raw": raw,
        }

    def _categories(self, column: int) -> list[str]:
        if column not in self.categories:
            return sorted(set(self.cells[:, column]) - {MISSING})
        self.codes(column, [*self.categories[column], MISSING])  # refuses an undeclared one
        return self.categories[column]


def is_number(text: str) -> bool:
    """Whether a cell can be read as a float."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked where its name ends in .gz."""
    try:
        packed = path.read_bytes()
        return (unpack(packed, ".gz") if path.suffix == ".gz" else packed).decode("utf-8")
    except UNREADABLE as error:
        raise CorruptDatasetError(f"{path} cannot be read ({clause(error)}).") from error


def read_rows(
    path: Path, lines: Iterable[str], n_columns: int, *, first_line: int = 1, quote: str = '"'
) -> tuple[NDArray[np.object_], list[int]]:
    """Split lines at commas; every row must have `n_columns` cells."""
    # A quote that never closes would swallow the rest: strict makes that an error.
    reader = csv.reader(lines, skipinitialspace=True, quotechar=quote, strict=True)
    rows: list[list[str]] = []
    numbers: list[int] = []
    try:
        for row in reader:
            number = first_line + reader.line_num - 1
            if len(row) == n_columns:
                rows.append([sys.intern(cell.strip()) for cell in row])
                numbers.append(number)
            elif any(cell.strip() for cell in row):
                raise CorruptDatasetError(
                    f"{path}, line {number}: expected {n_columns} values, got {len(row)}; "
                    "the file is damaged or cut short."
                )
    except csv.Error as error:
        raise CorruptDatasetError(
            f"{path}, line {first_line + reader.line_num - 1} is damaged ({clause(error)})."
        ) from error
    if not rows:
        raise CorruptDatasetError(f"{path} holds no rows.")
    return np.array(rows, dtype=object), numbers


def read_csv(path: Path, n_columns: int, *, header: bool = False) -> Table:
    """Read comma-separated values; a first line that begins with | is a remark."""
    lines = read_text(path).splitlines()
    skip = int(bool(lines) and lines[0].startswith("|"))
    names: list[str] = []
    if header and len(lines) > skip:
        names = [name.strip() for name in lines[skip].split(",")]
        skip += 1
        if len(names) != n_columns:
            raise CorruptDatasetError(
                f"{path}: expected a header of {n_columns} names, got {len(names)}."
            )
    return Table(path, names, *read_rows(path, lines[skip:], n_columns, first_line=skip + 1))


def read_arff(path: Path) -> Table:
    """Read a dense ARFF file of numeric and nominal attributes."""
    lines = read_text(path).splitlines()
    names: list[str] = []
    categories: dict[int, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        keyword, _, rest = line.strip().replace("\t", " ").partition(" ")
        if keyword.lower() == "@data":
            body = ["" if row.startswith("%") else row for row in lines[number:]]
            cells = read_rows(path, body, len(names), first_line=number + 1, quote="'")
            return Table(path, names, *cells, categories)
        if keyword.lower() != "@attribute":
            continue
        name, kind = _attribute(rest.strip())
        if kind.startswith("{") and kind.endswith("}"):
            listed = next(csv.reader([kind[1:-1]], quotechar="'", skipinitialspace=True))
            categories[len(names)] = [category.strip() for category in listed]
        elif kind.lower() not in ("numeric", "real", "integer"):
            raise CorruptDatasetError(
                f"{path}, line {number}: expected a numeric or nominal attribute, got {line!r}."
            )
        names.append(name)
    raise CorruptDatasetError(f"{path} has no @data section; it is damaged or cut short.")


def _attribute(text: str) -> tuple[str, str]:
    if text[:1] in ("'", '"'):
        name, _, kind = text[1:].partition(text[0])
    else:
        name, _, kind = text.partition(" ")
    return name, kind.strip()


def read_series(path: Path) -> tuple[list[NDArray[np.float64]], list[str], list[str]]:
    """Read a .ts file of labelled multivariate series without time stamps.

    Returns the series, each of shape (n_positions, n_dimensions), their labels, and the labels
    that the file declares.
    """
    lines = read_text(path).splitlines()
    declared: list[str] = []
    series: list[NDArray[np.float64]] = []
    labels: list[str] = []
    inside = False
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not inside:
            inside = text.lower() == "@data"
            if text.lower().startswith("@classlabel true"):
                declared = text.split()[2:]
            continue
        if not text:
            continue
        *dimensions, label = text.split(":")
        try:
            columns = [np.array(part.split(","), dtype=np.float64) for part in dimensions]
            series.append(np.stack(columns, axis=1))
        except ValueError as error:
            raise CorruptDatasetError(
                f"{path}, line {number} is damaged ({clause(error)})."
            ) from error
        labels.append(label.strip())
        if labels[-1] not in declared:
            raise CorruptDatasetError(
                f"{path}, line {number}: expected one of {', '.join(declared)}, got {label!r}."
            )
    if not series:
        raise CorruptDatasetError(f"{path} has no series after @data; it is damaged or cut short.")
    return series, labels, declared


def read_tagged_words(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Read lines of a word, a tab and a tag, with an empty line behind each sequence."""
    words: list[list[str]] = []
    tags: list[list[str]] = []
    fresh = True
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line:
            fresh = True
            continue
        word, tab, tag = line.partition("\t")
        if not (word and tab and tag):
            raise CorruptDatasetError(
                f"{path}, line {number}: expected a word, a tab and a tag, got {line!r}."
            )
        if fresh:
            words.append([])
            tags.append([])
        words[-1].append(word)
        tags[-1].append(tag)
        fresh = False
    if not words:
        raise CorruptDatasetError(f"{path} holds no words; it is damaged or cut short.")
    return words, tags


_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def read_messages(path: Path) -> list[tuple[str, str]]:
    """Read a gettext catalogue (.po): messages and their translations, singular forms.

    Messages without a translation, and those that are marked as fuzzy, are left out.
    """
    pairs: list[tuple[str, str]] = []
    parts: dict[str, str] = {}
    field, fuzzy = "", False

    def close() -> None:
        message, translation = parts.get("msgid", ""), parts.get("msgstr", "")
        if message and translation and not fuzzy:
            pairs.append((message, translation))

    for number, line in enumerate([*read_text(path).splitlines(), ""], start=1):
        text = line.strip()
        if text.startswith("#") or not text:
            if field in ("msgstr", "plural"):  # an entry ends where the next one's remarks begin
                close()
                parts, field, fuzzy = {}, "", False
            fuzzy = fuzzy or (text.startswith("#,") and "fuzzy" in text)
            continue
        if not text.startswith('"'):
            keyword, _, text = text.partition(" ")
            names = {"msgid": "msgid", "msgstr": "msgstr", "msgstr[0]": "msgstr"}
            if keyword in ("msgid", "msgctxt") and field in ("msgstr", "plural"):
                close()
                parts, fuzzy = {}, False
            field = names.get(keyword, "plural" if keyword.startswith("msgstr[") else "other")
            text = text.strip()
        if not (field and len(text) >= 2 and text[0] == text[-1] == '"'):
            raise CorruptDatasetError(f"{path}, line {number}: expected a message, got {line!r}.")
        body = re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[0]), text[1:-1])
        parts[field] = parts.get(field, "") + body
    if not pairs:
        raise CorruptDatasetError(f"{path} holds no translated message; it is damaged.")
    return pairs


def text_columns(table: Table) -> list[int]:
    """Return the columns whose declared categories are words; 0/1 and grades are numbers."""
    return [c for c, words in table.categories.items() if not all(map(is_number, words))]


def read_npz(path: Path, *names: str) -> list[NDArray[Any]]:
    """Return arrays of an npz file by name."""
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("It holds a single array.")
        with archive:
            return [archive[name] for name in names]
    except UNREADABLE as error:
        raise CorruptDatasetError(
            f"{path} cannot be read as an npz file with {', '.join(names)} ({clause(error)})."
        ) from error


def _empty_array(subtype: type, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Stand in for the function of numpy that its pickles call before they set the state."""
    return np.ndarray(shape, dtype)


class _ArrayUnpickler(pickle.Unpickler):
    """Builds dicts, lists and numpy arrays, and refuses to look up anything else."""

    allowed = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("numpy.core.multiarray", "_reconstruct"): _empty_array,
        ("numpy._core.multiarray", "_reconstruct"): _empty_array,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.allowed[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"The pickle asks for {module}.{name}; only numpy arrays are allowed"
            ) from None


def unpickle_arrays(packed: bytes) -> Any:
    """Read a pickle of arrays in plain containers, written by Python 2 or 3."""
    return _ArrayUnpickler(io.BytesIO(packed), encoding="latin1").load()
