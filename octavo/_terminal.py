"""Where the command line prints: any width, any encoding, a pipe that closes early."""

from __future__ import annotations

import codecs
import os
import sys
from typing import NoReturn

from rich.console import Console

PIPED_WIDTH = 200  # a line of a table is a line of the file
SPELLED = {
    "ε": "epsilon",
    "δ": "delta",
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "λ": "lambda",
    "σ": "sigma",
    "θ": "theta",
    "μ": "mu",
    "µ": "u",
    "Λ": "Lambda",
    "Σ": "Sum",
    "ℓ": "l",
    "√": "sqrt",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "±": "+-",
    "×": "x",
    "·": "*",
    "−": "-",
    "–": "-",
    "—": "-",
    "’": "'",
    "…": "...",
    "∞": "inf",
    "²": "^2",
    "³": "^3",
    "°": " degrees",
    "─": "-",
    "│": "|",
}


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Spell out what an encoding does not have: Greek by name, others by their nearest letters."""
    import unicodedata

    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = []
    for sign in error.object[error.start : error.end]:
        plain = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
        out.append(SPELLED.get(sign) or plain or "?")
    return "".join(out), error.end


codecs.register_error("octavo-spell", _spell)


def spelled(text: str) -> str:
    """Return text as standard output can hold it, before a table counts its letters."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "octavo-spell").decode(encoding)


class Output(Console):
    """A console whose reader may leave: ``octavo list | head`` ends well."""

    def on_broken_pipe(self) -> NoReturn:
        """Leave in silence, with status 0."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def ascii_locale() -> bool:
    """Tell whether somebody asks for plain ASCII: Python itself prints UTF-8 in the locale C."""
    named = os.environ.get
    if named("PYTHONIOENCODING") or named("PYTHONUTF8"):
        return False
    letters = named("LC_CTYPE", "")
    if letters in ("C.UTF-8", "C.utf8", "UTF-8"):  # written by Python, where LC_ALL is not set
        letters = ""
    return (named("LC_ALL") or letters or named("LANG")) in ("C", "POSIX")


def spell_where_needed() -> None:
    """Let output to terminals that know only ASCII be spelled out instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if ascii_locale():
            reconfigure(encoding="ascii", errors="octavo-spell")
        elif "utf" not in (stream.encoding or "").lower():
            reconfigure(errors="octavo-spell")


def output() -> Output:
    """Return the console for results: as wide as the terminal, wider where it is piped."""
    if sys.stdout.isatty():
        return Output()
    width = os.environ.get("COLUMNS", "")
    return Output(width=int(width) if width.isdigit() and int(width) > 0 else PIPED_WIDTH)
