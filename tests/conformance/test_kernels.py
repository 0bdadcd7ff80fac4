"""Compiled kernels are cached, and warming up compiles all that Python code calls."""

import ast
import functools

import pytest

from octavo.compiled import kernels, modules_with_kernels
from tests.conformance.discovery import PACKAGE

MODULES = list(modules_with_kernels())
each_module = pytest.mark.parametrize("module", MODULES, ids=[m.__name__ for m in MODULES])


def is_kernel(node):
    return any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)


@functools.cache
def kernels_used_by_python_code():
    """Return (module, name) of what plain functions use; kernels may call kernels unwarmed.

    A private name is its module's own; another module uses it under that name if it imports it.
    """
    used = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        owner = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not is_kernel(node) and node.name != "_warmup":
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                used |= {owner.get(name, (own, name)) for name in names}
    return used


@each_module
def test_warmup_compiles_every_kernel_that_python_code_calls(module):
    module._warmup()
    used = kernels_used_by_python_code()
    cold = [
        name
        for name, kernel in kernels(module).items()
        if (module.__name__, name) in used and not kernel.signatures
    ]
    assert not cold


@each_module
def test_kernels_are_cached_on_disk(module):
    uncached = [
        name
        for name, kernel in kernels(module).items()
        if type(kernel._cache).__name__ == "NullCache"
    ]
    assert not uncached
