"""LabelGrammar against the automaton it lays out, pair by pair."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.sequence.crf.label_grammar import LabelGrammar
from octavo.sequence.crf.pattern_automaton import BoundaryLabel

LABELS = ("P", "O", "L")
label = st.sampled_from(LABELS)


@st.composite
def some_patterns(draw, marks=True):
    found = draw(st.sets(st.lists(label, min_size=1, max_size=4).map(tuple), max_size=12))
    if marks and draw(st.booleans()):
        inside = st.lists(label, min_size=1, max_size=3).map(tuple)
        found |= {(BoundaryLabel.BEGIN, *z) for z in draw(st.sets(inside, max_size=3))}
        found |= {(*z, BoundaryLabel.END) for z in draw(st.sets(inside, max_size=3))}
    return sorted(found, key=lambda z: (len(z), [str(y) for y in z]))


def weight_of(patterns, weights, history, y):
    """Return Σ of the weights of patterns that end the history followed by y."""
    whole = (*history, y)
    return sum(
        w for z, w in zip(patterns, weights) if len(z) <= len(whole) and whole[-len(z) :] == z
    )


@settings(deadline=None, max_examples=60)
@given(some_patterns(), st.booleans(), st.booleans(), st.integers(0, 10**6))
def test_every_transition_once_with_its_score(patterns, allow_repeat, complete, seed):
    weights = np.random.default_rng(seed).normal(size=len(patterns))
    grammar = LabelGrammar(LABELS, patterns, allow_repeat=allow_repeat, complete=complete)
    start, edges, end = grammar.potentials(weights)
    plain, _ = edges.expanded()
    states = [grammar.automaton.states[s] for s in grammar.states]
    target = np.repeat(np.arange(len(states)), np.diff(plain.indptr))
    found = {}
    for i, j, score in zip(plain.source, target, plain.score):
        key = (int(i), states[j][-1])
        assert key not in found
        found[key] = (int(j), score)
    allowed = {
        (i, y)
        for (i, p), y in itertools.product(enumerate(states), LABELS)
        if allow_repeat or p[-1] != y
    }
    assert set(found) == allowed
    for (i, y), (j, score) in found.items():
        code = LABELS.index(y)
        assert grammar.states[j] == grammar.automaton.delta[grammar.states[i], code]
        assert score == pytest.approx(weight_of(patterns, weights, states[i], y), abs=1e-12)
    for k, p in enumerate(states):
        expected = weight_of(patterns, weights, p, BoundaryLabel.END)
        assert end[k] == pytest.approx(expected, abs=1e-12)
    begin = (BoundaryLabel.BEGIN,) if grammar.marked else ()
    for code, y in enumerate(LABELS):
        expected = weight_of(patterns, weights, begin, y)
        assert start[grammar.first[code]] == pytest.approx(expected, abs=1e-12)
    assert np.isfinite(start).sum() == len(LABELS)


@settings(deadline=None, max_examples=60)
@given(some_patterns(), st.lists(label, min_size=1, max_size=8))
def test_expected_patterns_of_one_certain_path_are_its_counts(patterns, labels):
    grammar = LabelGrammar(LABELS, patterns)
    codes, lengths = np.array([LABELS.index(y) for y in labels]), np.array([len(labels)])
    path = grammar.walk(codes, lengths)
    plain, origin = grammar.potentials(np.zeros(len(patterns))).edges.expanded()
    target = np.repeat(np.arange(grammar.n_states), np.diff(plain.indptr))
    pairs = np.zeros(grammar._edge_pair.size)
    for i, j in itertools.pairwise(path):
        pairs[origin[np.flatnonzero((plain.source == i) & (target == j))]] += 1.0
    one = np.eye(grammar.n_states)
    found = grammar.expected(pairs, one[path[0]], one[path[-1]])
    marked = [BoundaryLabel.BEGIN, *labels, BoundaryLabel.END]
    expected = [
        sum(tuple(marked[i : i + len(z)]) == z for i in range(len(marked) - len(z) + 1))
        for z in patterns
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(grammar.counted(codes, lengths, np.ones(1)), expected, atol=1e-12)


def test_groups_are_intervals_that_share_their_last_label():
    patterns = [tuple("LOLP"), tuple("OLP"), tuple("PLO")]
    grammar = LabelGrammar(LABELS, patterns)
    for k, size in enumerate(grammar.span):
        own = grammar.automaton.states[grammar.states[k]]
        members = range(k, k + size)
        for other in range(grammar.n_states):
            history = grammar.automaton.states[grammar.states[other]]
            assert (history[-len(own) :] == own) == (other in members)
    assert np.all(np.diff(grammar.column) >= 0)
    edges = grammar.potentials(np.zeros(3)).edges
    alone = edges._replace(parents=None).parent
    np.testing.assert_array_equal(edges.parent, alone)
    np.testing.assert_array_equal(alone, grammar.parent)


@pytest.mark.parametrize(
    "pattern",
    [
        ("P", BoundaryLabel.BEGIN),
        (BoundaryLabel.END, "P"),
        (BoundaryLabel.BEGIN,),
        (BoundaryLabel.BEGIN, BoundaryLabel.END),
    ],
)
def test_boundaries_stand_at_the_ends_of_a_pattern(pattern):
    with pytest.raises(ValueError, match="Pattern 0 has"):
        LabelGrammar(LABELS, [pattern])
