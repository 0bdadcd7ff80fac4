"""The error for a name that nothing carries, shared by the catalogue and the data sets."""

from __future__ import annotations

import difflib


class UnknownNameError(LookupError):
    """A name that no record carries; the message suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        wanted = name.lower()
        nearest = difflib.get_close_matches(wanted, [k.lower() for k in known], n=3)
        spelled = [k for k in known if k.lower() in nearest or (wanted and wanted in k.lower())]
        hint = f"did you mean {' or '.join(spelled)}?" if spelled else f"known: {', '.join(known)}"
        super().__init__(f"no {kind} is called {name!r}; {hint}")
