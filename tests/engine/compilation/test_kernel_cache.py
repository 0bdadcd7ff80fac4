"""The cache of compiled kernels: keyed by sources, safe in parallel, indifferent to damage."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from octavo.engine.compilation.kernel_cache import (
    SUFFIX,
    njit,
    read_checked,
    write_checked,
)

CALLED = """
from octavo.engine.compilation.kernel_cache import njit

CONSTANT = {constant}

@njit(cache=True)
def inner(x):
    return {inner}
"""
CALLER = """
import sys
import octavo_called as called
from octavo_called import inner
from octavo.engine.compilation.kernel_cache import njit

@njit(cache=True)
def outer(x):
    return inner(x) + called.CONSTANT

print(outer(2.0), sum(outer.stats.cache_hits.values()))
"""
INTRINSIC = """
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

def definition(typing_context, x):
    def codegen(context, builder, signature, arguments):
        return builder.fadd(arguments[0], ir.Constant(ir.DoubleType(), {step}))

    return types.float64(types.float64), codegen

inner = intrinsic(definition)
"""
ROOT = str(Path(__file__).resolve().parents[3])


def run(folder, cache):
    env = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "OCTAVO_CACHE": str(cache)}
    env.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-B", str(folder / "caller.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    value, hits = done.stdout.split()
    return float(value), int(hits)


@pytest.fixture
def pair(tmp_path):
    def write(inner="x + 1", constant=0.0):
        (tmp_path / "octavo_called.py").write_text(CALLED.format(inner=inner, constant=constant))
        (tmp_path / "caller.py").write_text(CALLER)
        return tmp_path

    return write


def test_an_edit_of_a_called_kernel_in_another_file_is_noticed(pair, tmp_path):
    cache = tmp_path / "cache"
    assert run(pair(), cache) == (3.0, 0)
    assert run(pair(), cache) == (3.0, 1)  # read from disk
    assert run(pair(inner="x * 10"), cache) == (20.0, 0)
    assert run(pair(inner="x * 10", constant=1.0), cache) == (21.0, 0)
    assert run(pair(), cache) == (3.0, 1)  # the old sources find their old code


def test_an_edit_of_an_intrinsic_is_noticed(tmp_path):
    """What an intrinsic builds stands in a function that no kernel names."""
    (tmp_path / "caller.py").write_text(CALLER.replace("called.CONSTANT", "0.0"))
    for step, cache, expected in [
        (1.0, tmp_path / "cache", (3.0, 0)),
        (1.0, tmp_path / "cache", (3.0, 1)),
        (5.0, tmp_path / "cache", (7.0, 0)),
    ]:
        (tmp_path / "octavo_called.py").write_text(INTRINSIC.format(step=step))
        assert run(tmp_path, cache) == expected


def test_another_interpreter_finds_no_machine_code_of_this_one(pair, tmp_path):
    cache = tmp_path / "cache"
    folder = pair()
    assert run(folder, cache) == (3.0, 0)
    disguise = folder / "sitecustomize.py"
    disguise.write_text("import sys\n\nsys.implementation.cache_tag = 'cpython-999'\n")
    assert run(folder, cache) == (3.0, 0)
    disguise.unlink()
    assert run(folder, cache) == (3.0, 1)


def test_damaged_and_empty_files_are_compiled_again(pair, tmp_path):
    cache = tmp_path / "cache"
    run(pair(), cache)
    files = list((cache / "kernels").glob(f"*{SUFFIX}"))
    assert len(files) >= 1
    for position, path in enumerate(files):
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 0xFF
        path.write_bytes(bytes(raw) if position % 2 == 0 else b"")
    assert run(pair(), cache) == (3.0, 0)
    assert run(pair(), cache) == (3.0, 1)


def test_a_folder_that_cannot_be_written_costs_only_time(pair, tmp_path):
    blocked = tmp_path / "cache"
    blocked.write_text("a file where the folder should be")
    assert run(pair(), blocked) == (3.0, 0)
    assert run(pair(), blocked) == (3.0, 0)


def test_two_processes_fill_the_cache_at_once(pair, tmp_path):
    folder, cache = pair(), tmp_path / "cache"
    env = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "OCTAVO_CACHE": str(cache)}
    env.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-B", str(folder / "caller.py")]
    several = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE) for _ in range(3)]
    answers = [process.communicate()[0].split()[0] for process in several]
    assert answers == [b"3.0"] * 3
    assert not list((cache / "kernels").glob("*.part"))
    assert run(folder, cache) == (3.0, 1)


def test_checked_files_are_what_was_written_or_nothing(tmp_path):
    path = tmp_path / f"a{SUFFIX}"
    write_checked(path, b"machine code")
    assert read_checked(path) == b"machine code"
    path.write_bytes(path.read_bytes()[:-1])
    assert read_checked(path) is None
    assert not path.exists()


STEP = 3


@njit(cache=True)
def add_step(x):
    return x + STEP


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def total(x):
    out = 0.0
    for value in x:
        out += value
    return out


def test_the_key_sees_constants_and_options():
    cache = add_step._cache
    first = cache.source_key
    assert type(cache)(add_step.py_func, {}).source_key == first
    assert type(cache)(add_step.py_func, {"nogil": True}).source_key != first
    before = add_step.py_func.__globals__["STEP"]
    try:
        add_step.py_func.__globals__["STEP"] = 4
        assert type(cache)(add_step.py_func, {}).source_key != first
    finally:
        add_step.py_func.__globals__["STEP"] = before


def test_the_key_is_the_same_in_every_process():
    """Sets of options have an order that changes with the seed of Python's hashes."""
    code = f"import {__name__} as module; print(module.total._cache.source_key)"
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": ROOT},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(keys) == 1


def test_kernels_run_as_numba_s_do():
    assert add_step(4) == 7
    assert total(np.arange(5.0)) == 10.0


@njit(cache=True)
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@njit(cache=True)
def factorial_of_twice(n):
    return factorial(add_step(n))


def test_a_kernel_that_kernels_call_can_still_be_called_from_python():
    # First by another kernel, which has it compiled without what Python needs.
    assert factorial_of_twice(1) == 24
    assert factorial(5) == 120
    assert add_step(1) == 4


def test_a_number_written_out_in_a_call_does_not_compile_a_kernel_again():
    @njit
    def inner(x, k):
        return x + k

    @njit
    def outer(x, k):
        return inner(x, k) + inner(x, 1) + inner(x, 2)

    assert outer(10, 3) == 36
    (signature,) = inner.get_overload.__self__.signatures  # one, for any whole number
    assert "Literal" not in str(signature)
