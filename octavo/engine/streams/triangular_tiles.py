"""Unit upper triangular matrices in tiles of four rows and four columns, for vector instructions.

A triangular matrix of twenty rows has columns of ten numbers on average: loops over them are mostly
beginnings and ends. Here four rows are one vector, and what is summed along them stays in a
register from column to column. Tiles lie row of tiles after row of tiles, those on the diagonal
first; the ones of the diagonal and the zeros below it are stored within them, so that no loop has
to look where it is. A matrix whose size is no multiple of four ends with rows and columns of zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from octavo.engine.estimators.arrays import Floats

__all__ = ["sweep", "tile_matrix", "transposed_product", "unit_tiles"]

SIDE = 4
TILE = SIDE * SIDE
_NUMBER, _PLACE = ir.DoubleType(), ir.IntType(32)
_FOUR = ir.VectorType(_NUMBER, SIDE)


def n_tiles(n_rows: int) -> int:
    """Return how many tiles a row of tiles has that begins at the first column."""
    return -(-n_rows // SIDE)


def unit_tiles(n_rows: int) -> Floats:
    """Return the tiles of the identity."""
    m = n_tiles(n_rows)
    tiles = np.zeros((m * (m + 1) // 2, SIDE, SIDE))  # a tile's columns, of which each is a vector
    first = np.cumsum(np.append(0, np.arange(m, 1, -1)))
    for k in range(n_rows):
        tiles[first[k // SIDE], k % SIDE, k % SIDE] = 1.0
    return tiles.reshape(-1)


def tile_matrix(tiles: Floats, n_rows: int) -> Floats:
    """Return the matrix that tiles hold."""
    m = n_tiles(n_rows)
    matrix = np.zeros((SIDE * m, SIDE * m))
    corners = [(row, column) for row in range(m) for column in range(row, m)]
    for (row, column), tile in zip(corners, tiles.reshape(-1, SIDE, SIDE), strict=True):
        matrix[SIDE * row : SIDE * (row + 1), SIDE * column : SIDE * (column + 1)] = tile.T
    return matrix[:n_rows, :n_rows]


# --- four numbers at a time ----------------------------------------------------------------------


def _pointers(context: Any, builder: Any, signature: Any, arguments: Any, n: int) -> list[Any]:
    kinds = signature.args[:n]
    return [context.make_array(k)(context, builder, a).data for k, a in zip(kinds, arguments)]


def _at(builder: Any, start: Any, place: Any) -> Any:
    return builder.bitcast(builder.gep(start, [place]), _FOUR.as_pointer())


def _read(builder: Any, start: Any, place: Any) -> Any:
    return builder.load(_at(builder, start, place), align=8)


def _write(builder: Any, vector: Any, start: Any, place: Any) -> None:
    builder.store(vector, _at(builder, start, place), align=8)


def _pick(builder: Any, one: Any, other: Any, lanes: list[int]) -> Any:
    chosen = ir.Constant(ir.VectorType(_PLACE, SIDE), lanes)
    return builder.shuffle_vector(one, other, chosen)


def _spread(builder: Any, start: Any, place: Any) -> Any:
    """Read one number into all four places of a vector."""
    nothing = ir.Constant(_FOUR, ir.Undefined)
    number = builder.load(builder.gep(start, [place]))
    return _pick(builder, builder.insert_element(nothing, number, _PLACE(0)), nothing, [0] * SIDE)


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_FOUR, [_FOUR] * 3)
    fused = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v4f64")
    return builder.call(fused, [a, b, c])


def _sums(builder: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the sums of four vectors as one vector."""
    ab = [_pick(builder, a, b, lanes) for lanes in ([0, 4, 2, 6], [1, 5, 3, 7])]
    cd = [_pick(builder, c, d, lanes) for lanes in ([0, 4, 2, 6], [1, 5, 3, 7])]
    ab, cd = builder.fadd(*ab), builder.fadd(*cd)
    halves = [_pick(builder, ab, cd, lanes) for lanes in ([0, 1, 4, 5], [2, 3, 6, 7])]
    return builder.fadd(*halves)


def _transposed_product(typing_context, tiles, x, out, m):
    """Write ``Uᵀ x``; all vectors have four numbers for each of the ``m`` rows of tiles."""

    def codegen(context, builder, signature, arguments):
        matrix, vector, result = _pointers(context, builder, signature, arguments, 3)
        m, zero = arguments[3], ir.Constant(_FOUR, [0.0] * SIDE)
        number = m.type
        sums = [cgutils.alloca_once(builder, _FOUR) for _ in range(SIDE)]
        place = cgutils.alloca_once(builder, number)
        with cgutils.for_range(builder, m) as column:
            for total in sums:
                builder.store(zero, total)
            builder.store(builder.mul(column.index, number(TILE)), place)
            with cgutils.for_range(builder, builder.add(column.index, number(1))) as row:
                at = builder.load(place)
                part = _read(builder, vector, builder.mul(row.index, number(SIDE)))
                for k, total in enumerate(sums):
                    entries = _read(builder, matrix, builder.add(at, number(SIDE * k)))
                    builder.store(_multiply_add(builder, entries, part, builder.load(total)), total)
                # the next row of tiles has one tile less to the left of this column
                left = builder.sub(builder.sub(m, row.index), number(1))
                builder.store(builder.add(at, builder.mul(left, number(TILE))), place)
            summed = _sums(builder, *(builder.load(total) for total in sums))
            _write(builder, summed, result, builder.mul(column.index, number(SIDE)))
        return context.get_dummy_value()

    return types.void(tiles, x, out, types.int64), codegen


def _sweep(typing_context, tiles, slopes, steps, out, m):
    """From the first column to the last: add ``slope`` times a sum to it, and it to the sum.

    Of column u_j of U and the sums k_j, from zero, it makes u_j + slope_j k_j and
    k_j+1 = k_j + step_j u_j, and writes the last sums. What it adds to the ones of the diagonal and
    to the zeros below is zero, as the sums are until then.
    """

    def codegen(context, builder, signature, arguments):
        matrix, slope, step, result = _pointers(context, builder, signature, arguments, 4)
        m, zero = arguments[4], ir.Constant(_FOUR, [0.0] * SIDE)
        number = m.type
        total, place = cgutils.alloca_once(builder, _FOUR), cgutils.alloca_once(builder, number)
        builder.store(number(0), place)
        with cgutils.for_range(builder, m) as row:
            builder.store(zero, total)
            with cgutils.for_range_slice(builder, row.index, m, number(1), inc=True) as (tile, _):
                at, first = builder.load(place), builder.mul(tile, number(SIDE))
                for k in range(SIDE):
                    here, column = builder.add(at, number(SIDE * k)), builder.add(first, number(k))
                    entries, before = _read(builder, matrix, here), builder.load(total)
                    moved = _spread(builder, slope, column)
                    _write(builder, _multiply_add(builder, before, moved, entries), matrix, here)
                    share = _spread(builder, step, column)
                    builder.store(_multiply_add(builder, entries, share, before), total)
                builder.store(builder.add(at, number(TILE)), place)
            _write(builder, builder.load(total), result, builder.mul(row.index, number(SIDE)))
        return context.get_dummy_value()

    return types.void(tiles, slopes, steps, out, types.int64), codegen


# what numba makes of them has no type that mypy knows
transposed_product: Any = intrinsic(_transposed_product)
sweep: Any = intrinsic(_sweep)
