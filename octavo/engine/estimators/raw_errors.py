"""Which errors were written for a caller, and which come raw from inside.

An error is a sentence if somebody wrote it: a ``raise`` of octavo, of scikit-learn, or of the
caller's own code. What numpy's and scipy's compiled parts, the interpreter's arithmetic or a
failed look-up raise tells a caller nothing about what to change.
"""

from __future__ import annotations

import dis
import sys
from types import TracebackType
from typing import Any

import numpy as np

# Even where somebody raised them: they speak of matrices and keys, not of the caller's data.
INNER = (
    ArithmeticError,
    AssertionError,
    KeyError,
    IndexError,
    UnboundLocalError,
    np.linalg.LinAlgError,
)
_RAISES = {dis.opmap[name] for name in ("RAISE_VARARGS", "RERAISE")}
_UNEVEN = "inhomogeneous shape"  # numpy's word for lists of different lengths
_LIBRARIES = ("numpy", "scipy", "numba", "joblib", "llvmlite")


def innermost(error: BaseException) -> TracebackType | None:
    """Return the last place in Python code that an error went through."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def is_raw(error: BaseException) -> bool:
    """Tell whether an error comes from inside, with nothing in it for the caller.

    Parameters
    ----------
    error : Exception
        Caught, with its traceback.

    Returns
    -------
    bool
        False for errors of octavo's own classes, for those that a ``raise`` in octavo,
        scikit-learn or the caller's code made, and for messages that end as sentences do.
    """
    kind = type(error).__module__
    if kind.startswith(("octavo", "sklearn")):
        return False
    if type(error) is NameError:  # a mistake in code, never one of the data
        return False
    trace = innermost(error)
    message = str(error)
    if trace is None or (_UNEVEN not in message and message.rstrip("'\"").endswith((".", "?"))):
        return False
    place = trace.tb_frame.f_globals.get("__name__", "").split(".")[0]
    if place in _LIBRARIES or place in sys.stdlib_module_names:
        return True
    raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] in _RAISES
    return place in ("octavo", "sklearn") and (isinstance(error, INNER) or not raised)


def refuse_uneven(error: BaseException, given: dict[str, Any]) -> None:
    """Raise a sentence where an error comes of entries of different shapes in one argument.

    Parameters
    ----------
    error : Exception
        As numpy raises it.
    given : dict
        Arguments by name.
    """
    if _UNEVEN not in str(error):
        return
    for name, value in given.items():
        if (sentence := _uneven(name, value)) is not None:
            raise ValueError(sentence) from error


def _uneven(name: str, value: Any) -> str | None:
    """Return what is wrong with a list whose entries have different shapes, or None."""
    if not isinstance(value, (list, tuple)):
        return None
    first = None
    for i, entry in enumerate(value):
        inner = _uneven(f"{name}[{i}]", entry)
        if inner is not None:
            return inner
        shape = np.shape(entry)
        first = shape if first is None else first
        if shape != first:
            return (
                f"{name} must be an array or entries of equal length: {name}[0] has shape "
                f"{first} and {name}[{i}] has {shape}."
            )
    return None
