"""Maximum margin regression against its decoupled form, a cone program and its own dual."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from octavo.structured import MaximumMarginRegression


def problem(seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(60) % 3
    return random.normal(size=(60, 5)) + 0.5 + np.eye(5)[y], y


def test_indicator_outputs_train_each_class_alone():
    X, y = problem()
    model = MaximumMarginRegression(C=0.7).fit(X, y)
    for k in range(3):
        rows = X[y == k]
        signs = np.repeat([1.0, -1.0], len(rows))
        alone = LinearSVC(loss="hinge", fit_intercept=False, C=0.35, tol=1e-12, max_iter=10**6)
        alone.fit(np.vstack([rows, -rows]), signs)
        assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-8)


@pytest.mark.parametrize("output_kernel", ["indicator", "class_distance"])
def test_kernel_machine_is_the_linear_one(output_kernel):
    X, y = problem(1)
    linear = MaximumMarginRegression(output_kernel=output_kernel).fit(X, y)
    gram = MaximumMarginRegression(kernel="precomputed", output_kernel=output_kernel)
    gram.fit(X @ X.T, y)
    assert_allclose(gram.decision_function(X @ X.T), linear.decision_function(X), atol=1e-7)
    assert_allclose(gram.objective_, linear.objective_, rtol=1e-8)


def test_dual_is_that_of_a_cone_program():
    cp = pytest.importorskip("cvxpy")
    X, y = problem(2)
    outputs = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.6], [0.2, 0.6, 1.0]])
    K = rbf_kernel(X, gamma=0.3) * outputs[np.ix_(y, y)]
    root = np.linalg.cholesky(K + 1e-12 * np.eye(60))
    alpha = cp.Variable(60)
    goal = cp.sum(alpha) - 0.5 * cp.sum_squares(root.T @ alpha)
    best = cp.Problem(cp.Maximize(goal), [alpha >= 0, alpha <= 2.0]).solve(solver="CLARABEL")
    model = MaximumMarginRegression(
        2.0, kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3), output_kernel=outputs
    ).fit(X, y)
    assert abs(model.objective_ - best) < 1e-6
    assert model.duality_gap_ < 1e-6
    named = MaximumMarginRegression(
        2.0,
        kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3),
        output_kernel=lambda a, b: 1.0 - 0.4 * abs(float(a) - float(b)),
    ).fit(X, y)
    assert_allclose(named.objective_, model.objective_, rtol=1e-9)


def test_bad_output_kernels_are_sentences():
    X, y = problem()
    with pytest.raises(ValueError, match="shape"):
        MaximumMarginRegression(output_kernel=np.eye(2)).fit(X, y)
    with pytest.raises(ValueError, match="output kernel"):
        MaximumMarginRegression(output_kernel=np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1.0]])).fit(
            X, y
        )


def test_a_scale_moves_into_the_weights():
    X, y = problem(3)
    plain = MaximumMarginRegression(C=1.0).fit(X, y)
    large = MaximumMarginRegression(C=1e-10).fit(1e5 * X, y)
    assert_allclose(1e5 * large.coef_, plain.coef_, rtol=1e-6)
