"""Hitting sets equal those that trying every subset finds."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.discrete.bitsets import masks_of, masks_of_table, members_of
from octavo.engine.linear_programs.hitting_sets import (
    TooManySets,
    greedy_hitting_set,
    hitting_set_program,
    hitting_sets_of_size,
    minimal_masks,
    minimum_hitting_set,
    minimum_hitting_sets,
)


def by_trying(sets, n, size):
    return [
        chosen for chosen in combinations(range(n), size) if all(set(chosen) & set(s) for s in sets)
    ]


def collections(n):
    one = st.sets(st.integers(0, n - 1), min_size=1, max_size=n)
    return st.lists(one, min_size=0, max_size=12)


@settings(max_examples=150, deadline=None)
@given(collections(8))
def test_all_sets_of_every_size_are_those_of_brute_force(sets):
    masks = masks_of(sets, 8)
    sizes = [size for size in range(9) if by_trying(sets, 8, size)]
    for size in range(9):
        assert hitting_sets_of_size(masks, 8, size, 1000) == by_trying(sets, 8, size)
    assert minimum_hitting_sets(masks, 8, 1000) == by_trying(sets, 8, sizes[0])
    assert len(minimum_hitting_set(masks, 8)) == sizes[0]
    assert all(set(greedy_hitting_set(masks, 8)) & s for s in sets)
    if sizes[0]:
        assert minimum_hitting_set(masks, 8, most=sizes[0] - 1) is None


@settings(max_examples=25, deadline=None)
@given(collections(6))
def test_integer_programs_find_the_same_sets(sets):
    masks = masks_of(sets, 6)
    expected = minimum_hitting_sets(masks, 6, 1000)
    assert hitting_set_program(masks, 6, everything=True, limit=1000) == expected
    assert hitting_set_program(masks, 6)[0] in expected


@pytest.mark.parametrize("n", [70, 200])
def test_sets_of_several_words(n):
    rng = np.random.RandomState(0)
    table = rng.uniform(size=(90, n)) < 0.4
    masks = masks_of_table(table)
    assert members_of(masks[3]) == tuple(np.flatnonzero(table[3]))
    one = minimum_hitting_set(masks[:30], n)
    assert table[:30][:, one].any(axis=1).all()
    assert len(one) == len(hitting_set_program(masks[:30], n)[0])


def test_the_program_sees_more_sets_than_it_begins_with():
    sets = [(j, 100) for j in range(80)] + [(90,), (100, 90)]
    assert hitting_set_program(masks_of(sets, 101), 101) == [(90, 100)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=3), min_size=70, max_size=120))
def test_forced_and_replaceable_members_do_not_change_the_size(sets):
    masks = masks_of(sets, 10)  # more sets than a program begins with, many of one member
    size = next(size for size in range(11) if by_trying(sets, 10, size))
    for found in (minimum_hitting_set(masks, 10), hitting_set_program(masks, 10)[0]):
        assert len(found) == size
        assert found in by_trying(sets, 10, size)


def test_supersets_are_left_out():
    masks = masks_of([(0, 1, 2), (0, 1), (3,), (3, 0), (0, 1)], 4)
    assert [members_of(mask) for mask in minimal_masks(masks)] == [(3,), (0, 1)]


def test_too_many_sets_and_sets_that_nothing_hits():
    masks = masks_of([range(6)], 6)
    assert len(minimum_hitting_sets(masks, 6, 6)) == 6
    with pytest.raises(TooManySets, match="more than 5"):
        minimum_hitting_sets(masks, 6, 5)
    with pytest.raises(TooManySets, match="more than 5"):
        hitting_set_program(masks, 6, everything=True, limit=5)
    with pytest.raises(ValueError, match="without members"):
        minimum_hitting_set(masks_of([(), (1,)], 6), 6)
    assert hitting_set_program(masks_of([(0,), (1,)], 6), 6, size=1) == []
