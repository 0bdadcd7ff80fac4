"""Bitsets against Python sets."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.discrete.bitsets import (
    drop_bit,
    first_fitting,
    first_within,
    has_bit,
    masks_of,
    masks_of_members,
    members_of,
    n_words,
    put_bit,
    sizes_of,
)

N = 130  # three words
some_sets = st.lists(st.sets(st.integers(0, N - 1), max_size=6), min_size=1, max_size=12)


@settings(deadline=None)
@given(some_sets)
def test_masks_and_members_are_inverse(sets):
    masks = masks_of([sorted(s) for s in sets], N)
    assert masks.shape == (len(sets), n_words(N)) == (len(sets), 3)
    assert [set(members_of(mask)) for mask in masks] == sets
    assert sizes_of(masks).tolist() == [len(s) for s in sets]


@settings(deadline=None)
@given(some_sets, st.sets(st.integers(0, N - 1)), st.sets(st.integers(0, N - 1), max_size=2))
def test_first_rows_are_those_of_a_scan(sets, allowed, required):
    masks = masks_of(sets, N)
    within = [k for k, s in enumerate(sets) if s <= allowed]
    assert first_within(masks, 0, len(sets), masks_of([allowed], N)[0]) == (within or [-1])[0]
    fitting = [k for k, s in enumerate(sets) if required <= s and not s & allowed]
    found = first_fitting(
        masks, 0, len(sets), masks_of([required], N)[0], masks_of([allowed], N)[0]
    )
    assert found == (fitting or [-1])[0]


def test_single_members_can_be_put_asked_and_dropped():
    mask = masks_of([()], N)[0]
    for member in (0, 63, 64, 129):
        assert not has_bit(mask, member)
        put_bit(mask, member)
        assert has_bit(mask, member)
    drop_bit(mask, 64)
    assert members_of(mask) == (0, 63, 129)


def test_sets_of_one_size_come_from_an_array():
    members = np.array([[0, 64, 129], [1, 2, 3]], np.int16)
    assert np.array_equal(masks_of_members(members, N), masks_of(members.tolist(), N))


def test_an_empty_universe_has_one_word():
    assert n_words(0) == n_words(64) == 1
    assert n_words(65) == 2
