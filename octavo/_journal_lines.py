"""Journals: files of JSON lines that are appended to, each line with a checksum of its own.

A line that was cut short or damaged is passed over, whatever its bytes; all others count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def _checksum(entry: dict[str, Any]) -> str:
    text = json.dumps(entry, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries that are whole, in the order in which they were written."""
    try:
        raw = path.read_bytes()
    except OSError:  # absent, or as good as that
        return
    for line in raw.split(b"\n"):
        try:
            entry = json.loads(line)
            if entry.pop("sum") == _checksum(entry):
                yield entry
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def append_line(path: Path, entry: dict[str, Any]) -> None:
    """Write an entry behind the others, on a line of its own even behind one that was cut short."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = json.loads(json.dumps(entry, default=float))  # as it will be read
    line = json.dumps(entry | {"sum": _checksum(entry)})
    with path.open("ab") as file:
        needs_break = file.tell() > 0 and _last_byte(path) != b"\n"
        file.write(b"\n" * needs_break + line.encode() + b"\n")


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1)
