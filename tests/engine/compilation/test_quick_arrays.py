"""Code for arrays with less to remove: the same references, entries and machine code."""

import numba
import numpy as np
import pytest
from llvmlite import ir
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext

from octavo.engine.compilation.quick_arrays import references
from octavo.engine.compilation.quick_compiler import QuickCompiler
from tests.engine.compilation.test_quick_compiler import body


@pytest.mark.parametrize("kind", ["one array", "pair of arrays", "number"])
def test_counted_parts_are_those_that_numba_finds(kind):
    """And nothing else is taken out of a value, where numba takes out every member."""
    array = numba.float64[:, ::1]
    kinds = {"one array": array, "pair of arrays": numba.types.Tuple((array, numba.int64, array))}
    kind = kinds.get(kind, numba.int64)
    context = cpu_target.target_context
    context.refresh()

    def counted(find):
        value = context.get_value_type(kind)
        function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [value]), "f")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        found = find(NRTContext(context, True), builder, kind, function.args[0])
        return [(str(inner), part.type) for inner, part in found], len(builder.block.instructions)

    parts, steps = counted(references)
    theirs, their_steps = counted(NRTContext.get_meminfos)
    assert parts == theirs
    assert steps == {0: 0, 1: 1, 2: 4}[len(parts)]
    assert steps < their_steps or not parts


def entries(table, i, j, block):
    """Read and write entries by numbers of every kind, rows and slices between them."""
    table[i, j] = block[0, i, 1] + table[-1, j]
    table[np.uint64(1), np.int8(0)] += block[i, -2, -1]
    row, last = table[i], table[:, -1]
    row[j] -= last[0] + last[-2] + block[1][0, j]
    return row[-1] + table.T[j, i]


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_entries_are_those_of_numba(order):
    def arrays():
        table, block = np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(2, 3, 4)
        if order == "F":
            return np.asfortranarray(table), np.asfortranarray(block)
        return (table, block) if order == "C" else (table[:, ::-1], block[:, :, ::-1])

    answers, kernels = [], []
    for run in (
        entries,
        numba.njit(pipeline_class=QuickCompiler)(entries),
        numba.njit(entries),
    ):
        table, block = arrays()
        answers.append((run(table, 1, 2, block), table.tolist()))
        kernels.append(run)
    assert answers[0] == answers[1] == answers[2]
    assert body(kernels[1]) == body(kernels[2])


@pytest.mark.parametrize("place", [(0, 4), (3, 0), (-4, 0)])
def test_bounds_are_checked_where_that_is_asked_for(place):
    @numba.njit(pipeline_class=QuickCompiler, boundscheck=True)
    def entry(table, i, j):
        return table[i, j]

    with pytest.raises(IndexError):
        entry(np.zeros((3, 4)), *place)
