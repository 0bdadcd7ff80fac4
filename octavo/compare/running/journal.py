"""Finished folds on disk, so that a comparison that was stopped goes on where it was.

A journal is a file of JSON lines, one a finished fold, named by a hash of the data and of the
settings. A line carries the hash of its method too: adding methods keeps what is there. A line
that was cut short or damaged is passed over, and a disk that is full costs no fold.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from octavo import __version__
from octavo._journal_lines import append_line, read_lines
from octavo._outside_text import visible
from octavo.compare.running.folds import FoldOutcome, Settings

if TYPE_CHECKING:
    from octavo.compare.methods.candidates import Candidate
    from octavo.compare.table.problems import Problem


FORMAT = 2  # of the lines: values of rows came with it


def _digest(*parts: Any) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else repr(part).encode())
        total.update(b"\0")
    return total.hexdigest()[:20]


def problem_key(problem: Problem, settings: Settings) -> str:
    """Return a hash of the data as the methods see them, and of the settings."""
    groups = b"" if problem.groups is None else np.ascontiguousarray(problem.groups).tobytes()
    y = b"" if problem.y is None else np.ascontiguousarray(problem.y).tobytes()
    if isinstance(problem.X, list):
        X: list[Any] = [problem.X]
    elif problem.sparse:
        X = [part.tobytes() for part in (problem.X.data, problem.X.indices, problem.X.indptr)]
    else:
        import pandas as pd

        X = [
            list(problem.X.columns),
            pd.util.hash_pandas_object(problem.X, index=False).to_numpy().tobytes(),
        ]
    return _digest(
        problem.task,
        *X,
        y,
        groups,
        problem.ordered,
        settings.cv,
        settings.inner_cv,
        settings.score,
        settings.seed,
    )


def method_key(candidate: Candidate) -> str:
    """Return a hash of everything that a method's folds depend on."""
    import sklearn

    c = candidate
    return _digest(
        __version__,
        sklearn.__version__,
        c.name,
        c.estimator.__class__.__module__,
        c.estimator,
        c.grid,
        c.encoding,
        c.row_limit,
        c.one_vs_rest,
        c.balance,
        c.balance_score,
        c.simple,
        FORMAT,
    )


class Journal:
    """Finished folds of one comparison.

    Parameters
    ----------
    path : Path or None
        The file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def read(self, candidates: list[Candidate]) -> dict[tuple[str, int], FoldOutcome]:
        """Return the finished folds of these candidates by (name, fold)."""
        if self.path is None:
            return {}
        keys = {method_key(c): c for c in candidates}
        found = {}
        for entry in read_lines(self.path):
            try:
                candidate = keys.get(entry.pop("key"))
                outcome = FoldOutcome(**entry)
            except (TypeError, KeyError):
                continue  # of another version
            if candidate is not None and outcome.error is None:
                # The grid's own objects, so that a resumed run equals one that never stopped.
                outcome.params = next(
                    (p for p in candidate.grid if p == outcome.params), outcome.params
                )
                found[candidate.name, outcome.fold] = outcome
        return found

    def add(self, candidate: Candidate, outcome: FoldOutcome) -> None:
        """Write down a finished fold."""
        if self.path is None or outcome.error is not None:
            return
        try:
            append_line(self.path, {"key": method_key(candidate)} | outcome.as_dict())
        except OSError as error:
            warnings.warn(
                f"Finished folds cannot be kept in {visible(self.path)} ({error.strerror}); the "
                "comparison goes on, and could not be resumed.",
                stacklevel=2,
            )
            self.path = None

    def clear(self) -> None:
        """Forget everything."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
