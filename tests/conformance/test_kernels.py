"""Compiled kernels are cached, and warming up compiles all that Python code calls."""

import ast

import pytest

from octavo.compiled import kernels, modules_with_kernels
from tests.conformance.discovery import PACKAGE

MODULES = list(modules_with_kernels())
each_module = pytest.mark.parametrize("module", MODULES, ids=[m.__name__ for m in MODULES])


def is_kernel(node):
    return any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)


def names_used_by_python_code():
    """Return the names that plain functions use; kernels may call kernels without warming."""
    used = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not is_kernel(node) and node.name != "_warmup":
                used |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return used


USED = names_used_by_python_code()


@each_module
def test_warmup_compiles_every_kernel_that_python_code_calls(module):
    module._warmup()
    cold = [
        name for name, kernel in kernels(module).items() if name in USED and not kernel.signatures
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
