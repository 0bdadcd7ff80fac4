"""Estimators against semidefinite and linear programs, each other, and limiting cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from octavo.data import flip_comparisons, make_digit_views, make_taxonomy_comparisons
from octavo.metric import (
    KernelPOE,
    LinearPOE,
    MultipleKernelPOE,
    MultipleKernelPOECV,
    clean_comparisons,
    cooccurrence_kernel,
    gauc_score,
    probability_product_kernel,
    tfidf_kernel,
)
from tests.metric.partial_order.test_graph import random_comparisons


def planted(n=14, n_comparisons=80, seed=0):
    """Return three views, the first of which says what is alike, and comparisons."""
    rng = np.random.default_rng(seed)
    views = [rng.standard_normal((n, d)) for d in (2, 3, 3)]
    D = ((views[0][:, None] - views[0]) ** 2).sum(axis=2)
    C = random_comparisons(n, n_comparisons, seed, 3)
    i, j, k = C.T
    return views, np.where((D[i, j] < D[i, k])[:, None], C, C[:, [0, 2, 1]])


def objective(kernels, matrices, C, beta):
    """Return what Algorithm 4 minimises, written out."""
    C = C[:, [0, 1, 0, 2]] if C.shape[1] == 3 else C
    total = sum(np.trace(W @ K) for W, K in zip(matrices, kernels, strict=True))
    inner = sum(K @ W @ K for W, K in zip(matrices, kernels, strict=True))
    own = np.diagonal(inner)
    D = own[:, None] + own - 2 * inner
    hinge = np.maximum(0, 1 + D[C[:, 0], C[:, 1]] - D[C[:, 2], C[:, 3]])
    return total + beta * hinge.mean(), D


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_the_fit_is_the_optimum_of_algorithm_4(structure):
    cp = pytest.importorskip("cvxpy")
    views, C = planted(9, 40)
    kernels = [rbf_kernel(X) for X in views]
    options = {"beta": 50.0, "clean": False, "normalize": False, "tol": 1e-6}
    model = MultipleKernelPOE("precomputed", structure, **options).fit(kernels, C)
    value, D = objective(kernels, model.W_, C, 50.0)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    points = model.embedding_
    np.testing.assert_allclose(((points[:, None] - points) ** 2).sum(axis=2), D, atol=1e-7)
    np.testing.assert_allclose(
        model.kernel_weights_,
        [np.trace(W @ K) for W, K in zip(model.W_, kernels, strict=True)],
        rtol=1e-6,
    )
    # The program as the paper writes it: W and not its transform.
    W = [
        cp.Variable((9, 9), PSD=True) if structure == "full" else cp.Variable(9, nonneg=True)
        for _ in kernels
    ]
    matrices = W if structure == "full" else [cp.diag(w) for w in W]
    loss = 0
    for i, j, k in C:
        apart = 1
        for M, K in zip(matrices, kernels, strict=True):
            near, far = K[i] - K[j], K[i] - K[k]
            apart = apart + cp.sum(cp.multiply(np.outer(near, near) - np.outer(far, far), M))
        loss = loss + cp.pos(apart)
    regulariser = sum(cp.sum(cp.multiply(K, M)) for M, K in zip(matrices, kernels, strict=True))
    best = cp.Problem(cp.Minimize(regulariser + 50.0 / len(C) * loss)).solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert model.objective_ - model.duality_gap_ <= best * (1 + 1e-6)


def test_one_kernel_features_and_copies_agree():
    views, C = planted()
    X = views[0] + 0.3 * views[1][:, :2]
    options = {"beta": 30.0, "tol": 1e-7, "random_state": 0}
    linear = LinearPOE(**options).fit(X, C)
    kernel = KernelPOE("linear", **options).fit(X, C)
    one = MultipleKernelPOE("linear", **options).fit([X], C)
    twice = MultipleKernelPOE("linear", **options).fit([X, X], C)
    nothing = MultipleKernelPOE("precomputed", **options).fit([X @ X.T, np.zeros((14, 14))], C)
    for other in (kernel, one, twice, nothing):
        assert other.objective_ == pytest.approx(linear.objective_, rel=1e-6)
    new = np.random.default_rng(9).standard_normal((5, 2))
    for a, b in ((linear, new), (kernel, new), (one, [new])):
        Z = a.transform(b)
        D = ((Z[:, None] - Z) ** 2).sum(axis=2)
        M = np.sqrt(linear.scale_) * (new[:, None] - new)
        np.testing.assert_allclose(
            D, np.einsum("abi,ij,abj->ab", M, linear.W_, M), rtol=1e-2, atol=1e-3
        )


def test_the_identity_is_non_metric_scaling():
    C = clean_comparisons(random_comparisons(8, 60, 1), random_state=0)
    model = KernelPOE("precomputed", beta=1e6, clean=False, normalize=False).fit(np.eye(8), C)
    assert model.n_violated_ == 0
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, model.W_, atol=1e-8)


def test_small_beta_gives_nothing_and_says_so():
    views, C = planted()
    with pytest.warns(UserWarning, match="larger beta"):
        model = MultipleKernelPOE(beta=1e-3).fit(views, C)
    assert model.objective_ == pytest.approx(1e-3)
    assert model.embedding_.shape == (14, 1)


@pytest.mark.parametrize("solver", ["admm", "atoms", "fista", "subgradient", "sdp"])
def test_all_solvers_go_to_one_value(solver):
    views, C = planted(9, 40)
    best = MultipleKernelPOE(beta=50.0, tol=1e-6).fit(views, C).objective_
    tol = 0.05 if solver == "subgradient" else 1e-4
    model = MultipleKernelPOE(beta=50.0, solver=solver, tol=tol, max_iter=4000).fit(views, C)
    assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + tol)
    assert model.objective_ - model.duality_gap_ <= best * (1 + 1e-6)


def test_noise_is_rejected_and_new_items_find_their_place():
    views = make_digit_views(8, 3, random_state=0)
    C = make_taxonomy_comparisons(views.labels, views.groups, 20, random_state=0)
    old = np.arange(80) % 8 < 6
    place = np.where(old, np.cumsum(old) - 1, old.sum() + np.cumsum(~old) - 1)
    train = place[C[old[C].all(axis=1)]]
    test = place[C[~old[C[:, 0]] & old[C[:, 1]] & old[C[:, 3]]]]
    inner = [K[np.ix_(old, old)] for K in views.kernels]
    cross = [K[np.ix_(~old, old)] for K in views.kernels]
    model = MultipleKernelPOE("precomputed", "diagonal", beta=300.0, clean=False)
    model.fit(inner, train)
    share = model.kernel_weights_ / model.kernel_weights_.sum()
    assert share[5:].sum() < 0.05
    summed = MultipleKernelPOE(
        "precomputed", "diagonal", beta=300.0, clean=False, combine="sum"
    ).fit(inner, train)
    assert len(summed.W_) == 1
    assert model.score(test, cross) > summed.score(test, cross)
    Z = np.vstack([model.embedding_, model.transform(cross)])
    D = ((Z[:, None] - Z) ** 2).sum(axis=2)
    assert model.score(test, cross) == gauc_score(D, test)


def test_beta_is_chosen_on_answers_as_they_came(monkeypatch):
    views, C = planted(n_comparisons=120)
    answers = flip_comparisons(C[:, [0, 1, 0, 2]], 0.15, random_state=0)
    cleaned = []
    from octavo.metric.partial_order import cv

    real = cv.prepare_comparisons
    monkeypatch.setattr(
        cv, "prepare_comparisons", lambda rows, *a: cleaned.append(len(rows)) or real(rows, *a)
    )
    model = MultipleKernelPOECV(
        "linear", betas=[1000.0, 0.001, 10.0], cv=2, tol=1e-3, random_state=0
    ).fit(views, answers)
    assert cleaned == [len(answers) - round(0.3 * len(answers))] * 2
    assert model.betas_.tolist() == [0.001, 10.0, 1000.0]
    assert model.cv_scores_[0].tolist() == [0.0, 0.0]  # all items in one point: ties are wrong
    assert model.beta_ == model.betas_[np.argmax(model.cv_scores_.mean(axis=1))]
    again = MultipleKernelPOE("linear", beta=model.beta_, tol=1e-3, random_state=0).fit(
        views, answers
    )
    assert again.objective_ == pytest.approx(model.objective_, rel=2e-3)


def test_relabelling_items_permutes_everything():
    views, C = planted()
    order = np.random.default_rng(3).permutation(14)
    where = np.argsort(order)
    options = {"beta": 30.0, "clean": False, "tol": 1e-7}
    one = MultipleKernelPOE(**options).fit(views, C)
    other = MultipleKernelPOE(**options).fit([X[order] for X in views], where[C])
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)
    np.testing.assert_allclose(other.kernel_weights_, one.kernel_weights_, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_units_of_views_do_not_matter(scale, structure):
    views, C = planted()
    plain = MultipleKernelPOE("linear", structure, beta=30.0).fit(views, C)
    scaled = MultipleKernelPOE("linear", structure, beta=30.0).fit([scale * X for X in views], C)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=2e-4)
    single = views[0].astype(np.float32)
    options = {"structure": structure, "beta": 30.0}
    one, other = LinearPOE(**options).fit(single, C), LinearPOE(**options).fit(scale * views[0], C)
    assert other.objective_ == pytest.approx(one.objective_, rel=2e-4)


def test_components_are_kept_by_variance():
    views, C = planted()
    whole = MultipleKernelPOE("linear", beta=30.0, clean=False).fit(views, C)
    Z = whole.embedding_ - whole.embedding_.mean(axis=0)
    rank = np.linalg.matrix_rank(Z, tol=1e-6)
    same = MultipleKernelPOE("linear", n_components=int(rank), beta=30.0, clean=False).fit(views, C)
    assert same.score(C) == whole.score(C)
    two = MultipleKernelPOE("linear", n_components=2, beta=30.0, clean=False).fit(views, C)
    kept = two.embedding_ - two.embedding_.mean(axis=0)
    values = np.linalg.svd(Z, compute_uv=False)
    np.testing.assert_allclose((kept**2).sum(), (values[:2] ** 2).sum(), rtol=1e-6)
    with pytest.warns(UserWarning, match="are kept"):
        MultipleKernelPOE("linear", n_components=50, beta=30.0).fit(views, C)


def test_sparse_views_and_one_table_for_all():
    views, C = planted()
    X = np.where(np.abs(views[0]) > 0.4, views[0], 0.0)
    options = {"beta": 30.0, "random_state": 0}
    dense = MultipleKernelPOE(["linear", ("rbf", {"gamma": 0.5})], **options).fit([X, X], C)
    single = MultipleKernelPOE(["linear", ("rbf", {"gamma": 0.5})], **options).fit(X, C)
    sparse = MultipleKernelPOE(["linear", ("rbf", {"gamma": 0.5})], **options).fit(
        [sp.csr_array(X), sp.csr_array(X)], C
    )
    for other in (single, sparse):
        assert other.objective_ == pytest.approx(dense.objective_, rel=1e-6)
        np.testing.assert_allclose(other.transform([X[:2], X[:2]]), other.transform([X[:2]] * 2))


def test_wrong_use_is_met_by_sentences():
    views, C = planted()
    cycle = [[0, 1, 2], [0, 2, 3], [0, 3, 1]]
    with pytest.warns(UserWarning, match="3 of 3 comparisons lie on cycles"):
        LinearPOE(beta=1.0, clean=False).fit(views[0], cycle)
    with pytest.raises(ValueError, match="None of 2 comparisons is left"):
        LinearPOE().fit(views[0], [[0, 1, 2], [0, 2, 1]])
    with pytest.raises(ValueError, match="not for structure='diagonal'"):
        LinearPOE("diagonal", solver="admm").fit(views[0], C)
    with pytest.raises(ValueError, match="symmetric"):
        KernelPOE("precomputed").fit(np.triu(np.ones((14, 14))), C)
    with pytest.warns(UserWarning, match="indefinite"):
        KernelPOE("precomputed", beta=10.0).fit(np.eye(14) - 0.5, C)
    with pytest.raises(ValueError, match="0 to 13"):
        LinearPOE().fit(views[0], [[0, 1, 14]])
    with pytest.raises(ValueError, match="each of 2 kernels"):
        MultipleKernelPOE(["rbf", "rbf"]).fit(views, C)
    with pytest.raises(ValueError, match="gamma, degree and coef0"):
        MultipleKernelPOE([("rbf", {"width": 1})]).fit(views[:1], C)
    model = MultipleKernelPOE(beta=10.0).fit(views, C)
    with pytest.raises(ValueError, match="View 0 has 1 columns"):
        model.transform([X[:, :1] for X in views])
    with pytest.raises(ValueError, match="positive"):
        MultipleKernelPOECV(betas=[1.0, -1.0]).fit(views, C)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        MultipleKernelPOE(beta=100.0, max_iter=1, tol=1e-9).fit(views, C)


def test_mixtures_are_multiplied_as_integrals_say():
    from scipy.integrate import quad
    from scipy.stats import multivariate_normal, norm
    from sklearn.mixture import GaussianMixture

    one = ([0.4, 0.6], [[0.0], [3.0]], [[1.0], [0.5]])
    two = ([1.0], [[1.0]], [[2.0]])

    def density(model, x):
        return sum(w * norm.pdf(x, m[0], np.sqrt(v[0])) for w, m, v in zip(*model, strict=True))

    exact = quad(lambda x: density(one, x) * density(two, x), -20, 20)[0]
    K = probability_product_kernel([one, two], power=1.0)
    assert K[0, 1] == pytest.approx(exact, rel=1e-8)
    half = quad(lambda x: np.sqrt(density(two, x) * norm.pdf(x)), -20, 20)[0]
    single = ([1.0], [[0.0]], [[1.0]])
    assert probability_product_kernel([two], [single])[0, 0] == pytest.approx(half, rel=1e-8)
    assert np.linalg.eigvalsh(probability_product_kernel([one, two, single])).min() > -1e-12
    full = ([0.4, 0.6], [[0.0], [3.0]], [[[1.0]], [[0.5]]])
    np.testing.assert_allclose(probability_product_kernel([full, two], power=1.0), K, rtol=1e-12)
    X = np.random.default_rng(0).standard_normal((60, 2))
    for kind in ("full", "diag", "tied", "spherical"):
        fitted = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
        covs = fitted.covariances_
        if kind == "tied":
            covs = [covs, covs]
        elif kind != "full":
            covs = [c * np.eye(2) for c in covs]
        exact = sum(
            v * w * multivariate_normal.pdf(m, n, C + D)
            for v, m, C in zip(fitted.weights_, fitted.means_, covs)
            for w, n, D in zip(fitted.weights_, fitted.means_, covs)
        )  # the integral of a product of two normal densities
        found = probability_product_kernel([fitted], power=1.0)
        assert found[0, 0] == pytest.approx(exact, rel=1e-10)
    with pytest.raises(ValueError, match="same dimension"):
        probability_product_kernel([one, ([1.0], [[0.0, 0.0]], [[1.0, 1.0]])])
    with pytest.raises(ValueError, match="positive variances"):
        probability_product_kernel([([1.0], [[0.0]], [[0.0]])])


def test_words_and_users():
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = np.random.default_rng(0).poisson(1.0, (6, 9))
    rows = TfidfTransformer().fit_transform(counts).toarray()
    np.testing.assert_allclose(tfidf_kernel(counts), rows @ rows.T, atol=1e-12)
    np.testing.assert_allclose(tfidf_kernel(counts, counts[:2]), (rows @ rows.T)[:2], atol=1e-12)
    links = np.random.default_rng(1).random((5, 30)) < 0.3
    links[2] = False
    K = cooccurrence_kernel(sp.csr_array(links.astype(float)))
    for i in range(5):
        for j in range(5):
            both, sizes = (links[i] & links[j]).sum(), links[i].sum() * links[j].sum()
            expected = both / np.sqrt(sizes) if sizes else float(i == j)
            assert K[i, j] == pytest.approx(expected)
    with pytest.raises(ValueError, match="none negative"):
        tfidf_kernel([[-1.0]])
