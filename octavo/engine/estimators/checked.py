"""`checked`: public functions refuse a wrong value in one sentence, from what their docstring says.

An estimator declares what its parameters may be in ``_parameter_constraints``. A function declares
it in its docstring, which the conformance suite holds to be complete: ``n : int``, ``tol : float,
default=1e-6``, ``X : array-like of shape (n, d)``, ``method : {"a", "b"}``. A call that works costs
nothing. Where one fails inside with an error that was not written for the caller, the decorator
reads those words and raises a sentence that names the function, the parameter, what was
expected and what was seen; a singular matrix or a division by zero is met by a sentence too.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from octavo.engine.estimators.raw_errors import is_raw, refuse_uneven

F = TypeVar("F", bound=Callable[..., Any])
Test = Callable[[Any], bool]

_ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")
_SECTION = re.compile(
    r"^Parameters\n-+\n(.*?)(?:\n\n[A-Z][^\n]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE
)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and value == value


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_array(value: Any) -> bool:
    """Whether numbers, labels or rows may be in it; what exactly, its function looks at."""
    if isinstance(value, (str, bytes, dict, set, type)) or callable(value):
        return False
    return hasattr(value, "__len__") or hasattr(value, "__array__") or hasattr(value, "shape")


def _is_complex(value: Any) -> bool:
    if hasattr(value, "dtype"):
        return getattr(value.dtype, "kind", "") == "c"
    if isinstance(value, (list, tuple)):
        return any(_is_complex(entry) for entry in value)
    return isinstance(value, complex)


def _is_literal(text: str, value: Any) -> bool:
    return not _is_array(value) and str(value) == text


_TESTS: dict[str, Test] = {
    "int": _is_int,
    "float": _is_number,
    "number": _is_number,
    "bool": _is_bool,
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
    "callable": callable,
    "function": callable,
    "array-like": lambda value: _is_array(value) or _is_number(value),
    "array": _is_array,
    "ndarray": _is_array,
    "sparse": lambda value: hasattr(value, "tocsr"),
    "RandomState": lambda value: hasattr(value, "random_sample"),
    "Generator": lambda value: hasattr(value, "standard_normal"),
    "dict": lambda value: hasattr(value, "keys"),
    "list": lambda value: hasattr(value, "__len__") and not isinstance(value, str),
    "tuple": lambda value: hasattr(value, "__len__") and not isinstance(value, str),
    "sequence": lambda value: hasattr(value, "__len__") and not isinstance(value, str),
}


def _alternatives(words: str) -> Iterator[Test | None]:
    """Yield a test for each kind of value that the words allow; None for words it cannot read."""
    for choices in re.findall(r"\{([^}]*)\}", words):
        for choice in choices.split(","):
            choice = choice.strip()
            if choice[:1] in "\"'" or choice.lstrip("-").isdigit():
                literal = choice.strip("\"'")
                yield functools.partial(_is_literal, literal)
            else:
                yield _TESTS.get(choice.split(" ")[0])
    plain = re.sub(r"\{[^}]*\}|, default=.*$|, optional$", "", words).strip(" ,")
    for text in re.findall(r"[\"']([^\"']*)[\"']", plain):
        yield functools.partial(_is_literal, text)
    plain = re.sub(r"[\"'][^\"']*[\"']", "", plain)
    for part in re.split(r"\bor\b|,(?![^(]*\))", plain):
        word = part.strip().split(" ")[0] if part.strip() else ""
        if word:
            yield _TESTS.get(word)


def _rules(function: Callable[..., Any]) -> dict[str, tuple[str, list[Test]]]:
    """Return what each parameter may be: the words and the tests; silent where words are free."""
    found = _SECTION.search(inspect.getdoc(function) or "")
    rules = {}
    for line in found[1].splitlines() if found else ():
        if (entry := _ENTRY.match(line)) is None:
            continue
        words = entry[2]
        tests = list(_alternatives(words))
        if not tests or None in tests:
            continue
        for name in entry[1].split(", "):
            rules[name] = (words, [test for test in tests if test is not None])
    return rules


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _blame(function: Any, bound: Any, defaults: Any, error: Exception) -> None:
    """Raise a sentence on the first argument that is not what the docstring says it must be."""
    for parameter, (words, tests) in _rules(function).items():
        value = bound.get(parameter, defaults.get(parameter))
        if parameter not in bound or value is defaults.get(parameter, bound):
            continue
        wanted = words.split(", default=")[0]
        if not any(test(value) for test in tests):
            raise ValueError(
                f"The '{parameter}' parameter of {function.__name__} must be {wanted}; "
                f"got {_shown(value)}."
            ) from error
        if "complex" not in words and _is_complex(value):
            raise ValueError(
                f"The '{parameter}' parameter of {function.__name__} must be real; got complex "
                "numbers."
            ) from error


def checked(function: F) -> F:
    """Meet a wrong value, or an error from inside, by one sentence.

    Parameters
    ----------
    function : callable
        A public function with a complete docstring.

    Returns
    -------
    function : callable
        The same, whose errors are sentences.

    Examples
    --------
    >>> from octavo.engine.estimators.checked import checked
    >>> @checked
    ... def half(n):
    ...     '''Return n / 2.
    ...
    ...     Parameters
    ...     ----------
    ...     n : int
    ...         A number.
    ...     '''
    ...     return n / 2
    >>> half(3)
    1.5
    """
    signature = inspect.signature(function)
    defaults = {
        name: p.default for name, p in signature.parameters.items() if p.default is not p.empty
    }

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (Warning, OSError, ImportError, MemoryError, NotImplementedError):
            raise
        except Exception as error:
            trace = error.__traceback__
            is_wrong_call = trace is not None and trace.tb_next is None
            if is_wrong_call or not is_raw(error):
                raise
            arguments = signature.bind(*args, **kwargs).arguments
            refuse_uneven(error, arguments)
            _blame(function, arguments, defaults, error)
            raise ValueError(
                f"{function.__name__} cannot use these values ({type(error).__name__}: {error}). "
                "Look for entries that are huge, tiny, constant, out of range or missing."
            ) from error

    return guarded  # type: ignore[return-value]
