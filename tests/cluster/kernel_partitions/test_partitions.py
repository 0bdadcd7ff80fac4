"""Kernel k-means against enumeration and KMeans; scaling against the notes' iteration; cuts."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from octavo.cluster import DoublyStochasticSpectral, KernelKMeans, symmetric_sinkhorn
from octavo.cluster.kernel_partitions.spectral_estimator import n_components_of


def all_labels(n, k):
    """Yield labels of every partition of n points into k sets, each partition once."""

    def grow(labels, used):
        if len(labels) == n:
            if used == k:
                yield np.array(labels)
            return
        for j in range(min(used + 1, k)):
            yield from grow([*labels, j], max(used, j + 1))

    return grow([0], 1)


def cohesion(K, labels):
    return sum(
        K[np.ix_(labels == j, labels == j)].sum() / (labels == j).sum() for j in np.unique(labels)
    )


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_never_above_brute_force_nor_the_spectral_bound(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, 2))
    K = rbf_kernel(X, gamma=0.7)
    model = KernelKMeans(k, gamma=0.7, random_state=seed).fit(X)
    best = max(cohesion(K, labels) for labels in all_labels(n, k))
    assert model.cohesion_ == pytest.approx(cohesion(K, model.labels_))
    assert model.cohesion_ <= best + 1e-10
    assert best <= model.spectral_bound_ + 1e-10
    for i in range(n):  # no row alone has a better place
        for j in range(k):
            moved = np.where(np.arange(n) == i, j, model.labels_)
            if len(np.unique(moved)) == k:
                assert cohesion(K, moved) <= model.cohesion_ + 1e-10
    assert model.inertia_ == pytest.approx(np.trace(K) - model.cohesion_)
    assert len(np.unique(model.labels_)) == k


def test_linear_kernel_is_kmeans():
    X, _ = make_blobs(200, centers=5, cluster_std=1.5, random_state=0)
    ours = KernelKMeans(5, "linear", random_state=0).fit(X)
    theirs = KMeans(5, n_init=10, random_state=0).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-3)
    means = np.array([X[ours.labels_ == j].mean(axis=0) for j in range(5)])
    new = np.random.default_rng(0).uniform(-10, 10, size=(50, 2))
    nearest = ((new[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(ours.predict(new), nearest)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)


def test_precomputed_callable_and_shifted_kernels():
    X = np.random.default_rng(0).normal(size=(60, 3))
    K = rbf_kernel(X, gamma=0.2)
    named = KernelKMeans(4, gamma=0.2, random_state=0).fit(X)
    given_ = KernelKMeans(4, "precomputed", random_state=0).fit(K)
    called = KernelKMeans(4, lambda A, B: rbf_kernel(A, B, gamma=0.2), random_state=0).fit(X)
    for other in (given_, called):
        np.testing.assert_array_equal(named.labels_, other.labels_)
    # φ moved by a constant: the same distances
    means = K.mean(axis=0)
    moved = K - means[:, None] - means[None] + K.mean()
    again = KernelKMeans(4, "precomputed", random_state=0).fit(moved)
    assert again.inertia_ == pytest.approx(given_.inertia_, rel=1e-8)


@pytest.mark.parametrize("size", [1e-5, 1e5])
def test_scale_of_rows(size):
    X = np.random.default_rng(1).normal(size=(80, 3))
    a = KernelKMeans(3, random_state=0).fit(X)
    b = KernelKMeans(3, random_state=0).fit(X * size)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_equal_rows_still_fill_every_cluster():
    model = KernelKMeans(3, random_state=0).fit(np.ones((6, 2)))
    assert len(np.unique(model.labels_)) == 3
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="number of rows"):
        KernelKMeans(3).fit(np.ones((2, 2)))


# --- scaling -----------------------------------------------------------------------------------


def notes_iteration(K, n_iter=400):
    for _ in range(n_iter):
        root = 1.0 / np.sqrt(K.sum(axis=1))
        K = K * np.outer(root, root)
    return K


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_scaling_is_the_limit_of_the_notes_iteration(seed):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(12, 12)) * (rng.uniform(size=(12, 12)) < 0.5)
    K = A + A.T + np.eye(12)
    found, x = symmetric_sinkhorn(K, return_scaling=True)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, notes_iteration(K), atol=1e-8)
    np.testing.assert_allclose(found, K * np.outer(x, x), atol=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e-5, 1e5, 1e150])
def test_scaling_forgets_the_size(size):
    X = np.random.default_rng(0).normal(size=(40, 2))
    K = rbf_kernel(X)
    np.testing.assert_allclose(symmetric_sinkhorn(K * size), symmetric_sinkhorn(K), atol=1e-10)


def test_sparse_matrices_stay_sparse():
    K = np.zeros((30, 30))
    for i in range(30):  # a ring without loops: total support although nothing is on the diagonal
        K[i, (i + 1) % 30] = K[(i + 1) % 30, i] = 1.0 + i
    found = symmetric_sinkhorn(sp.coo_array(K))
    assert sp.issparse(found)
    assert found.nnz == 60
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(found.toarray(), symmetric_sinkhorn(K), atol=1e-12)


@pytest.mark.parametrize(
    ("K", "words"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], "row 1 has none"),
        ([[1.0, -1.0], [-1.0, 1.0]], "negative"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[1.0, 2.0]], "square"),
        ([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "total support"),
        ([[np.nan, 1.0], [1.0, 1.0]], "NaN"),
    ],
)
def test_what_cannot_be_scaled(K, words):
    with pytest.raises(ValueError, match=words):
        symmetric_sinkhorn(np.array(K))
    if len(K) > 1 and "total" not in words:
        with pytest.raises(ValueError, match=f"{words}|NaN"):
            DoublyStochasticSpectral(1, "precomputed").fit(np.array(K))


# --- spectral clustering -----------------------------------------------------------------------


def test_normalised_cuts_are_scikit_learns():
    X, _ = make_blobs(120, centers=3, cluster_std=0.8, random_state=1)
    K = rbf_kernel(X, gamma=0.5)
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0).fit(K).labels_
    ours = DoublyStochasticSpectral(3, "precomputed", "ncut", random_state=0).fit(K).labels_
    assert adjusted_rand_score(ours, theirs) == 1.0


def test_ratio_cuts_have_the_laplacians_eigenvectors():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = DoublyStochasticSpectral(3, normalization="l1", random_state=0).fit(X)
    values, vectors = np.linalg.eigh(laplacian(model.affinity_matrix_))
    np.testing.assert_allclose(1.0 - model.eigenvalues_, values[:4], atol=1e-10)
    inside = model.embedding_ - vectors[:, :3] @ (vectors[:, :3].T @ model.embedding_)
    np.testing.assert_allclose(inside, 0.0, atol=1e-9)


def test_full_scaling_has_rows_of_one_and_finds_blocks():
    X, y = make_blobs(90, centers=3, cluster_std=0.7, random_state=3)
    model = DoublyStochasticSpectral(3, gamma=0.3, random_state=0).fit(X)
    np.testing.assert_allclose(model.scaled_affinity_.sum(axis=1), 1.0, atol=1e-10)
    assert model.eigenvalues_[0] == pytest.approx(1.0)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    blocks = sp.block_diag([np.ones((4, 4)), np.ones((5, 5))]).tocsr()
    labels = DoublyStochasticSpectral(2, "precomputed", random_state=0).fit(blocks).labels_
    assert adjusted_rand_score(labels, [0] * 4 + [1] * 5) == 1.0
    with pytest.warns(UserWarning, match="parts without a link"):
        DoublyStochasticSpectral(1, "precomputed").fit(blocks)


def test_many_rows_take_the_iterative_solver():
    X, y = make_blobs(900, centers=4, cluster_std=0.6, random_state=0)
    model = DoublyStochasticSpectral(4, "nearest_neighbors", random_state=0, n_neighbors=15).fit(X)
    assert model.embedding_.shape == (900, 4)
    assert model.residual_ < 1e-10


@pytest.mark.parametrize("normalization", ["kl", "ncut", "l1", "none"])
@pytest.mark.parametrize("n_parts", [1, 3])
def test_large_dense_affinities_have_lapacks_eigenvalues(normalization, n_parts):
    X = make_blobs(900, centers=6, cluster_std=2.0, random_state=0)[0]  # beyond the dense solver
    K = rbf_kernel(X, gamma=0.05)
    part = np.arange(900) * n_parts // 900
    K *= part[:, None] == part  # parts without a link share an eigenvalue
    model = DoublyStochasticSpectral(4, "precomputed", normalization, n_init=1, random_state=0).fit(
        K
    )
    values = np.linalg.eigvalsh(model.scaled_affinity_)[::-1][:5]
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-8 * max(1.0, values[0]))
    apart = model.scaled_affinity_ @ model.embedding_ - model.embedding_ * model.eigenvalues_[:4]
    assert np.abs(apart).max() < 1e-6 * max(1.0, values[0])
    assert n_components_of(K) == n_parts


def test_parts_are_counted_with_and_without_a_node_linked_to_all():
    star = np.zeros((5, 5))
    star[0, 1:] = star[1:, 0] = 1.0
    assert n_components_of(star) == 1
    chain = np.eye(5) + np.eye(5, k=1) + np.eye(5, k=-1)
    assert n_components_of(chain) == 1
    assert n_components_of(np.eye(5)) == 5
    assert n_components_of(sp.csr_array(np.eye(3))) == 3


def test_linear_kernel_kmeans_does_not_depend_on_the_origin():
    X = np.random.default_rng(0).normal(size=(16, 2))
    X[8:] += 9.0
    near = KernelKMeans(2, "linear", random_state=0).fit(X)
    far = KernelKMeans(2, "linear", random_state=0).fit(X + 1e7)
    within = sum(
        ((X[far.labels_ == c] - X[far.labels_ == c].mean(axis=0)) ** 2).sum() for c in (0, 1)
    )
    assert far.inertia_ == pytest.approx(within, rel=1e-6)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)
    assert (far.predict(X + 1e7) == far.labels_).all()
