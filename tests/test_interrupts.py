"""Ctrl-C is heard: also where a compiler swallows it, and at the latest the second time."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from octavo._interrupts import end_with_parent, interrupts_heard

posix = pytest.mark.skipif(os.name != "posix", reason="sends signals")


@posix
def test_a_swallowed_interrupt_is_raised_at_the_end_of_the_block():
    before = signal.getsignal(signal.SIGINT)
    done = []

    def swallow():
        with interrupts_heard():
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                done.append("swallowed")
            done.append("went on")

    with pytest.raises(KeyboardInterrupt):
        swallow()
    assert done == ["swallowed", "went on"]
    assert signal.getsignal(signal.SIGINT) is before


def test_nothing_happens_without_one():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_heard():
        pass
    with pytest.raises(ZeroDivisionError), interrupts_heard():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


@posix
def test_a_worker_of_loky_ends_with_its_parent(monkeypatch):
    class Parent:  # what multiprocessing knows of it there: nothing that could be waited for
        sentinel = None

        def join(self):
            raise ValueError("Invalid file object: None")

    parents, ended = iter([7, 7, 7, 1]), []
    monkeypatch.setattr(multiprocessing, "parent_process", Parent)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(os, "_exit", ended.append)
    end_with_parent()
    assert ended == [1]
    assert next(parents, None) is None


@posix
def test_an_interrupt_during_compilation_is_not_lost():
    """The compiler calls back into Python, where an exception may be printed and forgotten."""
    code = """
import os, signal
from numba.extending import overload
from octavo.engine.compilation.kernel_cache import njit

def callback(x): ...

@overload(callback)
def compiled(x):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass
    return lambda x: x

@njit
def kernel(x):
    return callback(x)

try:
    kernel(1.0)
    print("lost")
except KeyboardInterrupt:
    print("heard")
print(kernel(2.0))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["heard", "2.0"], done.stderr


@posix
def test_the_second_interrupt_ends_a_command_that_is_deaf(tmp_path):
    code = """
import time
from octavo._interrupts import second_interrupt_ends
with second_interrupt_ends():
    ready = True
    while True:
        try:
            if ready:
                ready = False
                print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            print("first", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "first\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == -signal.SIGINT
    finally:
        process.kill()
        process.wait()


@posix
@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.5, 2.0, 4.0])
def test_reproduce_ends_within_seconds_of_the_second_interrupt(wait, tmp_path):
    """With an empty cache of kernels, so that the signals meet compilations; no process is left."""
    environment = os.environ | {"OCTAVO_CACHE": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "octavo", "reproduce", "online-ranking", "--jobs", "2"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        time.sleep(3 + wait)
        assert process.poll() is None, "it was still at work"
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=10)
        deadline = time.monotonic() + 10
        while _group_lives(process.pid) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not _group_lives(process.pid)
    finally:
        if _group_lives(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@posix
def test_a_process_whose_parent_went_while_it_began_ends_at_once():
    """Its parent's number is told by the parent: the one that it has by now is another."""
    code = "import os; from octavo._interrupts import end_with_parent as f; f(os.getpid())"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 1
