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


@st.composite
def problems_that_add_up(draw):
    """Return a problem with `SegmentScores`, the same with all scores written out, the matrix."""
    seed, scale, L = draw(st.integers(0, 10**6)), draw(SCALES), draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=10))
    problem, matrix = random_problem(seed, L=L, scale=scale, lengths=lengths)
    rng = np.random.default_rng(seed)
    n, C = sum(lengths), 2
    positions = rng.normal(scale=scale, size=(n, C))
    rows = draw(st.sampled_from([0, 1, n]))  # nothing, by length, or by place and length
    extra = rng.normal(scale=scale, size=(rows, L, C)) if rows else np.zeros((1, L, C))
    begin, stop = (
        rng.normal(scale=scale, size=(n, C)) if draw(st.booleans()) else None for _ in range(2)
    )
    written = np.empty((n, L, C))
    for u in range(n):
        for d in range(L):
            # beyond the last row there is nothing to add; no sequence reaches there
            written[u, d] = positions[u : u + d + 1].sum(axis=0) + extra[u if rows > 1 else 0, d]
            written[u, d] += 0.0 if begin is None else begin[u]
            written[u, d] += 0.0 if stop is None else stop[min(u + d, n - 1)]
    start, edges, end, _, column, lengths = problem
    short = (start, edges, end, sg.SegmentScores(positions, extra, begin, stop), column, lengths)
    return short, (start, edges, end, written, column, lengths), matrix


def inside(lengths, L):
    """Return which segments (N, L) lie in their sequence."""
    left = np.concatenate([np.arange(T, 0, -1) for T in lengths.tolist()])
    return np.arange(L) < left[:, None]


@settings(deadline=None, max_examples=80)
@given(problems_that_add_up())
def test_scores_that_add_up_against_enumeration(problems):
    problem, written, matrix = problems
    scores, lengths = written[3], problem[-1]
    where = inside(lengths, scores.shape[1])
    np.testing.assert_allclose(problem[3].table()[where], scores[where], rtol=1e-12, atol=1e-12)
    weight = np.random.default_rng(0).uniform(0.5, 2, lengths.size)
    found = sg.segment_marginals(*problem, weight=weight)
    K, size = problem[0].size, np.abs(scores[where]).max()
    segments, begin, stop, covered, by_length = (np.zeros(part.shape) for part in found[:5])
    pairs, starts, ends = np.zeros((K, K)), np.zeros(K), np.zeros(K)
    for q, (row, _, paths, values) in enumerate(enumerated(written, matrix)):
        log_z = logsumexp(values)
        if log_z == -np.inf:
            assert found.log_partition[q] == -np.inf
            continue
        assert found.log_partition[q] == pytest.approx(log_z, rel=1e-10, abs=1e-10)
        for path, p in zip(paths, np.exp(values - log_z)):
            for u, v, state in path:
                c = problem[4][state]
                segments[row + u, v - u - 1, c] += p
                begin[row + u, c] += p
                stop[row + v - 1, c] += p
                covered[row + u : row + v, c] += p
                by_length[v - u - 1, c] += weight[q] * p
            for (_, _, i), (_, _, j) in itertools.pairwise(path):
                pairs[i, j] += weight[q] * p
            starts[path[0][2]] += weight[q] * p
            ends[path[-1][2]] += weight[q] * p
    # a probability carries the rounding of its scores, relatively
    tolerance = {"rtol": 1e-9, "atol": 1e-11 * (1 + size)}
    for mine, expected in zip(found[:4], (segments, begin, stop, covered)):
        np.testing.assert_allclose(mine, expected, **tolerance)
    target = np.repeat(np.arange(K), np.diff(problem[1].indptr))
    np.testing.assert_allclose(found.pairs, pairs[problem[1].source, target], **tolerance)
    np.testing.assert_allclose(found.starts, starts, **tolerance)
    np.testing.assert_allclose(found.ends, ends, **tolerance)
    np.testing.assert_allclose(sg.segment_partition(*problem), found.log_partition, rtol=1e-10)
    for detail in ("positions", "lengths"):
        brief = sg.segment_marginals(*problem, weight=weight, detail=detail)
        assert brief.segments.size == 0
        assert brief.lengths.any() == (
            detail == "lengths" and np.isfinite(found.log_partition).any()
        )
        for mine, expected in zip(brief[1:4] + brief[5:], found[1:4] + found[5:]):
            np.testing.assert_allclose(mine, expected, **tolerance)
    np.testing.assert_allclose(brief.lengths, by_length, **tolerance)
    best, other = sg.best_segmentations(*problem), sg.best_segmentations(*written)
    np.testing.assert_allclose(best.score, other.score, rtol=1e-12, atol=1e-12 * (1 + size))


def test_what_cannot_be_scored_says_why():
    problem, _ = random_problem(0)
    for scores, words in [
        (sg.SegmentScores(np.zeros((8, 2)), np.zeros((2, 3, 2))), r"\(1, L, 2\) or \(8, L, 2\)"),
        (np.zeros((8, 2)), r"\(N, L, C\), got shape \(8, 2\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            sg.segment_partition(*problem[:3], scores, *problem[4:])


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


def test_a_label_that_catches_up_late_is_not_lost():
    # State 0 cannot begin a sequence and wins every position by 60: products of factors that are
    # scaled by the sum of the others would overflow. Forty positions, segments of any length.
    T = 40
    matrix = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    edges = GroupedEdges(*ch.edges_of_matrix(matrix), np.ones(2, dtype=np.int64))
    start, zero = np.array([-np.inf, 0.0]), np.zeros(2)
    positions = np.tile([60.0, 0.0], (T, 1))
    scores = sg.SegmentScores(positions, np.zeros((1, T, 2)))
    found = sg.segment_marginals(start, edges, zero, scores, np.arange(2), np.array([T]))
    # the first position belongs to state 1, all others to state 0, but for terms of e^-60
    np.testing.assert_allclose(found.covered[1:], np.tile([1.0, 0.0], (T - 1, 1)), atol=1e-15)
    assert found.covered[0, 1] == pytest.approx(1.0, rel=1e-15)
    assert found.log_partition[0] == pytest.approx(60.0 * (T - 1), rel=1e-14)


def test_segments_may_be_forbidden():
    # Only segments of two positions: T = 6 has 2 * 1 * 1 segmentations of labels that alternate.
    matrix = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    edges = GroupedEdges(*ch.edges_of_matrix(matrix), np.ones(2, dtype=np.int64))
    extra = np.array([-np.inf, 0.0])[None, :, None] + np.zeros((1, 2, 2))
    scores = sg.SegmentScores(np.zeros((9, 2)), extra)
    zero, lengths = np.zeros(2), np.array([6, 3])
    found = sg.segment_marginals(zero, edges, zero, scores, np.arange(2), lengths)
    np.testing.assert_allclose(found.log_partition, [np.log(2.0), -np.inf], rtol=1e-15)
    np.testing.assert_allclose(found.covered[:6], 0.5, rtol=1e-15)
    assert not found.covered[6:].any()
    written = sg.segment_marginals(zero, edges, zero, scores.table(), np.arange(2), lengths)
    np.testing.assert_allclose(written.segments, found.segments, rtol=1e-15)


def test_a_sequence_that_is_too_long_is_impossible():
    # One label that may not follow itself, segments of at most two positions.
    edges = GroupedEdges(np.zeros(2, np.int64), *np.zeros((2, 0), np.int64), np.ones(1, np.int64))
    scores = sg.SegmentScores(np.zeros((6, 1)), np.zeros((1, 2, 1)))
    rest = (edges._replace(score=np.zeros(0)), np.zeros(1), scores, np.zeros(1, np.int64))
    found = sg.segment_marginals(np.zeros(1), *rest, np.array([2, 4]))
    np.testing.assert_array_equal(found.log_partition, [0.0, -np.inf])
    np.testing.assert_array_equal(found.covered[:, 0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])


def test_columns_must_be_sorted():
    problem, _ = random_problem(0)
    with pytest.raises(ValueError, match="column"):
        sg.segment_partition(*problem[:4], np.array([1, 0, 1]), problem[5])
