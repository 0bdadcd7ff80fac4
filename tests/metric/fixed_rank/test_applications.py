"""Metrics, kernels, maps and subspaces against brute force, quasi-Newton methods and PCA."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from octavo.data import make_planted_metric
from octavo.engine.linalg.pair_differences import PairDifferences
from octavo.metric import (
    FixedRankPSDRegressor,
    LowRankKernelLearner,
    LowRankMahalanobis,
    OjaSubspace,
    OnlineMDS,
)
from octavo.metric.fixed_rank.constraints import label_pairs
from octavo.metric.fixed_rank.descent import descend, start_walk
from octavo.metric.fixed_rank.oja import oja_step
from octavo.metric.fixed_rank.steps_by_covariance import feature_metric


def test_pairs_from_labels_are_what_they_say():
    codes = np.repeat([0, 1, 2], [5, 1, 9])
    rng = np.random.RandomState(0)
    pairs, relation = label_pairs(codes, 4000, rng)
    same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    np.testing.assert_array_equal(same, relation == 1)
    assert same.sum() == 2000
    assert (pairs[:, 0] != pairs[:, 1]).all()
    inside = {tuple(pair) for pair in pairs[same]}
    assert len(inside) == 5 * 4 + 9 * 8  # every ordered pair of one class
    outside = {tuple(pair) for pair in pairs[~same]}
    assert len(outside) == 15 * 15 - 25 - 1 - 81


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_pairs_give_what_regression_on_formed_differences_gives(geometry):
    rng = np.random.default_rng(0)
    X, pairs = rng.standard_normal((30, 5)), rng.integers(0, 30, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    target = ((D @ rng.standard_normal((5, 2))) ** 2).sum(axis=1)
    options = {"tol": 1e-12, "max_iter": 20_000}
    ours = LowRankMahalanobis(2, geometry, standardize=False, **options)
    ours.fit_pairs(X, pairs, 0, target)
    formed = FixedRankPSDRegressor(2, geometry, **options).fit(D, target)
    expected = formed.components_ @ formed.components_.T
    # Noise-free targets: both end at the matrix behind them, as near as the root of tol.
    np.testing.assert_allclose(ours.get_mahalanobis_matrix(), expected, atol=1e-3)
    np.testing.assert_allclose(ours.pair_distance(X, pairs) ** 2, target, atol=1e-2)


def test_learned_distances_beat_the_euclidean_one():
    X, y = load_wine(return_X_y=True)
    train, test = slice(0, None, 2), slice(1, None, 2)

    def error(Z):
        return 1 - KNeighborsClassifier(5).fit(Z[train], y[train]).score(Z[test], y[test])

    plain = error(PCA(1).fit_transform(StandardScaler().fit_transform(X)))
    for options in ({}, {"geometry": "flat"}, {"online": True}):
        model = LowRankMahalanobis(1, random_state=0, **options).fit(X[train], y[train])
        assert error(model.transform(X)) < plain, options


def test_sparse_and_dense_rows_give_one_distance():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 8)) * (rng.random((60, 8)) < 0.5)
    y = (X[:, 0] > 0).astype(int)
    dense = LowRankMahalanobis(2, random_state=0).fit(X, y)
    sparse = LowRankMahalanobis(2, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.get_mahalanobis_matrix(), dense.get_mahalanobis_matrix(), rtol=1e-5, atol=1e-8
    )


def test_units_of_columns_do_not_matter_when_standardized():
    X, y = load_iris(return_X_y=True)
    units = np.array([1.0, 10.0, 1e-3, 7.0])
    one = LowRankMahalanobis(2, random_state=0).fit(X, y)
    other = LowRankMahalanobis(2, random_state=0).fit(X * units, y)
    np.testing.assert_allclose(
        one.get_mahalanobis_matrix(),
        units[:, None] * other.get_mahalanobis_matrix() * units,
        rtol=1e-6,
        atol=1e-9,
    )


def test_steps_by_the_covariance_are_few_and_left_out_where_data_settle_little():
    X, y, _ = make_planted_metric(500, 100, random_state=7)  # deviations from 0.3 to 10
    pairs, relation = label_pairs(
        np.unique(y, return_inverse=True)[1], 5000, np.random.RandomState(0)
    )
    rows = PairDifferences(X, pairs)
    target = np.where(relation == 1, 20.0, 200.0)
    G = rows.principal_directions(5)
    metric = feature_metric(rows, 5)
    ends = [
        descend(start_walk(rows, G, "conjugate", precondition=chosen), target, relation)
        for chosen in (None, metric)
    ]
    assert ends[1].n_iter < 0.5 * ends[0].n_iter
    assert ends[1].costs[-1] <= ends[0].costs[-1] * (1 + 1e-3)
    sparse = feature_metric(PairDifferences(sp.csr_array(X), pairs), 5)
    np.testing.assert_allclose(sparse(G), metric(G), rtol=1e-6)
    assert feature_metric(PairDifferences(X[:199], pairs % 199), 5) is None
    assert feature_metric(PairDifferences(X, pairs[:999]), 5) is None
    X[:, 3] = 1.0  # a column without variance, and one twice
    X[:, 4] = X[:, 5]
    assert np.isfinite(feature_metric(PairDifferences(X, pairs), 5)(G)).all()


def test_bounds_must_differ():
    X = np.repeat(np.eye(2), 10, axis=0)
    y = np.tile([0, 1], 10)
    X[0] = [0.0, 1.0]
    with pytest.raises(ValueError, match="bounds must differ"):
        LowRankMahalanobis(1, bounds=(40, 45), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="two percentiles"):
        LowRankMahalanobis(1, bounds=(95, 5)).fit(X, y)


def test_pairs_name_what_is_wrong_with_them():
    X = np.random.default_rng(0).standard_normal((5, 3))
    for pairs, words in (
        ([[0, 1], [2, 2]], "pair 1 names item 2 twice"),
        ([[0, 5]], "pair 0 is"),
        ([[0, 0.5]], "pair 0 is"),
        ([0, 1], "shape"),
    ):
        with pytest.raises(ValueError, match=words):
            LowRankMahalanobis(2).fit_pairs(X, pairs, 1, 1.0)
    with pytest.raises(ValueError, match="rank=4 is larger than n_features=3"):
        LowRankMahalanobis(4).fit_pairs(X, [[0, 1]], 1, 1.0)


def test_kernel_distances_reach_their_targets():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((12, 3))
    i, j = np.triu_indices(12, 1)
    target = ((Z[i] - Z[j]) ** 2).sum(axis=1)
    pairs = np.column_stack([i, j])
    for geometry in ("flat", "polar"):
        model = LowRankKernelLearner(3, geometry, tol=1e-12, max_iter=20_000, random_state=0)
        K = model.fit(12, pairs, target).get_kernel()
        found = np.diag(K)[i] + np.diag(K)[j] - 2 * K[i, j]
        np.testing.assert_allclose(found, target, atol=1e-3 * target.max())


def test_labels_draw_classes_together_in_the_kernel():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    K = X @ X.T
    model = LowRankKernelLearner(2, random_state=0).fit_labels(K, y)

    def ratio(K):
        D = np.diag(K)[:, None] + np.diag(K) - 2 * K
        same = y[:, None] == y
        return D[same].mean() / D[~same].mean()

    assert ratio(model.get_kernel()) < 0.7 * ratio(K)


def test_the_kernel_learner_says_what_stands_in_no_pair():
    with pytest.warns(UserWarning, match="1 of 4 items"):
        LowRankKernelLearner(2, "flat", random_state=0).fit(4, [[0, 1], [1, 2]], 1.0)
    K = np.eye(3)
    K[0, 1] = 0.5
    with pytest.raises(ValueError, match="symmetric"):
        LowRankKernelLearner(2).fit(K, [[0, 1]], 1.0)


def test_the_map_is_a_minimum_of_sstress():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((15, 4))
    D = np.linalg.norm(Z[:, None] - Z, axis=2)
    D[2, 7] = D[7, 2] = np.nan
    model = OnlineMDS(2, tol=1e-12, max_iter=20_000, random_state=0).fit(D)
    i, j = np.argwhere(np.triu(~np.isnan(D), 1)).T

    def sstress(g):
        G = g.reshape(15, 2)
        apart = G[i] - G[j]
        e = (apart**2).sum(axis=1) - D[i, j] ** 2
        gradient = np.zeros_like(G)
        np.add.at(gradient, i, 4 * e[:, None] * apart)
        np.add.at(gradient, j, -4 * e[:, None] * apart)
        return float(e @ e), gradient.ravel()

    at = model.embedding_.ravel()
    assert model.objective_ == pytest.approx(sstress(at)[0], rel=1e-10)
    best = minimize(sstress, at, jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    assert model.objective_ - best.fun < 1e-6 * model.objective_


def test_updates_move_two_items_and_settle():
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((10, 2))
    D = np.linalg.norm(Z[:, None] - Z, axis=2)
    model = OnlineMDS(2, random_state=0).fit(D)
    before = model.embedding_.copy()
    model.update(1, 4, 9.0)
    moved = np.flatnonzero(np.abs(model.embedding_ - before).max(axis=1) > 0)
    assert moved.tolist() == [1, 4]
    W = Z.copy()
    W[3] += 0.5  # an item wanders; its dissimilarities come in turn
    new = np.linalg.norm(W[:, None] - W, axis=2)
    model = OnlineMDS(2, learning_rate=0.2, random_state=0).fit(D)
    for _ in range(200):
        for i in range(10):
            for j in range(i):
                model.update(i, j, new[i, j])
    G = model.embedding_
    np.testing.assert_allclose(np.linalg.norm(G[:, None] - G, axis=2), new, atol=1e-3)
    with pytest.raises(ValueError, match="two items"):
        model.update(1, 1, 1.0)
    with pytest.raises(ValueError, match="0 to 9"):
        model.update(1, 10, 1.0)


def test_oja_follows_the_principal_subspace():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((5000, 10)) * np.linspace(3.0, 0.3, 10) ** 2 + 5.0
    model = OjaSubspace(3, random_state=0).fit(X)
    exact = PCA(3).fit(X).components_.T
    assert np.max(subspace_angles(model.basis_, exact)) < 0.05
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-9)
    blocks = OjaSubspace(3, random_state=0)
    angles = []
    for _ in range(5):
        for block in np.split(X, 5):
            blocks.partial_fit(block)
        angles.append(float(np.max(subspace_angles(blocks.basis_, exact))))
    assert angles[-1] < angles[0]  # steps that fall as 1/t average the noise away
    assert blocks.n_seen_ == 25_000


def test_the_principal_subspace_is_where_oja_stands_still():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50, 6))
    U = np.linalg.svd(X, full_matrices=False)[2][:2].T
    moved = oja_step(U, X, 0.7)
    np.testing.assert_allclose(moved @ moved.T, U @ U.T, atol=1e-12)
    V = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    error = [np.sum((X - X @ B @ B.T) ** 2) for B in (V, oja_step(V, X, 1e-2))]
    assert error[1] < error[0]
