"""Docstrings are plain text: bars and trailing underscores in them are no markup.

``|y - x|`` would be a substitution and ``n_features_`` a link; both are escaped, except in
literals, examples, tables and explicit markup.
"""

import re

LITERAL = re.compile(r"(``.*?``|`[^`]*`_?|\*\*.*?\*\*)")
NAME = re.compile(r"(?<=\w)_(?!\w)")


def escape_line(line):
    """Return a line of a docstring with its bars and trailing underscores escaped."""
    if line.lstrip().startswith((">>>", "...", "..", "| ", "+", ":")):
        return line
    parts = LITERAL.split(line)
    parts[::2] = [NAME.sub(r"\\_", part.replace("|", r"\|")) for part in parts[::2]]
    return "".join(parts)


def escape(app, what, name, obj, options, lines):
    """Escape the lines of a docstring, after numpydoc has laid it out."""
    example = False
    for k, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[k] = escape_line(line)


def setup(app):
    """Connect behind numpydoc."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    return {"parallel_read_safe": True}
