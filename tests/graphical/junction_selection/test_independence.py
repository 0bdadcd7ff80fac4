"""Partial correlations, the PC algorithm, pairwise tests, screening."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from octavo.graphical import (
    PairwiseTestUGMS,
    PCSkeletonUGMS,
    make_weak_edge_network,
    partial_correlation,
)
from octavo.graphical.junction_selection.independence import (
    by_threshold,
    fisher_threshold,
    pc_skeleton,
)
from octavo.graphical.junction_selection.moments import batched_partials, local_partials, moments
from octavo.graphical.junction_selection.screening import (
    correlation_screen,
    fold_moments,
    held_out_gains,
    pc_screen,
)


def by_residuals(X, i, j, given):
    """Correlate what regressions on the others leave."""
    Z = np.column_stack([np.ones(len(X)), X[:, list(given)]])
    left = X[:, [i, j]] - Z @ np.linalg.lstsq(Z, X[:, [i, j]], rcond=None)[0]
    return np.corrcoef(left.T)[0, 1]


@pytest.mark.parametrize("given", [(), (2,), (2, 5), (1, 3, 4)])
def test_partial_correlation_by_residuals(given):
    X = np.random.RandomState(0).standard_normal((50, 6)) @ np.random.RandomState(1).normal(
        size=(6, 6)
    )
    i, j = 0, next(v for v in range(1, 6) if v not in given)
    expected = by_residuals(X, i, j, given)
    S = np.cov(X * 1e5, rowvar=False)
    assert partial_correlation(S, i, j, given) == pytest.approx(expected, abs=1e-10)
    at = np.array([given], dtype=np.intp).reshape(1, -1)
    found = batched_partials(moments(X).R, np.array([[i, j]]), at)
    assert found[0] == pytest.approx(expected, abs=1e-8)


def brute_pc(R, H, L, kappa, threshold):
    """Algorithm 4 as it reads, neighbourhoods held fixed for each k."""
    H, G, d = H | L, L.copy(), len(R)
    for k in range(kappa + 1):
        gone = []
        for i, j in combinations(range(d), 2):
            if not G[i, j]:
                continue
            sides = [[v for v in range(d) if H[a, v] and v != b] for a, b in ((i, j), (j, i))]
            side = sides[0] if len(sides[0]) <= len(sides[1]) else sides[1]
            if any(abs(partial_correlation(R, i, j, S)) < threshold for S in combinations(side, k)):
                gone.append((i, j))
        for i, j in gone:
            G[i, j] = G[j, i] = H[i, j] = H[j, i] = False
    return G


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pc_is_the_algorithm_as_it_reads(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((40, 8)) @ (np.eye(8) + 0.5 * rng.standard_normal((8, 8)))
    R = moments(X).R
    H = np.triu(rng.uniform(size=(8, 8)) < 0.8, 1)
    L = np.triu(rng.uniform(size=(8, 8)) < 0.7, 1) & H
    H, L = H | H.T, L | L.T
    found = pc_skeleton(H, L, 2, by_threshold(R, lambda k: 0.2))
    np.testing.assert_array_equal(found, brute_pc(R, H, L, 2, 0.2))


def test_pc_finds_the_graph_of_the_population():
    sample = make_weak_edge_network("CY1", 5, 0, n_features=16, n_weak=4)
    S = np.linalg.inv(sample.precision)
    R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    every = ~np.eye(16, dtype=bool)
    found = pc_skeleton(every, every, 2, by_threshold(R, lambda k: 1e-9))
    np.testing.assert_array_equal(found, sample.adjacency)


def test_order_of_columns_does_not_matter():
    X = make_weak_edge_network("CY1", 150, 1, n_features=12, n_weak=4).X
    order = np.random.RandomState(0).permutation(12)
    for model in (PCSkeletonUGMS(2), PCSkeletonUGMS(1, "fisher-z"), PairwiseTestUGMS()):
        plain = model.fit(X).adjacency_
        np.testing.assert_array_equal(
            model.fit(X[:, order] * 1e5).adjacency_, plain[np.ix_(order, order)]
        )


def test_fisher_threshold():
    z = np.arctanh(fisher_threshold(103, 0, 0.05)) * 10.0
    assert z == pytest.approx(norm.isf(0.025))


def test_pairs_given_the_smaller_side():
    X = make_weak_edge_network("CY1", 100, 2, n_features=10, n_weak=4).X
    R = moments(X).R
    graph = np.zeros((10, 10), dtype=bool)
    for i, j in [(0, 1), (0, 2), (0, 3), (1, 4)]:
        graph[i, j] = graph[j, i] = True
    found, sizes = local_partials(R, graph, np.array([[0, 1], [2, 3]]), 90)
    assert sizes.tolist() == [1, 1]
    assert found[0] == pytest.approx(by_residuals(X, 0, 1, [4]), abs=1e-9)
    assert found[1] == pytest.approx(by_residuals(X, 2, 3, [0]), abs=1e-9)


@pytest.mark.parametrize("given", [(), (2,), (2, 3)])
def test_held_out_gain_is_a_difference_of_log_densities(given):
    X = make_weak_edge_network("CH1", 47, 3, n_features=5, n_weak=2).X
    at = np.array([given], dtype=np.intp).reshape(1, -1)
    gains = held_out_gains(fold_moments(X), np.array([[0, 1]]), at)[:, 0]
    Z = X / X.std(axis=0)
    for fold, gain in enumerate(gains):
        own = np.arange(47) % 5 == fold
        mean = Z[~own].mean(axis=0)
        train, held = Z[~own] - mean, Z[own] - mean
        s = list(given)
        if s:
            slopes = np.linalg.solve(train[:, s].T @ train[:, s], train[:, s].T @ train[:, :2])
            u, v = train[:, :2] - train[:, s] @ slopes, held[:, :2] - held[:, s] @ slopes
        else:
            u, v = train[:, :2], held[:, :2]
        C = u.T @ u / len(u)
        joined, apart = (
            multivariate_normal([0, 0], A).logpdf(v).sum() for A in (C, np.diag(np.diag(C)))
        )
        assert gain == pytest.approx(joined - apart, abs=1e-6)


def test_screens():
    sample = make_weak_edge_network("CH1", 2000, 4, n_features=20, n_weak=5)
    for order in (0, 1):
        kept = pc_screen(sample.X, order)
        assert (kept & sample.adjacency).sum() == sample.adjacency.sum()
        assert (kept == kept.T).all()
        assert not kept.diagonal().any()
    # Given its neighbours a chain has no other edges; without, second neighbours stay.
    assert pc_screen(sample.X, 1).sum() < pc_screen(sample.X, 0).sum()
    few = correlation_screen(sample.X[:12])
    assert few.sum(axis=1).min() >= 4  # 12 / log 12
    assert few.sum() < 20 * 19


def test_bad_input():
    X = np.random.RandomState(0).standard_normal((6, 4))
    with pytest.raises(ValueError, match="kappa=4 needs more rows"):
        PCSkeletonUGMS(4).fit(X)
    with pytest.raises(ValueError, match="Column 2 is constant"):
        PCSkeletonUGMS().fit(X * [1, 1, 0, 1] + 0.1)
    with pytest.raises(ValueError, match="minimum of 4"):
        PairwiseTestUGMS().fit(X[:3])
    S = np.cov(X, rowvar=False)
    with pytest.raises(ValueError, match="different"):
        partial_correlation(S, 0, 1, [1])
    with pytest.raises(ValueError, match="columns 0 to 3"):
        partial_correlation(S, 0, 9, [])
    with pytest.raises(ValueError, match="undefined"):
        partial_correlation(np.ones((3, 3)), 0, 1, [2])
    every = np.ones((4, 4)) - np.eye(4)
    some = np.zeros((4, 4))
    with pytest.raises(ValueError, match="not allowed"):
        PairwiseTestUGMS().select(X, range(4), some, every)
    with pytest.raises(ValueError, match="different columns"):
        PairwiseTestUGMS().select(X, [0, 0, 1, 2], every, every)
