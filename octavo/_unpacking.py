"""Packed files, unpacked up to a limit: four megabytes of gzip may stand for three gigabytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from typing import IO

MOST_UNPACKED = 1 << 30  # bytes
# What the standard library raises for a packed file that is damaged, cut short or locked.
UNPACKING_ERRORS = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    RuntimeError,  # a zip file with a password
    NotImplementedError,  # one that was packed in a way that Python does not know
)
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class TooLargeError(ValueError):
    """A packed file holds more than is unpacked into memory."""


def read_limited(stream: IO[bytes], limit: int | None = None) -> bytes:
    """Return all that a stream holds, or raise `TooLargeError` with the limit's number."""
    limit = MOST_UNPACKED if limit is None else limit
    pieces, total = [], 0
    while piece := stream.read(1 << 20):
        pieces.append(piece)
        total += len(piece)
        if total > limit:
            raise TooLargeError(
                f"Unpacked it has more than {limit:,} bytes, the most that is unpacked in memory; "
                "unpack it to a file first if it is meant to be that large."
            )
    return b"".join(pieces)


def unpack(content: bytes, suffix: str, limit: int | None = None) -> bytes:
    """Unpack bytes.

    Parameters
    ----------
    content : bytes
        A packed file.
    suffix : {".gz", ".bz2", ".xz"}
        How it is packed.
    limit : int, optional
        Most bytes to unpack; `MOST_UNPACKED` by default.

    Returns
    -------
    unpacked : bytes
        What it holds.
    """
    with OPENERS[suffix](io.BytesIO(content), "rb") as stream:  # type: ignore[operator]
        return read_limited(stream, limit)
