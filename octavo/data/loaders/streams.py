"""Read tables a chunk of rows at a time, so that a stream larger than memory can be learnt.

Each reader is an iterable of chunks ``(X, y)``, can be read again, and never turns sparse rows
into dense ones: `ArrayChunks` cuts a table in memory or on disk (``numpy.memmap``),
`LibsvmChunks` reads the text format of LIBSVM and SVM-light, `ArffChunks` that of WEKA, dense
or sparse. ``AROW().fit(LibsvmChunks("spam.svm"))`` is all that is needed.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, section 3: the data formats.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

__all__ = ["ArffChunks", "ArrayChunks", "LibsvmChunks"]

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_binary(path) -> IO[bytes]:
    """Open a file for reading bytes, through gzip, bzip2 or xz as its name tells."""
    return _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb")  # type: ignore[operator]


def _check_chunk_size(chunk_size: int) -> int:
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size!r}.")
    return int(chunk_size)


class ArrayChunks:
    """A table cut into chunks of rows.

    Parameters
    ----------
    X : ndarray, memmap or sparse matrix of shape (n_samples, n_features)
        The rows; a dense chunk is a view of them.
    y : array-like of shape (n_samples,)
        The labels.
    chunk_size : int, default=4096
        Rows of a chunk.

    Attributes
    ----------
    n_features : int
        Number of columns.
    classes : ndarray
        The labels that occur.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import ArrayChunks
    >>> chunks = ArrayChunks(np.eye(5), [0, 1, 0, 1, 1], chunk_size=2)
    >>> [X.shape for X, y in chunks]
    [(2, 5), (2, 5), (1, 5)]
    """

    def __init__(self, X, y, chunk_size=4096):
        self.X: Any = X
        if sp.issparse(X):
            self.X = self.X.tocsr()
        self.y = np.asarray(y)
        if self.X.shape[0] != len(self.y):
            raise ValueError(f"X has {self.X.shape[0]} rows, but y has {len(self.y)} labels.")
        self.chunk_size = _check_chunk_size(chunk_size)
        self.n_features = self.X.shape[1]
        self.classes = np.unique(self.y)

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        for start in range(0, len(self.y), self.chunk_size):
            stop = start + self.chunk_size
            yield self.X[start:stop], self.y[start:stop]


class LibsvmChunks:
    """Rows of a file in the text format of LIBSVM, as CSR chunks.

    Parameters
    ----------
    path : str, path or binary file object
        The file; names ending in .gz, .bz2 or .xz are decompressed. A file object that
        cannot seek is read once, and then ``n_features`` and ``classes`` must be given.
    chunk_size : int, default=4096
        Rows of a chunk.
    n_features : int, optional
        Number of columns. Found by reading the whole file once when absent.
    classes : array-like, optional
        The labels. Found in the same way when absent.
    zero_based : bool, default=False
        Whether columns are counted from 0 in the file; by the format they are not.
    dtype : dtype, default=float64
        Of the values.

    Attributes
    ----------
    n_features : int
        Number of columns.
    classes : ndarray
        The labels.

    Examples
    --------
    >>> import io
    >>> from octavo.data import LibsvmChunks
    >>> text = io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n+1 5:1\\n")
    >>> chunks = LibsvmChunks(text, chunk_size=2)
    >>> [X.shape for X, y in chunks], chunks.classes
    ([(2, 5), (1, 5)], array([-1.,  1.]))
    """

    def __init__(
        self,
        path,
        chunk_size=4096,
        *,
        n_features=None,
        classes=None,
        zero_based=False,
        dtype=np.float64,
    ):
        self.path = path
        self.chunk_size = _check_chunk_size(chunk_size)
        self.zero_based = zero_based
        self.dtype = dtype
        self._n_features = n_features
        self._classes = None if classes is None else np.unique(classes)

    def _lines(self) -> Iterator[list[bytes]]:
        """Yield lists of ``chunk_size`` lines that hold a row."""
        if hasattr(self.path, "read"):
            if self.path.seekable():
                self.path.seek(0)
            yield from self._cut(self.path)
        else:
            with open_binary(self.path) as file:
                yield from self._cut(file)

    def _cut(self, file) -> Iterator[list[bytes]]:
        waiting: list[bytes] = []
        for line in file:
            if line.split(b"#", 1)[0].strip():
                waiting.append(line)
                if len(waiting) == self.chunk_size:
                    yield waiting
                    waiting = []
        if waiting:
            yield waiting

    def _parse(self, lines: list[bytes], n_features: int | None):
        text = io.BytesIO(b"".join(lines))
        X, y = load_svmlight_file(
            text, n_features=n_features, zero_based=self.zero_based, dtype=self.dtype
        )
        return X, y

    def _scan(self) -> None:
        """Find the number of columns and the labels in one reading."""
        if hasattr(self.path, "read") and not self.path.seekable():
            raise ValueError(
                "The file can be read only once: pass n_features and classes, which would "
                "have to be looked for in it first."
            )
        columns, labels = 0, np.empty(0)
        for lines in self._lines():
            X, y = self._parse(lines, None)
            columns = max(columns, X.shape[1])
            labels = np.union1d(labels, y)
        self._n_features = columns if self._n_features is None else self._n_features
        self._classes = labels if self._classes is None else self._classes

    @property
    def n_features(self) -> int:
        """Number of columns."""
        if self._n_features is None:
            self._scan()
        assert self._n_features is not None
        return self._n_features

    @property
    def classes(self) -> np.ndarray:
        """The labels, sorted."""
        if self._classes is None:
            self._scan()
        assert self._classes is not None
        return self._classes

    def __iter__(self) -> Iterator[tuple[sp.csr_matrix, np.ndarray]]:
        n_features = self.n_features
        for lines in self._lines():
            yield self._parse(lines, n_features)


class _Attribute(NamedTuple):
    name: str
    values: tuple[str, ...] | None  # None: numeric


def _words(text: str) -> list[str]:
    """Split at commas outside quotes (single or double) and take the quotes off."""
    quote = "'" if "'" in text and '"' not in text else '"'
    reader = csv.reader([text], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [word.strip() for word in next(reader)]


_NAME = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.I | re.S)


def _attribute(line: str, number: int) -> _Attribute:
    match = _NAME.match(line)
    if match is None:
        raise ValueError(f"Line {number} is not an attribute of an ARFF file: {line!r}.")
    name, kind = match[1], match[2].strip()
    if name[0] in "'\"":
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    if kind.startswith("{"):
        return _Attribute(name, tuple(_words(kind[1 : kind.rindex("}")])))
    if kind.split()[0].lower() in ("numeric", "real", "integer"):
        return _Attribute(name, None)
    raise ValueError(
        f"Attribute {name!r} has type {kind!r}; expected numeric, real, integer or a list of "
        "values in braces. Name it in `ignore` to leave it out."
    )


class ArffChunks:
    """Rows of a file in the format of WEKA, dense or sparse, as chunks.

    A nominal feature becomes one column per value (1 where the row has it), so that chunks
    are CSR if the file is sparse or has such a feature, and dense otherwise.

    Parameters
    ----------
    path : str or path
        The file; names ending in .gz, .bz2 or .xz are decompressed.
    chunk_size : int, default=4096
        Rows of a chunk.
    target : str, optional
        Attribute that holds the label; the last one when absent.
    ignore : sequence of str, default=()
        Attributes to leave out; those of type string or date must be.

    Attributes
    ----------
    feature_names : list of str
        Names of the columns; ``name=value`` for a nominal feature.
    n_features : int
        Number of columns.
    classes : ndarray or None
        The values of a nominal target; None for a numeric one.

    Notes
    -----
    A value left out of a sparse row is 0, which for a nominal attribute is its first value:
    that is the definition of the format. A missing value ``?`` is NaN in a numeric column and
    0 in all columns of a nominal feature; a missing label is an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from octavo.data import ArffChunks
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.arff"
    >>> _ = path.write_text(
    ...     "@relation tiny\\n@attribute length real\\n@attribute colour {red, blue}\\n"
    ...     "@attribute class {no, yes}\\n@data\\n1.5, blue, yes\\n2.5, red, no\\n"
    ... )
    >>> chunks = ArffChunks(path)
    >>> X, y = next(iter(chunks))
    >>> chunks.feature_names, X.toarray().tolist(), y.tolist()
    (['length', 'colour=red', 'colour=blue'], [[1.5, 0.0, 1.0], [2.5, 1.0, 0.0]], ['yes', 'no'])
    """

    def __init__(self, path, chunk_size=4096, *, target=None, ignore=()):
        self.path = path
        self.chunk_size = _check_chunk_size(chunk_size)
        self.ignore = tuple(ignore)
        with io.TextIOWrapper(open_binary(path), encoding="utf-8") as file:
            self.attributes = self._header(file)
        names = [attribute.name for attribute in self.attributes]
        self.target = names[-1] if target is None else target
        if self.target not in names:
            raise ValueError(f"target={target!r} is not an attribute of the file: {names}.")
        self._target_at = names.index(self.target)
        self._lay_out_columns()

    def _header(self, file) -> list[_Attribute]:
        """Read up to the line ``@data``."""
        attributes: list[_Attribute] = []
        for number, line in enumerate(file, start=1):
            text = line.strip()
            keyword = text.lower()
            if keyword.startswith("@attribute"):
                name = _NAME.match(text)
                if name is not None and name[1].strip("'\"") in self.ignore:
                    attributes.append(_Attribute(name[1].strip("'\""), None))
                else:
                    attributes.append(_attribute(text, number))
            elif keyword.startswith("@data"):
                if not attributes:
                    raise ValueError("The ARFF file has no @attribute before @data.")
                return attributes
            elif text and not text.startswith("%") and not keyword.startswith("@relation"):
                raise ValueError(f"Line {number} does not belong to an ARFF header: {text!r}.")
        raise ValueError("The ARFF file has no line @data.")

    def _lay_out_columns(self) -> None:
        """Number the columns: ``self._first[k]`` is the first of attribute k, -1 for none."""
        self._first: list[int] = []
        self.feature_names: list[str] = []
        self._codes: list[dict[str, int] | None] = []
        for k, (name, values) in enumerate(self.attributes):
            skip = k == self._target_at or name in self.ignore
            self._first.append(-1 if skip else len(self.feature_names))
            self._codes.append(None if values is None else {v: i for i, v in enumerate(values)})
            if not skip:
                self.feature_names += [name] if values is None else [f"{name}={v}" for v in values]
        self.n_features = len(self.feature_names)
        values = self.attributes[self._target_at].values
        self.classes = None if values is None else np.unique(values)
        self._nominal = any(
            codes is not None and first >= 0
            for codes, first in zip(self._codes, self._first, strict=True)
        )

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        with io.TextIOWrapper(open_binary(self.path), encoding="utf-8") as file:
            in_data = False
            waiting: list[tuple[int, str]] = []
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if not in_data:
                    in_data = text.lower().startswith("@data")
                elif text and not text.startswith("%"):
                    waiting.append((number, text))
                    if len(waiting) == self.chunk_size:
                        yield self._parse(waiting)
                        waiting = []
            if waiting:
                yield self._parse(waiting)

    def _parse(self, lines: list[tuple[int, str]]):
        """Turn lines into a chunk."""
        labels: list[str] = []
        indptr: list[int] = [0]
        indices: list[int] = []
        values: list[float] = []
        sparse = self._nominal
        for number, text in lines:
            try:
                if text.startswith("{"):
                    sparse = True
                    cells = self._sparse_cells(text)
                else:
                    cells = dict(enumerate(_words(text)))
                    if len(cells) != len(self.attributes):
                        raise ValueError(f"It has {len(cells)} values.")
                labels.append(self._label(cells))
                for k, word in cells.items():
                    self._place(k, word, indices, values)
            except ValueError as error:
                raise ValueError(
                    f"Line {number} of the ARFF file is not a row of {len(self.attributes)} "
                    f"attributes: {text[:80]!r}. {error}"
                ) from None
            indptr.append(len(indices))
        X = sp.csr_matrix((values, indices, indptr), (len(lines), self.n_features), np.float64)
        y = np.array(labels) if self.classes is not None else np.array(labels, dtype=np.float64)
        if sparse:
            return X, y
        return np.array(values, dtype=np.float64).reshape(len(lines), self.n_features), y

    def _sparse_cells(self, text: str) -> dict[int, str]:
        """Return the cells of ``{index value, ...}``, with nominal values left out put in."""
        cells: dict[int, str] = {}
        for k, (_, values) in enumerate(self.attributes):
            if values is not None:
                cells[k] = values[0]
        if self.attributes[self._target_at].values is None:
            cells[self._target_at] = "0"
        body = text[1 : text.rindex("}")].strip()
        for cell in _words_kept(body):
            index, word = cell.split(None, 1)
            cells[int(index)] = _words(word)[0]
        return cells

    def _label(self, cells: dict[int, str]) -> str:
        label = cells[self._target_at]
        codes = self._codes[self._target_at]
        if label == "?" or (codes is not None and label not in codes):
            raise ValueError(f"Its label is {label!r}.")
        return label

    def _place(self, k: int, word: str, indices: list[int], values: list[float]) -> None:
        """Append the entries that attribute ``k`` makes."""
        if not 0 <= k < len(self._first):
            raise ValueError(f"It names attribute {k}.")
        first, codes = self._first[k], self._codes[k]
        if first < 0:
            return
        if codes is None:
            indices.append(first)
            values.append(np.nan if word == "?" else float(word))
        elif word != "?":
            if word not in codes:
                raise ValueError(f"{word!r} is not a value of {self.attributes[k].name!r}.")
            indices.append(first + codes[word])
            values.append(1.0)


def _words_kept(body: str) -> list[str]:
    """Split at commas outside quotes and leave the quotes on."""
    return [cell.strip() for cell in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^,])+", body)]
