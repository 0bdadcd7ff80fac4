"""Tables of zeros and ones in the files of the density-estimation benchmark.

The twenty sets of Van Haaren and Davis (2012) are kept as ``NAME.ts.data``, ``NAME.valid.data`` and
``NAME.test.data``: rows of integers with commas between them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.checked import checked

__all__ = ["DensityTable", "read_density_table"]


class DensityTable(NamedTuple):
    """Rows to learn from, to choose settings by and to judge by."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def _rows(path: Path) -> NDArray[np.int64]:
    try:
        return np.loadtxt(path, delimiter=",", dtype=np.int64, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path} is no table of integers with commas: {error}.") from None


@checked
def read_density_table(folder: Any, name: str) -> DensityTable:
    """Read a data set of the density-estimation benchmark from a folder of its files.

    Parameters
    ----------
    folder : str or path-like
        Where the files are.
    name : str
        What the names of the three files begin with, such as "nltcs".

    Returns
    -------
    table : DensityTable
        `train`, `validation` and `test`, arrays of integers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from octavo.data import read_density_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in ("ts", "valid", "test"):
    ...         _ = (Path(folder) / f"toy.{part}.data").write_text("0,1\\n1,1\\n")
    ...     table = read_density_table(folder, "toy")
    >>> table.train.tolist()
    [[0, 1], [1, 1]]
    """
    if not isinstance(folder, (str, os.PathLike)) or not isinstance(name, str):
        raise TypeError("folder and name must be a path and a word.")
    try:
        paths = [Path(folder) / f"{name}.{part}.data" for part in ("ts", "valid", "test")]
        absent = [path.name for path in paths if not path.is_file()]
    except OSError as error:
        raise ValueError(f"{folder!r} cannot be read: {error}.") from None
    if absent:
        raise ValueError(f"{folder} has no {' and no '.join(absent)}.")
    table = DensityTable(*(_rows(path) for path in paths))
    widths = {part.shape[1] for part in table}
    if len(widths) > 1:
        raise ValueError(f"The files of {name} have different numbers of columns: {widths}.")
    return table
