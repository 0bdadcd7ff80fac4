"""The compiler that does not do things again: the same code, the same errors."""

import re

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.compilation.quick_compiler import (
    STEAD,
    QuickCompiler,
    QuickFlags,
    haste,
)


def test_quick_flags_compare_as_flags_do():
    plain, quick = Flags(), QuickFlags(Flags())
    assert quick == plain
    assert plain == quick
    assert hash(plain) == hash(quick)
    quick.no_compile = True
    assert quick != plain
    assert plain != quick
    quick.no_compile = plain.no_compile  # said, but the default
    assert quick == plain


def test_quick_flags_list_what_flags_list():
    plain, quick = Flags(), QuickFlags(Flags())
    plain.nrt = quick.nrt = True
    assert quick.values() == plain.values()


def winding(table, limit):
    """Return a sum by branches, loops that end early, an option that is None, and arrays."""
    total, count = 0.0, 0
    for i in range(table.shape[0]):
        row = table[i]
        for j in range(row.size):
            if row[j] < 0.0:
                continue
            if limit is not None and total > limit:
                return total
            total += max(row[j], 1.0) + int(row[j]) * (i + j)
            count += 1
        while count > 3:
            count -= 1
    return total + np.sum(table * table)


def body(kernel):
    """Return the machine's instructions of a kernel's code; labels and names are left out."""
    (text,) = kernel.inspect_asm().values()
    words = [line.split()[0] for line in text.splitlines() if re.match(r"\t[a-z]", line)]
    return [word for word in words if not word.startswith(".")]


@pytest.mark.parametrize("limit", [None, 7.0])
def test_the_code_is_that_of_numba(limit):
    table = np.arange(-3.0, 9.0).reshape(3, 4)
    ours = numba.njit(pipeline_class=QuickCompiler)(winding)
    theirs = numba.njit(winding)
    assert ours(table, limit) == theirs(table, limit) == winding(table, limit)
    assert body(ours) == body(theirs)


def test_an_error_of_types_is_told():
    @njit
    def wrong(x):
        return x + "a"

    for _ in range(2):
        with pytest.raises(numba.TypingError, match="No implementation of function"):
            wrong(1.0)


def test_numba_is_left_as_it_was():
    with haste():  # what belongs to arrays is added when it is first needed
        pass

    def now():
        return [getattr(owner, name) for owner, name, _ in STEAD]

    before, ours = now(), [value for _, _, value in STEAD]
    assert before != ours
    with haste():
        with haste():
            assert now() == ours
        assert now() == ours
    assert now() == before
