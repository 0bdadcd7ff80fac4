"""AESVC against cvxpy and SVC, its limits, multiclass, weights and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from octavo.data import make_redundant_classes
from octavo.svm import AESVC


def data(n=400, seed=0, kind="rings", flip=0.05):
    return make_redundant_classes(n, kind=kind, flip=flip, random_state=seed)


def three_classes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + 1.5 * np.array([[0, 0], [2, 0], [0, 2]])[y], y


def test_objective_and_solution_against_cvxpy():
    import cvxpy as cp

    X, y = data(300)
    model = AESVC(C=2.0, gamma=4.0, eps=2e-2, tol=1e-6).fit(X, y)
    rows, beta = X[model.representative_indices_], model.representative_weights_
    assert 10 < len(rows) <= 80
    K = rbf_kernel(rows, gamma=4.0)
    root = np.linalg.cholesky(K + 1e-11 * np.eye(len(rows)))
    sign = np.where(y[model.representative_indices_] == 1, 1.0, -1.0)
    v, b = cp.Variable(len(rows)), cp.Variable()
    loss = cp.pos(1 - cp.multiply(sign, root @ v + b))
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v) + 2.0 * beta @ loss)).solve(
        solver="CLARABEL"
    )
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert model.duality_gap_ <= 1e-4 * best
    # Problem (2) is convex in w: decision values at the optimum agree.
    np.testing.assert_allclose(model.decision_function(rows), root @ v.value + b.value, atol=2e-3)


def test_small_eps_is_svc():
    X, y = data(200)
    model = AESVC(C=3.0, gamma=50.0, eps=1e-12, tol=1e-8).fit(X, y)
    exact = SVC(C=3.0, gamma=50.0, tol=1e-8).fit(X, y)
    assert model.reduction_ == 1.0
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-6)
    assert set(model.support_) == set(exact.support_)


def test_small_eps_is_svc_with_three_classes_and_weights():
    X, y = three_classes()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    names = np.array(["a", "b", "c"])[y]
    model = AESVC(C=3.0, gamma=20.0, eps=1e-12, tol=1e-8).fit(X, names, weight)
    exact = SVC(C=3.0, gamma=20.0, tol=1e-8).fit(X, names, weight)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.n_support_, exact.n_support_)
    np.testing.assert_array_equal(model.predict(X), exact.predict(X))


def test_objective_of_three_classes_is_that_of_the_pairs():
    X, y = three_classes()
    model = AESVC(C=2.0, gamma=1.0, tol=1e-6).fit(X, y)
    assert 0 <= model.duality_gap_ <= 1e-3 * model.objective_
    chosen, total = model.representative_indices_, 0.0
    for pair in ((0, 1), (0, 2), (1, 2)):
        inside = chosen[np.isin(y[chosen], pair)]
        beta = model.representative_weights_[np.isin(y[chosen], pair)]
        machine = SVC(C=2.0, gamma=1.0, tol=1e-6).fit(X[inside], y[inside], beta)
        sign = np.where(y[inside] == pair[1], 1.0, -1.0)
        loss = np.maximum(0, 1 - sign * machine.decision_function(X[inside]))
        K = rbf_kernel(machine.support_vectors_, gamma=1.0)
        total += 0.5 * (machine.dual_coef_ @ K @ machine.dual_coef_.T).item() + 2.0 * beta @ loss
    assert model.objective_ == pytest.approx(total, rel=1e-4)


def test_representatives_of_a_class_do_not_depend_on_the_others():
    X, y = three_classes()
    both = y < 2
    model = AESVC(gamma=1.0).fit(X, y)
    pair = AESVC(gamma=1.0).fit(X[both], y[both])
    chosen = model.representative_indices_
    expected = {tuple(row) for row in X[chosen[y[chosen] < 2]]}
    assert {tuple(row) for row in X[both][pair.representative_indices_]} == expected


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_objective_falls_towards_that_of_svc(kernel):
    X, y = data(400)
    params = {"C": 1.0, "kernel": kernel, "gamma": 4.0, "degree": 2, "coef0": 1.0, "tol": 1e-5}
    exact = SVC(**params).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)

    def f1(machine):
        coef = machine.dual_coef_[0]
        values = machine.decision_function(X)
        vectors = machine.decision_function(machine.support_vectors_) - machine.intercept_
        return 0.5 * coef @ vectors + np.maximum(0, 1 - sign * values).sum()

    found = [f1(AESVC(**params, eps=eps).fit(X, y).estimator_) for eps in (1e-1, 1e-3, 1e-6)]
    assert all(value >= f1(exact) - 1e-3 for value in found)  # SVC's minimum, up to its tol
    assert found[2] == pytest.approx(f1(exact), rel=2e-2)
    assert found[2] <= found[0] + 1e-3


def test_accuracy_and_support_beside_svc():
    X, y = data(6000, kind="checkerboard", flip=0.0)
    model = AESVC(C=16.0, gamma=16.0, eps=1e-3).fit(X[:4000], y[:4000])
    exact = SVC(C=16.0, gamma=16.0).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) >= exact.score(X[4000:], y[4000:]) - 0.01
    assert model.n_support_.sum() < exact.n_support_.sum()
    assert set(model.fit_times_) == {"selection", "training"}


def test_balanced_counts_all_rows():
    X, y = data(500)
    y = np.where(np.arange(500) % 10 == 0, 1, y * 0)
    model = AESVC(gamma=4.0, class_weight="balanced").fit(X, y)
    share = np.bincount(y) / 500
    np.testing.assert_allclose(model.class_weight_, 1 / (2 * share))
    given = AESVC(gamma=4.0, class_weight=dict(enumerate(1 / (2 * share)))).fit(X, y)
    np.testing.assert_allclose(given.decision_function(X), model.decision_function(X))


def test_scale_is_that_of_all_rows():
    X, y = data(400)
    model = AESVC().fit(X, y)
    assert model.kernel_.gamma == pytest.approx(SVC().fit(X, y)._gamma)


def test_another_machine_learns_from_the_representatives():
    X, y = data(400)
    model = AESVC(gamma=4.0, estimator=LogisticRegression()).fit(X, y)
    chosen = model.representative_indices_
    expected = LogisticRegression().fit(X[chosen], y[chosen], model.representative_weights_)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))
    assert not hasattr(model, "support_")
    assert not hasattr(model, "objective_")
    assert hasattr(AESVC(estimator=GaussianNB()), "predict_proba")
    assert not hasattr(AESVC(estimator=GaussianNB()), "decision_function")
    assert not hasattr(AESVC(), "predict_proba")
    model.set_params(estimator=None).fit(X, y)
    assert hasattr(model, "objective_")


def test_sparse_rows_and_a_callable_kernel_give_the_same_machine():
    # Every row represents itself: rounding cannot lead to other weights of a tenth of eps.
    X, y = data(200)
    params = {"eps": 1e-12, "tol": 1e-8}
    model = AESVC(gamma=50.0, **params).fit(X, y)
    sparse = AESVC(gamma=50.0, **params).fit(sp.csr_matrix(X), y)
    called = AESVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=50.0), **params).fit(X, y)
    values = model.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), values, atol=1e-6)
    np.testing.assert_allclose(called.decision_function(X), values, atol=1e-6)
    assert called.objective_ == pytest.approx(model.objective_, rel=1e-6)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"eps": 0.0}, "'eps' parameter"),
        ({"subset_size": 1}, "'subset_size' parameter"),
        ({"subset_size": 50, "block_size": 20}, "subset_size=50 and block_size=20"),
        ({"estimator": KNeighborsClassifier()}, "KNeighborsClassifier does not"),
        ({"class_weight": "heavy"}, "'class_weight' parameter"),
    ],
)
def test_bad_parameters_are_refused(params, words):
    X, y = data(60)
    with pytest.raises(ValueError, match=words):
        AESVC(**params).fit(X, y)


def test_bad_targets_are_refused():
    X, y = data(60)
    with pytest.raises(ValueError, match="at least two classes; y holds one class: 0"):
        AESVC().fit(X, np.zeros(60, int))
    with pytest.raises(ValueError, match=r"got 1 class: \[0\]"):
        AESVC().fit(X, y, np.where(y == 0, 1.0, 0.0))
    with pytest.raises(ValueError, match="continuous"):
        AESVC().fit(X, X[:, 0])
    assert clone(AESVC(eps=1e-3)).eps == 1e-3


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_64_bit_indices_change_nothing(make):
    """scikit-learn's machines refuse such indices, in words that lead to its tracker."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * (rng.uniform(size=(60, 5)) < 0.7)
    y = (X[:, 0] > 0).astype(int)
    wide = make(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model, narrow = AESVC(gamma=0.5).fit(wide, y), AESVC(gamma=0.5).fit(make(X), y)
    np.testing.assert_array_equal(model.decision_function(wide), narrow.decision_function(make(X)))
    np.testing.assert_array_equal(model.predict(wide), narrow.predict(X))
    assert wide.indices.dtype == wide.indptr.dtype == np.int64
