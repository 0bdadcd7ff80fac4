"""Kernels as other kernels call them: compiled to what is linked, and no further.

A kernel that another kernel calls goes into the caller's machine code. numba nevertheless gives
it wrappers for Python and C, optimises it with all that it calls, and emits machine code that
nobody runs, at every depth of the calls. Here a callee is lowered and kept as it is; the kernel
that Python calls is optimised and emitted once, with everything that it reaches. First calls take
a fifth to a third less time. Besides numba's documented way of customising a compiler this uses
its code library and the flags of a dispatcher, which are not documented.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class CalleeLibrary(JITCodeLibrary):
    """The code of a callee, which callers link: neither optimised nor emitted for itself."""

    emitted = False

    def _optimize_final_module(self) -> None:
        if self.emitted:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.emitted:
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class CalleeLowering(NativeLowering):
    """Lower a kernel that kernels call."""

    _name = "octavo_callee_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower, and register the code under a key of its own instead of an entry point."""
        context = state.targetctx
        codegen = context.codegen()
        library = CalleeLibrary(codegen, state.func_id.func_qualname)
        state.library = library
        done: bool = super().run_pass(state)
        lowered = state["cr"]
        # Code that reaches for Python objects (an error with values) finds them where numba puts
        # them when it emits code; the name of that place then stands in more than its definition.
        place = context.get_env_name(lowered.fndesc)
        library.emitted = library.get_llvm_str().count(place) > 1
        library._ensure_finalized()
        if library.emitted:
            codegen.set_env(place, lowered.env)
        key = object()
        context.insert_user_function(key, lowered.fndesc, [library])
        state.reload_init.extend(getattr(library, "_reload_init", ()))  # numba 0.61 has none
        state["cr"] = lowered._replace(cfunc=key)
        return done


class CalleeCompiler(Compiler):
    """numba's compiler, whose last step is `CalleeLowering`."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with the last one exchanged."""
        managers: list[Any] = super().define_pipelines()
        for manager in managers:
            manager.passes = [
                (CalleeLowering if step is NativeLowering else step, text)
                for step, text in manager.passes
            ]
            manager._finalized = False
            manager.finalize()
        return managers


class QuickFlags(Flags):
    """The compiler's flags; equal ones are found equal without asking for each of forty options.

    numba compares flags at every call that it types.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other or self._values == getattr(other, "_values", None):
            return True
        return bool(Flags.__eq__(self, other))

    def __hash__(self) -> int:
        return hash_of_flags()


def hash_of_flags() -> int:
    """Return the hash of flags, which depends on their names alone."""
    if not _HASHES:
        _HASHES.append(Flags.__hash__(Flags()))
    return _HASHES[0]


_HASHES: list[int] = []


def use_quick_flags(dispatcher: Any, **more: bool) -> None:
    """Let a dispatcher compile with `QuickFlags`, in which the named ones are set."""

    def customize(flags: Flags) -> QuickFlags:
        quick = QuickFlags(flags)
        for name, value in more.items():
            setattr(quick, name, value)
        return quick

    dispatcher._compiler._customize_flags = customize


def callee_of(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the dispatcher that compiles a function for its callers; it cannot be called."""
    bare = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    callee: Any = numba.njit(**bare, pipeline_class=CalleeCompiler)(function)
    use_quick_flags(callee, no_compile=True)

    def add_overload(result: Any) -> None:
        callee.overloads[tuple(result.signature.args)] = result

    callee.add_overload = add_overload
    return callee


@contextmanager
def collector_resting() -> Iterator[None]:
    """Keep the garbage collector from walking through the compiler's many small objects."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
