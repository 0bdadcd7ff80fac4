"""The error for a name that nothing carries, shared by the catalogue and the data sets."""

from __future__ import annotations

import difflib


class UnknownNameError(ValueError):
    """A name that no record carries; the message suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        wanted = name.lower()
        by_lower = {k.lower(): k for k in reversed(known)}
        nearest = difflib.get_close_matches(wanted, list(by_lower), n=5)  # the nearest first
        holding = [k for k in by_lower if wanted and wanted in k]
        spelled = [by_lower[k] for k in dict.fromkeys([*nearest, *reversed(holding)])][:5]
        if spelled:
            hint = f"did you mean {' or '.join(spelled)}?"
        elif len(known) <= 12:
            hint = f"known: {', '.join(known)}."
        else:
            near = difflib.get_close_matches(wanted, list(by_lower), n=5, cutoff=0.0)
            hint = f"the nearest are: {', '.join(by_lower[k] for k in near)}."
        super().__init__(f"No {kind} is called {name!r}; {hint}")
