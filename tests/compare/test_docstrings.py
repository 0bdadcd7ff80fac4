"""Examples print what they say, and every public name has a docstring."""

import doctest
import importlib
import inspect

import pytest

import octavo.compare as package


@pytest.mark.parametrize("name", ["workbench", "methods.hazards", "results.saved"])
def test_examples_print_what_they_say(name):
    module = importlib.import_module(f"octavo.compare.{name}")
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_public_names_are_documented():
    for name in package.__all__:
        assert len(inspect.getdoc(getattr(package, name))) > 40, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing
    assert dir(package) == package.__all__


def test_importing_the_package_loads_nothing_heavy():
    import subprocess
    import sys

    code = "import sys, octavo.compare; from octavo.compare import InputError; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {module.split(".")[0] for module in done.stdout.split()}
    assert not loaded & {"pandas", "sklearn", "numba", "matplotlib"}
