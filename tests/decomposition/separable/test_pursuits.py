"""SPA beside pivoted QR, XRAY beside its definition; both on sparse, noisy and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import qr
from scipy.optimize import nnls

from octavo.data import make_separable
from octavo.decomposition import (
    SuccessiveProjection,
    XRay,
    noise_bound,
    nonnegative_weights,
    scale_rows,
    successive_projection,
    xray_anchors,
)

POLICIES = ("max", "dist", "greedy", "rand")
each_policy = pytest.mark.parametrize("policy", POLICIES)
FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array, "matrix": sparse.csr_matrix}
each_format = pytest.mark.parametrize("container", FORMATS.values(), ids=FORMATS)


def sparse_sample(seed=0, n=80, p=40, r=5):
    """A separable matrix with many zeros."""
    rng = np.random.default_rng(seed)
    basis = rng.random((r, p)) * (rng.random((r, p)) < 0.3)
    weights = np.vstack([np.eye(r), rng.dirichlet(np.ones(r) * 0.3, n - r)])
    return (weights @ basis)[rng.permutation(n)]


# --- oracles -------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000), n=st.integers(2, 60), p=st.integers(2, 30))
def test_spa_is_qr_with_pivoting(seed, n, p):
    X = np.random.default_rng(seed).standard_normal((n, p))
    r = min(n, p)
    pivots = qr(X.T, mode="r", pivoting=True)[1][:r]
    # The last remainder may be lost in rounding: compare while it is not.
    sizes = np.abs(np.diag(qr(X.T, mode="r", pivoting=True)[0]))[:r]
    r = int((sizes > 1e-6 * sizes[0]).sum())
    np.testing.assert_array_equal(successive_projection(X, r), pivots[:r])


def test_spa_is_qr_with_pivoting_on_graded_data():
    """Remainders fall by 1e-12: running norms alone would have cancelled."""
    X = np.random.default_rng(0).standard_normal((50, 12)) * np.logspace(0, -12, 12)
    pivots = qr(X.T, mode="r", pivoting=True)[1][:12]
    np.testing.assert_array_equal(successive_projection(X, 12), pivots)


@each_format
def test_spa_on_sparse_equals_dense(container):
    X = sparse_sample()
    np.testing.assert_array_equal(
        successive_projection(container(X), 5), successive_projection(X, 5)
    )


def xray_by_definition(A, r, policy):
    """Columns of A as points, residual matrix formed, scipy's solver: the text of the paper."""
    chosen = []
    for _ in range(r):
        R = A.copy()
        if chosen:
            R = A - np.column_stack([A[:, chosen] @ nnls(A[:, chosen], a)[0] for a in A.T])
        products = np.maximum(R.T @ A, 0)
        sizes = {
            "max": (R**2).sum(axis=0),
            "dist": (products**2).sum(axis=1),
            "greedy": (products**2).sum(axis=0) / (A**2).sum(axis=0),
        }[policy]
        score = R[:, sizes.argmax()] @ A / A.sum(axis=0)
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
    return chosen


@pytest.mark.parametrize("policy", ["max", "dist", "greedy"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_xray_does_what_its_text_says(policy, noise):
    X = make_separable(60, 15, n_components=4, noise=noise, random_state=1).X
    expected = xray_by_definition(X.T, 4, policy)
    assert xray_anchors(X, 4, policy=policy).tolist() == expected
    assert xray_anchors(sparse.csr_array(X), 4, policy=policy).tolist() == expected


def test_xray_blocks_add_up(monkeypatch):
    X = make_separable(60, 15, n_components=4, noise=0.1, random_state=2).X
    whole = [xray_anchors(X, 4, policy=policy).tolist() for policy in ("dist", "greedy")]
    monkeypatch.setattr("octavo.decomposition.separable.pursuits._BLOCK", 130)
    blocks = [xray_anchors(X, 4, policy=policy).tolist() for policy in ("dist", "greedy")]
    assert blocks == whole


@each_policy
def test_xray_finds_the_vertices_without_noise(policy):
    for seed in range(5):
        sample = make_separable(100, 20, n_components=5, random_state=seed)
        found = xray_anchors(sample.X, 5, policy=policy, random_state=0)
        assert set(found) == set(sample.anchors)


def test_xray_finds_more_rays_than_dimensions():
    """A cone over a regular pentagon has five rays in three dimensions."""
    angle = np.arange(5) * 2 * np.pi / 5
    rays = np.column_stack([np.cos(angle) + 2, np.sin(angle) + 2, np.full(5, 2.0)])
    inside = np.random.default_rng(0).dirichlet(np.ones(5), 30) @ rays
    found = xray_anchors(np.vstack([inside, rays]), 5)
    assert sorted(found) == [30, 31, 32, 33, 34]
    with pytest.raises(ValueError, match="rank of X, which is 3"):
        successive_projection(np.vstack([inside, rays]), 5)


# --- the estimators ------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SuccessiveProjection, XRay])
def test_weights_and_errors(cls):
    X = make_separable(70, 12, n_components=4, noise=0.1, random_state=0).X
    model = cls(4).fit(X)
    np.testing.assert_array_equal(model.components_, X[model.anchor_indices_])
    W = model.transform(X)
    expected = [nnls(model.components_.T, x)[0] for x in X]
    np.testing.assert_allclose(W, expected, atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(W), W @ model.components_)
    left = np.linalg.norm(X - W @ model.components_)
    assert model.reconstruction_err_ == pytest.approx(left)
    others = np.setdiff1d(np.arange(70), model.anchor_indices_)
    assert model.noise_bound_ == noise_bound(model.components_, W[others])


@pytest.mark.parametrize("cls", [SuccessiveProjection, XRay])
def test_columns_are_rows_of_the_transpose(cls):
    X = make_separable(60, 15, n_components=3, random_state=3).X
    rows, columns = cls(3).fit(X), cls(3, axis="features").fit(X.T)
    np.testing.assert_array_equal(columns.anchor_indices_, rows.anchor_indices_)
    np.testing.assert_allclose(columns.components_, rows.transform(X).T, atol=1e-12)
    assert columns.reconstruction_err_ == pytest.approx(rows.reconstruction_err_, abs=1e-9)
    assert columns.noise_bound_ == pytest.approx(rows.noise_bound_)


@pytest.mark.parametrize("axis", ["samples", "features"])
@pytest.mark.parametrize("cls", [SuccessiveProjection, XRay])
@each_format
def test_sparse_equals_dense(cls, axis, container):
    X = sparse_sample(1) if axis == "samples" else sparse_sample(1).T
    dense, thin = (cls(4, axis=axis, normalize=True).fit(Y) for Y in (X, container(X)))
    np.testing.assert_array_equal(dense.anchor_indices_, thin.anchor_indices_)
    np.testing.assert_allclose(dense.components_, thin.components_, atol=1e-12)
    np.testing.assert_allclose(dense.transform(X), thin.transform(container(X)), atol=1e-10)
    assert thin.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, abs=1e-9)


class Undensifiable(sparse.csr_array):
    """Refuses to become a dense matrix of all its rows."""

    def toarray(self, *args, **kwargs):
        assert self.shape[0] < 200, "made dense"
        return super().toarray(*args, **kwargs)


def test_sparse_input_is_never_made_dense(monkeypatch):
    monkeypatch.setattr("octavo.decomposition.separable.anchor_factorization._BLOCK", 4_000)
    monkeypatch.setattr("octavo.decomposition.separable.pursuits._BLOCK", 4_000)
    X = Undensifiable(sparse_sample(2, n=300, p=40))
    for policy in ("max", "dist", "greedy"):
        assert len(xray_anchors(X, 4, policy=policy)) == 4
    assert len(SuccessiveProjection(4).fit(X).anchor_indices_) == 4


def test_normalize_finds_anchors_that_short_rows_hide():
    """Rows of any length: only scaled do they lie in a simplex (Assumption 1-a)."""
    sample = make_separable(200, 30, n_components=4, random_state=0)
    lengths = np.random.default_rng(0).uniform(0.5, 2, 200)
    lengths[sample.anchors] = 0.1
    X = np.vstack([np.zeros(30), sample.X * lengths[:, None], np.zeros(30)])
    found = SuccessiveProjection(4, normalize=True).fit(X)
    assert set(found.anchor_indices_) == set(sample.anchors + 1)
    assert found.reconstruction_err_ == pytest.approx(0, abs=1e-6)
    assert set(SuccessiveProjection(4).fit(X).anchor_indices_) != set(sample.anchors + 1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, order = rng.random((40, 8)), rng.permutation(40)
    for choose in (successive_projection, xray_anchors):
        np.testing.assert_array_equal(order[choose(X[order], 4)], choose(X, 4))


# --- scaling, weights, bound ---------------------------------------------------------------


@each_format
def test_scale_rows(container):
    X = np.array([[1.0, 3.0], [0.0, 0.0], [-2.0, 2.0]])
    for Y in (X, container(X)):
        scaled = scale_rows(Y)
        rows = scaled.rows.toarray() if sparse.issparse(scaled.rows) else scaled.rows
        np.testing.assert_allclose(rows, [[0.25, 0.75], [-0.5, 0.5]])
        assert scaled.kept.tolist() == [0, 2]
        np.testing.assert_allclose(scaled.norms, [4, 4])


def test_noise_bound_is_equation_three():
    F = np.diag([3.0, 2.0, 5.0])
    K = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    mu = max(np.sqrt(0.5), np.sqrt(0.44))
    assert noise_bound(F, K) == pytest.approx(2.0 * (1 - mu) / 4)
    assert noise_bound(F, np.eye(3)) == 0.0  # a duplicated anchor
    assert noise_bound(np.ones((2, 3)), [[0.5, 0.5]]) == pytest.approx(0.0, abs=1e-15)
    assert noise_bound(np.ones((3, 2)), np.ones((1, 3))) == 0.0  # more anchors than dimensions


# --- bad input -----------------------------------------------------------------------------


def test_rank_deficiency_is_told():
    X = np.outer(np.arange(1, 6), np.ones(4)) + np.outer(np.arange(5) % 2, np.arange(4))
    for Y in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="n_components=3 exceeds the rank of X, which is 2"):
            SuccessiveProjection(3).fit(Y)
        with pytest.raises(ValueError, match="n_components=4 exceeds the rays that X needs"):
            XRay(4).fit(Y)


@pytest.mark.parametrize("cls", [SuccessiveProjection, XRay])
def test_bad_input(cls):
    X = np.random.default_rng(0).random((6, 4))
    with pytest.raises(ValueError, match=r"Negative values in data .* smallest is -1"):
        cls(2, strict=True).fit(X - np.eye(6, 4) * (1 + X))
    model = cls(2, strict=True).fit(X)
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(-X)
    with pytest.raises(ValueError, match="NaN"):
        cls(2).fit(np.where(np.eye(6, 4), np.nan, X))
    with pytest.raises(ValueError, match="exceeds"):
        cls(2).fit(np.zeros((6, 4)) if cls is SuccessiveProjection else X[:1])
    with pytest.raises(ValueError, match="All 6 samples of X are zero"):
        cls(2, normalize=True).fit(np.zeros((6, 4)))
    with pytest.raises(ValueError, match="exceeds the number of points"):
        cls(7).fit(X)
    with pytest.raises(ValueError, match="there are 2 components"):
        model.inverse_transform(np.ones((3, 5)))


def test_negative_noise_is_allowed():
    rng = np.random.default_rng(0)
    basis, weights = rng.random((4, 40)), np.vstack([np.eye(4), rng.dirichlet(np.ones(4), 200)])
    X = weights @ basis + 0.02 * rng.standard_normal((204, 40))
    assert X.min() < 0
    for model in (SuccessiveProjection(4), XRay(4)):
        assert sorted(model.fit(X).anchor_indices_) == [0, 1, 2, 3]
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: xray_anchors(-np.ones((3, 2)), 1), "positive sum"),
        (lambda: xray_anchors(np.ones((3, 2)), 1, policy="best"), "policy must be one of"),
        (lambda: xray_anchors(np.ones((3, 2)), 0), "between 1 and the number of points 3"),
        (lambda: successive_projection(np.ones((3, 2)), 4), "between 1 and the number of points"),
        (lambda: nonnegative_weights(np.ones((3, 2)), np.ones((1, 3))), "2 features but"),
        (lambda: nonnegative_weights(-np.ones((3, 2)), np.ones((1, 2)), strict=True), "Negative"),
        (lambda: noise_bound(np.eye(2), np.ones((3, 3))), "one column for each of the 2 rows"),
        (lambda: noise_bound(np.eye(2), [[np.nan, 0.0]]), "NaN"),
        (lambda: successive_projection(1e200 * np.eye(2), 2), "rescale X"),
        (lambda: xray_anchors(1e-200 * np.eye(2), 2), "rescale X"),
        (lambda: nonnegative_weights(1e200 * np.eye(2), np.eye(2)), "rescale X"),
    ],
    ids=range(11),
)
def test_bad_calls(call, words):
    with pytest.raises(ValueError, match=words):
        call()
