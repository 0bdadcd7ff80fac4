"""The witness as a classifier: scikit-learn's ν-SVM, nearest means, a quadratic program."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestCentroid
from sklearn.svm import NuSVC

from octavo.info import WitnessClassifier


def data(n=120, seed=0, weights=(0.4,)):
    X, y = make_classification(
        n, 5, n_informative=3, class_sep=0.8, weights=list(weights), random_state=seed
    )
    return X, y


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_equals_the_nu_svm_up_to_scale(nu):
    X, y = data()
    mine = WitnessClassifier(nu=nu, tol=1e-11).fit(X, y)
    theirs = NuSVC(nu=nu, tol=1e-11).fit(X, y)
    a, b = mine.decision_function(X), theirs.decision_function(X)
    scale = (a @ b) / (b @ b)
    assert scale > 0
    # LIBSVM stops with an objective 2e-9 above the least at nu = 0.1, in decisions its root
    np.testing.assert_allclose(a, scale * b, atol=2e-4 * np.abs(a).max())
    beta = np.zeros(y.size)
    beta[theirs.support_] = theirs.dual_coef_[0] / np.abs(theirs.dual_coef_).sum()
    K = rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))
    assert mine.objective_ <= beta @ K @ beta + 1e-14
    assert mine.objective_ == pytest.approx(beta @ K @ beta, rel=1e-7)
    assert mine.duality_gap_ <= 1e-8 * max(mine.objective_, 1e-3)
    assert mine.support_.size >= nu * y.size - 1e-9  # #{α ≠ 0} ≥ νm, as the sheet corrects


@pytest.mark.parametrize("masses", ["even", "empirical"])
def test_weights_solve_the_program_of_the_paper(masses):
    X, y = data(n=24, seed=3)
    nu, signs = 0.4, np.where(y == 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.2) * np.outer(signs, signs)
    share = np.mean(y) if masses == "empirical" else 0.5
    program = minimize(
        lambda a: a @ K @ a,
        np.where(y == 1, share / y.sum(), (1 - share) / (1 - y).sum()),
        jac=lambda a: 2 * K @ a,
        bounds=[(0, 1 / (nu * y.size))] * y.size,
        constraints=[
            {"type": "eq", "fun": lambda a: a.sum() - 1},
            {"type": "eq", "fun": lambda a: a @ signs - (2 * share - 1)},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    mine = WitnessClassifier(nu=nu, gamma=0.2, masses=masses, tol=1e-12).fit(X, y)
    assert mine.objective_ == pytest.approx(program.fun, rel=1e-6)
    alpha = np.zeros(y.size)
    alpha[mine.support_] = np.abs(mine.dual_coef_)
    assert alpha.sum() == pytest.approx(1.0)
    assert alpha[y == 1].sum() == pytest.approx(share)
    assert alpha.max() <= 1 / (nu * y.size) + 1e-15


def test_uniform_weights_are_the_discrepancy_and_the_nearest_mean():
    X, y = data(seed=1)
    K = rbf_kernel(X, gamma=0.2)
    one, zero = y == 1, y == 0
    mmd2 = (
        K[np.ix_(one, one)].mean() + K[np.ix_(zero, zero)].mean() - 2 * K[np.ix_(one, zero)].mean()
    )
    mine = WitnessClassifier(gamma=0.2).fit(X, y)
    assert mine.mmd_ == pytest.approx(np.sqrt(mmd2), rel=1e-12)
    assert mine.objective_ == pytest.approx(mmd2 / 4, rel=1e-12)
    linear = WitnessClassifier(kernel="linear").fit(X, y)
    np.testing.assert_array_equal(linear.predict(X), NearestCentroid().fit(X, y).predict(X))
    bare = WitnessClassifier(gamma=0.2, fit_intercept=False).fit(X, y)
    witness = 0.5 * (K[:, one].mean(axis=1) - K[:, zero].mean(axis=1))
    np.testing.assert_allclose(bare.decision_function(X), witness, atol=1e-12)


def test_the_largest_nu_is_uniform_and_the_smallest_separates():
    X, y = data(n=60, seed=2, weights=(0.5,))
    X, y = np.vstack([X[y == 0][:25], X[y == 1][:25]]), np.repeat([0, 1], 25)
    whole, even = WitnessClassifier(nu=1.0).fit(X, y), WitnessClassifier().fit(X, y)
    np.testing.assert_allclose(whole.dual_coef_, even.dual_coef_, rtol=1e-9)
    hard = WitnessClassifier(nu=0.0, gamma=5.0, tol=1e-10).fit(X, y)
    assert hard.score(X, y) == 1.0
    margins = np.where(y == 1, 1, -1) * hard.decision_function(X)
    assert margins[hard.support_].max() == pytest.approx(margins.min(), rel=1e-5)


def test_forms_of_one_table_agree():
    X, y = data(n=50)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = WitnessClassifier(nu=0.3, gamma=0.2).fit(X, y)
    K = rbf_kernel(X, gamma=0.2)
    values = dense.decision_function(X)
    sparse = WitnessClassifier(nu=0.3, gamma=0.2).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), values, atol=1e-7)
    gram = WitnessClassifier("precomputed", nu=0.3).fit(K, y)
    np.testing.assert_allclose(gram.decision_function(K), values, atol=1e-7)
    words = WitnessClassifier(nu=0.3, gamma=0.2).fit(X, np.where(y == 1, "yes", "no"))
    np.testing.assert_array_equal(words.predict(X) == "yes", dense.predict(X) == 1)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_scale_of_the_data_changes_nothing(scale):
    X, y = data()
    # reduced hulls that do not meet: the objective is then not zero
    first = WitnessClassifier("linear", nu=0.7, tol=1e-9).fit(X, y)
    second = WitnessClassifier("linear", nu=0.7, tol=1e-9).fit(scale * X, y)
    assert first.objective_ > 1e-3
    np.testing.assert_array_equal(first.predict(X), second.predict(scale * X))
    assert second.objective_ == pytest.approx(scale**2 * first.objective_, rel=1e-5)


def test_what_cannot_be_is_told():
    X, y = data(weights=(0.8,))
    with pytest.raises(ValueError, match=r"2 min\(m₊, m₋\) / m"):
        WitnessClassifier(nu=0.9).fit(X, y)
    assert WitnessClassifier(nu=0.9, masses="empirical").fit(X, y).duality_gap_ < 1e-3
    with pytest.raises(ValueError, match="two classes"):
        WitnessClassifier().fit(X, np.arange(len(X)) % 3)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        WitnessClassifier(nu=0.1, max_iter=2).fit(X, y)


def test_means_that_meet_are_said_to():
    """Reduced hulls of classes that overlap meet below some nu: nothing is left to decide by."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(1, 1, (100, 1)), rng.normal(size=(100, 1))])
    y = np.repeat([1, 0], 100)
    with pytest.warns(UserWarning, match="meet at nu=0.2"):
        WitnessClassifier(nu=0.2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WitnessClassifier(nu=0.9).fit(X, y)
