"""Neighbourhood regressions: the lasso with free coefficients, and what they find."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from octavo.graphical import (
    IsingNeighbourhoodLasso,
    MaskedNeighbourhoodLasso,
    graph_recovery,
    make_weak_edge_network,
)
from octavo.graphical.junction_selection.discrete import logistic_lasso
from octavo.graphical.junction_selection.neighborhoods import free_lasso


def moments_of(seed, n=60, d=6):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    y = X @ np.array([1.0, -0.5, 0, 0, 0.3, 0]) + rng.standard_normal(n)
    return X, y, X.T @ X / n, X.T @ y / n


def test_without_free_ones_it_is_the_lasso():
    X, y, G, b = moments_of(0)
    expected = Lasso(0.1, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y).coef_
    np.testing.assert_allclose(free_lasso(G, b, np.ones(6), 0.1), expected, atol=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_optimality_with_free_and_weighted_ones(seed):
    _, _, G, b = moments_of(seed)
    costs = np.array([0.0, 1.0, 2.0, 0.5, 0.0, 1.0])
    w = free_lasso(G, b, costs, 0.1)
    slope = b - G @ w
    assert np.abs(slope[costs == 0]).max() < 1e-8
    assert (np.abs(slope) - 0.1 * costs).max() < 1e-6
    kept = (w != 0) & (costs > 0)
    np.testing.assert_allclose(slope[kept], 0.1 * (costs * np.sign(w))[kept], atol=1e-6)
    np.testing.assert_allclose(free_lasso(G, b, np.zeros(6), 1.0), np.linalg.solve(G, b), 1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_logistic_lasso_is_optimal(seed):
    X, y, *_ = moments_of(seed, 200)
    y = (y > 0).astype(float)
    costs = np.array([0.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    w = logistic_lasso(X, y, costs, 0.05, np.zeros(6))
    slope = X.T @ (y - 1.0 / (1.0 + np.exp(-X @ w))) / 200
    assert np.abs(slope[costs == 0]).max() < 1e-4
    assert (np.abs(slope) - 0.05 * costs).max() < 1e-4
    kept = (w != 0) & (costs > 0)
    np.testing.assert_allclose(slope[kept], 0.05 * (costs * np.sign(w))[kept], atol=1e-4)


def test_rules_and_penalties_are_nested():
    sample = make_weak_edge_network("CY1", 300, 0, n_features=20, n_weak=5)
    both = MaskedNeighbourhoodLasso().fit(sample.X).adjacency_
    one = MaskedNeighbourhoodLasso(rule="or").fit(sample.X).adjacency_
    assert (both & ~one).sum() == 0
    assert graph_recovery(one, sample.adjacency).edit_distance < sample.adjacency.sum() // 2
    assert MaskedNeighbourhoodLasso(alpha=2.0, adaptive=False).fit(sample.X).adjacency_.sum() == 0
    plain = MaskedNeighbourhoodLasso(alpha=0.2, adaptive=False, rule="or").fit(sample.X)
    Z = (sample.X - sample.X.mean(axis=0)) / sample.X.std(axis=0)
    coef = Lasso(0.2, fit_intercept=False, tol=1e-10).fit(Z[:, 1:], Z[:, 0]).coef_
    assert (plain.adjacency_[0, 1:] >= (coef != 0)).all()
    units = 10.0 ** np.linspace(-5, 5, 20)
    moved = MaskedNeighbourhoodLasso().fit(sample.X * units)
    np.testing.assert_array_equal(moved.adjacency_, both)


def test_masks_are_kept():
    X = make_weak_edge_network("CH1", 400, 1, n_features=8, n_weak=2).X
    allowed = np.ones((8, 8), dtype=bool)
    np.fill_diagonal(allowed, False)
    allowed[3, 4] = allowed[4, 3] = False
    asked = allowed.copy()
    asked[:, 5] = asked[5] = False
    for model in (MaskedNeighbourhoodLasso(), IsingNeighbourhoodLasso()):
        found = model.select((X > 0) + 0.0, np.arange(8), allowed, asked)
        assert all(asked[i, j] for i, j in found.edges)
        assert found.alpha > 0
