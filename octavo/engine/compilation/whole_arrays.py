"""How kernels call kernels: an array goes over as one value, and who never fails is not asked.

numba takes an array apart into its nine members wherever it is handed over, puts them together on
the other side, and asks after every call whether there was an error. Kernels that call each other
are linked into one: there an array is an argument as it is, and a kernel that returns nothing but
success has no branch behind its call. Calls from Python keep numba's way.
"""

from __future__ import annotations

import re
from typing import Any

from llvmlite.ir import IRBuilder
from numba.core import cgutils, types
from numba.core.callconv import CPUCallConv
from numba.core.datamodel import ArgPacker
from numba.core.imputils import fix_returning_optional
from numba.core.lowering import Lower

RETURNED = re.compile(r"\bret i32 (\S+)")  # the status of a call; a number, or computed


class WholeArray:
    """The model of an array, as an argument that is not taken apart."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def get_argument_type(self) -> Any:
        """Return the type of the value itself."""
        return self.model.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the value as it is."""
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Return the argument as it is."""
        return value


class WholeModels:
    """numba's models of types as arguments, with arrays whole."""

    def __init__(self, models: Any) -> None:
        self.models = models

    def lookup(self, kind: Any) -> Any:
        """Return the model of a type."""
        model = self.models.lookup(kind)
        return WholeArray(model) if isinstance(kind, types.Array) else model


class CalleeConvention(CPUCallConv):
    """numba's convention of calls, with arrays whole."""

    def _get_arg_packer(self, argtypes: Any) -> Any:
        return ArgPacker(WholeModels(self.context.data_model_manager), argtypes)

    def declare(self, module: Any, fndesc: Any) -> Any:
        """Return the function of a callee in a module."""
        kind = self.get_function_type(fndesc.restype, fndesc.argtypes)
        function = cgutils.get_or_insert_function(module, kind, fndesc.mangled_name)
        if hasattr(self.context, "apply_target_attributes"):  # numba 0.61 has none
            self.context.apply_target_attributes(function, fndesc.argtypes, fndesc.restype)
        self.decorate_function(function, fndesc.args, fndesc.argtypes, noalias=fndesc.noalias)
        return function


class CalleeLower(Lower):
    """numba's lowering of a function that takes arrays whole."""

    @property
    def call_conv(self) -> Any:
        """The convention by which this function takes its arguments."""
        return CalleeConvention(self.context)

    def setup_function(self, fndesc: Any) -> None:
        """Begin the function, as numba does."""
        self.function = self.call_conv.declare(self.module, fndesc)
        self.entry_block = self.function.append_basic_block("entry")
        self.builder = IRBuilder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)


def always_succeeds(text: str) -> bool:
    """Whether the code of a callee returns nothing but success."""
    return all(code == "0" for code in RETURNED.findall(text))


def call_of(fndesc: Any, library: Any, text: str) -> Any:
    """Return what writes a call of a callee into its caller."""
    is_safe = always_succeeds(text)

    def write_call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = CalleeConvention(context)
        function = convention.declare(builder.module, fndesc)
        status, value = convention.call_function(
            builder, function, fndesc.restype, fndesc.argtypes, args
        )
        if not is_safe:
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
        return fix_returning_optional(context, builder, signature, status, value)

    call: Any = write_call
    call.signature, call.libs = fndesc.argtypes, (library,)
    return call
