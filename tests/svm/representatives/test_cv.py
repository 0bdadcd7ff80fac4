"""The grid against plain loops, and the seven figures against their definitions."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from octavo.data import make_redundant_classes
from octavo.svm import AESVC, AESVCCV, ApproximateExtremePoints, run_grid, speedup_report

GRID = {"C": [0.5, 8.0], "gamma": [1.0, 8.0]}


def data(n=400):
    return make_redundant_classes(n, kind="checkerboard", random_state=0)


def test_the_grid_is_what_fitting_every_cell_gives():
    X, y = data()
    folds = list(StratifiedKFold(3).split(X, y))
    found = run_grid(AESVC(), X, y, GRID, cv=folds)
    assert len(found.cells) == 4
    for cell, params in enumerate(found.cells):
        for fold, (train, test) in enumerate(folds):
            model = AESVC(**params).fit(X[train], y[train])
            assert found.accuracy[cell, fold] == model.score(X[test], y[test])
            assert found.n_support[cell, fold] == model.n_support_.sum()
            assert found.reduction[cell, fold] == model.reduction_


def test_one_selection_for_each_kernel_and_fold(monkeypatch):
    X, y = data()
    count = []
    real = ApproximateExtremePoints._fit_checked

    def counted(self, *args, **kwargs):
        count.append(self.gamma)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(ApproximateExtremePoints, "_fit_checked", counted)
    search = AESVCCV([0.5, 2.0, 8.0], [1.0, 8.0], cv=3).fit(X, y)
    assert len(count) == 2 * 3 + 1  # kernels times folds, and the best on all rows
    best = search.grid_run_.accuracy.mean(axis=1)
    assert search.best_score_ == best.max()
    assert search.best_params_ == search.grid_run_.cells[int(np.argmax(best))]
    assert search.best_params_["C"] == search.best_estimator_.C
    assert search.score(X, y) > 0.8


def test_default_grids_are_the_papers():
    cells = AESVCCV()._grid()
    assert (len(cells["C"]), cells["C"][0], cells["C"][-1]) == (12, 2**-4, 2**7)
    assert (len(cells["gamma"]), cells["gamma"][0], cells["gamma"][-1]) == (7, 2**-4, 2**2)
    assert AESVCCV(kernel="poly")._grid()["degree"] == [2, 3, 4]
    assert set(AESVCCV(kernel="linear")._grid()) == {"C"}


def test_polynomial_grid():
    X, y = data(200)
    search = AESVCCV([1.0], kernel="poly", degree_grid=[1, 3], cv=2).fit(X, y)
    assert search.best_params_.keys() == {"C", "gamma", "degree"}


def test_the_seven_figures_are_their_definitions():
    X, y = data()
    report = speedup_report(AESVC(eps=1e-3), SVC(), X, y, GRID, cv=3)
    ours, theirs = report.run, report.baseline_run
    ratios, supports, squares = [], [], []
    for cell in range(4):
        for fold in range(3):
            ratios.append(theirs.training_time[cell, fold] / ours.training_time[cell, fold])
            supports.append(theirs.n_support[cell, fold] / ours.n_support[cell, fold])
            squares.append((theirs.accuracy[cell, fold] - ours.accuracy[cell, fold]) ** 2)
    assert report.ets == pytest.approx(np.mean(ratios))
    spent = ours.training_time.sum() + ours.selection_time
    assert report.ots == pytest.approx(theirs.training_time.sum() / spent)
    assert report.ecs == pytest.approx(np.mean(supports))
    assert report.rmse == pytest.approx(np.sqrt(np.mean(squares)))
    best = ours.n_support[np.argmax(ours.accuracy.mean(axis=1))].sum()
    best_theirs = theirs.n_support[np.argmax(theirs.accuracy.mean(axis=1))].sum()
    assert report.cts == pytest.approx(best_theirs / best)
    assert report.max_accuracy == max(row.mean() for row in ours.accuracy)
    assert report.std_accuracy == pytest.approx(np.std([row.mean() for row in ours.accuracy]))
    assert ours.selection_time > 0 == theirs.selection_time


def test_a_method_is_its_own_equal():
    X, y = data(200)
    report = speedup_report(SVC(), SVC(), X, y, {"C": [1.0]}, cv=2)
    assert report.rmse == 0
    assert report.ecs == report.cts == 1
    other = speedup_report(GaussianNB(), SVC(), X, y, {}, cv=2)
    assert np.isnan(other.ecs)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"Cs": []}, "Cs must be a list of at least one value"),
        ({"gammas": [[1.0]]}, "gammas must be a list"),
        ({"Cs": [-1.0]}, "'C' parameter"),
        ({"cv": 1}, "n_splits|cv"),
    ],
)
def test_bad_grids_are_refused(params, words):
    X, y = data(60)
    with pytest.raises(ValueError, match=words):
        AESVCCV(**params).fit(X, y)
