"""Sums over cells of contingency tables against full tables by numpy."""

from itertools import combinations
from math import lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.discrete.contingency import CellSums, count_table, distinct_rows


def random_codes(seed, n_rows=60, n_variables=5):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, 5, n_variables)
    return rng.integers(0, n_states, (n_rows, n_variables)), n_states


def full_table(codes, n_states, members):
    table = np.zeros([n_states[m] for m in members], int)
    for row in codes[:, list(members)]:
        table[tuple(row)] += 1
    return table


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_sums_are_those_of_the_full_tables(seed):
    codes, n_states = random_codes(seed)
    rows = distinct_rows(codes, n_states)
    # alpha = 0 is n log n; then a constant prior cell, and one that all cells share
    sums = CellSums(rows, [0.0, 0.7, 2.0], [False, False, True])
    for size in range(6):
        sets = list(combinations(range(5), size))
        found, occupied = sums(np.array(sets, np.int16).reshape(len(sets), size))
        for members, values, cells in zip(sets, found, occupied):
            table = full_table(codes, n_states, members).ravel()
            n = table[table > 0]
            shared = 2.0 / table.size
            expected = [
                sum(c * log(c) for c in n),
                sum(lgamma(0.7 + c) - lgamma(0.7) for c in n),
                sum(lgamma(shared + c) - lgamma(shared) for c in n),
            ]
            assert values == pytest.approx(expected, rel=1e-12, abs=1e-9)
            assert cells == n.size


def test_each_table_is_counted_once_in_any_order():
    codes, n_states = random_codes(1)
    sums = CellSums(distinct_rows(codes, n_states))
    sets = np.array(list(combinations(range(5), 3)), np.int16)
    first, _ = sums(sets)
    assert sums.n_tables == len(sets)
    again, _ = sums(sets[::-1].copy())
    assert sums.n_tables == len(sets)
    np.testing.assert_array_equal(again, first[::-1])


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_all_sets_at_once_are_those_one_by_one(seed):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 5, 5)
    rows = distinct_rows(rng.integers(0, n_states, (80, 5)), n_states)
    swept = CellSums(rows)
    swept._all = swept._count_all()
    for size in range(1, 6):
        sets = np.array(list(combinations(range(5), size)), np.int16)
        one_by_one = CellSums(rows)._count(sets)
        found = swept(sets)
        np.testing.assert_allclose(found[0], one_by_one[0], rtol=1e-12, atol=1e-9)
        np.testing.assert_array_equal(found[1], one_by_one[1])


def test_many_sets_of_few_variables_are_counted_at_once():
    rows = distinct_rows(np.random.default_rng(0).integers(0, 2, (400, 8)), [2] * 8)
    sums = CellSums(rows)
    sums(np.array(list(combinations(range(8), 4)), np.int16))
    assert sums.n_tables == 2**8
    graded = CellSums(rows, [1.0], [True])  # log-gammas of cells have no table of values
    graded(np.array(list(combinations(range(8), 4)), np.int16))
    assert graded.n_tables == 70


def test_threads_change_nothing():
    codes, n_states = random_codes(2, 300)
    sets = np.array(list(combinations(range(5), 3)), np.int16)
    one, two = (CellSums(distinct_rows(codes, n_states), n_jobs=jobs)(sets)[0] for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_sets_too_large_for_an_integer_key_are_told_apart():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (40, 300))  # 300^8 > 2^62
    sums = CellSums(distinct_rows(codes, [2] * 300))
    sets = np.array([[0, 1, 2, 3, 4, 5, 6, 299], [0, 1, 2, 3, 4, 5, 7, 256]], np.int16)
    found, occupied = sums(sets)
    for members, values, cells in zip(sets, found, occupied):
        _, n = np.unique(codes[:, members], axis=0, return_counts=True)
        assert values[0] == pytest.approx((n * np.log(n)).sum())
        assert cells == n.size
    np.testing.assert_array_equal(sums(sets)[0], found)


@given(st.integers(0, 10_000), st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_distinct_rows_keep_every_row(seed, n_variables):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, 30, n_variables)  # 30^40 does not fit into a word
    codes = rng.integers(0, n_states, (8, n_variables))[rng.integers(0, 8, 50)]
    rows = distinct_rows(codes, n_states)
    assert len(np.unique(rows.codes.T, axis=0)) == rows.codes.shape[1]
    rebuilt = np.repeat(rows.codes.T, rows.weights, axis=0)
    np.testing.assert_array_equal(
        rebuilt[np.lexsort(rebuilt.T[::-1])], codes[np.lexsort(codes.T[::-1])]
    )


def test_count_table_has_an_axis_a_variable():
    codes, n_states = random_codes(3)
    np.testing.assert_array_equal(
        count_table(codes, n_states, (3, 0)), full_table(codes, n_states, (3, 0))
    )
    assert count_table(codes, n_states, ()) == 60
