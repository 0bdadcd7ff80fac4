"""Discriminants, distances and monomials against LDA, PCA and the polynomial kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from octavo.kernel import KernelFisherDiscriminant, KernelPCANovelty, MonomialFeatureMap

X, Y = load_iris(return_X_y=True)


def test_two_classes_are_the_closed_form():
    A, y = X[50:], Y[50:]
    K, mu = rbf_kernel(A, gamma=0.3), 0.05
    N = np.zeros((100, 100))
    means = []
    for c in (1, 2):
        Kc = K[:, y == c]
        N += Kc @ (np.eye(50) - 1 / 50) @ Kc.T
        means.append(Kc.mean(axis=1))
    alpha = np.linalg.solve(N + mu * np.eye(100), means[1] - means[0])
    model = KernelFisherDiscriminant("rbf", mu, gamma=0.3).fit(A, y)
    found = model.dual_coef_[:, 0]
    cosine = found @ alpha / np.linalg.norm(found) / np.linalg.norm(alpha)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-9)


def test_linear_kernel_is_lda():
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, Y)
    model = KernelFisherDiscriminant("linear", 1e-7).fit(X, Y)
    ours, theirs = model.transform(X), lda.transform(X)
    for j in range(2):
        assert abs(np.corrcoef(ours[:, j], theirs[:, j])[0, 1]) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_array_equal(model.predict(X), lda.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), lda.predict_proba(X), atol=1e-3)


def test_three_classes_are_the_generalised_eigenproblem():
    from scipy.linalg import eigh

    A, y = X[::3], Y[::3]
    K = rbf_kernel(A, gamma=0.5)
    N, M, mean = np.zeros((50, 50)), np.zeros((50, 50)), K.mean(axis=1)
    for c in range(3):
        Kc = K[:, y == c]
        n = Kc.shape[1]
        N += Kc @ (np.eye(n) - 1 / n) @ Kc.T
        M += n * np.outer(Kc.mean(axis=1) - mean, Kc.mean(axis=1) - mean)
    values, vectors = eigh(M, N + 0.1 * np.eye(50))
    model = KernelFisherDiscriminant("rbf", 0.1, gamma=0.5).fit(A, y)
    top = vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(model.dual_coef_), np.abs(top), atol=1e-7)
    given_ = KernelFisherDiscriminant("precomputed", 0.1).fit(K, y)
    np.testing.assert_allclose(given_.predict_proba(K), model.predict_proba(A), atol=1e-9)


def test_circles_and_probabilities():
    A, y = make_circles(200, factor=0.4, noise=0.08, random_state=0)
    model = KernelFisherDiscriminant().fit(A[:100], np.array(["in", "out"])[y[:100]])
    assert model.score(A[100:], np.array(["in", "out"])[y[100:]]) > 0.97
    odds = model.decision_function(A)
    p = model.predict_proba(A)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), odds, rtol=1e-6, atol=1e-6)


def test_bad_discriminants():
    with pytest.raises(ValueError, match="'reg'"):
        KernelFisherDiscriminant(reg=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="two classes"):
        KernelFisherDiscriminant().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="no direction"):
        KernelFisherDiscriminant("linear").fit(np.ones((4, 2)), [0, 1, 0, 1])


# --- novelty -----------------------------------------------------------------------------------


def test_linear_kernel_has_the_residual_of_pca():
    pca = PCA(2).fit(X[:100])
    apart = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1)
    model = KernelPCANovelty(2, "linear").fit(X[:100])
    np.testing.assert_allclose(-model.score_samples(X), apart, atol=1e-10)


def test_zero_on_training_rows_with_all_components():
    model = KernelPCANovelty(None, gamma=0.5).fit(X[:60:2])
    np.testing.assert_allclose(model.score_samples(X[:60:2]), 0.0, atol=1e-9)


def test_rbf_distance_by_projections_of_scikit_learn():
    A, new = X[:80], X[80:]
    kpca = KernelPCA(5, kernel="rbf", gamma=0.4).fit(A)
    K, k = rbf_kernel(A, gamma=0.4), rbf_kernel(new, A, gamma=0.4)
    whole = 1.0 - 2.0 * k.mean(axis=1) + K.mean()
    expected = whole - (kpca.transform(new) ** 2).sum(axis=1)
    model = KernelPCANovelty(5, gamma=0.4).fit(A)
    np.testing.assert_allclose(-model.score_samples(new), expected, atol=1e-10)


def test_contamination_and_precomputed():
    model = KernelPCANovelty(5, gamma=0.4, contamination=0.2).fit(X)
    assert (model.predict(X) == -1).mean() == pytest.approx(0.2, abs=0.01)
    K = rbf_kernel(X, gamma=0.4)
    given_ = KernelPCANovelty(5, "precomputed").fit(K)
    np.testing.assert_allclose(given_.score_samples(K), model.score_samples(X), atol=1e-12)
    with pytest.raises(ValueError, match="only the training rows"):
        given_.score_samples(K[:3])


# --- monomials ---------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000), degree=st.integers(1, 5), theta=st.sampled_from([0.0, 0.3, 1.0, 4.0])
)
def test_inner_products_are_the_polynomial_kernel(seed, degree, theta):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 6, 3))
    phi = MonomialFeatureMap(degree, theta).fit(A)
    K = polynomial_kernel(A, B, degree=degree, gamma=1.0, coef0=theta)
    np.testing.assert_allclose(phi.transform(A) @ phi.transform(B).T, K, rtol=1e-9, atol=1e-9)


def test_the_square_of_the_notes():
    phi = MonomialFeatureMap(2, 3.0).fit(np.ones((1, 2)))
    weights = dict(zip(phi.get_feature_names_out(), phi.weights_, strict=True))
    # (xᵀy + θ)² has the constant θ², of the feature θ, and √(2θ) before the linear terms
    assert weights["1"] == pytest.approx(3.0)
    assert weights["x0"] == pytest.approx(np.sqrt(6.0))
    assert weights["x0 x1"] == pytest.approx(np.sqrt(2.0))
    assert weights["x0^2"] == pytest.approx(1.0)


def test_too_many_monomials_and_overflow():
    with pytest.raises(ValueError, match="monomials"):
        MonomialFeatureMap(10).fit(np.ones((1, 100)))
    with pytest.raises(ValueError, match="overflow"):
        MonomialFeatureMap(5).fit_transform(np.full((1, 2), 1e100))


@pytest.mark.parametrize("shift", [1e5, 1e7])
def test_novelty_with_a_linear_kernel_is_the_residual_of_pca_far_from_zero(shift):
    X = np.random.default_rng(0).normal(size=(25, 3))
    new = np.random.default_rng(1).normal(size=(6, 3))
    V = np.linalg.svd(X - X.mean(axis=0))[2][:2]
    apart = new - X.mean(axis=0)
    want = -((apart - apart @ V.T @ V) ** 2).sum(axis=1)
    model = KernelPCANovelty(2, "linear").fit(X + shift)
    assert model.score_samples(new + shift) == pytest.approx(want, rel=1e-6, abs=1e-8)
