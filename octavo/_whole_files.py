"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file under another name and rename it.

    A full disk, a kill or an error leaves what was there before, and no half of what was to come.

    Parameters
    ----------
    path : path-like
        The file. What is no plain file, such as a pipe, is written to as it is.
    content : str or bytes
        Text is encoded as UTF-8.

    Returns
    -------
    path : Path
        As given.
    """
    raw = content.encode("utf-8") if isinstance(content, str) else content
    place = Path(os.path.realpath(path))  # a link keeps pointing where it does
    if place.exists() and not place.is_file():
        place.write_bytes(raw)
        return Path(path)
    draft = place.with_name(f".{place.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        draft.write_bytes(raw)
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(place, draft)
        draft.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    return Path(path)
