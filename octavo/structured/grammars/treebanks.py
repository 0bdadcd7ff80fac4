"""Trees from files in the CoNLL-U format, without another package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["Treebank", "read_conllu"]

COLUMNS = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4}


class Treebank(NamedTuple):
    """Tags of each sentence, and heads: 0 for the root, 1-based else."""

    sequences: list[list[str]]
    heads: list[np.ndarray]


@checked
def read_conllu(
    path: Any, *, column: str = "upos", max_length: int | None = None, punctuation: bool = True
) -> Treebank:
    """Read tags and heads from a CoNLL-U file.

    Ranges of words (``1-2``) and empty nodes (``1.1``) are left out; the words that they stand for
    are read.

    Parameters
    ----------
    path : str or path-like
        The file, in UTF-8.
    column : {"upos", "xpos", "form", "lemma"}, default="upos"
        What is taken for the tag.
    max_length : int or None, default=None
        Longer sentences are left out.
    punctuation : bool, default=True
        Whether to keep tokens whose universal tag is PUNCT. Without them, the dependents of one
        that is left out go to its head.

    Returns
    -------
    Treebank
        ``sequences`` and ``heads``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from octavo.structured import read_conllu
    >>> rows = ["1\\tdogs\\tdog\\tNOUN\\t_\\t_\\t2\\tnsubj\\t_\\t_",
    ...         "2\\tbark\\tbark\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.conllu")
    ...     _ = file.write_text("\\n".join(rows) + "\\n\\n")
    ...     sequences, heads = read_conllu(file)
    >>> sequences, heads[0].tolist()
    ([['NOUN', 'VERB']], [2, 0])
    """
    if column not in COLUMNS:
        raise ValueError(f"Parameter column must be one of {sorted(COLUMNS)}, got {column!r}.")
    if max_length is not None and max_length < 1:
        raise ValueError(f"Parameter max_length must be at least 1 or None, got {max_length}.")
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"Expected the path of a file, got {type(path).__name__}.")
    sequences, heads = [], []
    try:
        for start, rows in _sentences(Path(path)):
            tags, mine = _tree(rows, COLUMNS[column], punctuation, f"{path}, line {start}")
            if tags and (max_length is None or len(tags) <= max_length):
                sequences.append(tags)
                heads.append(mine)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error.reason} at {error.start}.") from error
    if not sequences:
        raise ValueError(f"No sentence was found in {path}; is it a CoNLL-U file?")
    return Treebank(sequences, heads)


def _sentences(path: Path):
    """Yield the first line's number and the rows of each sentence."""
    rows: list[list[str]] = []
    start = 1
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            line = line.rstrip("\n\r")
            if not line.strip():
                if rows:
                    yield start, rows
                rows = []
                continue
            if line.startswith("#"):
                continue
            if not rows:
                start = number
            cells = line.split("\t")
            if len(cells) != 10:
                raise ValueError(
                    f"Line {number} of {path} has {len(cells)} columns where CoNLL-U has 10, "
                    "separated by tabs."
                )
            rows.append(cells)
    if rows:
        yield start, rows


def _tree(
    rows: list[list[str]], column: int, punctuation: bool, where: str
) -> tuple[list[str], np.ndarray]:
    words = [row for row in rows if row[0].isdecimal()]
    if [row[0] for row in words] != [str(i) for i in range(1, len(words) + 1)]:
        raise ValueError(f"Words must be numbered 1, 2, 3, ... ({where}).")
    heads = [int(row[6]) if row[6].isdecimal() else -1 for row in words]
    if any(not 0 <= h <= len(words) for h in heads):
        raise ValueError(f"Heads must be numbers between 0 and the sentence's length ({where}).")
    kept = [i for i, row in enumerate(words) if punctuation or row[3] != "PUNCT"]
    place = {i + 1: new for new, i in enumerate(kept, start=1)}
    found = []
    for i in kept:
        head, steps = heads[i], 0
        while head and head not in place:
            head, steps = heads[head - 1], steps + 1
            if steps > len(words):
                raise ValueError(f"Heads run in a circle ({where}).")
        found.append(place.get(head, 0))
    return [words[i][column] for i in kept], np.array(found, dtype=np.int64)
