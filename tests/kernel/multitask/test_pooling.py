"""Adaptive pooling: against cvxpy, and its two ends against ordinary machines."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from octavo.kernel import MEDAdaptivePoolingSVC, MEDAdaptivePoolingSVR
from tests.kernel.multitask.problems import oracle_dual, root, small_tasks

TIGHT = {"tol": 1e-8, "max_sweeps": 1000}


@pytest.mark.parametrize("solver", ["newton", "bound"])
@pytest.mark.parametrize("alpha", [0.0, 2.0, 1e3])
def test_dual_objective_is_cvxpys(alpha, solver):
    X, y, task, _ = small_tasks(0)
    K = rbf_kernel(X, gamma=0.2)
    signs = [2.0 * y[task == m] - 1.0 for m in range(3)]
    own = [
        [root(4.0 * K[np.ix_(task == m, task == m)]) if n == m else None for n in range(3)]
        for m in range(3)
    ]
    best = oracle_dual(own, signs, alpha, 1.0, communal=root(0.5 * K))
    model = MEDAdaptivePoolingSVC(
        "rbf", 4.0, alpha, communal_scale=0.5, gamma=0.2, solver=solver, **TIGHT
    ).fit(X, y, task)
    assert model.dual_objective_ == pytest.approx(best, abs=1e-6)
    dual = model.history_[:, 1]
    assert np.all(np.diff(dual) >= -1e-12 * np.abs(dual[1:]))


def test_alpha_zero_is_one_machine_on_a_sum_of_kernels():
    X, y, task, _ = small_tasks(1, n_tasks=1, n_rows=40)
    model = MEDAdaptivePoolingSVC("linear", 3.0, 0.0, **TIGHT).fit(X, y, task)
    machine = SVC(kernel="precomputed", tol=1e-10).fit(4.0 * X @ X.T, y)
    np.testing.assert_allclose(
        model.decision_function(X, task), machine.decision_function(4.0 * X @ X.T), atol=1e-4
    )


def test_large_alpha_is_one_machine_with_a_bias_a_task():
    X, y, task, _ = small_tasks(2, n_rows=25)
    model = MEDAdaptivePoolingSVC("linear", 3.0, 1e300, C=0.5, **TIGHT).fit(X, y, task)
    assert model.switches_.max() < 1e-200  # energies of tens are far below log alpha = 690
    cp = pytest.importorskip("cvxpy")
    w, biases = cp.Variable(X.shape[1]), cp.Variable(3)
    values = X @ w + biases[task]
    loss = cp.sum(cp.pos(1 - cp.multiply(2.0 * y - 1.0, values)))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 0.5 * loss))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert model.objective_ == pytest.approx(problem.value, abs=1e-6)
    # The objective leaves the bias of a task without margin vectors an interval.
    gaps = model.decision_function(X, task) - values.value
    assert max(np.ptp(gaps[task == m]) for m in range(3)) < 1e-3


def test_the_odd_task_opens_its_switch():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(200, 3)), np.repeat(np.arange(5), 40)
    y = (X[:, 0] > 0) ^ (task == 3)
    model = MEDAdaptivePoolingSVC("linear", alpha=1e3, C=0.05).fit(X, y, task)
    assert model.switches_.argmax() == 3
    assert model.score(X, y, task) > 0.9
    target = np.where(task == 3, -X[:, 0], X[:, 0])
    regressor = MEDAdaptivePoolingSVR("linear", alpha=1e3, C=0.1).fit(X, target, task)
    assert regressor.switches_.argmax() == 3
    assert regressor.score(X, target, task) > 0.9


def test_precomputed_kernel_is_the_same_model():
    X, y, task, scores = small_tasks(3)
    K = rbf_kernel(X, gamma=0.3)
    for cls, target in ((MEDAdaptivePoolingSVC, y), (MEDAdaptivePoolingSVR, scores)):
        named = cls("rbf", gamma=0.3, **TIGHT).fit(X, target, task)
        given = cls("precomputed", **TIGHT).fit(K, target, task)
        np.testing.assert_allclose(named.predict(X, task), given.predict(K, task), atol=1e-6)


def test_unseen_tasks_are_named_or_get_the_communal_machine():
    X, y, task, _ = small_tasks(4)
    strange = np.full(len(y), 9)
    model = MEDAdaptivePoolingSVC(alpha=5.0).fit(X, y, task)
    with pytest.raises(ValueError, match="task 9 was not seen"):
        model.predict(X, strange)
    model.set_params(unseen="communal")
    K = rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))
    expected = K @ model.dual_coef_ + model.intercept_.mean()
    np.testing.assert_allclose(model.decision_function(X, strange), expected, atol=1e-10)
    assert model.task_kernel_scale_ == 30.0


def test_one_class_in_a_task_and_three_classes_are_refused():
    X, y, task, _ = small_tasks(5)
    with pytest.raises(ValueError, match="task 2 has only class 1"):
        MEDAdaptivePoolingSVC().fit(X, np.where(task == 2, 1, y), task)
    with pytest.raises(ValueError, match="two classes, got 3"):
        MEDAdaptivePoolingSVC().fit(X, np.arange(len(y)) % 3, task)
