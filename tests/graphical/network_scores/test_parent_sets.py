"""Pruned caches keep an optimal network; their files are those of GOBNILP."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.graphical import (
    ParentSetCache,
    forbidden_arc,
    indegree,
    required_arc,
    solve_parent_sets,
    tan_structure,
)
from tests.graphical.network_oracles import (
    admits_a_network,
    random_rules,
    random_table,
    slow_score,
    subsets,
)

SCORES = ["bic", "aic", "bdeu", "k2"]


def optimum(cache):
    return solve_parent_sets(cache, "dp").score


@given(
    st.integers(0, 100_000),
    st.sampled_from([("bic", 1.0), ("aic", 1.0), ("bdeu", 1.0), ("bdeu", 5.0), ("k2", 1.0)]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_pruning_loses_no_optimum(seed, score, constrained):
    X = random_table(seed)
    rules = random_rules(seed, X.shape[1]) if constrained else None
    options = {"score": score[0], "ess": score[1], "constraints": rules}
    try:
        full = optimum(ParentSetCache.build(X, pruning="none", **options))
    except ValueError:
        assert not admits_a_network(rules or [], X.shape[1])
        return
    for pruning in ("all", "paper", "lemma"):
        cache = ParentSetCache.build(X, pruning=pruning, **options)
        assert optimum(cache) == pytest.approx(full, rel=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_a_cache_without_pruning_holds_every_set(score):
    X = random_table(5, 4)
    cache = ParentSetCache.build(X, score, pruning="none")
    assert cache.n_sets.tolist() == [8] * 4
    for node in range(4):
        for value, members in cache.parent_sets(node):
            assert value == pytest.approx(slow_score(X, node, members, score), rel=1e-11)


def test_lemma_1_keeps_sets_that_beat_all_their_subsets():
    X = random_table(7, 5)
    for node in range(5):
        sets = subsets([v for v in range(5) if v != node])
        value = {frozenset(s): slow_score(X, node, sorted(s), "aic") for s in sets}
        expected = {s for s in value if all(value[s] > value[t] for t in value if t < s)}
        kept = ParentSetCache.build(X, "aic", pruning="all").parent_sets(node)
        assert {frozenset(m) for _, m in kept} == expected
        best_first = sorted((value[s] for s in expected), reverse=True)
        assert [v for v, _ in kept] == pytest.approx(best_first, rel=1e-11)


def test_bounds_save_evaluations_and_are_counted():
    X = random_table(11, 7, 60)
    n_all = 7 * 2**6
    counts = {p: ParentSetCache.build(X, pruning=p) for p in ("all", "paper", "lemma", "none")}
    assert counts["none"].n_evaluated == counts["lemma"].n_evaluated == n_all
    assert counts["all"].n_evaluated <= counts["paper"].n_evaluated < n_all
    assert counts["paper"].n_pruned["theorem 4"] > 0
    bdeu = ParentSetCache.build(X, "bdeu")
    assert bdeu.n_pruned["theorem 9"] > 0
    assert bdeu.n_evaluated < n_all
    assert len(counts["none"]) == n_all
    assert counts["none"].log2_space == pytest.approx(7 * 6)


def test_certificates_respect_required_arcs():
    """The empty set is not legal, so it may not discard the sets that are."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 4))  # independent: without rules only empty sets survive
    free = ParentSetCache.build(X)
    assert free.parent_sets(0)[-1][1] == ()
    cache = ParentSetCache.build(X, constraints=[required_arc(1, 0), required_arc(2, 0)])
    assert all({1, 2} <= set(members) for _, members in cache.parent_sets(0))
    assert cache.score_of([(1, 2), (), (), ()]) == pytest.approx(
        sum(slow_score(X, v, p, "bic") for v, p in enumerate([(1, 2), (), (), ()]))
    )


def test_tan_has_the_sets_of_tan():
    cache = ParentSetCache.build(random_table(3, 5), "loglik", tan_structure(0), pruning="none")
    assert cache.n_sets.tolist() == [1, 5, 5, 5, 5]


def test_files_give_the_cache_back(tmp_path):
    cache = ParentSetCache.build(random_table(2, 5), "bdeu")
    path = tmp_path / "scores.jkl"
    cache.save(path)
    lines = path.read_text().splitlines()
    assert lines[0] == "5"
    assert lines[1] == f"0 {cache.n_sets[0]}"
    again = ParentSetCache.load(path)
    np.testing.assert_array_equal(again.scores, cache.scores)
    np.testing.assert_array_equal(again.masks, cache.masks)
    assert again.names == cache.names


def test_a_file_of_gobnilp_is_read(tmp_path):
    path = tmp_path / "scores.jkl"
    path.write_text("2\nrain 2\n-3.5 0\n-1.25 1 wet\nwet 1\n-2.0 0\n")
    cache = ParentSetCache.load(path)
    assert cache.parent_sets(0) == [(-1.25, (1,)), (-3.5, ())]
    result = solve_parent_sets(cache)
    assert result.parents == [(1,), ()]
    assert result.score == -3.25


@pytest.mark.parametrize(
    "text", ["", "two", "2\na 1\n-1 0\n", "1\na 1\n-1.0 1 b\n", "1\na 0\n", "1\na 1\n-1.0 3 a\n"]
)
def test_broken_files_say_so(tmp_path, text):
    path = tmp_path / "scores.jkl"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"not a \.jkl file"):
        ParentSetCache.load(path)


def test_names_with_blanks_cannot_be_saved(tmp_path):
    cache = ParentSetCache(["a b"], [np.zeros((1, 1), np.uint64)], [np.zeros(1)])
    with pytest.raises(ValueError, match="blanks"):
        cache.save(tmp_path / "x.jkl")


def test_a_node_without_a_set_is_named():
    rules = [indegree(1, 2, "eq"), forbidden_arc(0, 1), forbidden_arc(2, 1)]
    with pytest.raises(ValueError, match="node '1' has no parent set"):
        ParentSetCache.build(random_table(0, 4), constraints=rules)


def test_options_are_checked():
    with pytest.raises(ValueError, match="pruning must be one of"):
        ParentSetCache.build(random_table(0, 3), pruning="some")
    cache = ParentSetCache.build(random_table(0, 3))
    with pytest.raises(KeyError, match="not in the cache"):
        cache.score_of([(1,), (2,), (0, 1)])
