"""ScreenedSearchCV: test rows stay out of the search, its table is that of the experiments."""

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from octavo.search import ScreenedSearchCV
from octavo.search.screening.cv import HoldoutWithin

X, y = make_classification(120, 8, n_informative=4, random_state=0)
# coef0 and gamma mean nothing to a linear kernel: C alone can be relevant
SPACE = {"svc__C": (1e-4, 1e-1, "log"), "svc__gamma": (1e-3, 1e-1, "log"), "svc__coef0": (0, 1)}


def machine():
    return make_pipeline(StandardScaler(), SVC(kernel="linear"))


@pytest.mark.parametrize("method", ["rsm", "factorial"])
def test_scores_are_those_of_their_rows(method):
    cv = StratifiedKFold(4)
    search = ScreenedSearchCV(machine(), SPACE, method=method, cv=cv, random_state=0).fit(X, y)
    assert search.adequate_
    assert search.relevant_params_ == ("svc__C",)
    assert search.n_experiments_ == len(search.cv_results_["params"])
    tuned = machine().set_params(**search.best_params_)
    if method == "rsm":
        np.testing.assert_allclose(search.final_scores_, cross_val_score(tuned, X, y, cv=cv))
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores[search.best_index_]
    inner = HoldoutWithin(cv, 0.3, True, int(np.random.RandomState(0).randint(2**31 - 1)))
    by_hand = cross_val_score(tuned, X, y, cv=list(inner.split(X, y)))
    assert by_hand.mean() == pytest.approx(search.best_score_)
    assert search.score(X, y) == tuned.fit(X, y).score(X, y)


def test_no_row_of_a_fold_s_test_part_is_used():
    cv = StratifiedKFold(5)
    inner = HoldoutWithin(cv, 0.3, True, 0)
    for (train, held), (whole, test) in zip(inner.split(X, y), cv.split(X, y)):
        assert not set(train) & set(held)
        assert set(train) | set(held) == set(whole)
        assert not (set(train) | set(held)) & set(test)
        assert abs(y[held].mean() - y.mean()) < 0.05


def test_groups_are_kept_together():
    groups = np.repeat(np.arange(24), 5)
    inner = HoldoutWithin(GroupKFold(3), 0.3, True, 0)
    for train, held in inner.split(X, y, groups):
        assert not set(groups[train]) & set(groups[held])
    search = ScreenedSearchCV(machine(), SPACE, cv=GroupKFold(3), random_state=0)
    assert len(search.fit(X, y, groups=groups).final_scores_) == 3


def test_defaults_are_kept_when_nothing_matters():
    space = {"random_state": (0, 9, "int"), "constant": (0, 1, "int")}
    model = DummyClassifier(strategy="prior")
    with pytest.warns(UserWarning, match="No factor is relevant"):
        search = ScreenedSearchCV(model, space, cv=3).fit(X, y)
    assert search.best_params_ == {"random_state": None, "constant": None}
    assert search.relevant_params_ == ()
    assert search.path_ is None
    assert search.n_experiments_ == 5


def test_it_is_reproducible_and_refits():
    data = load_wine(return_X_y=True)
    found = [
        ScreenedSearchCV(machine(), SPACE, cv=3, random_state=1).fit(*data).best_params_
        for _ in range(2)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"param_space": {"svc__C": (1, 1)}}, "param_space.*low < high"),
        ({"param_space": {"nothing": (0, 1)}}, "does not have"),
        ({"param_space": {"svc__kernel": ["rbf", "poly"]}}, "quantitative"),
        ({"param_space": {"svc__C": (1, 2)}}, "saturated"),
        ({"defaults": {"svc__C": 100.0}}, "outside its range"),
        ({"validation": 1.5}, "validation"),
        ({"method": "grid"}, "method"),
    ],
)
def test_bad_input(change, match):
    with pytest.raises(ValueError, match=match):
        ScreenedSearchCV(machine(), SPACE, cv=3).set_params(**change).fit(X, y)


def test_failing_fits_are_named():
    with pytest.raises(ValueError, match="'C' parameter"):
        ScreenedSearchCV(
            LogisticRegression(), {"C": (-1, 1), "tol": (1e-4, 1e-2)}, cv=3
        ).fit(X, y)  # fmt: skip


def test_regressors_too():
    target = X @ np.arange(8.0)
    search = ScreenedSearchCV(Ridge(), {"alpha": (1e-1, 1e3, "log"), "tol": (1e-5, 1e-3)}, cv=3)
    search.fit(X, target)
    assert search.relevant_params_ == ("alpha",)
    assert search.best_params_["alpha"] < 10
