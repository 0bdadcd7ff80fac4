"""The kernel form against the primal one, against explicit iterates, and its budget."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from octavo.engine.streams import dual_descent as module
from octavo.linear import AveragedSGDClassifier, KernelAveragedSGD


def table(n=150, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * np.exp(0.3 * rng.normal(size=(n, 1)))
    return X, rng.integers(0, n_classes, n)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("schedule", ["decay", "constant", "doubling", "distance"])
@pytest.mark.parametrize("loss", ["log", "sqrt"])
def test_linear_kernel_is_the_primal(loss, schedule, n_classes, form):
    X, y = table(n_classes=n_classes)
    options = {"loss": loss, "schedule": schedule, "dist": 0.8, "random_state": 0}
    primal = AveragedSGDClassifier(**options).fit(X, y)
    dual = KernelAveragedSGD("linear", **options).fit(form(X), y)
    np.testing.assert_allclose(
        dual.decision_function(form(X)), primal.decision_function(X), rtol=1e-10, atol=1e-11
    )
    np.testing.assert_allclose(dual.predict_proba(X), primal.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-9, atol=1e-12)
    assert (dual.n_seen_, dual.bounds_valid_) == (primal.n_seen_, primal.bounds_valid_)
    assert pytest.approx(primal.R_) == dual.R_
    assert dual.step_ == pytest.approx(primal.step_)


def test_weights_are_those_of_explicit_iterates():
    """α_n by Section 2.2, and the mean of the functions θ_0 .. θ_{N-1} on new rows."""
    X, y = table(60, seed=1)
    K, signs = rbf_kernel(X, gamma=0.7), 2.0 * y - 1
    alpha, functions = np.zeros(60), []
    for n in range(60):
        functions.append(alpha.copy())
        u = K[n] @ alpha
        alpha[n] = 2.0 / np.sqrt(n + 1) * signs[n] * expit(-signs[n] * u)  # R = 1
    model = KernelAveragedSGD("rbf", gamma=0.7, fit_intercept=False, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.arange(59))  # the last row is in no iterate
    mean = np.mean(functions, axis=0)
    np.testing.assert_allclose(model.dual_coef_[0], mean[:59], rtol=1e-12)
    np.testing.assert_allclose(mean, alpha * (60 - np.arange(1, 61)) / 60, rtol=1e-12)
    new = np.random.default_rng(2).normal(size=(5, 3))
    expected = rbf_kernel(new, X, gamma=0.7) @ mean
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-10, atol=1e-12)
    gram = KernelAveragedSGD("precomputed", fit_intercept=False, shuffle=False).fit(K, y)
    np.testing.assert_allclose(gram.dual_coef_, model.dual_coef_, rtol=1e-9)
    np.testing.assert_allclose(
        gram.decision_function(rbf_kernel(new, X, gamma=0.7)), expected, rtol=1e-9, atol=1e-12
    )


def test_blocks_change_nothing(monkeypatch):
    X, y = table(300, 3)
    whole = KernelAveragedSGD(random_state=0).fit(X, y)
    monkeypatch.setattr(module, "BLOCK_CELLS", 1)  # blocks of 16
    cut = KernelAveragedSGD(random_state=0).fit(X, y)
    np.testing.assert_allclose(cut.dual_coef_, whole.dual_coef_, rtol=1e-9, atol=1e-13)


def test_a_budget_keeps_the_longest_terms():
    X, y = make_moons(1500, noise=0.15, random_state=0)
    free = KernelAveragedSGD(gamma=4.0, random_state=0).fit(X, y)
    tight = KernelAveragedSGD(gamma=4.0, random_state=0, budget=200).fit(X, y)
    assert tight.support_.size <= 200
    assert tight.n_dropped_ == 1300
    assert not tight.bounds_valid_
    assert free.bounds_valid_
    assert tight.score(X, y) > 0.9  # a straight line is at 0.88
    assert free.score(X, y) > 0.95
    loose = KernelAveragedSGD(gamma=4.0, random_state=0, budget=1500).fit(X, y)
    np.testing.assert_array_equal(loose.dual_coef_, free.dual_coef_)


def test_bad_input():
    X, y = table()
    with pytest.warns(UserWarning, match="beyond R=0.5"):
        model = KernelAveragedSGD(R=0.5).fit(X, y)
    assert not model.bounds_valid_
    with pytest.raises(ValueError, match="two classes"):
        KernelAveragedSGD().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="not positive"):
        KernelAveragedSGD(lambda X, Y: -X @ Y.T).fit(X, y)
    with pytest.raises(ValueError, match="needs dist"):
        KernelAveragedSGD(schedule="distance").fit(X, y)
    with pytest.raises(ValueError, match=r"not finite|NaN or infinity"):
        KernelAveragedSGD("linear", c=1e308).fit(1e30 * X, y)
