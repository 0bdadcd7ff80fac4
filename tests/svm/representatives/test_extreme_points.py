"""Representative sets: what must hold for any data, limits, weights, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from octavo.data import make_redundant_classes
from octavo.svm import ApproximateExtremePoints, distance_to_hull


def data(n=600, seed=0):
    return make_redundant_classes(n, kind="checkerboard", random_state=seed)


def check(points, X, y, weight):
    """The invariants of a representative set."""
    inside = weight > 0
    assert points.hull_error_[inside].max() <= points.eps + 1e-12
    assert np.isnan(points.hull_error_[~inside]).all()
    assert np.all(points.subset_labels_[~inside] == -1)
    for label in np.unique(y[inside]):
        own = y[points.indices_] == label
        assert points.weights_[own].sum() == pytest.approx(weight[y == label].sum())
    assert np.all(points.weights_ >= weight[points.indices_] - 1e-9)
    gamma = points.assignments_.toarray()
    assert gamma.min() >= 0
    np.testing.assert_allclose(gamma.sum(axis=1), inside, atol=1e-9)
    np.testing.assert_allclose(weight @ gamma, points.weights_, rtol=1e-9)
    np.testing.assert_array_equal(gamma[points.indices_], np.eye(points.n_selected_))
    for row in np.flatnonzero(inside):  # a row is represented by its own class and set
        used = points.indices_[gamma[row] > 0]
        assert np.all(y[used] == y[row])
        assert np.all(points.subset_labels_[used] == points.subset_labels_[row])


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["median_split", "contiguous"]),
    st.sampled_from([1e-3, 1e-2, 1e-1]),
    st.sampled_from(["rbf", "poly", "linear"]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_invariants(seed, segregation, eps, kernel, flags):
    sparse, deduplicate, resolve = flags
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (80, 2)) / 5.0
    y, weight = rng.integers(0, 3, 80), rng.integers(0, 3, 80).astype(float)
    points = ApproximateExtremePoints(
        kernel,
        degree=2,
        eps=eps,
        subset_size=9,
        block_size=20,
        segregation=segregation,
        deduplicate=deduplicate,
        resolve=resolve,
        store_assignments=True,
    )
    points.fit(sp.csr_array(X) if sparse else X, y, weight)
    check(points, X, y, weight)
    assert np.bincount(points.subset_labels_[weight > 0]).min() > 0


def test_hull_errors_are_distances_in_kernel_space():
    X, y = data(200)
    points = ApproximateExtremePoints(gamma=4.0, subset_size=50, store_assignments=True).fit(X, y)
    K, gamma = rbf_kernel(X, gamma=4.0), points.assignments_.toarray()
    corners = K[np.ix_(points.indices_, points.indices_)]
    far = 1 - 2 * np.sum(gamma * K[:, points.indices_], axis=1)
    far += np.sum((gamma @ corners) * gamma, axis=1)
    np.testing.assert_allclose(points.hull_error_, np.maximum(far, 0), atol=1e-10)


def test_small_eps_keeps_all_distinct_rows_with_weight_one():
    X, y = data(300)
    points = ApproximateExtremePoints(gamma=100.0, eps=1e-12, subset_size=20).fit(X, y)
    np.testing.assert_array_equal(np.sort(points.indices_), np.arange(300))
    np.testing.assert_allclose(points.weights_, 1.0)


def test_the_order_of_rows_and_the_format_do_not_matter():
    X, y = data(500)
    order = np.random.default_rng(0).permutation(500)
    points = ApproximateExtremePoints(gamma=4.0, subset_size=60, block_size=100).fit(X, y)
    moved = ApproximateExtremePoints(gamma=4.0, subset_size=60, block_size=100)
    moved.fit(X[order], y[order])
    np.testing.assert_array_equal(order[moved.indices_], points.indices_)
    np.testing.assert_allclose(moved.weights_, points.weights_, rtol=1e-9)
    sparse = ApproximateExtremePoints(gamma=4.0, subset_size=60, block_size=100)
    sparse.fit(sp.csr_matrix(X), y)
    assert set(sparse.indices_) == set(points.indices_)


def test_weights_are_repetitions():
    X, y = data(200)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    one = ApproximateExtremePoints(gamma=4.0, subset_size=40).fit(X, y, weight)
    times = np.repeat(np.arange(200), weight)
    other = ApproximateExtremePoints(gamma=4.0, subset_size=40).fit(X[times], y[times])
    np.testing.assert_array_equal(times[other.indices_], one.indices_)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-9)


def test_threads_give_the_same_set():
    X, y = data(600)
    one = ApproximateExtremePoints(gamma=4.0, subset_size=50).fit(X, y)
    two = ApproximateExtremePoints(gamma=4.0, subset_size=50, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.indices_, two.indices_)
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_contiguous_blocks_are_cut_by_position():
    X, y = data(400)
    points = ApproximateExtremePoints(
        subset_size=50, block_size=50, segregation="contiguous", deduplicate=False
    ).fit(X)
    np.testing.assert_array_equal(points.subset_labels_, np.arange(400) // 50)


def test_a_callable_kernel_and_the_same_by_name():
    X, y = data(200)
    named = ApproximateExtremePoints("rbf", gamma=3.0, subset_size=30).fit(X, y)
    called = ApproximateExtremePoints(lambda A, B: rbf_kernel(A, B, gamma=3.0), subset_size=30)
    called.fit(X, y)
    assert set(named.indices_) == set(called.indices_)


def test_a_class_of_one_row_is_its_own_representative():
    X = np.vstack([np.random.default_rng(0).uniform(size=(30, 2)), [[9.0, 9.0]]])
    y = np.array([0] * 30 + [1])
    points = ApproximateExtremePoints().fit(X, y)
    assert points.weights_[points.indices_ == 30] == pytest.approx([1.0])
    assert points.hull_error_[30] == 0.0


def test_fit_resample_and_take():
    X, y = data(300)
    points = ApproximateExtremePoints(gamma=4.0)
    found = points.fit_resample(X, y)
    np.testing.assert_array_equal(found.X, X[points.indices_])
    np.testing.assert_array_equal(found.y, y[points.indices_])
    assert found.weights.sum() == pytest.approx(300)
    assert points.fit_resample(X).y is None
    with pytest.raises(ValueError, match="needs the 300 rows that were fitted, got 10"):
        points.take(X[:10])


def test_equal_rows_do_not_loop_forever():
    points = ApproximateExtremePoints(deduplicate=False).fit(np.ones((500, 3)))
    assert points.n_selected_ <= 2
    assert points.weights_.sum() == pytest.approx(500)


def test_memory_does_not_grow_with_the_square_of_rows():
    """Beyond a few numbers a row, memory is that of one subset."""
    import tracemalloc

    def peak(n):
        X, y = data(n)
        points = ApproximateExtremePoints(gamma=4.0, subset_size=200, block_size=4000)
        points.fit(X[:500], y[:500])
        tracemalloc.start()
        points.fit(X, y)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = peak(10_000), peak(40_000)
    # Indices, keys, labels and errors are a dozen numbers of eight bytes a row; a chunk and a
    # block (4000 x 2) are fixed. The Gram matrix would be 12,800 MB.
    assert large - small <= 30_000 * 8 * 20
    assert large < 40e6


def test_no_compression_and_collapse_are_told():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="No compression: 1000 of 1000 rows"):
        ApproximateExtremePoints(gamma=1.0).fit(rng.normal(size=(1000, 60)))
    with pytest.warns(UserWarning, match="eps=2 is at least the largest squared distance"):
        ApproximateExtremePoints(eps=2.0).fit(rng.normal(size=(50, 2)))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"eps": 0.0}, "'eps' parameter"),
        ({"eps": -1e-3}, "'eps' parameter"),
        ({"subset_size": 1}, "'subset_size' parameter"),
        ({"subset_size": 200, "block_size": 100}, "got subset_size=200 and block_size=100"),
        ({"gamma": 0.0}, "'gamma' parameter"),
        ({"kernel": "precomputed"}, "'kernel' parameter"),
        ({"segregation": "random"}, "'segregation' parameter"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"kernel": lambda A, B: np.ones((len(A), len(B)))[:, :-1]}, "each pair of rows"),
    ],
)
def test_bad_parameters_are_refused(params, words):
    X, y = data(50)
    with pytest.raises(ValueError, match=words):
        ApproximateExtremePoints(**params).fit(X, y)


def test_bad_weights_and_targets_are_refused():
    X, y = data(50)
    with pytest.raises(ValueError, match="at least one non-zero"):
        ApproximateExtremePoints().fit(X, y, np.zeros(50))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        ApproximateExtremePoints().fit(X, y, -np.ones(50))
    with pytest.raises(ValueError, match="continuous"):
        ApproximateExtremePoints().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="inconsistent"):
        ApproximateExtremePoints().fit(X, y[:10])


def test_assignments_are_within_a_tenth_of_eps_of_the_nearest_point():
    X = np.random.default_rng(5).normal(size=(60, 3))
    points = ApproximateExtremePoints(gamma=0.3, eps=0.05, store_assignments=True).fit(X)
    mu = points.assignments_
    mu = mu.toarray() if hasattr(mu, "toarray") else mu
    K = rbf_kernel(X, gamma=0.3)
    chosen = points.indices_
    least, _ = distance_to_hull(K.diagonal(), K[:, chosen], K[np.ix_(chosen, chosen)], tol=1e-10)
    found = K.diagonal() - 2 * (mu * K[:, chosen]).sum(axis=1)
    found += np.einsum("ij,jk,ik->i", mu, K[np.ix_(chosen, chosen)], mu)
    assert (found <= least + 0.05 / 10 + 1e-9).all()
    assert (found <= 0.05 + 1e-9).all()
