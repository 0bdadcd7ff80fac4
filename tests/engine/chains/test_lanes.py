"""Chains eight at a time against chains one at a time, which are checked by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.chains import inference as ch
from octavo.engine.chains.lanes import GroupedEdges, tied_marginals


def random_problem(seed, K=5, C=3, n=19, longest=6, scale=1.0, forbidden=0.3):
    """Return potentials with some forbidden starts and transitions, and states that share nodes."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n)
    column = np.concatenate([np.arange(C), rng.integers(0, C, K - C)])
    matrix = rng.normal(scale=scale, size=(K, K))
    matrix[rng.uniform(size=(K, K)) < forbidden] = -np.inf
    matrix[:, 0] = rng.normal(scale=scale, size=K)  # something is always possible
    start = rng.normal(scale=scale, size=K)
    start[C:] = -np.inf
    nodes = rng.normal(scale=scale, size=(lengths.sum(), C))
    end = rng.normal(scale=scale, size=K)
    return start, single(matrix), nodes, column, lengths, end, rng.uniform(0.5, 2, n)


def single(matrix):
    """Return the possible transitions of a matrix, each from a single state."""
    return GroupedEdges(*ch.edges_of_matrix(matrix), np.ones(len(matrix), dtype=np.int64))


def one_at_a_time(start, edges, nodes, column, lengths, end, weight):
    """Return the same numbers from `chain_marginals`."""
    wide = nodes[:, column].copy()
    last = np.cumsum(lengths) - 1
    wide[last] += end
    plain, origin = edges.expanded()
    found = ch.chain_marginals(start, plain, wide, lengths, pairs="sequence")
    shared = np.zeros_like(nodes)
    np.add.at(shared.T, column, found.nodes.T)
    first = last - lengths + 1
    return (
        shared,
        np.bincount(origin, weight @ found.pairs, edges.source.size),
        weight @ found.nodes[first],
        weight @ found.nodes[last],
        found.log_partition,
    )


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.1, 1.0, 30.0, 400.0]),  # the last two leave the range of linear arithmetic
    st.integers(1, 19),
)
def test_same_as_one_at_a_time(seed, scale, n):
    problem = random_problem(seed, n=n, scale=scale)
    start, edges, nodes, column, lengths, end, weight = problem
    found = tied_marginals(start, edges, nodes, column, lengths, end=end, weight=weight)
    for mine, theirs in zip(found, one_at_a_time(*problem)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12 * (1 + scale))


# States 0..6 in nested groups: 0 = {0..4}, 1 = {1, 2, 3}, 2 = {2, 3}, 5 = {5, 6}.
SPAN = np.array([5, 3, 2, 1, 1, 2, 1])


def test_groups_are_what_their_spans_say():
    edges = GroupedEdges(np.array([0, 2] + [2] * 6), np.array([7 + 1, 4]), np.zeros(2), SPAN)
    plain, origin = edges.expanded()
    assert plain.source.tolist() == [1, 2, 3, 4]
    assert plain.indptr.tolist() == [0] + [4] * 7
    assert origin.tolist() == [0, 0, 0, 1]
    assert edges.parent.tolist() == [-1, 0, 1, 2, 0, -1, 5]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 30.0, 400.0]))
def test_grouped_transitions_are_the_sum_of_their_states(seed, scale):
    K = SPAN.size
    start, _, nodes, column, lengths, end, weight = random_problem(seed, K=K, n=11, scale=scale)
    rng = np.random.default_rng(seed)
    source, target = [], []
    for j in range(K):
        free = np.ones(K, dtype=bool)
        for k in rng.permutation(2 * K):
            members = np.arange(k - K, k - K + SPAN[k - K]) if k >= K else np.array([k])
            if free[members].all() and rng.uniform() < 0.6:
                free[members] = False
                source.append(k)
                target.append(j)
        if free.all():
            source.append(0)
            target.append(j)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=K))])
    score = rng.normal(scale=scale, size=len(source))
    problem = (
        start,
        GroupedEdges(indptr, np.array(source), score, SPAN),
        nodes,
        column,
        lengths,
        end,
        weight,
    )
    found = tied_marginals(*problem[:5], end=end, weight=weight)
    for mine, theirs in zip(found, one_at_a_time(*problem)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12 * (1 + scale))


def test_defaults_are_no_end_scores_and_unit_weights():
    start, edges, nodes, column, lengths, _, _ = random_problem(0)
    found = tied_marginals(start, edges, nodes, column, lengths)
    n = len(lengths)
    expected = one_at_a_time(start, edges, nodes, column, lengths, np.zeros(5), np.ones(n))
    for mine, theirs in zip(found, expected):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13)


def test_impossible_sequences_have_no_marginals():
    start, edges, nodes, column, lengths, _, _ = random_problem(1, longest=4)
    nodes[lengths[0]] = -np.inf  # the first position of the second sequence
    found = tied_marginals(start, edges, nodes, column, lengths)
    assert found.log_partition[1] == -np.inf
    assert np.isfinite(np.delete(found.log_partition, 1)).all()
    rows = slice(lengths[0], lengths[0] + lengths[1])
    assert np.all(found.nodes[rows] == 0)
    assert np.isfinite(found.pairs).all()


def test_a_path_that_looks_hopeless_may_win_later():
    # State 1 is e^-400 behind after the first position and e^500 ahead after the second.
    edges = single(np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    nodes = np.array([[0.0, -400.0], [0.0, 500.0]])
    found = tied_marginals(np.zeros(2), edges, nodes, np.arange(2), np.array([2]))
    assert found.log_partition[0] == pytest.approx(100.0, rel=1e-12)
    np.testing.assert_allclose(found.nodes[:, 1], 1.0)


def test_long_sequences_do_not_underflow():
    start, edges, _, column, _, _, _ = random_problem(2)
    lengths = np.array([3000, 2999, 5])
    nodes = np.random.default_rng(0).normal(size=(lengths.sum(), 3)) - 7.0
    found = tied_marginals(start, edges, nodes, column, lengths)
    expected = ch.log_partition(start, edges.expanded()[0], nodes[:, column], lengths)
    np.testing.assert_allclose(found.log_partition, expected, rtol=1e-12)
    np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0, rtol=1e-12)
