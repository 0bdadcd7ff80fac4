"""Which errors were written for a caller, and which come raw from inside.

An error is a sentence if somebody wrote it: a ``raise`` of octavo, of scikit-learn, or of the
caller's own code. What numpy's and scipy's compiled parts, the interpreter's arithmetic or a
failed look-up raise tells a caller nothing about what to change.
"""

from __future__ import annotations

import dis
import sys
from types import TracebackType

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
    if trace is None or str(error).rstrip("'\"").endswith((".", "?")):
        return False
    place = trace.tb_frame.f_globals.get("__name__", "").split(".")[0]
    if place in _LIBRARIES or place in sys.stdlib_module_names:
        return True
    raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] in _RAISES
    return place in ("octavo", "sklearn") and (isinstance(error, INNER) or not raised)
