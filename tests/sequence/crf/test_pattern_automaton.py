"""PatternAutomaton against its definition: longest suffixes found by trying them all."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.sequence import BoundaryLabel, PatternAutomaton, observed_patterns

LABELS = ("P", "O", "L")
patterns_of = st.sets(
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=4).map(tuple), min_size=0, max_size=12
).map(sorted)


def is_suffix(z, p):
    return len(z) <= len(p) and p[len(p) - len(z) :] == z


def longest_suffix(p, among):
    return max((q for q in among if is_suffix(q, p)), key=len)


def test_states_of_the_worked_example():
    automaton = PatternAutomaton(LABELS, [("P",), ("O",), ("L",), ("L", "O", "L")])
    assert automaton.states == [(), ("P",), ("O",), ("L",), ("L", "O")]
    found = automaton.states.index(("L", "O"))
    assert automaton.delta[3].tolist() == [1, found, 3]
    assert automaton.delta[found].tolist() == [1, 2, 3]
    fires = automaton.suffix_matrix[3].toarray().reshape(5, 3)
    assert fires.sum() == 1
    assert fires[found, 2] == 1


@settings(deadline=None)
@given(patterns_of)
def test_states_transitions_and_incidence_by_definition(patterns):
    automaton = PatternAutomaton(LABELS, patterns)
    expected = {()} | {(y,) for y in LABELS} | {z[:k] for z in patterns for k in range(len(z))}
    assert set(automaton.states) == expected
    assert len(automaton.states) == len(expected)
    fires = automaton.suffix_matrix.toarray()
    assert fires.shape == (len(patterns), 3 * len(expected))
    for (i, p), (c, y) in itertools.product(enumerate(automaton.states), enumerate(LABELS)):
        reached = automaton.states[automaton.delta[i, c]]
        assert reached == longest_suffix((*p, y), expected)
        assert reached[-1] == y
        for row, z in enumerate(patterns):
            assert fires[row, 3 * i + c] == is_suffix(z, (*p, y))


@settings(deadline=None)
@given(patterns_of)
def test_complete_automaton_knows_its_patterns_from_the_state(patterns):
    automaton = PatternAutomaton(LABELS, patterns, complete=True)
    assert set(patterns) <= set(automaton.states)
    ends = automaton.state_matrix.toarray()
    for (row, z), (i, p) in itertools.product(enumerate(patterns), enumerate(automaton.states)):
        assert ends[row, i] == is_suffix(z, p)


@settings(deadline=None)
@given(patterns_of, st.lists(st.sampled_from(LABELS), min_size=1, max_size=12))
def test_counts_along_a_sequence(patterns, labels):
    automaton = PatternAutomaton(LABELS, patterns)
    windows = Counter(
        tuple(labels[i : i + k]) for k in range(1, 5) for i in range(len(labels) - k + 1)
    )
    assert automaton.count([labels]).tolist() == [windows[z] for z in patterns]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=6), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(1, 3),
    st.booleans(),
)
def test_observed_patterns_are_those_seen_often_enough(y, max_order, min_count, boundary):
    counts = Counter()
    for labels in y:
        marked = [BoundaryLabel.BEGIN, *labels, BoundaryLabel.END] if boundary else labels
        for k in range(1, max_order + 2):
            counts.update(tuple(marked[i : i + k]) for i in range(len(marked) - k + 1))
    for mark in BoundaryLabel:
        counts.pop((mark,), None)
    expected = {z: n for z, n in counts.items() if n >= min_count}
    found = observed_patterns(y, max_order, min_count=min_count, boundary_labels=boundary)
    assert found == expected
    assert list(found) == sorted(found, key=lambda z: (len(z), [found_place(label) for label in z]))


def found_place(label):
    order = ["L", "O", "P", BoundaryLabel.BEGIN, BoundaryLabel.END]
    return order.index(label)


def test_a_first_order_automaton_is_a_plain_chain():
    pairs = list(itertools.product(LABELS, LABELS))
    automaton = PatternAutomaton(LABELS, [(y,) for y in LABELS] + pairs)
    assert automaton.n_states == 4
    np.testing.assert_array_equal(automaton.delta, np.tile([1, 2, 3], (4, 1)))


@pytest.mark.parametrize(
    ("labels", "patterns", "words"),
    [
        (LABELS, [("P",), ("P",)], r"Pattern 1 .* twice"),
        (LABELS, [("P",), ()], "Pattern 1 is empty"),
        (LABELS, [("P", "X")], "Pattern 0 .*'X'"),
        (("P", "P"), [], "Label 'P' .* twice"),
        ((), [], "at least one label"),
        ((["P"],), [], "hashable"),
        (LABELS, ["PO"], "tuple"),
        (LABELS, [(["P"],)], "hashable"),
    ],
)
def test_bad_patterns_say_which(labels, patterns, words):
    with pytest.raises(ValueError, match=words):
        PatternAutomaton(labels, patterns)


def test_too_many_patterns_say_how_many_pairs_they_would_need():
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 10, 2000).tolist()]
    with pytest.raises(ValueError, match=r"max_patterns=500.*state-label pairs"):
        observed_patterns(y, 3, max_patterns=500)
