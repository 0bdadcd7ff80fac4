"""Ellipsoidal rounding: the theorems of the paper, duplicates, reductions, bad input."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from octavo.data import make_separable
from octavo.decomposition import (
    EllipsoidalRoundingNMF,
    ellipsoidal_candidates,
    min_volume_ellipsoid,
    noise_bound,
)
from octavo.decomposition.gms.reduced_points import reduced_points
from octavo.decomposition.separable.rounding import contact_points

SELECTORS = ["spa", "xray-max", "xray-dist", "xray-greedy", "xray-rand", None]


def mixture(seed, n=60, p=20, r=4):
    """Anchors first; the other weights keep away from the vertices."""
    rng = np.random.default_rng(seed)
    basis, weights = rng.random((r, p)), rng.dirichlet(np.ones(r), n - r)
    return basis, weights, np.vstack([basis, weights @ basis])


# --- oracles -------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", SELECTORS)
def test_theorem_5_every_vertex_without_noise(selector):
    for seed in range(10):
        sample = make_separable(200, 30, n_components=5, random_state=seed)
        model = EllipsoidalRoundingNMF(5, selector=selector).fit(sample.X)
        assert set(model.anchor_indices_) == set(sample.anchors)
        assert (
            model.reconstruction_err_ < 1e-11
        )  # 6000 entries of rounding errors of numbers near 1


def test_theorem_9_and_corollary_10_over_100_seeds():
    """Noise just below equation (3): Algorithm 1 finds the anchors and no other point."""
    for seed in range(100):
        basis, weights, A = mixture(seed)
        bound = noise_bound(basis, weights)
        assert bound > 0
        N = np.random.default_rng(1_000 + seed).standard_normal(A.shape)
        X = A + 0.99 * bound * N / np.linalg.norm(N, 2)
        assert ellipsoidal_candidates(X, 4).candidates.tolist() == [0, 1, 2, 3]
        model = EllipsoidalRoundingNMF(4, selector=None).fit(X)
        left = np.linalg.norm(X - model.transform(X) @ model.components_, axis=1)
        assert left.max() < 2 * bound


def test_ellipsoid_is_that_of_the_reduced_points():
    X = make_separable(150, 25, n_components=4, noise=0.2, random_state=0).X
    model = EllipsoidalRoundingNMF(4).fit(X)
    u, s, _ = np.linalg.svd(X, full_matrices=False)
    found = min_volume_ellipsoid(u[:, :4] * s[:4])
    np.testing.assert_allclose(model.contact_values_, found.contact, atol=1e-4)
    assert model.candidate_indices_.tolist() == found.active.tolist()
    P, L = model.reduced_points_, model.ellipsoid_
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", P, L, P), model.contact_values_, rtol=1e-6)
    assert model.duality_gap_ <= 1e-7
    assert np.linalg.slogdet(L)[1] == pytest.approx(np.linalg.slogdet(found.L)[1], abs=2e-7)


def test_lemma_11_at_least_as_many_candidates_as_dimensions():
    X = make_separable(300, 40, n_components=6, noise=0.5, random_state=0).X
    for d in range(1, 13):
        assert len(ellipsoidal_candidates(X, d).candidates) >= d


def test_algorithm_2_raises_the_dimension():
    X = make_separable(300, 40, n_components=6, random_state=1).X
    model = EllipsoidalRoundingNMF(6, reduced_dim=2).fit(X)
    few = len(ellipsoidal_candidates(X, 2).candidates)
    assert few < 6
    assert model.reduced_dim_ > 2
    assert len(model.candidate_indices_) >= 6
    below = ellipsoidal_candidates(X, model.reduced_dim_ - 1)
    assert len(below.candidates) < 6  # it stops as soon as it can


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "arpack", "randomized"])
@pytest.mark.parametrize("shape", [(120, 30), (30, 120)], ids=["tall", "wide"])
def test_svd_solvers_span_the_same_space(solver, shape):
    X = np.random.default_rng(0).random((shape[0], 6)) @ np.random.default_rng(1).random(
        (6, shape[1])
    ) + 1e-3 * np.random.default_rng(2).standard_normal(shape)
    u, s, v = np.linalg.svd(X, full_matrices=False)
    found = reduced_points(X, 6, solver=solver, random_state=0)
    np.testing.assert_allclose(found.sizes, s[:6], rtol=1e-8)
    np.testing.assert_allclose(found.directions.T @ found.directions, v[:6].T @ v[:6], atol=1e-7)
    np.testing.assert_allclose(found.coordinates, X @ found.directions.T, atol=1e-7)
    thin = reduced_points(sparse.csr_array(X), 6, solver=solver, random_state=0)
    np.testing.assert_allclose(thin.sizes, s[:6], rtol=1e-8)


def test_squares_that_lose_accuracy_are_not_used():
    """Singular values from 1 to 1e-10: an eigenproblem of the Gram matrix would lose them."""
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.standard_normal((k, 6)))[0] for k in (80, 40))
    s = np.logspace(0, -10, 6)
    found = reduced_points(u * s @ v.T, 6)
    np.testing.assert_allclose(found.sizes, s, rtol=1e-4)


# --- properties ----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_permutation_equivariance(seed):
    rng = np.random.default_rng(seed)
    X = make_separable(80, 15, n_components=3, noise=0.1, random_state=seed).X
    order = rng.permutation(80)
    plain, moved = EllipsoidalRoundingNMF(3).fit(X), EllipsoidalRoundingNMF(3).fit(X[order])
    assert set(order[moved.anchor_indices_]) == set(plain.anchor_indices_)
    assert set(order[moved.candidate_indices_]) == set(plain.candidate_indices_)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1e-3, 1e3, 1e6]))
def test_rotation_and_scale_change_nothing(seed, scale):
    rng = np.random.default_rng(seed)
    X = make_separable(60, 12, n_components=3, noise=0.1, random_state=seed).X
    turn = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    moved = EllipsoidalRoundingNMF(3).fit(scale * X @ turn)
    assert set(moved.anchor_indices_) == set(EllipsoidalRoundingNMF(3).fit(X).anchor_indices_)


def test_twins_in_contact_count_once_and_opposite_points_twice():
    points = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.5, 0.0]])
    found = SimpleNamespace(
        weights=np.array([0.1, 0.3, 0.2, 0.4, 0.0]),
        contact=np.array([1.0, 1.0, 1.0, 1.0, 0.25]),
        shape=np.eye(2),
        converged=True,
    )
    assert contact_points(points, found, 1e-6).tolist() == [1, 2, 3]  # 1 has the larger weight


def test_duplicated_anchors_count_once():
    sample = make_separable(100, 20, n_components=4, random_state=0)
    X = np.vstack([sample.X, sample.basis, sample.basis[:2]])
    model = EllipsoidalRoundingNMF(4, selector=None).fit(X)
    assert len(model.candidate_indices_) == 4
    np.testing.assert_allclose(
        np.sort(model.components_, axis=0), np.sort(sample.basis, axis=0), atol=1e-9
    )
    assert model.noise_bound_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("axis", ["samples", "features"])
@pytest.mark.parametrize("normalize", [False, True])
def test_sparse_equals_dense(container, axis, normalize):
    rng = np.random.default_rng(0)
    X = make_separable(90, 30, n_components=4, noise=0.05, random_state=0).X
    X = np.abs(X) * (rng.random(X.shape) < 0.5)
    X[7] = 0.0
    X[:, 3] = 0.0
    options = {"axis": axis, "normalize": normalize, "random_state": 0}
    dense, thin = (EllipsoidalRoundingNMF(4, **options).fit(Y) for Y in (X, container(X)))
    np.testing.assert_array_equal(thin.anchor_indices_, dense.anchor_indices_)
    np.testing.assert_allclose(thin.contact_values_, dense.contact_values_, atol=1e-4)
    np.testing.assert_allclose(thin.transform(container(X)), dense.transform(X), atol=1e-9)
    assert len(dense.contact_values_) == (90 if axis == "samples" else 30)
    assert dense.contact_values_[7 if axis == "samples" else 3] < 1e-20  # a zero row or column


def test_wide_sparse_data_go_through_arpack():
    X = sparse.random_array((2_500, 2_400), density=0.002, rng=np.random.default_rng(0)).tocsr()
    X = X + sparse.csr_array(np.outer(np.ones(2_500), np.arange(2_400) < 3) * 1.0)
    model = EllipsoidalRoundingNMF(3, random_state=0).fit(X)
    assert model.duality_gap_ <= 1e-7
    assert len(model.anchor_indices_) == 3


def test_anchors_that_short_rows_hide_need_normalize():
    sample = make_separable(200, 30, n_components=4, random_state=0)
    lengths = np.random.default_rng(0).uniform(0.5, 2, 200)
    lengths[sample.anchors] = 0.1
    X = np.vstack([sample.X * lengths[:, None], np.zeros((2, 30))])
    model = EllipsoidalRoundingNMF(4, normalize=True).fit(X)
    assert set(model.anchor_indices_) == set(sample.anchors)
    assert len(model.contact_values_) == len(model.dual_weights_) == 202


# --- bad input -----------------------------------------------------------------------------


def test_rank_is_told():
    X = np.random.default_rng(0).random((50, 3)) @ np.random.default_rng(1).random((3, 20))
    for Y in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="n_components=4 exceeds the rank of X, which is 3"):
            EllipsoidalRoundingNMF(4).fit(Y)
        with pytest.raises(ValueError, match="n_components=4 exceeds the rank of X, which is 3"):
            ellipsoidal_candidates(Y, 4)
        with pytest.warns(UserWarning, match="reduced_dim=5 exceeds the rank of X, which is 3"):
            assert EllipsoidalRoundingNMF(3, reduced_dim=5).fit(Y).reduced_dim_ == 3


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.zeros((5, 4)), {}, "rank of X, which is 0"),
        (sparse.csr_array((5, 4)), {}, "rank of X, which is 0"),
        (np.zeros((5, 4)), {"normalize": True}, "All 5 samples of X are zero"),
        (np.ones((1, 4)), {}, "n_samples=1"),
        (-np.eye(4), {"strict": True}, "Negative values in data"),
        (np.full((4, 3), np.inf), {}, "infinity"),
        (np.eye(4), {"selector": "best"}, "'selector'"),
        (np.eye(4), {"active_tol": 0.0}, "'active_tol'"),
        (1e200 * np.eye(4), {}, "rescale X"),
    ],
    ids=range(9),
)
def test_bad_input(X, options, words):
    with pytest.raises(ValueError, match=words):
        EllipsoidalRoundingNMF(2, **options).fit(X)


def test_too_few_steps_warn_with_the_gap():
    X = make_separable(500, 40, n_components=6, noise=0.5, random_state=0).X
    with pytest.warns(ConvergenceWarning, match=r"duality gap of the ellipsoid is [\d.e+-]+"):
        EllipsoidalRoundingNMF(6, max_iter=1).fit(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"svd_solver": "qr"}, "svd_solver"), ({"n_dimensions": 0}, "at least 1")],
)
def test_bad_calls(options, words):
    with pytest.raises(ValueError, match=words):
        ellipsoidal_candidates(np.eye(3), **{"n_dimensions": 2, **options})
