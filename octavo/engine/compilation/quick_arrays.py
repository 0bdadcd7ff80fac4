"""What numba writes for arrays, without what the optimiser removes again.

numba takes all nine members out of an array wherever it counts a reference, though only one is
counted, and reads shapes and strides twice for every entry. More than a third of all instructions
of a kernel with many arrays are of that kind: they are made, written out, read and thrown away. The
machine code without them is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils
from numba.core.runtime.context import NRTContext
from numba.core.types import Integer
from numba.np import arrayobj

# --- references -------------------------------------------------------------------------------

_HOLDERS: dict[Any, bool] = {}


def holds_reference(runtime: Any, kind: Any) -> bool:
    """Whether a value of a type holds something that is counted."""
    if kind not in _HOLDERS:
        _HOLDERS[kind] = runtime._context.data_model_manager[kind].contains_nrt_meminfo()
    return _HOLDERS[kind]


def references(self: Any, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return types and places of what is counted inside a value, and take nothing else out."""
    model = self._context.data_model_manager[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for member, taken_out in model.traverse(builder):
        if holds_reference(self, member):
            found += references(self, builder, member, taken_out(value))
    return found


# --- entries ----------------------------------------------------------------------------------

_index: Callable[..., Any] = arrayobj.basic_indexing


def index_entry(
    context: Any,
    builder: Any,
    aryty: Any,
    ary: Any,
    index_types: Any,
    indices: Any,
    boundscheck: Any = None,
) -> Any:
    """Return where an entry is; anything but a number for each axis is left to numba."""
    numbers = len(indices) == aryty.ndim and all(isinstance(k, Integer) for k in index_types)
    if boundscheck or not numbers:
        return _index(context, builder, aryty, ary, index_types, indices, boundscheck=boundscheck)
    shape = cgutils.unpack_tuple(builder, ary.shape, aryty.ndim)
    strides: Any = ()
    if aryty.layout not in "CF":
        strides = cgutils.unpack_tuple(builder, ary.strides, aryty.ndim)
    places = [
        arrayobj.fix_integer_index(context, builder, kind, index, size)
        for kind, index, size in zip(index_types, indices, shape)
    ]
    place = cgutils.get_item_pointer2(
        context, builder, ary.data, shape, strides, aryty.layout, places
    )
    return place, [], []


STEAD_OF_ARRAYS: list[tuple[Any, str, Any]] = [
    (NRTContext, "get_meminfos", references),
    (arrayobj, "basic_indexing", index_entry),
]
