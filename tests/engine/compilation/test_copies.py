"""Copies and fills as loops do what slices do, also on parts of arrays."""

import numpy as np

from octavo.engine.compilation.copies import copy_row, copy_table, fill_row, fill_table


def test_rows():
    source, target = np.arange(6.0), np.zeros(12)
    copy_row(source[::2], target[1:4])
    np.testing.assert_array_equal(target[:5], [0.0, 0.0, 2.0, 4.0, 0.0])
    fill_row(-np.inf, target[4:])
    assert np.isfinite(target[:4]).all()
    assert np.isneginf(target[4:]).all()


def test_tables():
    source, target = np.arange(6.0).reshape(2, 3), np.zeros((3, 5))
    copy_table(source, target[1:, 1:4])
    np.testing.assert_array_equal(target[1:, 1:4], source)
    assert target.sum() == source.sum()
    fill_table(7.0, target[:, 4:])
    assert (target[:, 4] == 7.0).all()
    assert target[:, :4].sum() == source.sum()
    fill_table(1.0, target[3:])  # nothing
    assert target.sum() == source.sum() + 21.0
