"""Level-set spectral clustering against components, LAPACK, quadrature and scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from octavo.cluster import (
    LevelSetSpectralClustering,
    compact_kernel,
    level_set_components,
    level_tree,
    scale_path,
)


def noisy_moons(seed, n=1500, n_noise=500):
    moons, y = make_moons(n, noise=0.05, random_state=seed)
    box = np.random.default_rng(seed).uniform([-1.5, -1.0], [2.5, 1.5], size=(n_noise, 2))
    return np.vstack([moons, box]), y


def dense_walk(points, h, kernel="triweight"):
    """Return K and Q of section 2.2, from all pairs."""
    K = compact_kernel(kernel)(cdist(points, points) / h)
    return K, K / K.sum(axis=1, keepdims=True)


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


@given(st.integers(0, 500), st.integers(4, 40), st.integers(1, 3), st.floats(0.05, 2.0))
@settings(max_examples=40, deadline=None)
def test_as_many_clusters_as_components_are_the_components(seed, n, d, h):
    """Whatever the points: with l components and n_clusters=l the labels are theirs."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    near = csr_array((cdist(X, X) < h).astype(float))
    n_parts, parts = connected_components(near, directed=False)
    assume(n_parts < n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LevelSetSpectralClustering(n_parts, h=h, drop_fraction=0.0).fit(X)
    assert model.n_components_graph_ == n_parts
    assert same_partition(model.labels_, parts)
    Q = dense_walk(X, h)[1]
    ones = np.sum(np.abs(np.linalg.eigvals(Q).real - 1.0) < 1e-9)
    assert np.sum(model.eigenvalues_ > 1.0 - 1e-9) == min(ones, n_parts + 1)


@pytest.mark.parametrize("n_clusters", ["auto", 3, "concentration"])
def test_separate_blobs_are_found_for_every_h_below_the_gap(n_clusters):
    X, y = make_blobs([60, 90, 30], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    gap = min(cdist(X[y == a], X[y == b]).min() for a, b in [(0, 1), (0, 2), (1, 2)])
    for h in (0.5 * gap, 0.8 * gap, 0.99 * gap):
        model = LevelSetSpectralClustering(n_clusters, h=h, drop_fraction=0.0).fit(X)
        assert model.n_clusters_ == model.n_components_graph_ == 3
        assert same_partition(model.labels_, y)
        assert same_partition(level_set_components(X, h, drop_fraction=0.0), y)
        assert model.d_min_estimate_ == pytest.approx(gap)


@pytest.mark.parametrize("kernel", ["triweight", "wendland", "bump"])
def test_eigenpairs_are_those_of_the_walk(kernel):
    X = np.random.default_rng(1).normal(size=(150, 2))
    h = 1.2
    model = LevelSetSpectralClustering(4, h=h, kernel=kernel, drop_fraction=0.2).fit(X)
    points = X[model.core_sample_indices_]
    K, Q = dense_walk(points, h, kernel)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0)
    expected = np.sort(np.linalg.eigvals(Q).real)[::-1]
    assert expected.min() >= -1.0 - 1e-12
    np.testing.assert_allclose(model.eigenvalues_[:5], expected[:5], atol=1e-10)
    V = model.eigenfunctions(points)
    np.testing.assert_allclose(Q @ V, V * model.eigenvalues_[:4], atol=1e-9)
    np.testing.assert_allclose(V.T @ np.diag(K.sum(axis=1)) @ V, np.eye(4), atol=1e-9)
    rows = V / np.linalg.norm(V, axis=1, keepdims=True)
    np.testing.assert_allclose(model.embedding_, rows, atol=1e-8)


@pytest.mark.parametrize("h", [0.3, 0.6])
def test_the_extension_gives_a_training_row_its_own_eigenvector_and_label(h):
    X, _ = noisy_moons(3, 400, 100)
    model = LevelSetSpectralClustering(
        2, h=h, drop_fraction=0.3, bandwidth=0.1, embed="d_orthonormal", random_state=0
    ).fit(X)
    core = model.core_sample_indices_
    np.testing.assert_allclose(model.eigenfunctions(X[core]), model.embedding_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.predict([[50.0, 50.0]]).tolist() == [-1]


@pytest.mark.parametrize("seed", range(5))
def test_moons_are_told_apart_where_the_graph_is_connected(seed):
    """Theorem 10; the neighbourhood graph has merged them."""
    X, y = noisy_moons(seed)
    settings = {"drop_fraction": 0.3, "bandwidth": 0.1}
    model = LevelSetSpectralClustering(h=0.6, random_state=0, **settings).fit(X)
    assert model.n_components_graph_ == 1
    assert model.n_clusters_ == 2
    kept = model.labels_[:1500] >= 0
    assert adjusted_rand_score(y[kept], model.labels_[:1500][kept]) >= 0.99
    merged = level_set_components(X, 0.6, **settings)
    assert adjusted_rand_score(y[kept], merged[:1500][kept]) == 0.0


@pytest.mark.filterwarnings("ignore:The kernel 'flat'")
def test_without_a_level_and_with_a_flat_kernel_it_is_spectral_clustering():
    """The same labels where clusters are clear; not the same matrix, theirs has no diagonal."""
    X, _ = make_blobs(120, centers=[[0, 0], [5, 0], [0, 5]], cluster_std=0.9, random_state=4)
    h = 3.0
    model = LevelSetSpectralClustering(
        3, h=h, drop_fraction=0.0, kernel="flat", embed="d_orthonormal", random_state=0
    ).fit(X)
    affinity = (cdist(X, X) <= h).astype(float)
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0, n_init=20)
    assert model.n_components_graph_ == 1
    assert same_partition(model.labels_, theirs.fit_predict(affinity))
    values = np.sort(np.linalg.eigvals(affinity / affinity.sum(axis=1, keepdims=True)).real)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:4], atol=1e-10)


@pytest.mark.parametrize("factor", [1.0, 1e5, 1e-5])
def test_motions_scales_and_the_order_of_rows_do_not_matter(factor):
    X, _ = noisy_moons(5, 300, 60)
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    order = np.random.default_rng(0).permutation(len(X))
    model = LevelSetSpectralClustering(drop_fraction=0.3, random_state=0).fit(X)
    other = LevelSetSpectralClustering(drop_fraction=0.3, random_state=0)
    other.fit((factor * (X @ turn.T + 3.0))[order])
    assert other.h_ == pytest.approx(factor * model.h_, rel=1e-9)
    assert other.bandwidth_ == pytest.approx(factor * model.bandwidth_, rel=1e-9)
    np.testing.assert_allclose(other.density_ * factor**2, model.density_[order], rtol=1e-6)
    assert same_partition(other.labels_, model.labels_[order])
    given = LevelSetSpectralClustering(2, h=0.5 * factor, bandwidth=0.1 * factor, random_state=0)
    scaled = given.fit(factor * X)
    plain = LevelSetSpectralClustering(2, h=0.5, bandwidth=0.1, random_state=0).fit(X)
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, atol=1e-9)


def mixture_density(points):
    return 0.5 * norm.pdf(points[:, 0], 0, 1) + 0.5 * norm.pdf(points[:, 0], 5, 1)


def test_a_known_density_has_the_components_and_the_eigenvalues_of_its_operator():
    """One column: the level set's two intervals, and Q_h of (18) by quadrature."""
    level, h = 0.08, 2.4
    grid = np.linspace(-4, 9, 3001)[:, None]
    f = mixture_density(grid)
    inside = f >= level
    points, weights = grid[inside], f[inside]
    K = compact_kernel("triweight")(cdist(points, points) / h) * weights
    limit = np.sort(np.linalg.eigvals(K / K.sum(axis=1, keepdims=True)).real)[::-1][:4]
    gap = np.diff(points[:, 0]).max()
    assert gap < h  # beyond the gap: Theorem 10
    n = 4000
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n)
    X = rng.normal(5.0 * truth)[:, None]
    model = LevelSetSpectralClustering(2, level=level, density=mixture_density, h=h).fit(X)
    core = model.core_sample_indices_
    np.testing.assert_array_equal(core, np.flatnonzero(mixture_density(X) >= level))
    side = X[core, 0] > 2.5
    assert same_partition(model.labels_[core], side)
    assert model.d_min_estimate_ == pytest.approx(gap, abs=0.05)
    # a mean of about n/8 neighbours is off by 1/√(n/8) at most times a factor of order one
    np.testing.assert_allclose(model.eigenvalues_[:3], limit[:3], atol=2 / np.sqrt(n / 8))


def test_single_linkage_agrees_with_k_means_where_features_gather():
    X, _ = noisy_moons(6)
    labels = [
        LevelSetSpectralClustering(
            2, h=0.5, drop_fraction=0.3, bandwidth=0.1, assign_labels=how, random_state=0
        ).fit_predict(X)
        for how in ("kmeans", "linkage")
    ]
    np.testing.assert_array_equal(*labels)


def test_excess_mass_finds_the_level_between_a_peak_and_its_neighbour():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 600), rng.normal(4.5, 1, 400)])[:, None]
    model = LevelSetSpectralClustering(level="excess_mass", h=0.4).fit(X)
    saddle = 0.6 * norm.pdf(2.25) + 0.4 * norm.pdf(2.25)
    assert model.level_ > saddle
    assert model.n_clusters_ == 2


def test_noise_is_placed_when_asked_for():
    X, y = make_blobs([80, 80], centers=[[0, 0], [8, 0]], random_state=1)
    model = LevelSetSpectralClustering(drop_fraction=0.3, assign_noise=True).fit(X)
    assert same_partition(model.labels_, y)
    assert model.predict([[100.0, 0.0]]).tolist() == [model.labels_[np.argmax(X[:, 0])]]
    kept = LevelSetSpectralClustering(drop_fraction=0.3).fit(X)
    assert (kept.labels_ == -1).sum() == 48


def test_a_scale_path_counts_clusters_and_sees_the_plateau_end():
    X, _ = noisy_moons(0)
    hs = [0.15, 0.2, 0.3, 0.45, 0.6, 1.5]
    path = scale_path(X, hs, drop_fraction=0.3, bandwidth=0.1, n_eigenvalues=4)
    assert path.eigenvalues.shape == (6, 4)
    assert path.n_clusters.tolist() == [2, 2, 2, 2, 2, 1]
    assert path.plateau == (0.15, 0.6)
    assert path.n_components[4] == 1
    kept = LevelSetSpectralClustering(h=0.6, drop_fraction=0.3, bandwidth=0.1).fit(X)
    Q = dense_walk(X[kept.core_sample_indices_], 0.6)[1]
    expected = np.sort(np.linalg.eigvals(Q).real)[::-1][:4]
    np.testing.assert_allclose(path.eigenvalues[4], expected, atol=1e-9)


def test_components_of_higher_levels_lie_in_those_of_lower_ones():
    X, _ = make_blobs([200, 150, 100], centers=[[0, 0], [6, 0], [0, 7]], random_state=2)
    tree = level_tree(X, h=0.8, min_size=4)
    assert (np.diff(tree.levels) > 0).all()
    assert tree.n_components.max() == 3
    for i in range(1, len(tree.levels)):
        inside = tree.labels[i] >= 0
        assert (tree.density[inside] >= tree.levels[i]).all()
        for c, parent in enumerate(tree.parents[i - 1]):
            assert set(tree.labels[i - 1][tree.labels[i] == c]) == {parent}
    brute = level_set_components(X, 0.8, level=tree.levels[10])
    sizes = np.bincount(brute[brute >= 0])
    assert tree.n_components[10] == (sizes >= 4).sum()


def test_two_components_for_one_cluster_are_joined_with_a_word():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(3, 4, 20), np.linspace(5, 6, 20)])
    with pytest.warns(UserWarning, match="3 components for n_clusters=2"):
        model = LevelSetSpectralClustering(2, h=0.3, drop_fraction=0.0).fit(X[:, None])
    assert model.labels_.tolist() == [0] * 20 + [1] * 40  # the nearer two
    np.testing.assert_array_equal(model.predict(X[:, None]), model.labels_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 1e9}, "All 50 rows lie below level"),
        ({"h": 1e-9}, "leaves all 45 points without a neighbour"),
        ({"n_clusters": 49}, "45 rows are left for n_clusters=49"),
        ({"density": lambda X: np.zeros(3)}, "one number for each of 50 points"),
        ({"density": lambda X: -np.ones(len(X))}, "not negative"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(settings, message):
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match=message):
        LevelSetSpectralClustering(**settings).fit(X)


def test_isolated_points_and_many_columns_are_told():
    X = np.vstack([np.random.default_rng(0).normal(size=(40, 2)), [[30.0, 30.0]]])
    with pytest.warns(UserWarning, match=r"leaves 1 of 41 points without a neighbour"):
        model = LevelSetSpectralClustering(h=3.0, drop_fraction=0.0).fit(X)
    assert model.labels_[-1] == 1
    with pytest.warns(UserWarning, match="Densities in 8 columns"):
        LevelSetSpectralClustering().fit(np.random.default_rng(0).normal(size=(60, 8)))
    with pytest.warns(UserWarning, match="'epanechnikov' has no two continuous derivatives"):
        LevelSetSpectralClustering(kernel="epanechnikov").fit(X)


def test_duplicates_floats_and_constant_tables():
    X, y = make_blobs([40, 40], centers=[[0, 0], [10, 0]], random_state=0)
    twice = np.vstack([X, X])
    model = LevelSetSpectralClustering(drop_fraction=0.0).fit(twice)
    assert same_partition(model.labels_, np.tile(y, 2))
    single = LevelSetSpectralClustering(drop_fraction=0.0).fit(X.astype(np.float32))
    assert same_partition(single.labels_, y)
    flat = LevelSetSpectralClustering().fit(np.ones((30, 2)))
    assert flat.labels_.tolist() == [0] * 30


def largest_jump(kernel, n):
    """Return the largest change of the second difference quotient from one step to the next."""
    u = np.linspace(-1.2, 1.2, n)
    return np.abs(np.diff(np.diff(kernel(u), 2))).max() / (u[1] - u[0]) ** 2


def test_kernels_obey_assumption_two():
    u = np.linspace(0, 1.2, 2401)
    for name in ("triweight", "wendland", "bump"):
        k = compact_kernel(name)
        values = k(u)
        assert values[0] == 1.0
        assert (values[u >= 1] == 0).all()
        assert values[u <= 0.5].min() > 0.1
        np.testing.assert_array_equal(values, k(-u))
        # continuous second derivatives: half the step, about half the jump
        assert largest_jump(k, 4803) < 0.6 * largest_jump(k, 2402)
    with pytest.warns(UserWarning, match="no two continuous derivatives"):
        rough = compact_kernel("epanechnikov")
    assert largest_jump(rough, 4803) > 1.0
