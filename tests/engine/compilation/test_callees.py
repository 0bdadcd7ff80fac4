"""Kernels as kernels call them: the same answers and errors, and no machine code of their own."""

import gc
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import codegen

from octavo.engine.compilation.kernel_cache import collector_resting, njit


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
