"""Write every file that is derived from the modules and the catalogue.

``python tools/sync.py`` rewrites them, ``--check`` only says which are stale (the suite
runs that). Derived are: each room's ``__init__.pyi`` (from the ``__all__`` of its modules)
and the table of problems in ``README.md`` (from ``octavo/problems.py``).
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- problems: written by tools/sync.py -->", "<!-- problems end -->"


def declared_exports(module: Path) -> list[str]:
    """Return the ``__all__`` of a module without importing it."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            return list(ast.literal_eval(node.value))
    return []


def room_stub(room: Path) -> str:
    """Return the ``__init__.pyi`` of a room."""
    lines = [
        f"from octavo.{'.'.join(module.relative_to(ROOT / 'octavo').with_suffix('').parts)} "
        f"import {name} as {name}"
        for module in sorted(room.rglob("[a-z]*.py"))
        for name in sorted(declared_exports(module))
    ]
    return "# Written by tools/sync.py from the __all__ of this package's modules.\n" + (
        "\n".join(lines) + "\n" if lines else ""
    )


def rooms() -> list[Path]:
    """Return the packages whose names are exported lazily."""
    return sorted(
        init.parent
        for init in (ROOT / "octavo").glob("*/__init__.py")
        if "lazy_exports" in init.read_text(encoding="utf-8")
    )


def readme() -> str:
    """Return README.md with its line a task brought up to date: where each problem leads first."""
    from method_pages import page_of

    from octavo.catalogue import find_method
    from octavo.problems import PROBLEMS, TASKS

    def link(name: str) -> str:
        _, method = find_method(name)
        return f"[`{name}`](docs/methods/{method.room}/{page_of(method)}.rst)"

    first = {problem.key: link(problem.names[0]) for problem in PROBLEMS}
    rows = ["| I want to | begin with |", "|---|---|"]
    rows += [
        f"| {task[0].lower()}{task[1:]} | {', '.join(dict.fromkeys(first[key] for key in keys))} |"
        for task, keys in TASKS.items()
    ]
    rows_text = "\n".join(rows)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}\n{rows_text}\n{END}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 if stale")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
    stale = []

    def settle(path: Path, text: str) -> None:
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return
        stale.append(path)
        if not arguments.check:
            path.write_text(text, encoding="utf-8")

    for room in rooms():
        settle(room / "__init__.pyi", room_stub(room))
    settle(ROOT / "README.md", readme())  # last: the catalogue behind it reads the stubs
    for path in stale:
        print(("stale: " if arguments.check else "wrote ") + str(path.relative_to(ROOT)))
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
