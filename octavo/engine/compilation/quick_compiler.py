"""numba's compiler without what it does over and over.

For every ``a + b`` numba asks all templates of addition in turn, and for every answer compares
forty flags; a dozen times on its way it computes how long every variable lives, which only the
last step needs. Here an answer is remembered, flags are compared where they are set, and lifetimes
are computed when they are asked for: first calls take a fifth less time, and the code is the same.
While a kernel is compiled this puts functions in the place of numba's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import errors
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction
from numba.core.typing import typeof

# --- flags ------------------------------------------------------------------------------------


class QuickFlags(Flags):
    """The compiler's flags, compared where one of two is set instead of at all forty options.

    numba compares flags at every call that it types, and lists them at every pass.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Flags):
            return NotImplemented
        ours, theirs = self._values, other._values
        if ours == theirs:
            return True
        return all(getattr(self, name) == getattr(other, name) for name in {**ours, **theirs})

    def __hash__(self) -> int:
        return hash_of_flags()

    def values(self) -> dict[str, Any]:
        """Return the value of every option."""
        return {**defaults_of_flags(), **self._values}


def hash_of_flags() -> int:
    """Return the hash of flags, which depends on their names alone."""
    if not _HASHES:
        _HASHES.append(Flags.__hash__(Flags()))
    return _HASHES[0]


def defaults_of_flags() -> dict[str, Any]:
    """Return the value that every option has unless it is set."""
    if not _DEFAULTS:
        _DEFAULTS.update({name: option.default for name, option in Flags.options.items()})
    return _DEFAULTS


_HASHES: list[int] = []
_DEFAULTS: dict[str, Any] = {}


def use_quick_flags(dispatcher: Any, **more: bool) -> None:
    """Let a dispatcher compile with `QuickFlags`, in which the named ones are set."""

    def customize(flags: Flags) -> QuickFlags:
        quick = QuickFlags(flags)
        for name, value in more.items():
            setattr(quick, name, value)
        return quick

    dispatcher._compiler._customize_flags = customize


# --- types of calls ---------------------------------------------------------------------------

_ask: Callable[..., Any] = BaseFunction.get_call_type
# By the identity of a function's type, which is kept so that no other takes its number.
_ANSWERS: dict[int, tuple[Any, dict[Any, Any]]] = {}


def call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return what numba's own function of this place answers, asked once for each signature."""
    if kws:
        return _ask(self, context, args, kws)
    answers = _ANSWERS.setdefault(id(self), (self, {}))[1]
    key = (context, args, ConfigStack.top_or_none())
    if key not in answers:
        signature = _ask(self, context, args, kws)
        answers[key] = (signature, self._impl_keys[signature.args])
    signature, implementation = answers[key]
    self._impl_keys[signature.args] = implementation
    return signature


# --- lifetimes of variables -------------------------------------------------------------------

_process: Callable[..., Any] = PostProcessor.run


def process(self: Any, emit_dels: bool = False, **options: Any) -> None:
    """Leave lifetimes to who asks for them, unless they are written into the code now."""
    if emit_dels or self.func_ir.is_generator:
        _process(self, emit_dels, **options)
        return
    self.func_ir.blocks = canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None


# --- the compiler -----------------------------------------------------------------------------


class PlainText:
    """Words of an error without colours, which take longer to set up than a kernel to type."""

    def __getattr__(self, name: str) -> Callable[[str], str]:
        return lambda text: text


# What is put in another's place while a kernel is compiled.
STEAD: list[tuple[Any, str, Any]] = [
    (BaseFunction, "get_call_type", call_type),
    (PostProcessor, "run", process),
    (PassManager, "_ENFORCING", False),
    (errors, "_termcolor_inst", PlainText()),
    (typeof, "_termcolor", PlainText()),
]


@functools.cache
def take_arrays_in() -> None:
    """Add what is put in the place of functions that numba loads with its first compilation."""
    from octavo.engine.compilation.quick_arrays import STEAD_OF_ARRAYS

    STEAD.extend(STEAD_OF_ARRAYS)


@contextmanager
def haste() -> Iterator[None]:
    """Let numba do things once, while its lock is held; afterwards it is as it was."""
    with global_compiler_lock:
        take_arrays_in()
        before = [getattr(owner, name) for owner, name, _ in STEAD]
        for owner, name, ours in STEAD:
            setattr(owner, name, ours)
        try:
            yield
        finally:
            for (owner, name, _), theirs in zip(STEAD, before):
                setattr(owner, name, theirs)


class QuickCompiler(Compiler):
    """numba's compiler in haste."""

    def _compile_core(self) -> Any:
        with haste():
            return super()._compile_core()
