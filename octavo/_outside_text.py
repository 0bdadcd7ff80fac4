"""Text from a user's data on its way into code, terminals and pictures: shown, never obeyed.

For HTML the standard library has the word (`html.escape`).
"""

from __future__ import annotations

import json


def visible(text: object, keep: str = "") -> str:
    r"""Return text in which nothing can steer a terminal or end a line of a comment.

    Control characters, marks that turn the direction of writing and halves of a pair become
    escapes such as ``\x1b``.

    Parameters
    ----------
    text : object
        Whatever has words.
    keep : str
        Characters that stay, such as a line break in a message of several lines.

    Returns
    -------
    shown : str
        Printable.

    Examples
    --------
    >>> from octavo._outside_text import visible
    >>> print(visible("price\x1b[2J €"))
    price\x1b[2J €
    """
    return "".join(c if c.isprintable() or c in keep else _escape(c) for c in str(text))


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clause(text: object) -> str:
    """Return what somebody else's error says as a part of a sentence of ours.

    Parameters
    ----------
    text : object
        An error, or its words.

    Returns
    -------
    first : str
        Its first sentence in one line, without a full stop.

    Examples
    --------
    >>> from octavo._outside_text import clause
    >>> print(clause("Magic bytes not found. Either the file\n is damaged or not a file."))
    Magic bytes not found
    """
    words = " ".join(str(text).split()).split(". ")[0].rstrip(".:")
    return words if len(words) <= 200 else words[:197] + "..."


def quoted(text: str) -> str:
    """Return a Python literal of the text, in double quotes, on one line and printable.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    literal : str
        What evaluates to it.
    """
    return visible(json.dumps(text, ensure_ascii=False))


def literal(text: object) -> str:
    r"""Return text that matplotlib draws letter by letter: a dollar begins no formula.

    Parameters
    ----------
    text : object
        Whatever has words, such as the name of a column.

    Returns
    -------
    label : str
        For labels, ticks and annotations.

    Examples
    --------
    >>> from octavo._outside_text import literal
    >>> print(literal(r"$\frac{1}$"))
    \$\frac{1}\$
    """
    return visible(text, keep="\n").replace("$", r"\$")
