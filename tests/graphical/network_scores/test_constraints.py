"""Rules against a reading of them set by set, and the mistakes one can make with them."""

import pickle
import re

import numpy as np
import pytest

from octavo.engine.discrete.bitsets import masks_of, sizes_of
from octavo.graphical import (
    forbidden_arc,
    indegree,
    max_indegree,
    naive_bayes_structure,
    ordered_structure,
    required_arc,
    tan_structure,
    tiered_structure,
    two_slice_structure,
)
from octavo.graphical.network_scores.constraints import CompiledRules
from tests.graphical.network_oracles import admits_a_network, allows, random_rules, subsets

NAMES = ["a", "b", "c", "d"]


def legal_sets(rules, node, names=NAMES, **options):
    compiled = CompiledRules(rules, names, **options)
    sets = subsets([v for v in range(len(names)) if v != node])
    legal = compiled.legal(node, masks_of(sets, len(names)))
    return {frozenset(s) for s, allowed in zip(sets, legal) if allowed}


@pytest.mark.parametrize("seed", range(60))
def test_rules_allow_what_they_say(seed):
    n = 4
    rules = random_rules(seed, n)
    sets = subsets(range(n))
    masks = masks_of(sets, n)
    for rule in rules:
        found = rule.allows(masks, sizes_of(masks), int)
        assert found.tolist() == [allows(rule, s) for s in sets], rule


@pytest.mark.parametrize("seed", range(60))
def test_compiled_rules_are_the_conjunction(seed):
    rules = random_rules(seed, 4)
    try:
        compiled = CompiledRules(rules, list("0123"))
    except ValueError as error:
        assert re.search(r"^Node '\d': |cycle", str(error))  # noqa: PT017
        assert not admits_a_network(rules, 4)
        return
    for node in range(4):
        sets = subsets([v for v in range(4) if v != node])
        own = [rule for rule in rules if rule.node == node]
        expected = [all(allows(rule, s) for rule in own) for s in sets]
        assert compiled.legal(node, masks_of(sets, 4)).tolist() == expected


def test_naive_bayes_leaves_the_class_alone_as_parent():
    rules = naive_bayes_structure("a")
    assert legal_sets(rules, 0) == {frozenset()}
    assert legal_sets(rules, 2) == {frozenset(), frozenset({0})}


def test_tan_allows_the_class_and_one_more():
    some = {frozenset({0}), frozenset({0, 2}), frozenset({0, 3})}
    assert legal_sets(tan_structure("a"), 1) == {frozenset(), *some}
    assert legal_sets(tan_structure("a", select=False), 1) == some
    assert legal_sets(tan_structure("a"), 0) == {frozenset()}


def test_dbn_gives_the_previous_slice_no_parents():
    assert legal_sets(two_slice_structure(2), 0) == {frozenset()}
    assert len(legal_sets(two_slice_structure(2), 2)) == 8
    assert all(0 in s for s in legal_sets(two_slice_structure(2, self_arcs=True), 2))


def test_tiers_and_orderings_point_forwards():
    assert legal_sets(tiered_structure([["a", "b"], ["c"]]), 0) == legal_sets(
        forbidden_arc("c", "a"), 0
    )
    assert legal_sets(tiered_structure([["a", "b"], ["c"]], within=False), 1) == {
        frozenset(),
        frozenset({3}),
    }
    assert legal_sets(ordered_structure("dcba"), 2) == {frozenset(), frozenset({3})}


def test_max_indegree_is_max_parents():
    assert legal_sets(max_indegree(1), 0) == legal_sets(None, 0, max_parents=1)


def test_positions_and_names_are_the_same_nodes():
    assert legal_sets([required_arc(1, 0)], 0) == legal_sets([required_arc("b", "a")], 0)


def test_rules_print_as_they_are_written_and_survive_pickling():
    rule = indegree("a", 2) | (required_arc("b", "a") & ~required_arc("c", "a"))
    assert eval(repr(rule)) == rule
    for thing in (rule, tan_structure("a"), tiered_structure([["a"], ["b"]])):
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_rules_about_two_nodes_are_refused():
    with pytest.raises(NotImplementedError, match="not local"):
        required_arc("a", "b") | required_arc("b", "c")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([required_arc("a", "b"), required_arc("b", "a")], "no network.*cycle: a -> b -> a"),
        ([required_arc("a", "b"), forbidden_arc("a", "b")], "Node 'b'.*both required and forb"),
        ([required_arc("a", "b"), required_arc("c", "b"), indegree("b", 2)], "Node 'b': 2 requ"),
        ([required_arc("a", "z")], "no node 'z'"),
        ([indegree("a", 0, "eq") | required_arc("z", "a")], "no node 'z'"),
        ([two_slice_structure(3)], "6 nodes, got 4"),
    ],
)
def test_contradictions_name_the_node(rules, words):
    with pytest.raises(ValueError, match=words):
        CompiledRules(rules, NAMES)


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (lambda: required_arc("a", "a"), ValueError, "two different nodes"),
        (lambda: indegree("a", 0, "lt"), ValueError, "no parent set"),
        (lambda: indegree("a", 1, "gt"), ValueError, "op must be"),
        (lambda: CompiledRules([("a", "b")], NAMES), TypeError, "required_arc"),
        (lambda: CompiledRules([3], NAMES), TypeError, "required_arc"),
    ],
)
def test_bad_rules(attempt, error, words):
    with pytest.raises(error, match=words):
        attempt()


def test_many_nodes_need_several_words():
    names = [str(k) for k in range(100)]
    compiled = CompiledRules([required_arc(99, 0), forbidden_arc(70, 0)], names)
    masks = masks_of([(99,), (99, 70), (70,), (99, 1)], 100)
    assert compiled.legal(0, masks).tolist() == [True, False, False, True]
    assert np.array_equal(compiled.arcs()[0], [(99, 0)])
