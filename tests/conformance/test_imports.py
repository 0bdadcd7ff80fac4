"""Imports are light and point one way."""

import ast
import graphlib
import re
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


LEAVES = {
    "_interrupts",
    "_journal_lines",
    "_lazy",
    "_names",
    "_outside_text",
    "_places",
    "_unpacking",
    "_whole_files",
}
TOP = {*LEAVES, "__version__"}
ALLOWED = {"engine": {"engine"}, "data": {"engine", "data"}, "plot": {"plot"}}


@pytest.mark.parametrize("package", [*rooms(), *ALLOWED])
def test_dependencies_point_one_way(package):
    """A room imports itself, the engine and the generators of data; never another room."""
    allowed = ALLOWED.get(package, {package, "engine", "data"}) | TOP
    if package == "engine":
        allowed = allowed | {"octavo"}
    for path in (PACKAGE / package).rglob("*.py"):
        used = set(imported_packages(path))
        assert used <= allowed, f"{path.name} imports {sorted(used - allowed)}"


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_what_everything_may_import_imports_nothing(name):
    """Leaves need the standard library alone, so that no circle can run through them."""
    path = PACKAGE / f"{name}.py"
    assert set(imported_packages(path)) <= LEAVES
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for module in names:
            first = module.split(".")[0]
            assert first in sys.stdlib_module_names | {"octavo"}, f"{name} imports {module}"


def family_imports(room):
    """Return, for each family of a room, the families of the same room that it imports."""
    found = {}
    for path in (PACKAGE / room).rglob("*.py"):
        parts = path.relative_to(PACKAGE / room).parts
        if len(parts) == 1:
            continue
        used = found.setdefault(parts[0], set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                below = name.split(".")
                if below[:2] == ["octavo", room] and len(below) > 2:
                    used.add(below[2])
        used.discard(parts[0])
    return {family: used & found.keys() for family, used in found.items()}


@pytest.mark.parametrize("room", [*rooms(), "engine"])
def test_families_of_a_room_have_an_order(room):
    """Families may build on others of their room, never in a circle."""
    imports = family_imports(room)
    assert imports, f"no family in {room}"
    list(graphlib.TopologicalSorter(imports).static_order())


def test_nothing_private_crosses_modules():
    """What another module needs is public there."""
    crossing = [
        f"{path.relative_to(PACKAGE)}: {node.module}.{alias.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("octavo")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not crossing


def test_array_types_have_one_set_of_names():
    """`Floats`, `Ints`, `Indices`, `Complexes`: no module has names of its own for these."""
    home = PACKAGE / "engine" / "estimators" / "arrays.py"
    alias = re.compile(r"^\w+ = NDArray\[np\.(float64|int64|intp|complex128)\] *(#.*)?$", re.M)
    assert len(alias.findall(home.read_text(encoding="utf-8"))) == 4
    others = [path for path in PACKAGE.rglob("*.py") if path != home]
    assert len(others) > 400
    assert not [path for path in others if alias.search(path.read_text(encoding="utf-8"))]


def test_every_subpackage_is_known():
    known = {*rooms(), *ALLOWED, "papers", "app", "compare"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= known
