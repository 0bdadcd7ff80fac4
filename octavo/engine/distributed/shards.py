"""Parts of a data set that stay where they are: in memory, in files, or behind a function.

A shard yields its rows in blocks of compressed sparse rows, as often as it is asked. Files are
mapped into memory and their pages given back after each block, so that a pass over a shard needs
the memory of one block however large the shard is. A shard of files or of a function is pickled
by its name alone and opened again where it arrives.

A shard on disk is a folder of plain ``.npy`` arrays (values, indices, indptr, y and, where rows
are weighted, weight) and ``shard.json``, which comes last: without it the shard is unfinished.
Files are written under other names and renamed when all are whole, so that a full disk leaves
what was there before. ``shard.json`` holds a checksum of every file and one of itself. They are
compared, and indices and row pointers checked, once before a shard's first row is used: compiled
code trusts them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from octavo._whole_files import write_whole
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr

BLOCK_BYTES = 1 << 24  # of values and indices held at once while a file is read
_NO_WEIGHT = np.empty(0)


class Block(NamedTuple):
    """Consecutive rows: row i is ``indptr[i]:indptr[i + 1]`` of values and indices.

    Indices are unsigned, which spares compiled code the wrapping of negative ones; ``weight``
    is empty when all rows weigh one.
    """

    values: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[np.int64]
    y: NDArray[Any]
    weight: NDArray[np.float64]

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.indptr[-1] - self.indptr[0])


class _Pointed:
    """Presents a read-only array as a writable one, without a copy.

    Compiled code never writes to the data; with one type for both kinds it is compiled once.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        pointer = array.__array_interface__["data"][0]
        self.__array_interface__ = {**array.__array_interface__, "data": (pointer, False)}


def _for_kernels(array: NDArray[Any]) -> NDArray[Any]:
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else np.asarray(_Pointed(array))


def _kernel_indices(indices: NDArray[Any], n_features: int) -> NDArray[Any]:
    if indices.dtype.itemsize == 8 and n_features < 2**31:
        indices = indices.astype(np.int32)
    unsigned = np.uint32 if indices.dtype.itemsize == 4 else np.uint64
    return _for_kernels(indices).view(unsigned)


def _values_of(values: NDArray[Any]) -> NDArray[Any]:
    kept = values.dtype if values.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return _for_kernels(values.astype(kept, copy=False))


def csr_arrays(
    X: Any, canonical: bool = False
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], int]:
    """Return values, unsigned indices, row pointers and the number of columns of a table.

    Nothing is copied but what must be: duplicate entries of a sparse matrix are added up (unless
    it comes from `canonical_csr`), and a dense table gets indices for all of its entries while its
    values stay where they are.
    """
    if sp.issparse(X):
        X = X if canonical else canonical_csr(X)
        n_features = X.shape[1]
        values, indices, indptr = X.data, X.indices, X.indptr
    else:
        X = np.ascontiguousarray(X)
        n, n_features = X.shape
        values = X.reshape(-1)
        indices = np.tile(np.arange(n_features, dtype=np.int32), n)
        indptr = np.arange(n + 1, dtype=np.int64) * n_features
    return (
        _values_of(values),
        _kernel_indices(indices, n_features),
        _for_kernels(indptr.astype(np.int64, copy=False)),
        n_features,
    )


class Shard:
    """Rows with targets and weights, visited in the same order in every pass.

    Attributes
    ----------
    name : str
        What messages call it.
    n_features : int
        Number of columns.
    n_rows : int or None
        Number of rows; None until a stream has been read once.
    travels_by_name : bool
        Whether a pickle of it is small: a path or a function in place of the rows.
    """

    name: str
    n_features: int
    n_rows: int | None
    travels_by_name: bool = True

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, each block valid until the next is asked for."""
        raise NotImplementedError

    def rows(self, start: int, stop: int) -> Block:
        """Return the rows from start to stop, without reading others."""
        raise TypeError(f"{self.name} can only be read from its beginning, not at a given row.")


class ArrayShard(Shard):
    """Rows in memory."""

    travels_by_name = False

    def __init__(
        self, block: Block, n_features: int, name: str = "in memory", start: int = 0
    ) -> None:
        self._block, self.n_features, self.name = block, n_features, name
        self.start = start
        self.n_rows = block.indptr.size - 1

    @classmethod
    def of(
        cls,
        X: Any,
        y: ArrayLike,
        weight: ArrayLike | None = None,
        name: str = "",
        canonical: bool = False,
    ) -> Self:
        """Take a table with its targets and weights."""
        values, indices, indptr, n_features = csr_arrays(X, canonical)
        block = _checked_block(values, indices, indptr, y, weight, name)
        return cls(block, n_features, name or "in memory")

    def blocks(self) -> Iterator[Block]:
        """Yield the whole shard as one block."""
        yield self._block

    def rows(self, start: int, stop: int) -> Block:
        """Return some of the rows, as views."""
        values, indices, indptr, y, weight = self._block
        return Block(values, indices, indptr[start : stop + 1], y[start:stop], weight[start:stop])

    def __reduce__(self) -> Any:
        values, indices, indptr, y, weight = self._block
        first, last = int(indptr[0]), int(indptr[-1])  # a slice travels without the rest
        block = Block(values[first:last], indices[first:last], indptr - first, y, weight)
        return ArrayShard, (block, self.n_features, self.name, self.start)


def _checked_block(
    values: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[np.int64],
    y: ArrayLike,
    weight: ArrayLike | None,
    name: str,
) -> Block:
    y = np.asarray(y)
    n = indptr.size - 1
    if y.shape != (n,):
        raise ValueError(f"{name or 'shard'}: {n} rows need as many targets, got shape {y.shape}.")
    if weight is None:
        return Block(values, indices, indptr, y, _NO_WEIGHT)
    weight = np.ascontiguousarray(weight, dtype=float)
    if weight.shape != (n,):
        raise ValueError(f"{name or 'shard'}: {n} rows and weights of shape {weight.shape}.")
    return Block(values, indices, indptr, y, _for_kernels(weight))


def split_rows(
    X: Any, y: ArrayLike, weight: ArrayLike | None, n_shards: int, canonical: bool = False
) -> list[ArrayShard]:
    """Cut a table into runs of consecutive rows; the shards are views of it."""
    whole = ArrayShard.of(X, y, weight, canonical=canonical)
    n = whole.n_rows or 0
    cuts = [n * k // n_shards for k in range(n_shards + 1)]
    return [
        ArrayShard(whole.rows(a, b), whole.n_features, f"rows {a} to {b - 1}", a)
        for a, b in pairwise(cuts)
    ]


class ChainShard(Shard):
    """Several shards as one."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)
        self.name = " + ".join(shard.name for shard in self.shards)
        self.n_features = self.shards[0].n_features
        self.travels_by_name = all(shard.travels_by_name for shard in self.shards)
        known = [shard.n_rows for shard in self.shards]
        self.n_rows = None if None in known else sum(n for n in known if n)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the first, then of the second, and so on."""
        for shard in self.shards:
            yield from shard.blocks()


class StreamShard(Shard):
    """Rows from a function that returns a new iterator of (X, y) or (X, y, weight) blocks.

    Parameters
    ----------
    factory : callable
        Called once a pass; must yield the same rows every time.
    n_features : int, optional
        Number of columns; found from the first block by default.
    name : str
        What messages call it.
    """

    def __init__(
        self,
        factory: Callable[[], Iterable[Any]],
        n_features: int | None = None,
        name: str = "stream",
    ) -> None:
        self.factory, self.name, self.n_rows = factory, name, None
        if n_features is None:
            first = next(iter(factory()), None)
            if first is None:
                raise ValueError(f"{name}: the iterator yields no block, so its width is unknown.")
            n_features = int(np.shape(first[0])[1])
        self.n_features = n_features

    def blocks(self) -> Iterator[Block]:
        """Yield what the function's iterator yields, as compressed sparse rows."""
        seen = 0
        for piece in self.factory():
            X, y, *weight = piece
            values, indices, indptr, n_features = csr_arrays(X)
            if n_features != self.n_features:
                raise ValueError(
                    f"{self.name}: a block has {n_features} features, the first had "
                    f"{self.n_features}."
                )
            yield _checked_block(values, indices, indptr, y, weight[0] if weight else None, "block")
            seen += indptr.size - 1
        if self.n_rows is None:
            self.n_rows = seen
        elif self.n_rows != seen:
            raise ValueError(
                f"{self.name}: the iterator gave {seen} rows, an earlier pass {self.n_rows}."
            )

    def __reduce__(self) -> Any:
        return StreamShard, (self.factory, self.n_features, self.name)


class FileShard(Shard):
    """Rows in memory-mapped files, read block by block.

    Parameters
    ----------
    path : path-like
        Folder written by `ShardWriter`.
    block_bytes : int
        Values and indices that are held at once.
    """

    def __init__(self, path: str | Path, block_bytes: int = BLOCK_BYTES) -> None:
        self.path, self.block_bytes = Path(path), block_bytes
        self.name = str(path)
        facts = _read_facts(self.path)
        self.n_rows, self.n_features = facts["n_rows"], facts["n_features"]
        self.nnz: int = facts["nnz"]
        self._checksums = {part: kept["sha256"] for part, kept in facts["parts"].items()}
        sizes = {"values": self.nnz, "indices": self.nnz, "indptr": facts["n_rows"] + 1}
        self._arrays = {
            part: _map_file(self.path / f"{part}.npy", kept, sizes.get(part, facts["n_rows"]))
            for part, kept in facts["parts"].items()
        }
        self._verified = False

    def _part(self, part: str) -> NDArray[Any]:
        return self._arrays.get(part, _NO_WEIGHT)

    def _verify(self) -> None:
        """Compare the files with their checksums, and look at what compiled code will trust."""
        for part, array in self._arrays.items():
            path = self.path / f"{part}.npy"
            total, before = hashlib.sha256(), 0
            step = max(1, self.block_bytes // array.itemsize)
            for start in range(0, array.size, step):
                piece = np.asarray(array[start : start + step])
                total.update(piece.view(np.uint8))
                if part == "indices" and not (
                    piece.min() >= 0 and int(piece.max()) < self.n_features
                ):
                    raise ValueError(
                        f"{path} is damaged: column indices must lie between 0 and "
                        f"{self.n_features - 1}, got {piece.min()} to {piece.max()}."
                    )
                if part == "indptr":
                    if piece[0] < before or (np.diff(piece) < 0).any():
                        raise ValueError(f"{path} is damaged: its row pointers fall.")
                    before = int(piece[-1])
                _release(array, start, start + piece.size)
            if total.hexdigest() != self._checksums[part]:
                raise ValueError(
                    f"{path} is damaged: its checksum is not the one in shard.json. Write the "
                    "shard again."
                )
        indptr = self._arrays["indptr"]
        if indptr[0] != 0 or indptr[-1] != self.nnz:
            raise ValueError(
                f"{self.path / 'indptr.npy'} is damaged: row pointers must run from 0 to "
                f"{self.nnz}, these run from {indptr[0]} to {indptr[-1]}."
            )
        self._verified = True

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of bounded size and give their pages back."""
        if not self._verified:
            self._verify()
        values, indices, indptr = (self._arrays[k] for k in ("values", "indices", "indptr"))
        room = max(1, self.block_bytes // (values.itemsize + indices.itemsize))
        start, n = 0, self.n_rows or 0
        while start < n:
            limit = int(indptr[start]) + room
            stop = int(np.searchsorted(indptr, limit, side="right")) - 1
            stop = min(max(stop, start + 1), n, start + room)
            yield self.rows(start, stop)
            for array in (values, indices):
                _release(array, int(indptr[start]), int(indptr[stop]))
            start = stop
        for array in (indptr, self._part("y"), self._part("weight")):
            _release(array, 0, array.size)

    def rows(self, start: int, stop: int) -> Block:
        """Return some of the rows, as views of the files."""
        if not self._verified:
            self._verify()
        return Block(
            np.asarray(self._part("values")),
            _kernel_indices(np.asarray(self._part("indices")), self.n_features),
            np.asarray(self._part("indptr")[start : stop + 1]),
            np.asarray(self._part("y")[start:stop]),
            np.asarray(self._part("weight")[start:stop]),
        )

    def __reduce__(self) -> Any:
        return FileShard, (self.path, self.block_bytes)


_NUMBERS = {"values": ("f4", "f8"), "indices": ("i4", "i8"), "indptr": ("i8",), "weight": ("f8",)}


def _facts_checksum(facts: dict[str, Any]) -> str:
    told = {key: value for key, value in facts.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _read_facts(folder: Path) -> dict[str, Any]:
    """Return what shard.json tells, once it is known to be whole and to make sense."""
    path = folder / "shard.json"
    try:
        facts = json.loads(path.read_bytes())
        if not isinstance(facts, dict):
            raise ValueError("It holds no facts.")
        if "sha256" not in facts:
            raise ValueError("It has no checksum (shards of early versions had none).")
        if facts["sha256"] != _facts_checksum(facts):
            raise ValueError("Its checksum is another.")
        for key in ("n_rows", "n_features", "nnz"):
            if not isinstance(facts[key], int) or facts[key] < 0:
                raise ValueError(f"{key} must be a count, got {facts[key]!r}.")
        wanted = {"values", "indices", "indptr", "y"}
        if not wanted <= set(facts["parts"]) <= wanted | {"weight"}:
            raise ValueError(f"It names the files {sorted(facts['parts'])}.")
        for part, kept in facts["parts"].items():
            _part_dtype(part, kept["dtype"])
            if not isinstance(kept["offset"], int) or kept["offset"] < 0:
                raise ValueError(f"{part} begins at {kept['offset']!r}.")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{folder} is not a finished shard: it has no shard.json."
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path} is damaged: {str(error).rstrip('.')}. Write the shard again."
        ) from None
    return facts


def _part_dtype(part: str, text: str) -> np.dtype[Any]:
    """Return the type of a file's entries; never one whose bytes are pointers."""
    dtype = np.dtype(text)
    known = dtype.kind in "US" or dtype.str[1:] == "f8" if part == "y" else False
    if not (known or dtype.str[1:] in _NUMBERS.get(part, ())) or not dtype.isnative:
        raise ValueError(f"{part} cannot be of type {text!r} here.")
    return dtype


def _map_file(path: Path, kept: dict[str, Any], size: int) -> NDArray[Any]:
    """Map a file, whose length is checked: to read beyond its end would kill the process."""
    dtype, offset = _part_dtype(path.stem, kept["dtype"]), kept["offset"]
    expected = offset + size * dtype.itemsize
    try:
        found = path.stat().st_size
        if found != expected:
            raise ValueError(f"shard.json tells {expected} bytes, there are {found}.")
        if size == 0:
            return np.empty(0, dtype)
        # Mode "c" maps privately: never written, but of the type that kernels are compiled for.
        return np.memmap(path, dtype, "c", offset, (size,))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is damaged or missing: {str(error).rstrip('.')}.") from None


def _release(array: NDArray[Any], first: int, last: int) -> None:
    """Give back the pages that hold array[first:last]; they are read again when needed."""
    mapped = getattr(array, "_mmap", None)
    if mapped is None or not hasattr(mapped, "madvise"):
        return
    header = (
        array.__array_interface__["data"][0]
        - np.frombuffer(mapped, np.uint8, 1).__array_interface__["data"][0]
    )
    begin = header + first * array.itemsize
    begin -= begin % mmap.PAGESIZE
    length = header + last * array.itemsize - begin
    if length > 0:
        mapped.madvise(mmap.MADV_DONTNEED, begin, min(length, len(mapped) - begin))


class _GrowingArray:
    """An ``.npy`` file that is appended to; its header is completed on closing."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path, self.dtype, self.size = path, dtype, 0
        self._draft = path.with_name(path.name + ".part")
        self._file = self._draft.open("wb")
        self._checksum = hashlib.sha256()
        self._write_header()
        self._offset = self._file.tell()

    def _write_header(self) -> None:
        # numpy pads the header so that the length can grow to any number of digits in place.
        descr = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.size,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, array: NDArray[Any]) -> None:
        array = np.ascontiguousarray(array, dtype=self.dtype)
        self._file.write(array.view(np.uint8).data)
        self._checksum.update(array.view(np.uint8))
        self.size += array.size

    @property
    def facts(self) -> dict[str, Any]:
        """What a reader has to know."""
        told = {"dtype": self.dtype.str, "offset": self._offset}
        return told | {"sha256": self._checksum.hexdigest()}

    def finish(self) -> None:
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def rename(self) -> None:
        self._draft.replace(self.path)

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # a full disk refuses the last bytes once more
            self._file.close()
        self._draft.unlink(missing_ok=True)


class ShardWriter:
    """Write one shard to disk, piece by piece.

    Parameters
    ----------
    path : path-like
        Folder to make. A shard that is there stays as it is until this one is closed.
    n_features : int
        Number of columns.
    dtype : dtype, default=float64
        Type of the stored values: float64 or float32.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from octavo.linear import ShardWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, n_features=2) as writer:
    ...         writer.append(np.eye(2), [0, 1])
    ...         writer.append(np.ones((3, 2)), [1, 1, 0])
    >>> writer.n_rows
    5
    """

    def __init__(self, path: str | Path, n_features: int, dtype: Any = np.float64) -> None:
        self.path, self.n_features = Path(path), int(n_features)
        self._dtype = np.dtype(dtype)
        if self._dtype not in (np.float32, np.float64):
            raise ValueError(f"values are stored as float32 or float64, not {self._dtype}.")
        self.path.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, _GrowingArray] = {}
        self._given_up = False
        self.n_rows = self.nnz = 0

    def _open(self, y: NDArray[Any], weighted: bool) -> None:
        index = np.int32 if self.n_features < 2**31 else np.int64
        types = {"values": self._dtype, "indices": np.dtype(index), "indptr": np.dtype(np.int64)}
        types["y"] = y.dtype if y.dtype.kind in "US" else np.dtype(np.float64)
        if weighted:
            types["weight"] = np.dtype(np.float64)
        for part, dtype in types.items():
            self._files[part] = _GrowingArray(self.path / f"{part}.npy", dtype)
        self._files["indptr"].append(np.zeros(1, np.int64))

    def append(self, X: Any, y: ArrayLike, weight: ArrayLike | None = None) -> None:
        """Add rows; all pieces are weighted, or none."""
        self._refuse_if_given_up()
        values, indices, indptr, n_features = csr_arrays(X)
        if n_features != self.n_features:
            raise ValueError(f"{self.path} has {self.n_features} features, got {n_features}.")
        block = _checked_block(values, indices, indptr, y, weight, str(self.path))
        if not self._files:
            with self._discarded_on_error():
                self._open(block.y, weight is not None)
        if ("weight" in self._files) != (weight is not None):
            raise ValueError(f"{self.path}: either all rows are weighted or none.")
        if block.y.dtype.kind in "US" and block.y.dtype.itemsize > self._files["y"].dtype.itemsize:
            raise ValueError(f"{self.path}: labels became longer than {self._files['y'].dtype}.")
        parts: dict[str, NDArray[Any]] = {
            "values": block.values,
            "indices": block.indices,
            "indptr": block.indptr[1:] - block.indptr[0] + self.nnz,
            "y": block.y,
            "weight": block.weight,
        }
        with self._discarded_on_error():
            for part, file in self._files.items():
                file.append(parts[part])
        self.n_rows += block.indptr.size - 1
        self.nnz += block.values.size

    def close(self) -> None:
        """Finish the shard."""
        self._refuse_if_given_up()
        with self._discarded_on_error():
            if not self._files:
                self._open(np.empty(0), False)
            for file in self._files.values():
                file.finish()
            facts: dict[str, Any] = {
                "n_rows": self.n_rows,
                "n_features": self.n_features,
                "nnz": self.nnz,
                "parts": {part: file.facts for part, file in self._files.items()},
            }
            facts["sha256"] = _facts_checksum(facts)
            (self.path / "shard.json").unlink(missing_ok=True)  # of the shard that was there
            for file in self._files.values():
                file.rename()
            if "weight" not in self._files:
                (self.path / "weight.npy").unlink(missing_ok=True)
            write_whole(self.path / "shard.json", json.dumps(facts) + "\n")

    def discard(self) -> None:
        """Give up: remove what was written; a shard that was there before stays."""
        for file in self._files.values():
            file.discard()
        self._files, self._given_up = {}, True

    @contextlib.contextmanager
    def _discarded_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def _refuse_if_given_up(self) -> None:
        if self._given_up:
            raise ValueError(f"{self.path} was given up after an error; begin with a new writer.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


@checked
def write_shards(
    directory: str | Path,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    n_shards: int = 1,
    random_state: int | np.random.RandomState | None = None,
) -> list[Path]:
    """Deal the rows of a table at random into shards on disk.

    Parameters
    ----------
    directory : path-like
        Folder to make; each shard becomes a folder in it.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        Targets or labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    n_shards : int, default=1
        How many shards.
    random_state : int, RandomState instance or None, default=None
        Seeds the dealing; each shard is a random sample, as averaging over shards assumes.

    Returns
    -------
    paths : list of Path
        The shards in order; hand them, or the directory, to ``fit``.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from octavo.linear import HybridLinearClassifier, write_shards
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_shards(folder, X, X[:, 0] > 0, n_shards=4, random_state=0)
    ...     model = HybridLinearClassifier().fit(paths)
    >>> model.n_iter_ > 0
    True
    """
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    y = y.astype(float) if y.dtype.kind in "bui" else y
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    order = check_random_state(random_state).permutation(X.shape[0])
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    paths = []
    for k, rows in enumerate(np.array_split(order, n_shards)):
        path = Path(directory) / f"shard-{k:05d}"
        with ShardWriter(path, X.shape[1], dtype) as writer:
            writer.append(X[rows], y[rows], None if weight is None else weight[rows])
        paths.append(path)
    return paths


def find_shards(directory: str | Path) -> list[Path]:
    """Return the finished shards in a folder in order, or the folder itself if it is one."""
    directory = Path(directory)
    if (directory / "shard.json").exists():
        return [directory]
    found = sorted(path.parent for path in directory.glob("*/shard.json"))
    if not found:
        raise FileNotFoundError(f"{directory} holds no finished shard (no shard.json found).")
    return found


def is_sharded(X: Any, y: Any) -> bool:
    """Tell training data that come in shards from a table with its targets."""
    if isinstance(X, (str, Path, Shard)) or callable(X):
        return True
    return y is None and isinstance(X, (list, tuple)) and any(map(_is_shard, X))


def _is_shard(item: Any) -> bool:
    pair = isinstance(item, tuple) and len(item) in (2, 3) and hasattr(item[0], "shape")
    return isinstance(item, (str, Path, Shard)) or callable(item) or pair


def as_shards(X: Any) -> list[Shard]:
    """Return the shards that a user's description stands for.

    Parameters
    ----------
    X : path, callable, Shard, or list of them and of (X, y) or (X, y, weight) tuples
        A path is a shard's folder or a folder of shards; a callable returns an iterator of
        blocks.

    Returns
    -------
    shards : list of Shard
        In the order given.
    """
    shards: list[Shard] = []
    for item in X if isinstance(X, (list, tuple)) else [X]:
        k = len(shards)
        if isinstance(item, Shard):
            shards.append(item)
        elif isinstance(item, (str, Path)):
            shards += [FileShard(path) for path in find_shards(item)]
        elif callable(item):
            shards.append(StreamShard(item, name=f"stream {k}"))
        elif _is_shard(item):
            table, y, *weight = item
            shards.append(ArrayShard.of(table, y, weight[0] if weight else None, f"table {k}"))
        else:
            raise TypeError(
                f"Entry {k} of the list of shards is a {type(item).__name__}; expected a path, an "
                "(X, y) or (X, y, weight) tuple, or a function that returns an iterator of blocks."
            )
    widths = {shard.n_features for shard in shards}
    if len(widths) > 1:
        told = ", ".join(f"{shard.name}: {shard.n_features}" for shard in shards[:5])
        raise ValueError(f"Shards differ in their number of features: {told}.")
    return shards
