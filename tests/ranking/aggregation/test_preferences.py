"""Strengths of preference beside their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.ranking import PairwisePreferences

RANKS = np.array([[1, 4, np.nan], [2, np.nan, 1], [3, 1, 1], [np.nan, 9, 5]])


def strength(transform, mine, others, largest):
    """Sections 2.1 and 3.2, for one pair."""
    if np.isnan(mine) or np.isnan(others) or not mine < others:
        return 0.0
    if transform == "binary":
        return 1.0
    if transform == "rank_difference":
        return others - mine
    if transform == "normalized":
        return (others - mine) / largest
    return (np.log(others) - np.log(mine)) / np.log(largest) if largest > 1 else 0.0


def by_definition(ranks, transform, expert):
    column = ranks[:, expert]
    largest = np.nanmax(column) if not np.isnan(column).all() else 1.0
    return np.array([[strength(transform, a, b, largest) for b in column] for a in column])


@pytest.mark.parametrize("transform", ["binary", "rank_difference", "normalized", "log"])
def test_strengths_are_those_of_the_paper(transform):
    prefs = PairwisePreferences.from_ranks(RANKS, transform)
    parts = [by_definition(RANKS, transform, e) for e in range(3)]
    for e, Y in enumerate(parts):
        np.testing.assert_allclose(prefs.to_array(e), Y, atol=1e-15)
        np.testing.assert_allclose(prefs.wins.toarray()[:, e], Y.sum(axis=1), atol=1e-14)
        np.testing.assert_allclose(prefs.losses.toarray()[:, e], Y.sum(axis=0), atol=1e-14)
        assert prefs.totals[e] == pytest.approx(Y.sum(), abs=1e-14)
    np.testing.assert_allclose(prefs.to_array(), sum(parts), atol=1e-14)
    dense = np.zeros((3, 4, 4))
    np.add.at(
        dense,
        (prefs.pairs.experts, prefs.pairs.preferred, prefs.pairs.other),
        prefs.pairs.strengths,
    )
    np.testing.assert_allclose(dense, parts, atol=1e-15)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_sums_by_sorting_are_sums_over_pairs(seed, binary):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, 9, (7, 4)).astype(float)
    ranks[rng.random(ranks.shape) < 0.4] = np.nan
    prefs = PairwisePreferences.from_ranks(ranks, "binary" if binary else "rank_difference")
    for e in range(4):
        Y = prefs.to_array(e)
        np.testing.assert_allclose(prefs.wins.toarray()[:, e], Y.sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(prefs.losses.toarray()[:, e], Y.sum(axis=0), atol=1e-12)


def test_sparse_ratings_keep_a_stored_zero():
    L = np.array([[5, np.nan], [0, 3], [2, 4]])
    rows, columns = np.nonzero(~np.isnan(L))
    stored = sp.csr_array((L[rows, columns], (rows, columns)), shape=L.shape)
    assert stored.nnz == 5
    dense, sparse = (PairwisePreferences.from_ratings(table) for table in (L, stored))
    for e in range(2):
        np.testing.assert_array_equal(sparse.to_array(e), dense.to_array(e))
    assert dense.to_array(0)[0, 1] == 5
    assert sparse.wins.nnz == 5  # what was seen, wins or not


def test_lists_are_ranks():
    lists = [[2, 0, 1], [3], [], [1, 3]]
    ranks = np.full((4, 4), np.nan)
    for e, entries in enumerate(lists):
        ranks[entries, e] = np.arange(len(entries)) + 1
    for transform in ("binary", "rank_difference", "normalized", "log"):
        ours = PairwisePreferences.from_lists(lists, 4, transform)
        theirs = PairwisePreferences.from_ranks(ranks, transform)
        for e in range(4):
            np.testing.assert_allclose(ours.to_array(e), theirs.to_array(e), atol=1e-15)


def test_pairs_are_counted():
    prefs = PairwisePreferences.from_pairs(
        [[0, 1], [0, 1], [2, 1], [1, 0]], 4, experts=[0, 0, 1, 1], weights=[1, 2, 1, 0.5]
    )
    assert prefs.to_array(0)[0, 1] == 3
    assert prefs.to_array()[1, 0] == 0.5
    assert prefs.totals.tolist() == [3, 1.5]
    assert prefs.wins.toarray().tolist() == [[3, 0], [0, 0.5], [0, 1], [0, 0]]
    assert prefs.compared()[0, 1] == 3.5


def test_without_an_expert_the_others_move_up():
    prefs = PairwisePreferences.from_ranks(RANKS)
    rest = prefs.without([1])
    assert rest.n_experts == 2
    np.testing.assert_array_equal(rest.to_array(1), prefs.to_array(2))
    pairs = PairwisePreferences.from_pairs([[0, 1], [2, 1]], 3, experts=[0, 1]).without([0])
    assert pairs.to_array()[2, 1] == pairs.to_array().sum() == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PairwisePreferences.from_ranks([[0.0], [1.0]]), "Ranks begin at 1; add 1"),
        (lambda: PairwisePreferences.from_ranks([[1.0, 2.0]]), "At least two items"),
        (lambda: PairwisePreferences.from_ranks([[1.0], [-2.0]]), "item 1 has -2 by expert 0"),
        (lambda: PairwisePreferences.from_ranks(sp.eye(3)), "from_ratings"),
        (lambda: PairwisePreferences.from_ranks([[1], [2]], "cubic"), "transform must be one of"),
        (lambda: PairwisePreferences.from_lists([[0, 1], [1, 2, 1]], 3), "List 1 names item 1 twi"),
        (lambda: PairwisePreferences.from_lists([[0, 3]], 3), "List 0 names item 3"),
        (lambda: PairwisePreferences.from_lists([["a"]], 3), "list 0 must be"),
        (lambda: PairwisePreferences.from_lists([], 3), "At least one list"),
        (lambda: PairwisePreferences.from_pairs([[0, 1], [2, 2]], 3), "Row 1 of pairs compares"),
        (
            lambda: PairwisePreferences.from_pairs([[0, 1], [2, 5]], 3),
            "Row 1 of pairs names",
        ),
        (lambda: PairwisePreferences.from_pairs([[0, 1]], 1), "n_items must be"),
        (lambda: PairwisePreferences.from_ratings([[np.inf], [1.0]]), "Item 0 has inf by expert 0"),
        (lambda: PairwisePreferences.from_ranks([[1], [2]]).to_array(1), "expert must be between"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match=r"Ranks.*real numbers, got complex"):
        PairwisePreferences.from_ranks(np.array([[1.0 + 1j], [2.0]]))
    for table in (np.array([[1.0 + 1j], [2.0]]), sp.csr_array(np.array([[1.0 + 1j], [2.0]]))):
        with pytest.raises(ValueError, match=r"Ratings.*real numbers, got complex"):
            PairwisePreferences.from_ratings(table)
