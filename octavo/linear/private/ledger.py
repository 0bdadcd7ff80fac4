"""An account of the privacy that a data set has spent, which refuses to be overdrawn.

Releases computed from the same records add up; releases computed from disjoint records cost
only the dearest of them. Hand a ledger to the private estimators and each `fit` is entered
before any noise is drawn, or refused.

Reference: the composition that K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011),
"Differentially Private Empirical Risk Minimization", Journal of Machine Learning Research 12,
use in Section 6: sequential for one set of records, parallel for disjoint ones.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Self

from octavo._whole_files import write_whole

__all__ = ["LedgerEntry", "PrivacyBudgetError", "PrivacyLedger"]

_ROUNDING = 1e-12  # ten times 0.1 may be spent from 1.0
_PATIENCE = 10.0  # seconds to wait for another process that is writing


class PrivacyBudgetError(ValueError):
    """A release was refused because it would spend more privacy than was granted.

    Examples
    --------
    >>> from octavo.linear import PrivacyBudgetError, PrivacyLedger
    >>> try:
    ...     PrivacyLedger(1.0).spend(1.5)
    ... except PrivacyBudgetError as error:
    ...     print(error)
    epsilon=1.5 was asked for, but of the budget 1 only 1 is left.
    """


class LedgerEntry(NamedTuple):
    """One release: its epsilon, what it was, and the part of the data (empty for all of it)."""

    epsilon: float
    what: str
    part: tuple[str, ...]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every float
        return math.inf


def _check_entry(entry: LedgerEntry) -> None:
    """Raise unless a release could have made this entry: a negative one gives privacy back."""
    epsilon, what, part = entry
    if not _is_number(epsilon) or not 0 < _as_float(epsilon) < math.inf:
        raise ValueError(f"epsilon must be a positive number, got {epsilon!r}.")
    if not isinstance(what, str):
        raise ValueError(f"what must be a text, got {what!r}.")
    if not isinstance(part, tuple) or not all(isinstance(name, str) for name in part):
        raise ValueError(f"part must be a tuple of names, got {part!r}.")


def _entry_of_json(number: int, found: Any) -> LedgerEntry:
    try:
        if not isinstance(found, list) or len(found) != 3:
            raise ValueError(f"Expected [epsilon, what, part], got {found!r}.")
        epsilon, what, part = found
        entry = LedgerEntry(epsilon, what, tuple(part) if isinstance(part, list) else part)
        _check_entry(entry)
    except ValueError as error:
        raise ValueError(f"Entry {number}: {error}") from None
    return entry._replace(epsilon=float(epsilon))


def composed_epsilon(entries: Sequence[LedgerEntry], part: tuple[str, ...] = ()) -> float:
    """Return what a part has spent: its own releases, plus the dearest of its sub-parts."""
    depth = len(part)
    inside = [entry for entry in entries if entry.part[:depth] == part]
    own = math.fsum(entry.epsilon for entry in inside if len(entry.part) == depth)
    children = {entry.part[depth] for entry in inside if len(entry.part) > depth}
    return own + max((composed_epsilon(inside, (*part, name)) for name in children), default=0.0)


class PrivacyLedger:
    """Keep account of the privacy spent on one data set.

    Parameters
    ----------
    epsilon : float
        The budget.
    path : str or path-like, optional
        A file that keeps the account, so that it outlives the session and is shared between
        processes. Without it the ledger lives in this process and cannot be pickled.

    See Also
    --------
    privacy_audit : Measure what one release really costs.

    Notes
    -----
    Clones of an estimator share its ledger, so that a grid search or a cross-validation is
    charged for every fit that it makes.

    Parts are disjoint sets of records, and who belongs to which must not depend on the
    records' values: rows 0 to 999 and rows 1000 to 1999 will do; "customers of each city" will
    not, because replacing a record could then change two parts.

    Examples
    --------
    >>> from octavo.linear import PrivacyLedger
    >>> ledger = PrivacyLedger(1.0)
    >>> ledger.spend(0.5, "histogram")
    >>> ledger.part("first half").spend(0.25)
    >>> ledger.part("second half").spend(0.125)
    >>> ledger.spent, ledger.remaining
    (0.75, 0.25)
    """

    def __init__(self, epsilon: float, path: str | os.PathLike[str] | None = None) -> None:
        if not _is_number(epsilon) or not 0 < _as_float(epsilon) < math.inf:
            raise ValueError(f"The budget epsilon must be positive and finite, got {epsilon}.")
        self._epsilon = float(epsilon)
        self._path = None if path is None else Path(path)
        self._entries: list[LedgerEntry] = []
        self._lock = threading.Lock()
        if self._path is not None:
            with self._exclusive():
                self._read() if self._path.exists() else self._write([])

    @property
    def epsilon(self) -> float:
        """The budget."""
        return self._epsilon

    @property
    def entries(self) -> list[LedgerEntry]:
        """Every release so far."""
        if self._path is not None:
            self._read()
        return list(self._entries)

    @property
    def spent(self) -> float:
        """Privacy spent so far."""
        return composed_epsilon(self.entries)

    @property
    def remaining(self) -> float:
        """Privacy that releases on all of the data may still spend."""
        return max(self._epsilon - self.spent, 0.0)

    def spend(self, epsilon: float, what: str = "", *, part: tuple[str, ...] = ()) -> None:
        """Enter a release, or refuse it and enter nothing.

        Parameters
        ----------
        epsilon : float
            What the release costs.
        what : str, default=""
            What it is, for the reader of the account.
        part : tuple of str, default=()
            The part of the data that it was computed from, outermost first; all of it by
            default.
        """
        if not _is_number(epsilon) or not epsilon > 0:
            raise ValueError(f"A release costs a positive epsilon, got {epsilon!r}.")
        part = tuple(part) if isinstance(part, list) else part
        entry = LedgerEntry(_as_float(epsilon), what, part)
        if math.isfinite(entry.epsilon):  # what is not finite is beyond every budget, see below
            _check_entry(entry)
        with self._exclusive():
            if self._path is not None:
                self._read()
            entries = [*self._entries, entry]
            if not composed_epsilon(entries) <= self._epsilon * (1 + _ROUNDING):
                left = max(self._epsilon - composed_epsilon(self._entries), 0.0)
                where = f" (part {'/'.join(part)})" if part else ""
                raise PrivacyBudgetError(
                    f"epsilon={entry.epsilon:g} was asked for{where}, but of the budget "
                    f"{self._epsilon:g} only {left:g} is left."
                )
            if self._path is not None:
                self._write(entries)
            self._entries = entries

    def part(self, name: str) -> LedgerPart:
        """Return the account of a part of the data that is disjoint from all other parts.

        Parameters
        ----------
        name : str
            Name of the part.

        Returns
        -------
        part : LedgerPart
            To be handed to an estimator like a ledger; it has parts in turn.
        """
        return LedgerPart(self, (name,))

    # --- the file -----------------------------------------------------------------------------

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Let nobody else spend: other threads, and other processes where there is a file."""
        with self._lock:
            if self._path is None:
                yield
                return
            guard = self._path.with_name(self._path.name + ".lock")
            deadline = time.monotonic() + _PATIENCE
            while True:
                try:
                    os.close(os.open(guard, os.O_CREAT | os.O_EXCL))
                    break
                except FileExistsError:
                    if time.monotonic() > deadline:
                        raise TimeoutError(
                            f"{guard} has been there for {_PATIENCE:g} s; delete it if no "
                            "process is using the ledger."
                        ) from None
                    time.sleep(0.01)
            try:
                yield
            finally:
                guard.unlink()

    def _read(self) -> None:
        assert self._path is not None
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            granted = kept["epsilon"]
            if not _is_number(granted) or not 0 < _as_float(granted) < math.inf:
                raise ValueError(f"epsilon must be a positive number, got {granted!r}.")
            entries = [_entry_of_json(k, entry) for k, entry in enumerate(kept["entries"])]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._path} is not a privacy ledger: {error}") from None
        if granted != self._epsilon:
            raise ValueError(
                f"The ledger {self._path} grants epsilon={granted:g}; expected "
                f"{self._epsilon:g}. A budget is not changed by opening it again."
            )
        self._entries = entries

    def _write(self, entries: list[LedgerEntry]) -> None:
        assert self._path is not None
        text = json.dumps({"epsilon": self._epsilon, "entries": entries}, indent=1)
        write_whole(self._path, text + "\n")

    # --- one account, however often it is copied ----------------------------------------------

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise TypeError(
                "A PrivacyLedger without a file cannot be pickled: two copies would grant the "
                "budget twice. Give it a path to share it, or set ledger=None on a fitted model "
                "to save that."
            )
        return type(self), (self._epsilon, str(self._path.absolute()))

    def __repr__(self) -> str:
        where = "" if self._path is None else f", path={str(self._path)!r}"
        return f"PrivacyLedger(epsilon={self._epsilon:g}{where}, spent={self.spent:g})"


class LedgerPart:
    """The account of a part of the data; see `PrivacyLedger.part`."""

    def __init__(self, ledger: PrivacyLedger, name: tuple[str, ...]) -> None:
        self._ledger, self._name = ledger, name

    @property
    def spent(self) -> float:
        """Privacy that releases on this part alone have spent."""
        return composed_epsilon(self._ledger.entries, self._name)

    def spend(self, epsilon: float, what: str = "") -> None:
        """Enter a release computed from this part."""
        self._ledger.spend(epsilon, what, part=self._name)

    def part(self, name: str) -> LedgerPart:
        """Return the account of a part of this part."""
        return LedgerPart(self._ledger, (*self._name, name))

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        return f"{self._ledger!r}.part({'/'.join(self._name)!r})"
