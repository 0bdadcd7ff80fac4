"""Refusals and warnings are sentences: a capital, unless a name begins them, and a full stop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import octavo

ROOT = Path(octavo.__file__).parent

SAYING = {"warnings.warn", "fail"}  # the latter is how commands end
# What others put together: kinds of names, and Python's own phrases.
TAKEN_IN = {"UnknownNameError", "UnpicklingError", "KeyError", "AttributeError", "AssertionError"}
# A placeholder at the end that holds a sentence of its own.
SENTENCES = re.compile(r"error|hint|advice|why|message|said|stderr|paused|skipped_", re.I)
# Names that begin messages and stand in no signature: columns of click logs, packages, constraints.
NAMES = {"numericip", "clicktime", "publisherid", "id", "pip", "dbn", "scale_invariance_family"}
EVERYDAY = {"node", "a", "an", "the", "no", "not", "it", "its", "every", "all", "there", "at"} | {
    "expected"
}


def messages(path: Path) -> Iterator[tuple[int, ast.expr]]:
    """Yield line and message of what a module raises and warns."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            raised = ast.unparse(node.exc.func).split(".")[-1]
            if raised.endswith(("Error", "Exception")) and raised not in TAKEN_IN:
                yield node.lineno, node.exc.args[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in SAYING and node.args:
            yield node.lineno, node.args[0]


def ends(message: ast.expr) -> tuple[str, ...] | None:
    """Return how a message begins and ends, with {} for what is put in; None if it is no text."""
    while isinstance(message, ast.BinOp):
        message = message.right
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return message.value, message.value
    if not isinstance(message, ast.JoinedStr):
        return None
    texts = [
        ast.unparse(part) if isinstance(part, ast.FormattedValue) else part.value
        for part in message.values
    ]
    kinds = [isinstance(part, ast.FormattedValue) for part in message.values]
    begin = "{}" if kinds[0] else str(texts[0])
    end = "{" + str(texts[-1]) + "}" if kinds[-1] else str(texts[-1])
    return begin, end


def parameters() -> set[str]:
    """Return every name that a function of octavo takes, and the functions' own."""
    found: set[str] = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                found |= {node.name} | {a.arg for a in node.args.args + node.args.kwonlyargs}
    return found


def test_refusals_and_warnings_are_sentences():
    names = parameters() | NAMES
    wrong, seen = [], 0
    for path in sorted(ROOT.rglob("*.py")):
        if "papers" in path.relative_to(ROOT).parts:
            continue
        for line, message in messages(path):
            text = ends(message)
            if text is None:
                continue
            seen += 1
            begin, end = text
            word = re.match(r"[a-z]\w*(?![\w.])", begin)  # a name of a file has a point
            closed = end.rstrip()[-1:] in (".", "?", "!")
            if not closed and not (end.startswith("{") and SENTENCES.search(end)):
                wrong.append(f"{path.relative_to(ROOT)}:{line} has no full stop: ...{end[-50:]!r}")
            named = names - EVERYDAY if not re.match(r"\w+ (must|and) ", begin) else names
            if word and word[0] not in named:
                wrong.append(f"{path.relative_to(ROOT)}:{line} begins small: {begin[:50]!r}...")
    assert seen > 3_000, "the walk finds nothing"
    assert not wrong, "\n".join(wrong)
