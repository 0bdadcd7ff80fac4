"""The error for a name that nothing carries, shared by the catalogue and the data sets."""

from __future__ import annotations

import difflib


class UnknownNameError(ValueError):
    """A name that no record carries; the message suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        wanted = name.lower()
        by_lower = {k.lower(): k for k in reversed(known)}
        nearest = difflib.get_close_matches(wanted, list(by_lower), n=3)  # the nearest first
        holding = [k for k in by_lower if wanted and wanted in k]
        spelled = [by_lower[k] for k in dict.fromkeys([*nearest, *reversed(holding)])]
        hint = f"did you mean {' or '.join(spelled)}?" if spelled else f"known: {', '.join(known)}."
        super().__init__(f"No {kind} is called {name!r}; {hint}")
