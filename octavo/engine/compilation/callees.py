"""Kernels as other kernels call them: compiled to what is linked, and no further.

A kernel that another kernel calls goes into the caller's machine code. numba nevertheless gives
it wrappers for Python and C, optimises it with all that it calls, and emits machine code that
nobody runs, at every depth of the calls. Here a callee is lowered and kept as it is; the kernel
that Python calls is optimised and emitted once, with everything that it reaches; what numba has for
`max`, `int` or `np.zeros` is treated alike. First calls take
a fifth to a third less time. Callers hand arrays over whole (`whole_arrays`). Besides numba's
documented way of customising a compiler this uses its code library and the flags of a dispatcher,
which are not documented.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import _OverloadFunctionTemplate

from octavo.engine.compilation.quick_compiler import STEAD, QuickCompiler, use_quick_flags
from octavo.engine.compilation.whole_arrays import CalleeLower, call_of


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

    @property
    def lowering_class(self) -> Any:
        """The class that writes the code."""
        return CalleeLower

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
        text = library.get_llvm_str()
        library.emitted = text.count(place) > 1
        library._ensure_finalized()
        if library.emitted:
            codegen.set_env(place, lowered.env)
        key = object()
        call = call_of(lowered.fndesc, library, text)
        context._defns[key].append(call, call.signature)  # as its insert_user_function does
        state.reload_init.extend(getattr(library, "_reload_init", ()))  # numba 0.61 has none
        state["cr"] = lowered._replace(cfunc=key)
        return done


class CalleeCompiler(QuickCompiler):
    """The compiler of callees, whose last step is `CalleeLowering`."""

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


def callee_of(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the dispatcher that compiles a function for its callers; it cannot be called."""
    bare = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    callee: Any = numba.njit(**bare, pipeline_class=CalleeCompiler)(function)
    use_quick_flags(callee, no_compile=True)

    def add_overload(result: Any) -> None:
        callee.overloads[tuple(result.signature.args)] = result

    callee.add_overload = add_overload
    return callee


_decorator: Callable[..., Any] = _OverloadFunctionTemplate._get_jit_decorator


def overload_decorator(self: Any) -> Any:
    """Return what compiles numba's implementation of a function: for its callers, where it can."""
    theirs = _decorator(self)
    if theirs is not numba.jit or not self._inline.is_never_inline:
        return theirs

    def decorator(**options: Any) -> Callable[..., Any]:
        def compiled(function: Any) -> Any:
            code = function.__code__
            if function.__name__ in (*code.co_names, *code.co_freevars):  # finds itself at work
                return theirs(**options)(function)
            return callee_of(function, {k: v for k, v in options.items() if k != "nopython"})

        return compiled

    return decorator


STEAD.append((_OverloadFunctionTemplate, "_get_jit_decorator", overload_decorator))
