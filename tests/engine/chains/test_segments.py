"""Every function of octavo.engine.chains.segments against enumeration of all segmentations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from octavo.engine.chains import inference as ch
from octavo.engine.chains import segments as sg
from octavo.engine.chains.lanes import GroupedEdges


def random_problem(seed, K=3, C=2, L=3, lengths=(4, 1, 3), scale=1.0, forbidden=0.25):
    """Return (start, edges, end, scores, column, lengths) and the matrix of transitions."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(scale=scale, size=(K, K))
    matrix[rng.uniform(size=(K, K)) < forbidden] = -np.inf
    start = rng.normal(scale=scale, size=K)
    start[rng.uniform(size=K) < forbidden] = -np.inf
    scores = rng.normal(scale=scale, size=(sum(lengths), L, C))
    column = np.sort(np.concatenate([np.arange(C), rng.integers(0, C, K - C)]))
    edges = GroupedEdges(*ch.edges_of_matrix(matrix), np.ones(K, dtype=np.int64))
    end = rng.normal(scale=scale, size=K)
    return (start, edges, end, scores, column, np.array(lengths)), matrix


def all_segmentations(T, K, L):
    """Yield every list of (start, stop, state)."""
    if T == 0:
        yield []
        return
    for d in range(1, min(L, T) + 1):
        for rest in all_segmentations(T - d, K, L):
            for state in range(K):
                yield [*rest, (T - d, T, state)]


def score_of(segments, problem, matrix, row):
    start, _, end, scores, column, _ = problem
    total = start[segments[0][2]] + end[segments[-1][2]]
    for (_, _, p), (_, _, q) in itertools.pairwise(segments):
        total += matrix[p, q]
    for u, v, q in segments:
        total += scores[row + u, v - u - 1, column[q]]
    return total


def enumerated(problem, matrix):
    """Yield the first row, all segmentations and their scores, for each sequence."""
    start, _, _, scores, _, lengths = problem
    row = 0
    for T in lengths.tolist():
        found = list(all_segmentations(T, start.size, scores.shape[1]))
        yield row, T, found, np.array([score_of(s, problem, matrix, row) for s in found])
        row += T


SCALES = st.sampled_from([0.3, 2.0, 60.0, 500.0])  # the last two leave linear arithmetic


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 10**6), SCALES, st.integers(1, 4))
def test_sums_against_enumeration(seed, scale, L):
    problem, matrix = random_problem(seed, L=L, scale=scale)
    edges, lengths = problem[1], problem[-1]
    weight = np.random.default_rng(seed).uniform(0.5, 2, lengths.size)
    found = sg.segment_marginals(*problem, weight=weight)
    np.testing.assert_array_equal(
        np.isfinite(found.log_partition), np.isfinite(sg.segment_partition(*problem))
    )
    K = problem[0].size
    segments = np.zeros(problem[3].shape)
    pairs, starts, ends = np.zeros((K, K)), np.zeros(K), np.zeros(K)
    for q, (row, _, paths, scores) in enumerate(enumerated(problem, matrix)):
        log_z = logsumexp(scores)
        if log_z == -np.inf:
            assert found.log_partition[q] == -np.inf
            continue
        assert found.log_partition[q] == pytest.approx(log_z, rel=1e-10, abs=1e-10)
        for path, p in zip(paths, np.exp(scores - log_z)):
            for u, v, state in path:
                segments[row + u, v - u - 1, problem[4][state]] += p
            for (_, _, i), (_, _, j) in itertools.pairwise(path):
                pairs[i, j] += weight[q] * p
            starts[path[0][2]] += weight[q] * p
            ends[path[-1][2]] += weight[q] * p
    tolerance = {"rtol": 1e-9, "atol": 1e-11 * (1 + scale)}
    np.testing.assert_allclose(found.segments, segments, **tolerance)
    target = np.repeat(np.arange(K), np.diff(edges.indptr))
    np.testing.assert_allclose(found.pairs, pairs[edges.source, target], **tolerance)
    np.testing.assert_allclose(found.starts, starts, **tolerance)
    np.testing.assert_allclose(found.ends, ends, **tolerance)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), SCALES, st.integers(1, 4))
def test_best_segmentations_against_enumeration(seed, scale, L):
    problem, matrix = random_problem(seed, L=L, scale=scale)
    best = sg.best_segmentations(*problem)
    several = sg.k_best_segmentations(*problem, 5)
    for q, (row, _, _, scores) in enumerate(enumerated(problem, matrix)):
        mine = best.of(q)
        order = np.sort(scores[scores > -np.inf])[::-1]
        if order.size == 0:
            assert mine == []
            assert best.score[q] == -np.inf
            assert several[0].of(q) == []
            continue
        assert score_of(mine, problem, matrix, row) == pytest.approx(order[0], rel=1e-12)
        assert best.score[q] == pytest.approx(order[0], rel=1e-12)
        distinct = set()
        for rank, found in enumerate(several):
            if rank >= order.size:
                assert found.of(q) == []
                continue
            assert found.score[q] == pytest.approx(order[rank], rel=1e-10, abs=1e-10)
            own = score_of(found.of(q), problem, matrix, row)
            assert own == pytest.approx(order[rank], rel=1e-10, abs=1e-10)
            distinct.add(tuple(found.of(q)))
        assert len(distinct) == min(5, order.size)


@pytest.mark.slow
def test_samples_have_the_right_frequencies():
    problem, matrix = random_problem(5, lengths=(4,), L=2, forbidden=0.1)
    (_, _, paths, scores) = next(iter(enumerated(problem, matrix)))
    p = np.exp(scores - logsumexp(scores))
    n = 30_000
    drawn = sg.sample_segmentations(*problem, n, np.random.default_rng(0))
    counts = {}
    for found in drawn:
        key = tuple(found.of(0))
        counts[key] = counts.get(key, 0) + 1
    for path, chance in zip(paths, p):
        seen = counts.pop(tuple(path), 0) / n
        assert abs(seen - chance) <= 5 * np.sqrt(chance * (1 - chance) / n) + 1e-12
    assert not counts


def test_segments_of_one_position_are_a_chain():
    problem, matrix = random_problem(1, L=1, lengths=(6, 3, 1), forbidden=0.0)
    start, edges, end, scores, column, lengths = problem
    nodes = scores[:, 0][:, column]
    nodes[np.cumsum(lengths) - 1] += end
    chain = ch.chain_marginals(start, matrix, nodes, lengths, pairs="total")
    found = sg.segment_marginals(*problem)
    np.testing.assert_allclose(found.log_partition, chain.log_partition, rtol=1e-12)
    target = np.repeat(np.arange(3), np.diff(edges.indptr))
    np.testing.assert_allclose(found.pairs, chain.pairs[edges.source, target], atol=1e-12)


def test_number_of_segmentations():
    # Two labels that may follow each other freely, segments of any length: 2 * 3^(T - 1).
    edges = GroupedEdges(*ch.edges_of_matrix(np.zeros((2, 2))), np.ones(2, dtype=np.int64))
    zero = np.zeros(2)
    for T in (1, 2, 7):
        scores = np.zeros((T, T, 2))
        found = sg.segment_partition(zero, edges, zero, scores, np.arange(2), np.array([T]))
        assert np.exp(found[0]) == pytest.approx(2 * 3 ** (T - 1), rel=1e-12)


def test_groups_are_the_sum_of_their_states():
    rng = np.random.default_rng(0)
    span = np.array([3, 1, 1, 1])  # states 0, 1, 2 are a group
    indptr, source = np.array([0, 2, 3, 4, 5]), np.array([4, 3, 4, 4, 3])
    grouped = GroupedEdges(indptr, source, rng.normal(size=5), span)
    plain, origin = grouped.expanded()
    single = GroupedEdges(*plain, np.ones(4, dtype=np.int64))
    rest = (np.zeros(4), rng.normal(size=(9, 3, 2)), np.array([0, 0, 0, 1]), np.array([5, 4]))
    one = sg.segment_marginals(np.zeros(4), grouped, *rest)
    other = sg.segment_marginals(np.zeros(4), single, *rest)
    np.testing.assert_allclose(one.log_partition, other.log_partition, rtol=1e-12)
    np.testing.assert_allclose(one.segments, other.segments, atol=1e-13)
    np.testing.assert_allclose(one.pairs, np.bincount(origin, other.pairs), atol=1e-13)


def test_long_sequences_do_not_underflow():
    rng = np.random.default_rng(0)
    problem, _ = random_problem(2, lengths=(1500,), L=4, forbidden=0.0)
    start, edges, end, _, column, lengths = problem
    scores = rng.normal(size=(1500, 4, 2)) - 20.0
    found = sg.segment_marginals(start, edges, end, scores, column, lengths)
    covered = np.zeros(1501)
    for d in range(4):
        mass = found.segments[:, d].sum(axis=1)
        covered[:-1] += mass
        covered[d + 1 :] -= mass[: 1500 - d]
    np.testing.assert_allclose(np.cumsum(covered)[:-1], 1.0, atol=1e-9)
    assert np.isfinite(found.log_partition[0])


def test_columns_must_be_sorted():
    problem, _ = random_problem(0)
    with pytest.raises(ValueError, match="column"):
        sg.segment_partition(*problem[:4], np.array([1, 0, 1]), problem[5])
