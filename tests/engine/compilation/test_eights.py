"""Eight doubles at once against numpy, which takes them one by one."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from octavo.engine.compilation.eights import (
    EIGHT,
    get,
    larger,
    plus,
    plus_product,
    put,
    put_short,
    quotient,
    same,
    times,
    total,
)
from octavo.engine.compilation.kernel_cache import njit


@njit
def _each(table, box, row, number, out):
    a, b = get(table, (row,)), get(box, (1, row))
    put(out, (0,), plus(a, b))
    put(out, (1,), times(a, b))
    put(out, (2,), quotient(a, b))
    put(out, (3,), plus_product(a, b, same(number)))
    put(out, (4,), larger(a, b, same(1.0), b))
    sums = same(0.0)
    for k in range(table.shape[0]):  # a variable that changes stays in a register
        sums = plus(sums, get(table, (k,)))
    put(out, (5,), sums)
    return total(a)


def test_every_operation_is_numpys():
    rng = np.random.default_rng(0)
    table, box, out = rng.normal(size=(3, EIGHT)), rng.normal(size=(2, 3, EIGHT)), np.empty((6, 8))
    found = _each(table, box, 2, 3.0, out)
    assert found == sum(table[2].tolist())
    a, b = table[2], box[1, 2]
    # one rounding or two, by the processor
    np.testing.assert_allclose(out[3], a + b * 3.0, rtol=4 * np.finfo(float).eps)
    exact = [a + b, a * b, a / b, out[3], np.where(a > b, 1.0, b), table[0] + table[1] + table[2]]
    np.testing.assert_array_equal(out, exact)


def test_what_is_not_larger_takes_the_other():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, np.nan, 2.0])
    other = np.array([0.0, np.inf, 0.0, -0.0, 0.0, 0.5, np.nan, np.inf])
    table, out = np.stack([special, other, special]), np.empty((6, EIGHT))
    _each(table, np.stack([table, other[None, :].repeat(3, axis=0)]), 0, 1.0, out)
    np.testing.assert_array_equal(out[4], np.where(special > other, 1.0, other))


@pytest.mark.parametrize(
    "table", [np.zeros((3, 16))[:, ::2], np.zeros((3, 8), np.float32), np.zeros((1, 3, 8))]
)
def test_other_arrays_are_refused(table):
    with pytest.raises(TypingError):
        _each(table, np.zeros((2, 3, 8)), 0, 1.0, np.zeros((6, 8)))


@njit
def _write_whole(table, out):
    for k in range(table.shape[0]):
        put_short(out, (k, 8), get(table, (k,)))


def test_whole_numbers_are_written_where_they_belong():
    table = np.arange(-8.0, 16.0).reshape(3, EIGHT) * 1_000
    out = np.full((3, 24), 7, dtype=np.int16)
    _write_whole(table, out)
    np.testing.assert_array_equal(out[:, 8:16], table)
    assert (np.delete(out, np.s_[8:16], axis=1) == 7).all()
