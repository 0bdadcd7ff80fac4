"""Nothing that `tools/new_method.py` left to be written is still there."""

import os
import subprocess
import sys

from tests.conformance.discovery import PACKAGE
from tools.new_method import files as scaffold

ROOT = PACKAGE.parent
MARK = "TO " + "BE WRITTEN"
PLACES = ("octavo", "tests", "benchmarks", "docs", "examples")
ENDINGS = {".py", ".rst", ".md"}


def unwritten():
    """Return ``path:line: what`` for every mark."""
    found = []
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*")):
            hidden = any(part.startswith((".", "_build", "generated")) for part in path.parts[-4:])
            if path.suffix not in ENDINGS or hidden:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if MARK in line:
                    what = line.split(MARK, 1)[1].strip(" :\"',*.")
                    found.append(f"{path.relative_to(ROOT).as_posix()}:{number}: {what}")
    return found


def test_nothing_is_left_to_write():
    left = unwritten()
    assert not left, "still to be written:\n" + "\n".join(left)


def test_the_scaffold_is_complete_but_for_what_it_names(tmp_path):
    """In a copy of the tree, a new method passes everything but the list of what it lacks."""
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split("\n")
    for name in files:
        source = ROOT / name
        wanted = name.startswith((*PLACES, "tools", "pyproject.toml", "README.md"))
        if wanted and source.is_file() and source.stat().st_size < 2**20:
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_ADDOPTS": ""}

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    made = run("tools/new_method.py", "Shiny", "--room", "gallery", "--family", "shining")
    assert "wrote octavo/gallery/shining/estimator.py" in made
    chosen = ["tests/conformance/test_catalogue.py", "tests/gallery", "-k", "Shiny or oracle"]
    assert " passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)
    code = "from tests.conformance.test_unwritten import unwritten; print('\\n'.join(unwritten()))"
    named = {line.rpartition(":")[0] for line in run("-c", code).splitlines()}
    expected = {
        f"{path}:{number}"
        for path, text in scaffold("Shiny", "gallery", "shining").items()
        for number, line in enumerate(text.splitlines(), 1)
        if MARK in line
    }
    assert {line.split(": ")[0] for line in named} == expected
    assert len(expected) > 25
