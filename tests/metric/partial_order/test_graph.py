"""Cleaning of comparisons against networkx and brute force; the constructive embedding."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from octavo.metric import (
    ComparisonGraph,
    clean_comparisons,
    gauc_score,
    partial_order_embedding,
)


def random_comparisons(n, m, seed, width=4):
    rng = np.random.default_rng(seed)
    C = rng.integers(0, n, (20 * m, 4))
    if width == 3:
        C[:, 2] = C[:, 0]
    ok = (C[:, 0] != C[:, 1]) & (C[:, 2] != C[:, 3])
    ok &= (np.sort(C[:, :2], axis=1) != np.sort(C[:, 2:], axis=1)).any(axis=1)
    C = C[ok][:m]
    return C[:, [0, 1, 3]] if width == 3 else C


def pair_graph(C):
    """Return the graph of comparisons as networkx holds it."""
    C = np.asarray(C)
    C = C[:, [0, 1, 0, 2]] if C.shape[1] == 3 else C
    made = nx.DiGraph()
    for i, j, k, l in C.tolist():
        made.add_edge((min(i, j), max(i, j)), (min(k, l), max(k, l)))
    return made


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("method", ["random", "berger_shor"])
def test_cleaning_is_maximal_acyclic_and_keeps_the_closure(width, method):
    C = random_comparisons(7, 120, 0, width)
    whole = pair_graph(C)
    opposite = {(u, v) for u, v in whole.edges if whole.has_edge(v, u)}
    first = clean_comparisons(C, ("pairs",))
    assert set(pair_graph(first).edges) == set(whole.edges) - opposite
    second = clean_comparisons(C, ("pairs", "acyclic"), random_state=1, method=method)
    kept, candidates = pair_graph(second), pair_graph(first)
    assert nx.is_directed_acyclic_graph(kept)
    for u, v in set(candidates.edges) - set(kept.edges):
        assert nx.has_path(kept, v, u)  # maximal: each would close a cycle
    assert len(second) >= 0.5 * len(first)
    third = clean_comparisons(C, random_state=1, method=method)
    reduced = pair_graph(third)
    assert set(nx.transitive_reduction(kept).edges) == set(reduced.edges)
    given_rows = set(map(tuple, C.tolist()))
    assert all(tuple(row) in given_rows for row in third.tolist())
    closure = ComparisonGraph(third).closure()
    assert set(pair_graph(closure.to_array()).edges) == set(nx.transitive_closure_dag(kept).edges)
    assert (closure.rows >= 0).sum() == len(third)


def test_pairs_are_unordered_and_cycles_are_found_whatever_their_direction():
    graph = ComparisonGraph([[0, 1, 2, 3], [3, 2, 4, 5], [5, 4, 1, 0], [0, 2, 1, 3]])
    found = graph.contradictions()
    assert found.opposites.tolist() == []
    assert found.cyclic.tolist() == [0, 1, 2]
    assert [group.tolist() for group in found.components] == [[[0, 1], [2, 3], [4, 5]]]
    assert graph.stats().n_redundant == -1
    assert len(graph.acyclic(random_state=0)) == 3


def test_majorities_count_answers_and_weights():
    C = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [3, 1, 2], [3, 2, 1]]
    assert clean_comparisons(C, ("majority",)).tolist() == [[0, 1, 2]]
    graph = ComparisonGraph(C, weights=[1, 1, 5, 2, 1])
    assert graph.resolve(majority=True).to_array().tolist() == [[0, 2, 0, 1], [3, 1, 3, 2]]
    assert ComparisonGraph(C).stats()._asdict() == {
        "n_items": 4,
        "n_pairs": 4,
        "n_answers": 5,
        "n_comparisons": 4,
        "n_opposites": 2,
        "n_cyclic": 4,
        "n_redundant": -1,
    }


def test_the_draw_depends_on_the_seed_and_not_on_the_order_of_rows():
    C = random_comparisons(6, 80, 3)
    one = clean_comparisons(C, random_state=5)
    turned = clean_comparisons(C[::-1], random_state=5)
    assert set(pair_graph(one).edges) == set(pair_graph(turned).edges)
    np.testing.assert_array_equal(one, clean_comparisons(C, random_state=5))
    others = [len(clean_comparisons(C, random_state=seed)) for seed in range(10)]
    assert len(set(others)) > 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 9), st.integers(1, 40))
def test_an_acyclic_set_is_embedded_with_every_margin(seed, n, m):
    C = clean_comparisons(random_comparisons(n, m, seed), random_state=seed)
    assume(len(C) > 0)
    points = partial_order_embedding(n, C)
    assert points.shape == (n, n - 1)
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    i, j, k, l = C.T
    assert (squared[k, l] - squared[i, j]).min() >= 1.0 - 1e-9
    assert gauc_score(squared, C) == 1.0


def test_a_square_fits_in_the_plane_and_not_on_a_line():
    """Figure 11: four sides shorter than two diagonals."""
    sides, diagonals = [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)]
    C = np.array([[*s, *d] for s in sides for d in diagonals])
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    assert gauc_score(np.linalg.norm(square[:, None] - square, axis=2), C) == 1.0
    points = partial_order_embedding(4, C)
    assert gauc_score(np.linalg.norm(points[:, None] - points, axis=2), C) == 1.0
    # On a line a < b < c < d the outer two are farther apart than any other pair, so both
    # diagonals would have to be that pair.
    rng = np.random.default_rng(0)
    for order in itertools.permutations(range(4)):
        for gaps in rng.exponential(size=(50, 3)):
            x = np.empty(4)
            x[list(order)] = np.concatenate([[0.0], np.cumsum(gaps)])
            assert gauc_score(np.abs(x[:, None] - x), C) < 1.0


def test_gauc_is_auc_for_one_query():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    points, relevant = rng.standard_normal((12, 2)), np.arange(1, 5)
    D = np.linalg.norm(points[:, None] - points, axis=2)
    C = [[0, j, k] for j in relevant for k in range(5, 12)]
    expected = roc_auc_score(np.arange(1, 12) < 5, -D[0, 1:])
    assert gauc_score(D, C) == pytest.approx(expected, abs=1e-12)
    assert gauc_score(np.zeros((12, 12)), C) == 0.0


@pytest.mark.parametrize(
    ("C", "words"),
    [
        ([[0, 1, 2, 2], [0, 0, 1, 2]], "rows 0, 1.*paired with itself|paired with itself"),
        ([[0, 1, 1, 0]], "both sides are one pair in row 0"),
        ([[0, 1, 2, 9]], "0 to 3.*row 0"),
        ([[0, 1, 2, -1]], "positions"),
        ([[0, 1, 2, 0.5]], "positions"),
        (np.zeros((0, 4)), "at least one row"),
        ([[0, 1]], "four columns"),
        ([["a", "b", "c", "d"]], "real numbers"),
        ([[0, 1, 2, np.nan]], "finite"),
    ],
)
def test_bad_comparisons_are_named(C, words):
    with pytest.raises(ValueError, match=words):
        ComparisonGraph(C, n_items=4)
    with pytest.raises(ValueError, match=words):
        partial_order_embedding(4, C)


def test_cycles_and_wrong_steps_are_refused():
    C = [[0, 1, 2], [0, 2, 3], [0, 3, 1]]
    with pytest.raises(ValueError, match="3 of 3 lie on one"):
        ComparisonGraph(C).reduce()
    with pytest.raises(ValueError, match="no cycle; 3 of their 3"):
        partial_order_embedding(4, C)
    with pytest.raises(ValueError, match="steps"):
        clean_comparisons(C, ("tidy",))
    with pytest.raises(ValueError, match="steps"):
        clean_comparisons(C, "pairs")
    with pytest.raises(ValueError, match="method"):
        ComparisonGraph(C).acyclic("best")
    with pytest.raises(ValueError, match="weights"):
        ComparisonGraph(C, weights=[1, -1, 1])
    with pytest.raises(ValueError, match="n_items"):
        ComparisonGraph(C, n_items=1)
