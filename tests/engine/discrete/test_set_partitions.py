"""Partitions: their number, their parts, and the best of them beside enumeration."""

import numpy as np
import pytest

from octavo.engine.discrete.set_partitions import (
    best_partition,
    parts_of_partitions,
    set_partitions,
    subset_indicators,
)


@pytest.mark.parametrize(("n", "bell"), [(1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (8, 4140)])
def test_there_are_bell_many_and_all_differ(n, bell):
    rows = set_partitions(n)
    assert len(rows) == len(np.unique(rows, axis=0)) == bell
    assert not rows[0].any()


def test_parts_cover_every_element_once():
    members = subset_indicators(5)
    np.testing.assert_array_equal(parts_of_partitions(5) @ members, np.ones((52, 5)))


@pytest.mark.parametrize("seed", range(5))
def test_best_partition_equals_enumeration(seed):
    values = np.random.default_rng(seed).normal(size=64)
    labels, value = best_partition(values)
    sums = parts_of_partitions(6) @ values
    assert value == pytest.approx(sums.max(), rel=1e-12)
    np.testing.assert_array_equal(labels, set_partitions(6)[np.argmax(sums)])
