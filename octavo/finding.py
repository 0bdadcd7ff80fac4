"""Find methods, papers, rooms and families by name or by words, without importing numerics.

The command line answers in a fraction of a second: docstrings are read from the sources.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from octavo._lazy import exports_of_stub
from octavo._names import UnknownNameError
from octavo.catalogue import Method, Paper, methods, papers
from octavo.problems import words_of

_SECTION = r"^{}\n-+\n(.*?)(?:\n\n[A-Z][^\n]*\n-+\n|\Z)"


def docstring_of(room: str, name: str) -> str:
    """Return the docstring of a public name, read from its source and not by importing it."""
    root = Path(__file__).parent
    module = exports_of_stub(root / room / "__init__.pyi")[name]
    # To ask Python where a module is would import its package, and numpy with it.
    source = root.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not source.is_file():
        return ""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return inspect.cleandoc(ast.get_docstring(node) or "")
    return ""


def example_of(docstring: str) -> str:
    """Return the Examples section of a docstring, or an empty text."""
    found = re.search(_SECTION.format("Examples"), docstring, re.DOTALL | re.MULTILINE)
    return found[1].strip() if found else ""


def matches(paper: Paper, method: Method, words: list[str]) -> bool:
    """Tell whether every word begins a word of the method's record; case does not matter."""
    told = [method.name, *method.members, method.task, method.summary, method.use_when]
    told += [method.room, method.family, paper.title, paper.key, *method.peers]
    told += words_of(method.name)
    known = re.findall(r"\w+", " ".join(told).lower().replace("_", " "))
    asked = re.findall(r"\w+", " ".join(words).lower().replace("_", " "))
    return all(any(part.startswith(word) for part in known) for word in asked)


def family_of(name: str) -> list[tuple[Paper, Method]]:
    """Return the methods of a room (``svm``) or a family (``mkl``, ``kernel/mkl``)."""
    wanted = name.lower().removeprefix("octavo.").replace(".", "/")
    return [
        (paper, method)
        for paper, method in methods()
        if wanted in (method.room, method.family, f"{method.room}/{method.family}")
    ]


def unknown(name: str) -> UnknownNameError:
    """Return the error for a name that nothing bears."""
    known = {alias for _, m in methods() for alias in (m.name, *m.members, m.room, m.family)}
    known |= {paper.key for paper in papers()}
    return UnknownNameError("method, paper, room or family", name, sorted(known))
