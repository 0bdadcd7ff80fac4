"""Tables from files: CSV, TSV, JSON, Excel, Parquet, ARFF and libsvm, packed or not.

`read_table` returns a `Table`: the columns as they stand in the file, and a sentence for
everything that had to be guessed. What cannot be read raises `InputError`, whose message says
what to do.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from octavo._outside_text import clause
from octavo._unpacking import OPENERS, UNPACKING_ERRORS, TooLargeError, read_limited, unpack

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
}
FORMATS = (
    "CSV, TSV, JSON lines, Excel, Parquet, ARFF and libsvm, also packed as .gz, .bz2, .xz or .zip"
)
DELIMITERS = [",", "\t", ";", "|"]
TOKENIZING = "Error tokenizing data. C error: "  # how pandas begins
SPARSE_CELLS = 20_000_000  # a libsvm file with more cells than this stays sparse
_LIBSVM_LINE = re.compile(rb"^\s*[-+.\deE,]+(\s+(qid|\d+):\S+)+\s*(#.*)?$")


class InputError(ValueError):
    """Data that cannot be used as they are; the message says what to do."""


@dataclass
class Table:
    """What a file holds.

    Parameters
    ----------
    frame : DataFrame
        The columns. Empty for a sparse file, whose features are in `sparse`.
    name : str
        The file's name, for headings.
    notes : list of str
        What was guessed while reading.
    sparse : csr_array or None
        The features of a wide libsvm file.
    target : str or None
        The column that the format itself says is the target.
    """

    frame: pd.DataFrame
    name: str
    notes: list[str] = field(default_factory=list)
    sparse: Any = None
    target: str | None = None


def need_pandas() -> Any:
    """Return pandas, or say how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise InputError(
            "Comparing methods on a table needs pandas, which is not installed: "
            "pip install 'octavo[compare]'."
        ) from error
    return pandas


def read_table(path: str | Path, *, header: bool | None = None) -> Table:
    """Read a file whatever its format.

    Parameters
    ----------
    path : str or Path
        The file. Its format is told by its name, else by its first bytes.
    header : bool or None, default=None
        Whether the first line of a delimited file holds names; None looks.

    Returns
    -------
    table : Table
        The columns, with notes on what was guessed.
    """
    need_pandas()
    path = Path(path)
    content, inner = _unpacked(path)
    kind = KINDS.get(inner.suffix.lower()) or _kind_of(content)
    if kind == "parquet":
        return _read_parquet(path, content)
    if kind == "libsvm":
        return _read_libsvm(path, content)
    if kind == "excel":
        from octavo.compare.table.spreadsheets import read_excel

        return read_excel(path, content, header)
    text, notes = decoded(content, path)
    if kind == "arff":
        table = _read_arff(path, text)
    elif kind == "json":
        from octavo.compare.table.spreadsheets import read_json

        table = read_json(path, text)
    else:
        table = _read_delimited(path, text, inner.suffix.lower(), header)
    table.notes[:0] = notes
    return table


def _unpacked(path: Path) -> tuple[bytes, Path]:
    """Return the bytes of a file and the name that it has without its packing."""
    if not path.exists():
        folder = path.parent if path.parent.is_dir() else None
        near = (
            difflib.get_close_matches(path.name, [p.name for p in folder.iterdir()])
            if folder
            else []
        )
        hint = f"did you mean {' or '.join(near)}?" if near else "check the path."
        raise InputError(f"There is no file {path}; {hint}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name one file of it ({FORMATS}).")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    if not content:
        raise InputError(f"{path} is empty; check how it was written.")
    suffix = path.suffix.lower()
    try:
        if suffix in OPENERS:
            return unpack(content, suffix), path.with_suffix("")
        if suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = [n for n in archive.namelist() if not n.endswith("/")]
                if len(names) != 1:
                    raise InputError(f"{path} holds {len(names)} files; unpack it and name one.")
                with archive.open(names[0]) as member:
                    return read_limited(member), Path(names[0])
    except TooLargeError as error:
        raise InputError(f"{path} is too large. {error}") from None
    except UNPACKING_ERRORS as error:
        raise InputError(
            f"{path} cannot be unpacked ({clause(error)}); fetch or pack it again."
        ) from error
    return content, path


def _kind_of(content: bytes) -> str:
    """Tell the format from the first bytes."""
    if content[:4] == b"PAR1":
        return "parquet"
    head = content[:65536]
    if re.search(rb"(?im)^\s*@(relation|attribute)\b", head):
        return "arff"
    lines = [line for line in head.splitlines()[:20] if line.strip()]
    if lines and re.match(rb'\s*\[?\s*\{\s*("|\})', head):
        return "json"
    return "libsvm" if lines and all(map(_LIBSVM_LINE.match, lines[:5])) else "delimited"


# --- encodings -----------------------------------------------------------------------------------


def decoded(content: bytes, path: Path) -> tuple[str, list[str]]:
    """Decode bytes, line by line where the file mixes encodings.

    Parameters
    ----------
    content : bytes
        The file.
    path : Path
        Its name, for messages.

    Returns
    -------
    text : str
        The text.
    notes : list of str
        Which encoding was found, unless it is plain UTF-8.
    """
    for mark, encoding in (
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
        (b"\xef\xbb\xbf", "utf-8-sig"),
    ):
        if content.startswith(mark):
            try:
                return content.decode(encoding), [
                    f"Read as {encoding.upper()}, as its first bytes say."
                ]
            except UnicodeDecodeError:
                content = content.removeprefix(mark)
                break
    if b"\0" in content[:65536]:
        raise InputError(f"{path} is not a text file; octavo reads {FORMATS}.")
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        return _decoded_by_line(content, path)


def _decoded_by_line(content: bytes, path: Path) -> tuple[str, list[str]]:
    lines, foreign, n_utf8 = [], [], 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            text = line.decode("utf-8")
            n_utf8 += not text.isascii()
        except UnicodeDecodeError:
            # cp1252 leaves five bytes undefined, latin-1 none.
            text = line.decode("cp1252", errors="replace")
            foreign.append(number)
        lines.append(text)
    if not n_utf8:
        note = (
            f"{path.name} is not UTF-8; it was read as Windows-1252. Save it as UTF-8 to be sure."
        )
    else:
        note = (
            f"{path.name} mixes encodings: {n_utf8} lines with letters beyond ASCII are UTF-8, "
            f"{len(foreign)} are not (the first is line {foreign[0]}) and were read as "
            "Windows-1252. "
            "Save the file in one encoding, UTF-8, and look at those lines."
        )
    return "".join(lines), [note]


# --- delimited text ------------------------------------------------------------------------------


def find_delimiter(lines: list[str]) -> str | None:
    """Return what separates cells: the sign that splits the lines most evenly, None for blanks."""
    best, best_score = ",", 1.0
    for sign in DELIMITERS:
        widths = [
            len(row) for row in csv.reader(lines, delimiter=sign, skipinitialspace=True) if row
        ]
        usual = max(set(widths), key=widths.count)
        score = usual * widths.count(usual) / len(widths)
        if usual > 1 and score > best_score:
            best, best_score = sign, score
    if best_score > 1:
        return best
    widths = [len(line.split()) for line in lines if line.strip()]
    return None if widths and widths[0] > 1 and len(set(widths)) == 1 else ","


def has_header(rows: list[list[str]]) -> bool:
    """Whether the first row holds names: words that differ, and that are not values below."""
    first = [cell.strip() for cell in rows[0]]
    if len(rows) < 2 or any(_is_number(cell) for cell in first) or not any(first):
        return False
    below = [[row[k].strip() for row in rows[1:] if k < len(row)] for k in range(len(first))]
    if any(cells and all(map(_is_number, cells)) for cells in below):
        return True
    if len({cell for cell in first if cell}) < sum(map(bool, first)):
        return False  # names differ
    return not any(name in cells for name, cells in zip(first, below))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_delimited(path: Path, text: str, suffix: str, header: bool | None) -> Table:
    pd = need_pandas()
    text, notes = without_comments(text)
    head = [line for line in text[:200_000].splitlines() if line.strip()][:200]
    if not head:
        raise InputError(f"{path} holds no rows; check how it was written.")
    sign = "\t" if suffix in (".tsv", ".tab") else find_delimiter(head)
    if sign is None:
        rows = [line.split() for line in head]
    else:
        rows = [row for row in csv.reader(head, delimiter=sign, skipinitialspace=True) if row]
    named = has_header(rows) if header is None else header
    options: dict[str, Any] = {"sep": sign} if sign else {"sep": r"\s+"}
    if sign == ";" and _decimal_commas(rows[1:]):
        options["decimal"] = ","
        notes.append("Numbers are written with decimal commas.")
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            header=0 if named else None,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            **options,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        reason = clause(str(error).removeprefix(TOKENIZING))
        raise InputError(
            f"{path} is not a clean table ({reason}); mend that line: a stray separator or quote?"
        ) from error
    if named:
        twice = [
            str(c)
            for c in frame.columns
            if re.fullmatch(r".+\.\d+", str(c))
            and str(c).rsplit(".", 1)[0] in set(map(str, frame.columns))
        ]
        if twice:
            notes.append(f"Names that stand twice were numbered: {', '.join(twice)}.")
    else:
        frame.columns = [f"c{k + 1}" for k in range(frame.shape[1])]
        notes.append(
            f"The first line holds values, not names; the columns were called c1 to "
            f"c{frame.shape[1]} (--header says otherwise)."
        )
    frame.columns = [str(c).strip() for c in frame.columns]
    if frame.shape[1] > 1 and frame.iloc[:, -1].isna().any():
        notes += _short_lines(text, sign, frame.shape[1])
    return Table(frame, path.name, notes)


def _short_lines(text: str, sign: str | None, width: int) -> list[str]:
    """Tell of rows with fewer cells than names: which cell is missing, they do not say."""
    lines = text.splitlines()
    rows = (line.split() for line in lines) if sign is None else csv.reader(lines, delimiter=sign)
    short = [row for row in rows if 0 < len(row) < width]
    if not short:
        return []
    example = (sign or " ").join(short[0])
    example = example if len(example) <= 60 else example[:57] + "..."
    n = f"{len(short):,} row{'s have' if len(short) > 1 else ' has'}"
    return [
        f"{n} fewer cells than the {width} columns; what is missing is taken to be the last. The "
        f"first such row: {example}"
    ]


def without_comments(text: str) -> tuple[str, list[str]]:
    """Take out lines that begin with ``#``, where the file begins with such a line.

    The last of them stays, without its sign, when it has as many cells as the rows and they are
    words: then it holds the names. Later lines go that begin with ``#`` and are no whole row.

    Parameters
    ----------
    text : str
        A delimited file.

    Returns
    -------
    text : str
        Without comments.
    notes : list of str
        What was taken out.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith("#"):
        return text, []
    lines = text.splitlines(keepends=True)
    first = next((k for k, x in enumerate(lines) if x.strip() and x.lstrip()[0] != "#"), None)
    if first is None:
        return text, []  # no row is left: they are data
    body = [line for line in lines[first : first + 100] if line.strip() and line[0] != "#"]
    sign = find_delimiter(body) if len(body) > 1 else find_delimiter(body * 2)

    def cells(line: str) -> list[str]:
        return next(csv.reader([line], delimiter=sign), []) if sign else line.split()

    width = len(cells(body[0]))
    above = [line for line in lines[:first] if line.strip()]
    names = above[-1].lstrip().removeprefix("#").lstrip(" ")
    head = []
    if (
        width > 1
        and len(cells(names)) == width
        and has_header([cells(line) for line in (names, *body)])
        and not has_header([cells(line) for line in body])
    ):
        head = [names]
    kept = [line for line in lines[first:] if not line.startswith("#") or len(cells(line)) == width]
    n_gone = len(above) - len(head) + len(lines) - first - len(kept)
    notes = [f"{n_gone} comment line{'s' if n_gone > 1 else ''} (#) passed over."] if n_gone else []
    if head:
        notes.append("The names of the columns were taken from the last of the # lines.")
    return "".join([*head, *kept]), notes


def _decimal_commas(rows: list[list[str]]) -> bool:
    cells = [cell.strip() for row in rows for cell in row]
    return any(re.fullmatch(r"[-+]?\d+,\d+", cell) for cell in cells) and not any(
        re.fullmatch(r"[-+]?\d+\.\d+", cell) for cell in cells
    )


# --- other formats -------------------------------------------------------------------------------


def _read_parquet(path: Path, content: bytes) -> Table:
    pd = need_pandas()
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise InputError(
            "Reading Parquet needs pyarrow, which is not installed: pip install 'octavo[compare]'."
        ) from error
    except Exception as error:  # pyarrow's own errors share no base class with pandas
        raise InputError(f"{path} is not a sound Parquet file; write it again.") from error
    notes = []
    if not isinstance(frame.index, pd.RangeIndex):
        kept = [name for name in frame.index.names if name is not None]
        frame = frame.reset_index(drop=not kept)
        notes.append("The index of the file became columns." if kept else "Its index was dropped.")
    frame.columns = [str(c) for c in frame.columns]
    return Table(frame, path.name, notes)


def _read_libsvm(path: Path, content: bytes) -> Table:
    from sklearn.datasets import load_svmlight_file

    pd = need_pandas()
    try:
        X, y = load_svmlight_file(io.BytesIO(content))
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{path} is not a libsvm file ({clause(error)}); a line is a label and index:value "
            "pairs."
        ) from error
    if X.shape[0] * X.shape[1] <= SPARSE_CELLS:
        frame = pd.DataFrame(X.toarray(), columns=[f"f{k + 1}" for k in range(X.shape[1])])
        return Table(frame.assign(target=y), path.name, [], target="target")
    note = (
        f"{X.shape[1]:,} features, {X.nnz / max(1, X.shape[0]):.0f} of them set in a row: kept "
        "sparse, so "
        "that only methods for sparse rows take part."
    )
    return Table(pd.DataFrame({"target": y}), path.name, [note], sparse=X.tocsr(), target="target")


_ATTRIBUTE = re.compile(
    r"""^@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)$""", re.I
)


def _read_arff(path: Path, text: str) -> Table:
    pd = need_pandas()
    lines = text.splitlines()
    names: list[str] = []
    kinds: list[str] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped.lower().startswith("@data"):
            break
        if stripped.lower().startswith("@attribute"):
            match = _ATTRIBUTE.match(stripped)
            if match is None:
                raise InputError(
                    f"{path}, line {number + 1}: not an attribute: {stripped!r}; mend it."
                )
            names.append(match[1].strip("'\""))
            kinds.append(match[2].strip())
    else:
        raise InputError(
            f"{path} has no @data section; it is damaged or cut short, fetch it again."
        )
    body = [row for row in lines[number + 1 :] if row.strip() and not row.lstrip().startswith("%")]
    if not body:
        raise InputError(f"{path} holds no rows after @data; it is cut short, fetch it again.")
    frame = _arff_rows(path, body, names)
    for name, kind in zip(names, kinds):
        if kind.startswith("{"):
            levels = next(csv.reader([kind.strip("{}")], quotechar="'", skipinitialspace=True))
            levels = [level.strip().strip('"') for level in levels]
            if len(levels) > 2 or not all(map(_is_number, levels)):
                as_text = frame[name].map(lambda v: v if pd.isna(v) else _plain(v))
                frame[name] = pd.Categorical(as_text)
    return Table(frame, path.name)


def _plain(value: Any) -> str:
    """Spell a level as the header does: 1 and not 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _arff_rows(path: Path, body: list[str], names: list[str]) -> pd.DataFrame:
    pd = need_pandas()
    if body[0].lstrip().startswith("{"):
        rows = np.zeros((len(body), len(names)), dtype=object)
        for i, line in enumerate(body):
            for cell in next(
                csv.reader([line.strip().strip("{}")], quotechar="'", skipinitialspace=True)
            ):
                place, _, value = cell.strip().partition(" ")
                rows[i, int(place)] = value.strip().strip("'")
        return pd.DataFrame(rows, columns=names).infer_objects().apply(_as_numbers)
    quote = '"' if any('"' in row for row in body[:1000]) else "'"
    try:
        return pd.read_csv(
            io.StringIO("\n".join(body)),
            header=None,
            names=names,
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=["?", ""],
            quotechar=quote,
            low_memory=False,
        )
    except (pd.errors.ParserError, csv.Error) as error:
        reason = clause(str(error).removeprefix(TOKENIZING))
        raise InputError(f"{path} is not a clean ARFF file ({reason}); mend that line.") from error


def _as_numbers(column: pd.Series) -> pd.Series:
    pd = need_pandas()
    numbers = pd.to_numeric(column.where(column != "?"), errors="coerce")
    return numbers if numbers.notna().sum() == (column != "?").sum() else column
