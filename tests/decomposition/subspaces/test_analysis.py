"""Independent subspace analysis recovers the subspaces of known mixtures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import FastICA

from octavo.data import make_subspace_mixture
from octavo.decomposition import IndependentSubspaceAnalysis, amari_index
from octavo.decomposition.subspaces.analysis import whitening
from octavo.info import HSIC, KnnShannonEntropy


def index_of(model, sample):
    return amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)


@pytest.fixture(scope="module")
def letters():
    return make_subspace_mixture("letters", n_samples=800, random_state=3)


# Oracles


@pytest.mark.parametrize("kind", ["shapes", "letters"])
@pytest.mark.slow
def test_amari_index_falls_to_zero_like_one_over_the_root_of_n(kind):
    """Entries of WA off the blocks are of order 1/√n, so √n times the index stays bounded."""
    sizes, means = (250, 1000, 4000), []
    for n in sizes:
        runs = []
        for seed in range(3):
            sample = make_subspace_mixture(kind, n_samples=n, random_state=seed)
            model = IndependentSubspaceAnalysis(subspace_dims=[2, 2, 2], random_state=seed)
            runs.append(index_of(model.fit(sample.X), sample))
        means.append(np.mean(runs))
    slope = np.polyfit(np.log(sizes), np.log(means), 1)[0]
    assert slope < -0.3, (slope, means)
    assert means[-1] < 3 / np.sqrt(sizes[-1]), means


@pytest.mark.parametrize("kind", ["shapes", "letters", "wires"])
def test_unknown_dimensions_are_found(kind):
    sample = make_subspace_mixture(kind, n_samples=1500, random_state=0)
    model = IndependentSubspaceAnalysis(random_state=0).fit(sample.X)
    assert model.subspace_dims_.tolist() == [len(group) for group in sample.subspaces]
    assert index_of(model, sample) < 0.1


def test_dimensions_of_one_are_fast_ica():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3)) @ rng.normal(size=(3, 3))
    ica = FastICA(whiten=False, tol=1e-10, max_iter=2000)
    model = IndependentSubspaceAnalysis(subspace_dims=[1, 1, 1], ica=ica, random_state=0).fit(X)
    peer = FastICA(whiten="unit-variance", tol=1e-10, max_iter=2000, random_state=1).fit(X)
    match = np.abs(np.corrcoef(model.transform(X).T, peer.transform(X).T)[:3, 3:])
    # A permutation matrix: both found the same fixed point, to the square root of rounding.
    np.testing.assert_allclose(np.sort(match, axis=1), np.tile([0, 0, 1], (3, 1)), atol=1e-6)


def test_independent_components_come_out_as_subspaces_of_one():
    X = np.random.default_rng(0).uniform(size=(1500, 4))
    model = IndependentSubspaceAnalysis(random_state=0).fit(X)
    assert model.subspace_dims_.tolist() == [1, 1, 1, 1]


def test_subspaces_do_not_depend_on_the_mixing(letters):
    """The rows of W A span the same subspaces of the sources whatever A is."""
    ica = FastICA(whiten=False, tol=1e-12, max_iter=5000)
    turns = [letters.mixing, np.random.default_rng(1).normal(size=(6, 6))]
    spans = []
    for mixing in turns:
        model = IndependentSubspaceAnalysis(subspace_dims=[2, 2, 2], ica=ica, random_state=0)
        model.fit(letters.sources @ mixing.T)
        G = model.unmixing_ @ mixing
        bases = [np.linalg.qr(G[group].T)[0] for group in model.subspaces_]
        projectors = [Q @ Q.T for Q in bases]
        spans.append(sorted(projectors, key=lambda P: -P[0, 0] - 0.1 * P[2, 2]))
    np.testing.assert_allclose(spans[0], spans[1], atol=1e-4)


@pytest.mark.parametrize("objective", ["information", "sum_information", "pairwise_information"])
def test_other_objectives_find_the_same_subspaces(letters, objective):
    model = IndependentSubspaceAnalysis(
        subspace_dims=[2, 2, 2], objective=objective, random_state=0
    ).fit(letters.X)
    assert index_of(model, letters) < 3 / np.sqrt(800)


def test_objective_can_be_of_any_estimator(letters):
    model = IndependentSubspaceAnalysis(
        subspace_dims=[2, 2, 2],
        objective="pairwise_information_1d",
        estimator=HSIC(bandwidth=0.5),
        random_state=0,
    ).fit(letters.X)
    assert index_of(model, letters) < 3 / np.sqrt(800)


# Amari index


def test_amari_index_against_its_formula():
    rng = np.random.default_rng(0)
    W, A = rng.normal(size=(2, 5, 5))
    groups, truth = [[0, 3], [1], [2, 4]], [[0], [1, 2], [3, 4]]
    G, total = W @ A, 0.0
    g = [[np.sqrt(sum(G[i, j] ** 2 for i in r for j in c)) for c in truth] for r in groups]
    for i in range(3):
        total += sum(g[i][j] for j in range(3)) / max(g[i]) - 1
        column = [g[k][i] for k in range(3)]
        total += sum(column) / max(column) - 1
    assert amari_index(W, A, groups, truth) == pytest.approx(total / 12, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31 - 1), st.permutations(range(3)))
def test_amari_index_is_zero_for_any_invertible_map_of_subspaces(seed, order):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6)) + 3 * np.eye(6)
    blocks = np.zeros((6, 6))
    for row, column in enumerate(order):
        blocks[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = rng.normal(size=(2, 2))
    groups = [[0, 1], [2, 3], [4, 5]]
    W = blocks @ np.linalg.inv(A)
    # Rounding of the inverse, relative to the smallest block.
    assert amari_index(W, A, groups) < 1e-6
    assert 0 <= amari_index(rng.normal(size=(6, 6)), A, groups) <= 1


# Transform and the parts of it


def test_transform_is_white_and_comes_back(letters):
    model = IndependentSubspaceAnalysis(random_state=0)
    S = model.fit_transform(letters.X)
    np.testing.assert_allclose(S.T @ S / len(S), np.eye(6), atol=1e-6)
    np.testing.assert_allclose(model.inverse_transform(S), letters.X, atol=1e-9)
    assert model.get_feature_names_out()[0] == "independentsubspaceanalysis0"
    assert sorted(np.concatenate(model.subspaces_)) == list(range(6))


def test_more_features_than_sources():
    sample = make_subspace_mixture("letters", n_subspaces=2, n_features=7, random_state=0)
    model = IndependentSubspaceAnalysis(random_state=0).fit(sample.X)
    assert model.unmixing_.shape == (4, 7)  # the rank
    assert index_of(model, sample) < 0.1
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(sample.X)), sample.X, atol=1e-8
    )


def test_whitening_leaves_out_directions_without_variance():
    X = np.random.default_rng(0).normal(size=(50, 3)) @ np.ones((3, 5))
    W = whitening(X - X.mean(axis=0), None)
    assert W.shape == (1, 5)
    assert np.var((X - X.mean(axis=0)) @ W.T) == pytest.approx(1.0)


# Bad input


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"subspace_dims": [2, 3]}, "add up to 5|5 is more than"),
        ({"subspace_dims": [2, 2], "n_components": 3}, "add up to 4"),
        ({"n_components": 9}, "n_components=9"),
        ({"n_subspaces": 7}, "n_subspaces"),
        ({"optimizer": "swap"}, "'optimizer'"),
        ({"objective": "entropy"}, "'objective'"),
        ({"subspace_dims": "all"}, "'subspace_dims'"),
    ],
    ids=str,
)
def test_parameters_that_do_not_fit(params, words):
    X = np.random.default_rng(0).uniform(size=(60, 4))
    with pytest.raises(ValueError, match=words):
        IndependentSubspaceAnalysis(**params).fit(X)


def test_estimator_of_the_wrong_kind():
    X = np.random.default_rng(0).uniform(size=(60, 4))
    with pytest.raises(TypeError, match="needs an estimator"):
        IndependentSubspaceAnalysis(estimator=HSIC()).fit(X)
    with pytest.raises(TypeError, match="needs an estimator"):
        IndependentSubspaceAnalysis(objective="information", estimator=KnnShannonEntropy()).fit(X)


def test_data_that_do_not_vary():
    with pytest.raises(ValueError, match="does not vary"):
        IndependentSubspaceAnalysis().fit(np.ones((20, 3)))


def test_duplicates_are_named():
    X = np.repeat(np.random.default_rng(0).uniform(size=(20, 3)), 20, axis=0)
    with pytest.raises(ValueError, match="duplicate"):
        IndependentSubspaceAnalysis(subspace_dims=[2, 1], random_state=0).fit(X)


def test_component_analysis_without_components():
    class Nothing(FastICA):
        def fit(self, X, y=None):
            return self

    with pytest.raises(ValueError, match="components_"):
        IndependentSubspaceAnalysis(ica=Nothing()).fit(np.random.default_rng(0).normal(size=(9, 2)))


def test_mixing_again_needs_the_columns_of_a_transform(letters):
    model = IndependentSubspaceAnalysis(random_state=0).fit(letters.X)
    with pytest.raises(ValueError, match="6 columns of a transform, got 5"):
        model.inverse_transform(np.zeros((3, 5)))


def test_amari_index_needs_equally_many_subspaces():
    with pytest.raises(ValueError, match="2 estimated and 3 true"):
        amari_index(np.eye(3), np.eye(3), [[0, 1], [2]], [[0], [1], [2]])
