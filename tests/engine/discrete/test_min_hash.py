"""Min-wise hashes against all permutations, exact counts and the variance of Theorem 4."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.discrete.bitsets import bit_count, column_masks, count_common, members_of
from octavo.engine.discrete.draws import draw_below, draw_unit, word_seeds
from octavo.engine.discrete.min_hash import (
    estimate_sets,
    hash_admits,
    min_hash_table,
    share_of_any,
    share_of_ties,
)


def hashed(X, n_hashes, seed=0):
    csc = sp.csc_array(X)
    return min_hash_table(csc.indptr, csc.indices, X.shape[0], n_hashes, seed)


def flat(sets):
    starts = np.cumsum([0, *map(len, sets)])
    return starts, np.array([k for s in sets for k in s], np.int32)


def columns(n=200, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.random(n) < 0.3
    return np.column_stack(
        [base | (rng.random(n) < 0.1), base | (rng.random(n) < 0.2), rng.random(n) < 0.5]
    ).astype(np.uint8)


def test_the_orders_are_uniform_permutations():
    # Column k holds row k alone, so that the hashes of a column are the places of one row.
    table = hashed(np.eye(4, dtype=np.uint8), 24_000)
    codes = dict.fromkeys(permutations((1, 2, 3, 4)), 0)
    for order in map(tuple, table.T.tolist()):
        codes[order] += 1
    counts = np.array(list(codes.values()))
    # χ² with 23 degrees of freedom: above 49.7 with probability 0.001.
    assert ((counts - 1000) ** 2 / 1000).sum() < 49.7


def test_hashes_are_first_places():
    X = columns(60)
    table = hashed(X, 5, seed=3)
    places = hashed(np.eye(60, dtype=np.uint8), 5, seed=3)  # the same orders
    for k in range(3):
        assert table[k].tolist() == places[X[:, k] == 1].min(axis=0).tolist()


def test_a_column_without_rows_comes_after_all_rows():
    X = columns(20)
    X[:, 1] = 0
    assert (hashed(X, 6)[1] == 21).all()


@pytest.mark.parametrize("members", [(0, 1), (0, 1, 2), (2,)])
def test_the_estimates_are_unbiased_with_the_variance_of_lemma_5(members):
    X = columns()
    n, L = len(X), 20_000
    table = hashed(X, L)
    first = table[list(members)].min(axis=0).astype(float)
    any_, all_ = X[:, members].any(axis=1).sum(), X[:, members].all(axis=1).sum()
    r = any_
    mean, variance = (n + 1) / (r + 1), r * (n + 1) * (n - r) / ((r + 1) ** 2 * (r + 2))
    # Five standard errors of a mean and of a variance (fourth moment bounded by a geometric's 9).
    assert abs(first.mean() - mean) < 5 * np.sqrt(variance / L)
    assert abs(first.var() - variance) < 5 * variance * np.sqrt(9 / L)
    ties = share_of_ties(table, np.array(members, np.int32), 0, len(members))
    share = all_ / any_
    assert abs(ties - share) <= 5 * np.sqrt(share * (1 - share) / L)


def test_the_product_has_the_variance_of_theorem_4():
    X, members, L, repeats = columns(), (0, 1), 200, 2_000
    n = len(X)
    table = hashed(X, L * repeats)
    starts, flat_members = flat([members])
    estimates = np.array(
        [
            np.prod(estimate_sets(np.ascontiguousarray(part), n, starts, flat_members))
            for part in np.split(table, repeats, axis=1)
        ]
    )
    p2 = X[:, members].any(axis=1).mean()
    p1 = X[:, members].all(axis=1).mean() / p2
    extra = (1 / n - p2**2 - 2 * p2 / n) / (n * p2 * (p2 + 2 / n) * (1 + 1 / n))  # Eq. (10)
    variance = p2**2 * p1 * (1 - p1 * p2) * (1 + extra) / L  # Eq. (9)
    # The relative standard error of a variance over 2,000 normals is 3.2 %; the estimator is
    # normal up to 1 / L.
    assert abs(estimates.var() / variance - 1) < 5 * 0.032
    assert abs(estimates.mean() - p1 * p2) < 5 * np.sqrt(variance / repeats) + variance / p2
    subsample = p2 * p1 * (1 - p1 * p2) / L
    assert variance < subsample


def test_what_is_admitted_is_what_the_estimate_says():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 8)) < 0.4).astype(np.uint8)
    X[:, 7] = 0
    table = hashed(X, 64)
    for size in range(1, 8):
        for _ in range(20):
            members = np.sort(rng.choice(8, size, replace=False)).astype(np.int32)
            p1, p2 = estimate_sets(table, 80, *flat([members]))[0]
            for ceiling in (0.0, 0.01, 0.1, 0.5):
                admitted = hash_admits(table, 80, members, 0, size, ceiling)
                assert admitted == (p1 * p2 <= ceiling)
    assert not hash_admits(table, 80, members, 0, 0, 0.5)  # the empty set is everywhere
    assert share_of_any(table, 80, np.array([7], np.int32), 0, 1) == 0.0


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_bits_are_counted(word, seed):
    assert bit_count(np.uint64(word)) == word.bit_count()
    X = np.random.default_rng(seed).random((150, 5)) < 0.5
    csc = sp.csc_array(X.astype(np.uint8))
    masks = column_masks(csc.indptr, csc.indices, 150)
    assert members_of(masks[2]) == tuple(np.flatnonzero(X[:, 2]))
    for members in ([0], [1, 3], [0, 1, 2, 4]):
        count = int(X[:, members].all(axis=1).sum())
        found = np.array(members, np.int32)
        assert count_common(masks, found, 0, len(members), -1) == count
        assert (count_common(masks, found, 0, len(members), 3) > 3) == (count > 3)


def test_draws_are_uniform_and_follow_their_seed():
    state = word_seeds(0, 1)
    counts = np.bincount([draw_below(state, 7) for _ in range(14_000)], minlength=7)
    assert ((counts - 2000) ** 2 / 2000).sum() < 22.5  # χ² with 6 degrees of freedom, 0.001
    numbers = np.array([draw_unit(state) for _ in range(10_000)])
    assert abs(numbers.mean() - 0.5) < 5 / np.sqrt(12 * 10_000)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert word_seeds(3, 4).tolist() == word_seeds(3, 4).tolist()
