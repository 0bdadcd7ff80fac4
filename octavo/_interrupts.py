"""Ctrl-C that is heard: also where a compiler swallows it, and at the latest the second time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any


def _can_listen() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def interrupts_heard() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of a block in which one was raised and lost.

    An exception inside a callback from C, as a compiler makes them, is printed and forgotten.
    """
    old: Any = signal.getsignal(signal.SIGINT) if _can_listen() else None
    if not callable(old):
        yield
        return
    heard = []

    def note(number: int, frame: Any) -> None:
        heard.append(number)
        old(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
    if heard:
        raise KeyboardInterrupt


@contextlib.contextmanager
def second_interrupt_ends() -> Iterator[None]:
    """Let the first Ctrl-C raise KeyboardInterrupt as ever, and the second end the process."""
    old: Any = signal.getsignal(signal.SIGINT) if _can_listen() else None
    if old is not signal.default_int_handler:
        yield
        return

    def first(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no Python has to run for the second
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


def end_with_parent(number: int | None = None) -> None:
    """Wait for the parent to end and end this process: nothing goes on for one that was killed.

    Parameters
    ----------
    number : int, optional
        The parent's, which knows it before this process begins: one that is killed while this
        process is still importing has gone by now.
    """
    parent = multiprocessing.parent_process()
    if parent is not None and parent.sentinel is not None:  # loky's has none to wait for
        parent.join()
    elif os.name == "posix":  # started by other means than multiprocessing
        started_by = os.getppid() if number is None else number
        while os.getppid() == started_by:
            time.sleep(0.5)
    else:
        return
    os._exit(1)
