import itertools

import numpy as np
import pytest

from octavo.engine.projections.metric_cone import shortest_paths
from octavo.metric import ground_metric_criterion, simplex_distance, transport_distances
from octavo.metric.ground.criterion import Side, compare_labels, count_neighbors
from octavo.metric.ground.transports import ExactTransports


def sample(n=8, d=5, seed=0):
    rng = np.random.default_rng(seed)
    M = rng.random((d, d))
    M = shortest_paths((M + M.T) * (1 - np.eye(d)))
    return rng.dirichlet(np.ones(d), n), np.arange(n) % 2, M / M.sum()


def brute_force(M, R, y, k):
    """Sum over each histogram's k nearest of either kind, by sorting."""
    D, n, total = transport_distances(R, M=M), len(R), 0.0
    for i in range(n):
        same = sorted(D[i, j] for j in range(n) if j != i and y[j] == y[i])[:k]
        other = sorted(D[i, j] for j in range(n) if y[j] != y[i])[:k]
        total += (sum(same) - sum(other)) / (n * k)
    return total


@pytest.mark.parametrize("k", [1, 3, 10])
def test_equals_brute_force(k):
    R, y, M = sample()
    value, g = ground_metric_criterion(M, R, y, k)
    assert value == pytest.approx(brute_force(M, R, y, k), abs=1e-14)
    assert np.sum(g * M) == pytest.approx(value, abs=1e-14)
    np.testing.assert_array_equal(g, g.T)
    assert not g.diagonal().any()


def test_the_subgradient_is_the_gradient_where_there_is_one():
    R, y, M = sample(seed=3)
    M = np.random.default_rng(5).random(M.shape) + 2.0  # no triangle is tight: plans are unique
    M = (M + M.T) * (1 - np.eye(len(M)))
    _, g = ground_metric_criterion(M, R, y, 2)
    step = np.random.default_rng(1).random(M.shape)
    step = 1e-6 * (step + step.T) * (1 - np.eye(len(M)))
    up, down = (ground_metric_criterion(M + s * step, R, y, 2)[0] for s in (1, -1))
    assert up - down == pytest.approx(2 * np.sum(g * step), rel=1e-5)


def test_the_tangent_lies_above():
    R, y, M = sample(12, 6, seed=1)
    told = compare_labels(y, 3)
    layer = ExactTransports(R, R, told.pairs, shared=True)
    alike = Side(layer, told.alike, told.omega, 3, np.arange(2.0 * len(told.pairs)))
    value, g = alike.evaluate(M)
    for seed in range(20):
        other = sample(2, 6, seed=seed)[2]
        assert alike.evaluate(other)[0] <= value + np.sum(g * (other - M)) + 1e-14


def test_candidates_are_the_nearest():
    R, y, M = sample(20, 6, seed=2)
    told = compare_labels(y, 2)
    layer = ExactTransports(R, R, told.pairs, shared=True)
    ties = np.arange(2.0 * len(told.pairs))
    some = Side(layer, told.unlike, told.omega, 2, ties, candidates=4)
    every = Side(layer, told.unlike, told.omega, 2, ties)
    first, second = some.evaluate(M), some.evaluate(M)
    before = layer.n_solved
    third = some.evaluate(M)
    assert layer.n_solved - before < len(told.unlike)
    for found in (first, second, third):
        assert found[0] == pytest.approx(every.evaluate(M)[0], abs=1e-15)


def test_neighbours_are_counted_on_both_ends():
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    values = np.array([1.0, 2.0, 3.0, 5.0, 4.0, 6.0])  # 01 02 03 12 13 23
    counts = count_neighbors(values, pairs, 1, np.arange(12.0))
    assert counts.tolist() == [2, 1, 1, 0, 0, 0]


def test_uniform_metric_is_total_variation():
    R, _, _ = sample(10, 7)
    one = np.ones((7, 7)) - np.eye(7)
    np.testing.assert_allclose(
        transport_distances(R, M=one), simplex_distance(R, kind="tv"), atol=1e-14
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda M, R, y: (M, 2 * R, y), "row 0 of R sums to 2"),
        (lambda M, R, y: (M, R - 0.5, y), "Negative values"),
        (lambda M, R, y: (M, np.vstack([R[:-1], 0 * R[-1:]]), y), "Row 7 of R is all zero"),
        (lambda M, R, y: (M[:3, :3], R, y), "3 bins; the histograms have 5"),
        (lambda M, R, y: (M + np.eye(5), R, y), "zero diagonal"),
        (lambda M, R, y: (-M, R, y), "no negative entry"),
        (lambda M, R, y: (M + np.triu(M), R, y), "symmetric"),
        (lambda M, R, y: (M, R, y[:3]), "a label for each"),
        (lambda M, R, y: (M, R, 0 * y), "two classes"),
    ],
)
def test_bad_input(change, words):
    R, y, M = sample()
    with pytest.raises(ValueError, match=words):
        ground_metric_criterion(*change(M, R, y))


def test_bad_k():
    R, y, M = sample()
    with pytest.raises(ValueError, match="k must be"):
        ground_metric_criterion(M, R, y, k=0)
