"""Paths: warm fits are the cold ones, and the choice is by held-out rows."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from octavo.data import make_shared_sparse_tasks
from octavo.kernel import KernelStack, MEDMultitaskPath, MEDMultitaskSVC
from octavo.kernel.multitask.path import mean_task_auc

TASKS = make_shared_sparse_tasks(5, 40, 20, random_state=1)


def test_every_point_of_the_path_is_a_fit_of_its_own():
    path = MEDMultitaskPath((0, 5, 200), (0.1, 1.0), 3, tol=1e-7)
    path.fit(TASKS.X, TASKS.y, TASKS.task)
    for c, C in enumerate(path.Cs_):
        for a, alpha in enumerate(path.alphas_):
            one = MEDMultitaskSVC(alpha=alpha, C=C, tol=1e-7).fit(TASKS.X, TASKS.y, TASKS.task)
            np.testing.assert_allclose(path.switches_path_[c, a], one.switches_, atol=2e-3)
    assert path.cv_scores_.shape == (2, 3, 3)
    assert path.best_score_ == path.cv_scores_.mean(axis=2).max()
    best = MEDMultitaskSVC(alpha=path.alpha_, C=path.C_, tol=1e-7)
    best.fit(TASKS.X, TASKS.y, TASKS.task)
    np.testing.assert_array_equal(
        path.decision_function(TASKS.X, TASKS.task), best.decision_function(TASKS.X, TASKS.task)
    )


def test_scores_are_of_rows_held_out():
    path = MEDMultitaskPath((3.0,), (1.0,), 4, tol=1e-6).fit(TASKS.X, TASKS.y, TASKS.task)
    groups = TASKS.task * 2 + TASKS.y
    for fold, (train, test) in enumerate(StratifiedKFold(4).split(TASKS.X, groups)):
        model = MEDMultitaskSVC(alpha=3.0, tol=1e-6)
        model.fit(TASKS.X[train], TASKS.y[train], TASKS.task[train])
        values = model.decision_function(TASKS.X[test], TASKS.task[test])
        assert path.cv_scores_[0, 0, fold] == pytest.approx(
            mean_task_auc(TASKS.y[test], values, TASKS.task[test]), abs=1e-9
        )


def test_mean_task_auc_is_a_mean_of_areas():
    y, task = np.array([0, 1, 1, 0, 1, 0, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 2, 2])
    values = np.arange(8.0)
    expected = np.mean([roc_auc_score(y[:4], values[:4]), roc_auc_score(y[4:6], values[4:6])])
    assert mean_task_auc(y, values, task) == expected  # the third task has one class


def test_precomputed_kernels_are_split_by_rows_and_columns():
    kernels = [("a", "rbf", {"gamma": 0.05}), ("b", "linear", {})]
    K = KernelStack(kernels, normalize=None).fit_transform(TASKS.X)
    options = {"alphas": (0, 5), "Cs": (1.0,), "cv": 3, "select": "kernels"}
    own = MEDMultitaskPath(kernels=kernels, **options).fit(TASKS.X, TASKS.y, TASKS.task)
    given = MEDMultitaskPath(kernels="precomputed", **options).fit(K, TASKS.y, TASKS.task)
    np.testing.assert_allclose(given.cv_scores_, own.cv_scores_, atol=1e-9)


def test_bad_grids_and_rare_classes_are_refused():
    with pytest.raises(ValueError, match="alphas must hold finite numbers at least 0"):
        MEDMultitaskPath(alphas=(-1,)).fit(TASKS.X, TASKS.y, TASKS.task)
    with pytest.raises(ValueError, match="Cs must hold finite numbers above 0"):
        MEDMultitaskPath(Cs=(0,)).fit(TASKS.X, TASKS.y, TASKS.task)
    y = TASKS.y.copy()
    y[TASKS.task == 0] = [1] + [0] * 39
    with pytest.raises(ValueError, match="two rows of each class"):
        MEDMultitaskPath().fit(TASKS.X, y, TASKS.task)
