"""Docstrings document every parameter, attribute and return; their examples run."""

import doctest
import importlib
import inspect
import re

import pytest
from numpydoc.validate import validate

from tests.conformance.discovery import estimators, public_objects

# Order and presence of sections, parameters and returns. Not checked: matters of taste such as
# a full stop at the end of a type, and "See Also".
ERRORS = {"GL07", "GL08", "PR01", "PR02", "PR03", "PR07", "RT01", "RT03", "SS01", "YD01", "EX01"}
PUBLIC = [(f"octavo.{package}.{name}", thing) for package, name, thing in public_objects()]
each_thing = pytest.mark.parametrize(("path", "thing"), PUBLIC, ids=[path for path, _ in PUBLIC])


def complaints(path, skip=()):
    found = validate(path)["errors"]
    return [f"{path}: {code} {text}" for code, text in found if code in ERRORS - set(skip)]


def is_plain_tuple(thing):
    return inspect.isclass(thing) and issubclass(thing, tuple)


@each_thing
def test_docstring_is_complete(path, thing):
    if is_plain_tuple(thing):  # a named tuple's fields are told in its summary
        assert len(inspect.getdoc(thing) or "") > 40
        return
    needs_example = "octavo.plot." not in path
    assert not complaints(path, skip=() if needs_example else ("EX01",))


METHODS = [
    (f"{cls.__module__}.{cls.__name__}.{name}", cls, name)
    for cls in estimators()
    for name, member in vars(cls).items()
    if not name.startswith("_") and inspect.isfunction(member)
]


@pytest.mark.parametrize(("path", "cls", "name"), METHODS, ids=[path for path, *_ in METHODS])
def test_methods_are_documented(path, cls, name):
    assert not complaints(path, skip=("EX01",))


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_estimator_documents_parameters_attributes_and_references(cls):
    text = inspect.getdoc(cls)
    for name in inspect.signature(cls).parameters:
        entry = rf"^(\w+, )*{name}(, \w+)* :"
        assert re.search(entry, text, re.MULTILINE), f"{cls.__name__}: {name} is not documented"
    assert "Attributes\n----------" in text, f"{cls.__name__} documents no attributes"
    assert "References\n----------" in text, f"{cls.__name__} has no reference"


MODULES = sorted({thing.__module__ for _, thing in PUBLIC})


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    run = {test.name for test in doctest.DocTestFinder().find(module, name) if test.examples}
    shown = {
        f"{name}.{thing.__name__}"
        for _, thing in PUBLIC
        if thing.__module__ == name and ">>>" in (inspect.getdoc(thing) or "")
    }
    assert shown <= run, "doctest does not see these examples: what wraps them hides their module"
    result = doctest.testmod(module, optionflags=flags)
    assert result.failed == 0
