"""Kernels as kernels call them: the same answers and errors, and no machine code of their own."""

import gc
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import codegen
from numba.core.runtime import _nrt_python, rtsys

from octavo.engine.compilation.kernel_cache import collector_resting, njit
from octavo.engine.compilation.whole_arrays import always_succeeds


def kernels():
    """Return three kernels that nobody has compiled: each calls those that follow."""

    @njit
    def half(x):
        if x < 0.0:
            raise ValueError("x is negative")
        return 0.5 * x

    @njit
    def halves(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += half(x[i])
        return total

    @njit
    def twice(x):
        return 2.0 * halves(x) + half(x[0])

    return twice, halves, half


def test_a_chain_of_kernels_answers_as_python_does():
    twice, halves, half = kernels()
    x = np.array([3.0, 4.0])
    assert twice(x) == 2.0 * (1.5 + 2.0) + 1.5
    assert halves(x) == 3.5  # from Python, after it was compiled as a callee
    assert half(3.0) == 1.5


def test_errors_of_a_callee_come_through():
    twice, _, half = kernels()
    with pytest.raises(ValueError, match="x is negative"):
        twice(np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="x is negative"):
        half(-1.0)


def test_only_what_python_calls_is_emitted(monkeypatch):
    emitted = []
    finalize = codegen.JITCodeLibrary._finalize_specific
    monkeypatch.setattr(
        codegen.JITCodeLibrary,
        "_finalize_specific",
        lambda library: (emitted.append(library.name), finalize(library))[1],
    )
    twice, *_ = kernels()
    twice(np.array([1.0]))
    assert [name.rsplit(".", 1)[-1] for name in emitted] == ["twice"]


def test_a_callee_with_python_objects_has_them():
    """A message that is made from a value needs objects of the interpreter."""

    @njit
    def checked(x):
        if x > 2:
            raise ValueError("too large:", x)
        print("a word")
        return x

    @njit
    def caller(x):
        return checked(x) + 1

    assert caller(1) == 2
    with pytest.raises(ValueError, match="too large:") as caught:
        caller(7)
    assert caught.value.args == ("too large:", 7)


def test_plain_numba_may_call_a_kernel():
    _, halves, _ = kernels()

    @numba.njit
    def theirs(x):
        return halves(x) + 1.0

    assert theirs(np.array([2.0, 4.0])) == 4.0


def test_plain_numba_hears_of_errors_too():
    _, halves, _ = kernels()

    @numba.njit
    def theirs(x):
        return halves(x) + 1.0

    with pytest.raises(ValueError, match="x is negative"):
        theirs(np.array([-2.0]))


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_arrays_of_every_layout_go_over_whole(order):
    """Also inside a tuple, back as an answer, and changed in place."""

    @njit
    def weighed(table, rows, pair):
        for i in range(rows.size):
            table[rows[i], 0] += pair[0][i] + pair[1]
        return table[rows[0]], rows

    @njit
    def caller(table, rows, weights):
        row, again = weighed(table, rows, (weights, 0.5))
        return row.sum() + again[1]

    table = np.arange(24.0).reshape(4, 6)
    table = {"C": table, "F": np.asfortranarray(table), "A": table[:, ::2]}[order]
    expected, rows, weights = table.copy(), np.array([2, 3]), np.array([1.0, 2.0])
    expected[rows, 0] += weights + 0.5
    assert caller(table, rows, weights) == expected[2].sum() + 3
    np.testing.assert_array_equal(table, expected)


def test_an_answer_may_be_none():
    @njit
    def root(x):
        return np.sqrt(x[0]) if x[0] >= 0.0 else None

    @njit
    def caller(x):
        found = root(x)
        return -1.0 if found is None else found + 1.0

    assert caller(np.array([4.0])) == 3.0
    assert caller(np.array([-4.0])) == -1.0


def test_arrays_that_kernels_hand_over_are_let_go():
    @njit
    def made(x, n):
        y = np.empty(n)
        for i in range(n):
            y[i] = x[0] + i
        return y

    @njit
    def caller(x):
        total = 0.0
        for n in range(1, 50):
            total += made(made(x, n), 2)[1]
        return total

    x = np.ones(1)
    caller(x)
    _nrt_python.memsys_enable_stats()
    try:
        before, count = rtsys.get_allocation_stats(), sys.getrefcount(x)
        assert caller(x) == 49 * 2.0
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    # one of them is of the array that Python hands over
    assert after.alloc - before.alloc == after.free - before.free == 2 * 49 + 1
    assert sys.getrefcount(x) == count


def test_who_may_fail_is_asked():
    assert always_succeeds("  ret i32 0\n  ret i32 0\n")
    assert not always_succeeds("  ret i32 0\n  ret i32 1\n")
    assert not always_succeeds("  ret i32 %.12\n")
    assert not always_succeeds("  ret i32 -2\n")


def test_a_kernel_is_an_argument():
    _, _, half = kernels()

    @njit
    def apply(function, x):
        return function(x)

    assert apply(half, 5.0) == 2.5


def test_a_second_process_loads_callers_with_their_callees(tmp_path):
    code = (
        "import numpy as np\n"
        "from octavo.online import AdaHedge\n"
        "print(AdaHedge().run(np.arange(12.0).reshape(4, 3)))\n"
    )
    environment = {**os.environ, "OCTAVO_CACHE": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    answers = [
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert answers[0]
    assert answers[0] == answers[1]
    assert list(tmp_path.rglob("*.kernel"))


def test_the_collector_comes_back():
    assert gc.isenabled()
    with collector_resting():
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("version", ["0.60.0", "0.69.0", "1.0.0", "0.68dev"])
def test_other_releases_of_numba_compile_in_their_own_way(monkeypatch, version):
    monkeypatch.setattr(numba, "__version__", version)
    inner = njit(lambda x: x + 1)
    outer = njit(lambda x: 2 * inner(x))
    assert type(outer) is type(numba.njit(lambda x: x))
    assert outer._compiler.pipeline_class is numba.core.compiler.Compiler
    assert outer(3) == 8
