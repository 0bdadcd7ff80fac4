"""Feature and kernel selection: against cvxpy, scikit-learn's machines, and each other."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC, SVR

from octavo.data import make_shared_sparse_tasks
from octavo.kernel import KernelStack, MEDAdaptivePoolingSVC, MEDMultitaskSVC, MEDMultitaskSVR
from octavo.kernel.multitask.task_blocks import FeatureBlock
from tests.kernel.multitask.problems import oracle_dual, root, small_tasks

TIGHT = {"tol": 1e-8, "max_sweeps": 1000}


def feature_roots(X, task):
    return [[X[task == m, d][None, :] for m in np.unique(task)] for d in range(X.shape[1])]


def signs_of(y, task):
    return [2.0 * y[task == m] - 1.0 for m in np.unique(task)]


@pytest.mark.parametrize("solver", ["newton", "bound"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0, 10.0])
def test_dual_objective_is_cvxpys(alpha, solver):
    X, y, task, _ = small_tasks()
    best = oracle_dual(feature_roots(X, task), signs_of(y, task), alpha, 1.0)
    model = MEDMultitaskSVC(alpha=alpha, solver=solver, **TIGHT).fit(X, y, task)
    assert model.dual_objective_ == pytest.approx(best, abs=1e-6)
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert 0 <= model.duality_gap_ <= 1e-8 * model.objective_


def test_dual_objective_is_cvxpys_for_a_large_alpha_margin_and_cost():
    X, y, task, _ = small_tasks(1)
    best = oracle_dual(feature_roots(X, task), signs_of(y, task), 1e3, 5.0, margin=0.5)
    model = MEDMultitaskSVC(alpha=1e3, C=5.0, margin=0.5, **TIGHT).fit(X, y, task)
    assert model.dual_objective_ == pytest.approx(best, abs=1e-6)


def test_penalised_bias_is_cvxpys_and_tends_to_the_free_one():
    X, y, task, _ = small_tasks(2)
    best = oracle_dual(feature_roots(X, task), signs_of(y, task), 2.0, 1.0, sigma2=3.0)
    model = MEDMultitaskSVC(alpha=2.0, bias=3.0, **TIGHT).fit(X, y, task)
    assert model.dual_objective_ == pytest.approx(best, abs=1e-6)
    free = MEDMultitaskSVC(alpha=2.0, **TIGHT).fit(X, y, task)
    wide = MEDMultitaskSVC(alpha=2.0, bias=1e6, **TIGHT).fit(X, y, task)
    np.testing.assert_allclose(wide.switches_, free.switches_, atol=1e-4)
    np.testing.assert_allclose(
        wide.decision_function(X, task), free.decision_function(X, task), atol=1e-3
    )


@pytest.mark.parametrize("shared", [True, False])
def test_kernel_selection_is_cvxpys(shared):
    X, y, task, _ = small_tasks(3)
    kernels = [("a", "rbf", {"gamma": 0.1}), ("b", "rbf", {"gamma": 1.0}), ("c", "linear", {})]
    model = MEDMultitaskSVC("kernels", kernels, alpha=3.0, shared=shared, **TIGHT)
    model.fit(X, y, task)
    stack = KernelStack(kernels, normalize=None).fit_transform(X)
    rows = [np.flatnonzero(task == m) for m in range(3)]
    by_kernel = [[root(K[np.ix_(r, r)]) for r in rows] for K in stack]
    if not shared:
        by_kernel = [
            [R if n == m else None for n, R in enumerate(row)]
            for row in by_kernel
            for m in range(3)
        ]
    best = oracle_dual(by_kernel, signs_of(y, task), 3.0, 1.0)
    assert model.dual_objective_ == pytest.approx(best, abs=1e-6)
    assert model.switches_.shape == ((3,) if shared else (3, 3))


def test_refitting_ordinary_machines_with_the_switches_gives_the_same_decisions():
    X, y, task, _ = small_tasks(4, n_rows=40)
    model = MEDMultitaskSVC(alpha=30.0, **TIGHT).fit(X, y, task)
    values = model.decision_function(X, task)
    for m in range(3):
        rows = task == m
        K = (X[rows] * model.switches_) @ X[rows].T
        machine = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(K, y[rows])
        np.testing.assert_allclose(machine.decision_function(K), values[rows], atol=1e-3)


def test_alpha_zero_is_independent_machines():
    X, y, task, _ = small_tasks(5)
    model = MEDMultitaskSVC(alpha=0.0, C=0.5, **TIGHT).fit(X, y, task)
    values, total = model.decision_function(X, task), 0.0
    for m in range(3):
        rows = task == m
        machine = SVC(kernel="linear", C=0.5, tol=1e-10).fit(X[rows], y[rows])
        np.testing.assert_allclose(machine.coef_[0], model.coef_[m], atol=1e-6)
        np.testing.assert_allclose(machine.decision_function(X[rows]), values[rows], atol=1e-5)
        total += np.abs(machine.dual_coef_).sum() - 0.5 * (machine.coef_**2).sum()
    assert model.dual_objective_ == pytest.approx(total, abs=1e-7)
    assert np.all(model.switches_ == 1.0)


@pytest.mark.parametrize("solver", ["newton", "bound"])
@pytest.mark.parametrize("alpha", [1.0, 50.0, 1e4])
def test_dual_never_falls_and_the_gap_bounds_it(alpha, solver):
    X, y, task, _ = small_tasks(6, n_rows=30)
    model = MEDMultitaskSVC(alpha=alpha, solver=solver, tol=1e-7, max_sweeps=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, task)
    primal, dual, gap = model.history_.T
    assert np.all(np.diff(dual) >= -1e-12 * np.abs(dual[1:]))
    assert np.all(gap >= 0)
    best = MEDMultitaskSVC(alpha=alpha, **TIGHT).fit(X, y, task).dual_objective_
    assert np.all(primal >= best - 1e-9 * best)
    assert np.all(dual <= best + 1e-7 * best)


def test_features_are_the_kernels_of_single_columns():
    X, y, task, _ = small_tasks(7)
    features = MEDMultitaskSVC(alpha=5.0, **TIGHT).fit(X, y, task)
    kernels = MEDMultitaskSVC("kernels", "linear_per_feature", alpha=5.0, **TIGHT)
    kernels.fit(X, y, task)
    np.testing.assert_allclose(kernels.weights_, features.switches_, atol=1e-5)
    np.testing.assert_allclose(
        kernels.decision_function(X, task), features.decision_function(X, task), atol=1e-4
    )
    given = KernelStack("linear_per_feature", normalize=None).fit_transform(X)
    precomputed = MEDMultitaskSVC("kernels", "precomputed", alpha=5.0, **TIGHT)
    precomputed.fit(given, y, task)
    np.testing.assert_allclose(precomputed.switches_, kernels.switches_, atol=1e-7)
    np.testing.assert_allclose(
        precomputed.decision_function(given[:, :7], task[:7]),
        kernels.decision_function(X[:7], task[:7]),
        atol=1e-6,
    )


def test_independent_switches_are_a_loop_over_tasks():
    X, y, task, _ = small_tasks(8)
    model = MEDMultitaskSVC(alpha=4.0, shared=False, **TIGHT).fit(X, y, task)
    for m in range(3):
        rows = task == m
        alone = MEDMultitaskSVC(alpha=4.0, **TIGHT).fit(X[rows], y[rows])
        np.testing.assert_allclose(model.switches_[m], alone.switches_, atol=1e-5)
        np.testing.assert_allclose(model.coef_[m], alone.coef_[0], atol=1e-5)


def test_names_and_order_of_tasks_and_features_do_not_matter():
    X, y, task, _ = small_tasks(9)
    names = np.array(["zinc", "iron", "lead"])[task]
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    one = MEDMultitaskSVC(alpha=8.0, **TIGHT).fit(X, y, task)
    other = MEDMultitaskSVC(alpha=8.0, **TIGHT).fit(X[rows][:, columns], y[rows], names[rows])
    np.testing.assert_allclose(other.switches_, one.switches_[columns], atol=1e-5)
    np.testing.assert_allclose(
        other.decision_function(X[:, columns], names), one.decision_function(X, task), atol=1e-4
    )
    assert other.tasks_.tolist() == ["iron", "lead", "zinc"]


def test_identical_tasks_have_equal_machines():
    X, y, _, _ = small_tasks(10, n_tasks=1)
    model = MEDMultitaskSVC(alpha=5.0, **TIGHT)
    model.fit(np.vstack([X, X]), np.r_[y, y], np.repeat([0, 1], len(y)))
    np.testing.assert_allclose(model.coef_[0], model.coef_[1], atol=1e-4)


def test_switches_stay_in_their_range_and_find_the_planted_features():
    tasks = make_shared_sparse_tasks(10, 40, 60, random_state=3)
    informative = np.isin(np.arange(60), tasks.informative)
    means = []
    for alpha in (1.0, 10.0, 100.0, 1000.0):
        model = MEDMultitaskSVC(alpha=alpha).fit(tasks.X, tasks.y, tasks.task)
        s = model.switches_
        assert s.min() >= 1 / (1 + alpha) * (1 - 1e-12)
        assert s.max() <= 1
        means.append(s.mean())
    assert means == sorted(means, reverse=True)
    assert roc_auc_score(informative, s) > 0.98


def test_sparse_rows_give_the_same_model(monkeypatch):
    monkeypatch.setattr("octavo.kernel.multitask.base.DENSE_CELLS", 0)
    X, y, task, _ = small_tasks(11)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = MEDMultitaskSVC(alpha=5.0, **TIGHT).fit(X, y, task)
    sparse = MEDMultitaskSVC(alpha=5.0, **TIGHT).fit(sp.csr_matrix(X), y, task)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    assert sp.issparse(sparse.transform(sp.csr_matrix(X)))


def test_classes_without_tasks_are_tasks_on_the_same_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, :3].argmax(axis=1)
    model = MEDMultitaskSVC(alpha=2.0, **TIGHT).fit(X, y)
    stacked = MEDMultitaskSVC(alpha=2.0, **TIGHT).fit(
        np.vstack([X] * 3), np.concatenate([y == k for k in range(3)]), np.repeat([0, 1, 2], 60)
    )
    np.testing.assert_allclose(model.coef_, stacked.coef_, atol=1e-5)
    assert model.decision_function(X).shape == (60, 3)
    assert model.score(X, y) > 0.9


def test_regression_with_alpha_zero_is_scikit_learns():
    X, _, task, scores = small_tasks(12, n_rows=25)
    model = MEDMultitaskSVR(alpha=0.0, C=2.0, epsilon=0.05, **TIGHT).fit(X, scores, task)
    for m in range(3):
        rows = task == m
        machine = SVR(kernel="linear", C=2.0, epsilon=0.05, tol=1e-10).fit(X[rows], scores[rows])
        np.testing.assert_allclose(machine.coef_[0], model.coef_[m], atol=1e-5)


@pytest.mark.parametrize("bias", ["free", 2.0])
def test_regression_is_cvxpys(bias):
    cp = pytest.importorskip("cvxpy")
    X, _, task, scores = small_tasks(13)
    alpha, C, epsilon = 5.0, 1.0, 0.1
    model = MEDMultitaskSVR(alpha=alpha, C=C, epsilon=epsilon, bias=bias, **TIGHT)
    model.fit(X, scores, task)
    up, down = cp.Variable((3, 15)), cp.Variable((3, 15))
    value = -epsilon * cp.sum(up + down)
    constraints = [up >= 0, down >= 0, up <= C, down <= C]
    for m in range(3):
        value += scores[task == m] @ (up[m] - down[m])
        if bias == "free":
            constraints.append(cp.sum(up[m] - down[m]) == 0)
        else:
            value -= 0.5 * bias * cp.square(cp.sum(up[m] - down[m]))
    for d in range(X.shape[1]):
        parts = [X[task == m, d] @ (up[m] - down[m]) for m in range(3)]
        energy = cp.sum_squares(cp.hstack(parts)) / 2
        value -= cp.log_sum_exp(cp.hstack([np.log(alpha), energy])) - np.log1p(alpha)
    problem = cp.Problem(cp.Maximize(value), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert model.dual_objective_ == pytest.approx(float(problem.value), abs=1e-6)


def test_metric_is_its_definition():
    X, y, task, _ = small_tasks(14)
    model = MEDMultitaskSVC(alpha=5.0).fit(X, y, task)
    gaps = X[:4, None, :] - X[None, :6, :]
    expected = np.sqrt((model.switches_ * gaps**2).sum(axis=2))
    np.testing.assert_allclose(model.learned_metric()(X[:4], X[:6]), expected, atol=1e-7)
    kernels = [("a", "rbf", {"gamma": 0.1}), ("b", "poly", {"degree": 2})]
    model = MEDMultitaskSVC("kernels", kernels, "multiplicative", alpha=5.0).fit(X, y, task)
    own = model.stack_.diagonals(X)
    cross = model.stack_.transform(X)
    squares = np.einsum("k,kij->ij", model.weights_, own[:, :, None] + own[:, None, :] - 2 * cross)
    np.testing.assert_allclose(
        model.learned_metric()(X), np.sqrt(np.maximum(squares, 0)), atol=1e-6
    )


@pytest.mark.parametrize("normalize", [None, "multiplicative", "spherical"])
def test_blocks_of_tasks_are_the_stacks(normalize):
    X, y, task, _ = small_tasks(15)
    kernels = [("a", "rbf", {"gamma": 0.1}), ("b", "poly", {"columns": [0, 2]})]
    own = MEDMultitaskSVC("kernels", kernels, normalize, alpha=2.0, **TIGHT).fit(X, y, task)
    K = KernelStack(kernels, normalize=normalize).fit_transform(X)
    given = MEDMultitaskSVC("kernels", "precomputed", alpha=2.0, **TIGHT).fit(K, y, task)
    np.testing.assert_allclose(own.switches_, given.switches_, atol=1e-6)
    np.testing.assert_allclose(
        own.decision_function(X, task), given.decision_function(K, task), atol=1e-5
    )


def test_many_rows_of_a_task_need_no_matrix(monkeypatch):
    X, y, task, _ = small_tasks(16, n_rows=30)
    expected = MEDMultitaskSVC(alpha=3.0, tol=1e-6).fit(X, y, task)
    monkeypatch.setattr("octavo.kernel.multitask.task_blocks.MATRIX_ROWS", 5)
    monkeypatch.setattr("octavo.kernel.multitask.base.DENSE_CELLS", 0)
    for table in (X, sp.csr_matrix(X)):
        model = MEDMultitaskSVC(alpha=3.0, tol=1e-6).fit(table, y, task)
        assert model.dual_objective_ == pytest.approx(expected.dual_objective_, rel=1e-5)


def test_warm_start_needs_fewer_sweeps():
    tasks = make_shared_sparse_tasks(6, 40, 30, random_state=0)
    model = MEDMultitaskSVC(alpha=100.0, warm_start=True, tol=1e-6)
    cold = model.fit(tasks.X, tasks.y, tasks.task).n_iter_
    again = model.set_params(alpha=110.0).fit(tasks.X, tasks.y, tasks.task)
    fresh = MEDMultitaskSVC(alpha=110.0, tol=1e-6).fit(tasks.X, tasks.y, tasks.task)
    assert again.n_iter_ < cold
    assert again.dual_objective_ == pytest.approx(fresh.dual_objective_, rel=1e-5)
    model.set_params(C=0.1).fit(tasks.X, tasks.y, tasks.task)
    assert np.abs(model.dual_coef_).max() <= 0.1


def test_bad_tasks_are_named():
    X, y, task, _ = small_tasks(17)
    model = MEDMultitaskSVC()
    one_class = np.where(task == 1, 0, y)
    with pytest.raises(ValueError, match="task 1 has only class 0"):
        model.fit(X, one_class, task)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y, task[:-1])
    with pytest.raises(ValueError, match="fraction"):
        model.fit(X, y, task + 0.5)
    with pytest.raises(ValueError, match="two classes, got 3"):
        model.fit(X, np.arange(len(y)) % 3, task)
    model.fit(X, y, task)
    with pytest.raises(ValueError, match="task 7 was not seen"):
        model.predict(X, np.full(len(y), 7))
    with pytest.raises(ValueError, match="task must be given"):
        model.predict(X)
    with pytest.raises(ValueError, match="not given to fit"):
        MEDMultitaskSVC().fit(X, y).predict(X, task)
    for name, value in {"alpha": -1.0, "C": 0.0, "bias": -1.0, "alpha ": np.inf}.items():
        with pytest.raises(ValueError, match=name.strip()):
            MEDMultitaskSVC(**{name.strip(): value}).fit(X, y, task)


def test_saturated_switches_are_warned_of():
    X, y, task, _ = small_tasks(18)
    with pytest.warns(UserWarning, match=r"above 0\.99"):
        MEDMultitaskSVC(alpha=0.001).fit(X, y, task)
    with pytest.warns(UserWarning, match="at their prior"):
        MEDMultitaskSVC(alpha=1.0, C=1e-6).fit(X, y, task)
    for factor in (1e-4, 1e3):
        with pytest.warns(UserWarning, match="both very small and very large"):
            MEDMultitaskSVC(alpha=1.0).fit(factor * X, y, task)


def test_running_out_of_sweeps_is_said_with_the_gap():
    X, y, task, _ = small_tasks(19)
    with pytest.warns(ConvergenceWarning, match="duality gap of"):
        MEDMultitaskSVC(alpha=1e3, max_sweeps=1, tol=1e-8).fit(X, y, task)


@pytest.mark.parametrize("make", [MEDMultitaskSVC, MEDAdaptivePoolingSVC, MEDMultitaskSVR])
def test_tables_one_a_task_are_the_same_fit(make):
    X, y, task, _ = small_tasks()
    target = y if make is not MEDMultitaskSVR else X[:, 0]
    order = np.argsort(task, kind="stable")
    joined = make().fit(X[order], target[order], np.unique(task, return_inverse=True)[1][order])
    parts = [np.flatnonzero(task == m) for m in np.unique(task)]
    tables, targets = [X[p] for p in parts], [target[p] for p in parts]
    for model in (
        make().fit(tables, targets),
        make().fit(list(zip(tables, targets))),
        make().fit([sp.csr_matrix(t) for t in tables], targets),
    ):
        np.testing.assert_allclose(model.switches_, joined.switches_, rtol=1e-9)
        np.testing.assert_array_equal(model.tasks_, np.arange(len(parts)))


def test_tables_one_a_task_must_fit_together():
    X, y, task, _ = small_tasks()
    with pytest.raises(ValueError, match="Task 1 has 4 rows of X and 3 entries of y"):
        MEDMultitaskSVC().fit([X[:5], X[5:9]], [y[:5], y[5:8]])
    with pytest.raises(ValueError, match="same columns"):
        MEDMultitaskSVC().fit([X[:5], X[5:9, :2]], [y[:5], y[5:9]])


def test_a_curvature_that_is_nearly_right_leaves_the_solution(monkeypatch):
    tasks = make_shared_sparse_tasks(4, 50, 300, random_state=0)
    fits = [MEDMultitaskSVC(alpha=100.0, tol=1e-7).fit(tasks.X, tasks.y, tasks.task)]
    exact = FeatureBlock.curvature
    monkeypatch.setattr(
        FeatureBlock, "curvature", lambda *args, exact_=exact, **options: exact_(*args)
    )
    fits.append(MEDMultitaskSVC(alpha=100.0, tol=1e-7).fit(tasks.X, tasks.y, tasks.task))
    assert (np.diff(fits[0].history_[:, 1]) >= -1e-9 * fits[0].objective_).all()  # J never falls
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=2e-7)
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-3)
