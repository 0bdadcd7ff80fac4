"""What is asked for ahead of time: which indices, and that asking changes nothing."""

import numpy as np
import pytest

from octavo.engine.compilation import prefetch


@pytest.mark.parametrize(
    ("first", "last", "start"),
    [(0, 5, prefetch.SOON), (100, 107, 100 + prefetch.SOON), (290, 300, 390), (0, 400, 0)],
)
def test_coming_indices_are_as_many_and_end_with_the_table(first, last, start):
    indices = np.arange(400, dtype=np.uint32)
    found = prefetch.coming(indices, first, last)
    np.testing.assert_array_equal(found, indices[start : start + last - first])


def test_coming_indices_of_no_row_are_none():
    assert prefetch.coming(np.zeros(0, np.uint32), 0, 0).size == 0


def test_asking_beyond_the_end_of_an_array_reads_and_changes_nothing():
    values = np.arange(5.0)
    prefetch.fetch_ahead(values, 0, 5)
    np.testing.assert_array_equal(values, np.arange(5.0))
