"""Codes of Arrow's strings are those of a dictionary."""

import numpy as np
import pytest

from octavo.engine.event_logs.coding import Coder, code_integers
from octavo.engine.event_logs.text import arrow_strings, code_strings

pa = pytest.importorskip("pyarrow")


def by_dictionary(values):
    known = {}
    codes = [known.setdefault(v, len(known)) if v else -1 for v in values]
    return np.array(codes), list(known)


def words(n, longest, seed):
    rng = np.random.RandomState(seed)
    letters = np.array(list("ab\0é東"))
    found = ["".join(rng.choice(letters, rng.randint(0, longest + 1))) for _ in range(n)]
    return [None if rng.rand() < 0.1 else word for word in found]


@pytest.mark.parametrize("longest", [2, 7, 8, 9, 16, 17, 40])
def test_strings_of_any_length_and_at_any_address(longest):
    values = words(3000, longest, longest)
    codes, found = code_strings(pa.array(values, type=pa.large_string()))
    wanted_codes, wanted = by_dictionary(values)
    np.testing.assert_array_equal(codes, wanted_codes)
    assert found == wanted


def test_equal_beginnings_and_ends_are_told_apart():
    values = [a + "x" * k + b for k in (6, 14, 22, 30) for a in "ab" for b in ("", "\0", "a")]
    codes, found = code_strings(pa.array(values * 2, type=pa.large_string()))
    assert found == values
    np.testing.assert_array_equal(codes, [*range(len(values))] * 2)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_slices_and_chunks_of_every_kind(kind):
    values = words(200, 12, 0)
    array = pa.array(values, type=getattr(pa, kind)())
    for part, wanted in (
        (array[13:150], values[13:150]),
        (pa.chunked_array([array[:70], array[70:]]), values),
        (array[:0], []),
    ):
        strings = arrow_strings(part)
        codes, found = code_strings(strings)
        np.testing.assert_array_equal(codes, by_dictionary(wanted)[0])
        assert found == by_dictionary(wanted)[1]


def test_what_is_not_arrow_text_is_left_to_others():
    for values in (["a"], np.array(["a"]), pa.array([1, 2]), pa.array(["a"]).dictionary_encode()):
        assert arrow_strings(values) is None


def test_pandas_strings_and_objects_have_the_same_codes():
    pd = pytest.importorskip("pandas")
    values = words(500, 10, 3)
    columns = []
    for kind in ("object", pd.StringDtype("pyarrow")):
        coder = Coder()
        coder.add(pd.Series(values[:300], dtype=kind))
        coder.add(pd.Series(values[300:], dtype=kind))
        columns.append(coder.column())
    np.testing.assert_array_equal(columns[0].codes, columns[1].codes)
    assert columns[0].values.tolist() == columns[1].values.tolist()


# digits of eleven bits: one, part of a second, the most that are sorted by, and more
@pytest.mark.parametrize("top", [1, 10, 2**11 - 6, 2**11, 2**32, 2**44 - 6, 2**44, 2**62])
def test_integers_are_ranked_among_their_distinct_values(top):
    values = np.random.RandomState(0).randint(-5, top, 1000, dtype=np.int64)
    values[500:] = values[:500]
    found = code_integers(values)
    wanted, codes = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found.values, wanted)
    np.testing.assert_array_equal(found.codes, codes)
    assert code_integers(values[:0]).size == 0
