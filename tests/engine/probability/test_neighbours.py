"""Distances to neighbours: against all pairs, and ties."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from octavo.engine.probability import neighbours
from octavo.engine.probability.neighbours import (
    count_within,
    forget_neighbours,
    neighbour_distances,
    positive_distances,
)


def all_pairs(X, k, Y=None, metric="euclidean"):
    distances = cdist(X, X if Y is None else Y, metric)
    if Y is None:
        np.fill_diagonal(distances, np.inf)
    return np.sort(distances, axis=1)[:, :k]


@pytest.mark.parametrize("d", [1, 2, 3, 8, 15, 16, 40])
@pytest.mark.parametrize("other", [False, True])
def test_distances_equal_those_of_all_pairs(d, other):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(90, d))
    Y = rng.normal(size=(70, d)) if other else None
    forget_neighbours()
    np.testing.assert_allclose(
        neighbour_distances(X, 5, Y=Y), all_pairs(X, 5, Y), rtol=1e-12, atol=0
    )


def test_largest_norm():
    X = np.random.default_rng(0).normal(size=(80, 3))
    found = neighbour_distances(X, 4, p=np.inf)
    np.testing.assert_allclose(found, all_pairs(X, 4, metric="chebyshev"), rtol=1e-14)


def test_blocks_keep_the_digits_of_close_points_far_from_the_origin():
    """|x|² - 2xy + |y|² loses all digits here; distances must not."""
    rng = np.random.default_rng(0)
    X = 1e6 + 1e-3 * rng.normal(size=(60, 20))
    forget_neighbours()
    np.testing.assert_allclose(neighbour_distances(X, 3), all_pairs(X, 3), rtol=1e-9)


def test_blocks_smaller_than_the_sample(monkeypatch):
    monkeypatch.setattr(neighbours, "_BLOCK", 100)
    X = np.random.default_rng(1).normal(size=(57, 18))
    forget_neighbours()
    np.testing.assert_allclose(neighbour_distances(X, 2), all_pairs(X, 2), rtol=1e-12)


@pytest.mark.parametrize("d", [2, 20])
def test_duplicates_are_neighbours_at_distance_zero(d):
    X = np.random.default_rng(0).normal(size=(30, d))
    X = np.vstack([X, X[:5], X[:2]])
    forget_neighbours()
    np.testing.assert_allclose(neighbour_distances(X, 4), all_pairs(X, 4), rtol=1e-12, atol=1e-15)


def test_one_search_serves_smaller_k_and_other_arrays_are_not_mixed_up(monkeypatch):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 50, 3))
    forget_neighbours()
    first = neighbour_distances(X, 5).copy()
    other = neighbour_distances(Z, 5).copy()
    searches = []
    monkeypatch.setattr(neighbours, "_by_tree", lambda *a: searches.append(a))
    np.testing.assert_array_equal(neighbour_distances(X.copy(), 3), first[:, :3])
    np.testing.assert_array_equal(neighbour_distances(Z, 5), other)
    assert not searches
    monkeypatch.undo()
    X[0] += 1.0  # the same array with new contents is a new question
    np.testing.assert_allclose(neighbour_distances(X, 5), all_pairs(X, 5), rtol=1e-12)


def test_store_is_bounded():
    store = neighbours._Store(100)
    for i in range(10):
        store.put(i, i, 30)
    assert store.used <= 100
    assert store.get(9) == 9
    assert store.get(0) is None
    store.put("huge", 1, 1000)
    assert store.get("huge") is None
    store.put(9, "again", 30)
    assert store.get(9) == "again"
    assert store.used <= 100


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-8, 8), min_size=2, max_size=40),
    st.integers(0, 5),
    st.integers(1, 2),
    st.booleans(),
)
def test_counts_equal_those_of_all_pairs(values, radius, d, open_ball):
    """Integers, so that points lie exactly on the sphere; open and closed balls differ there."""
    X = np.array(values, dtype=float)[:, None] * np.arange(1, d + 1)
    radii = np.full(len(X), float(radius))
    limit = np.nextafter(radii, -1.0) if open_ball else radii
    assume(radius > 0 or not open_ball)  # an open ball of no radius is empty
    distances = cdist(X, X, "chebyshev")
    expected = (distances <= limit[:, None]).sum(axis=1) - 1
    np.testing.assert_array_equal(count_within(X, limit, p=np.inf), expected)


def test_counts_in_another_sample():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(60, 2))
    radii = rng.uniform(0.1, 1.0, 40)
    expected = (cdist(X, Y) <= radii[:, None]).sum(axis=1)
    np.testing.assert_array_equal(count_within(X, radii, Y=Y), expected)


def test_too_few_rows_say_how_many_are_needed():
    X = np.zeros((3, 2))
    with pytest.raises(
        ValueError, match="n_neighbors=3 neighbours need at least 4 rows, but X has 3"
    ):
        neighbour_distances(X, 3)
    with pytest.raises(ValueError, match="at least 4 rows, but Y has 3"):
        neighbour_distances(X, 4, Y=X)


def test_ties_are_counted_or_broken():
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[1:4] = X[0]
    with pytest.raises(ValueError, match="4 of the 20 rows of X have 3 or more duplicates"):
        positive_distances(X, 3)
    assert (positive_distances(X, 4) == neighbour_distances(X, 4)).all()
    broken = positive_distances(X, 3, jitter=1e-10)
    assert (broken[:, -1] > 0).all()
    np.testing.assert_allclose(broken[4:], neighbour_distances(X, 3)[4:], rtol=1e-7)
    with pytest.raises(ValueError, match="2 of the 20 rows of X stand 1 or more times in Y"):
        positive_distances(X, 1, Y=X[[10, 11]])
