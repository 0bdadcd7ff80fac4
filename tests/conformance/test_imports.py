"""Imports are light and point one way."""

import ast
import subprocess
import sys

import pytest

from tests.conformance.discovery import PACKAGE, rooms

HEAVY = ["numba", "matplotlib", "scipy", "sklearn", "pandas", "dask", "bokeh", "torch", "rich"]


def modules_after(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_import_octavo_loads_nothing_heavy():
    assert not modules_after("import octavo") & set(HEAVY)


def test_catalogue_loads_nothing_heavy():
    """`octavo list` imports every paper; papers reach the rooms lazily."""
    loaded = modules_after("from octavo.catalogue import papers; papers()")
    assert not loaded & {"numba", "matplotlib", "sklearn", "pandas", "dask"}


def imported_packages(path):
    """Return the octavo packages that a module imports, by their first name below octavo."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            parts = node.module.split(".")
            if parts[0] == "octavo":
                yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "octavo" and len(parts) > 1:
                    yield parts[1]


ALLOWED = {"engine": {"engine"}, "data": {"engine", "data"}, "plot": {"plot"}}


@pytest.mark.parametrize("package", [*rooms(), *ALLOWED])
def test_dependencies_point_one_way(package):
    """A room imports itself, the engine and the generators of data; never another room."""
    allowed = ALLOWED.get(package, {package, "engine", "data"}) | {"_lazy", "_names", "__version__"}
    if package == "engine":
        allowed = allowed | {"octavo"}
    for path in (PACKAGE / package).rglob("*.py"):
        used = set(imported_packages(path))
        assert used <= allowed, f"{path.name} imports {sorted(used - allowed)}"


def test_every_subpackage_is_known():
    known = {*rooms(), *ALLOWED, "papers", "app", "compare"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= known
