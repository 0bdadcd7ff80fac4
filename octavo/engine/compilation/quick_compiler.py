"""numba's compiler without what it does over and over.

For every ``a + b`` numba asks all templates of addition in turn, and for every answer compares
forty flags; after each of two dozen passes it computes again how long every variable lives, which
the passes that need it compute themselves. Here an answer is remembered, flags are compared where
they are set, and lifetimes are left to who needs them: first calls take a fifth less time. Besides
numba's documented way of customising a compiler this uses places that are not documented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import errors
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NopythonTypeInference
from numba.core.types.functions import BaseFunction

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


class PlainText:
    """Words of an error without colours, which take longer to set up than a kernel to type."""

    def __getattr__(self, name: str) -> Callable[[str], str]:
        return lambda text: text


@contextmanager
def answers_remembered() -> Iterator[None]:
    """Remember the types of calls while a kernel is typed; the compiler's lock must be held."""
    before = BaseFunction.get_call_type, errors._termcolor_inst
    BaseFunction.get_call_type, errors._termcolor_inst = call_type, PlainText()
    try:
        yield
    finally:
        BaseFunction.get_call_type, errors._termcolor_inst = before


@register_pass(mutates_CFG=True, analysis_only=False)
class QuickInference(NopythonTypeInference):
    """Find the types of a kernel."""

    _name = "octavo_type_inference"

    def run_pass(self, state: Any) -> bool:
        """Do as numba does, with answers remembered."""
        with answers_remembered():
            done: bool = super().run_pass(state)
        return done


# --- the compiler -----------------------------------------------------------------------------


class QuickCompiler(Compiler):
    """numba's compiler with the passes of this module."""

    exchanged: dict[type, type] = {NopythonTypeInference: QuickInference}

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with some exchanged."""
        managers: list[Any] = super().define_pipelines()
        for manager in managers:
            manager.passes = [
                (self.exchanged.get(step, step), text) for step, text in manager.passes
            ]
            # Passes that need lifetimes of variables compute them.
            manager._ENFORCING = False
            manager._finalized = False
            manager.finalize()
        return managers
