"""Cross-validation of q and C: against plain loops."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from octavo.kernel import VSKLClassifier, VSKLClassifierCV, make_modalities
from tests.kernel.vskl.problems import features_of, kernels_of


def test_scores_are_those_of_separate_fits():
    blocks, groups, y = features_of(0, n=60)
    K, seen = kernels_of(blocks), []
    folds = StratifiedKFold(3)
    options = {"tol": 1e-4, "max_iter": 2000}
    model = VSKLClassifierCV(
        "precomputed", groups, qs=(1, np.inf), Cs=(20.0, 2.0), cv=folds, **options
    )
    model.fit(K, y)
    for fold, (train, test) in enumerate(folds.split(np.zeros(60), y)):
        for i, q in enumerate((1.0, np.inf)):
            for j, C in enumerate((2.0, 20.0)):
                one = VSKLClassifier("precomputed", groups, q, C, **options)
                one.fit(K[:, train][:, :, train], y[train])
                found = one.decision_function(K[:, test][:, :, train])
                score = np.mean(one.classes_[(found > 0).astype(int)] == y[test])
                # warm and cold starts end apart by some 1e-2: only rows that near may change side
                near = np.mean(np.abs(found) < 2e-2)
                assert abs(score - model.scores_[i, j, fold]) <= near + 1e-12
                seen.append(score)
    assert len(set(seen)) > 2
    assert model.best_score_ == model.scores_.mean(axis=2).max()
    assert model.best_estimator_.q == model.q_
    assert abs(model.best_estimator_.C / model.C_ - 1.5) < 0.05  # two thirds trained each fold
    np.testing.assert_array_equal(model.predict(K), model.best_estimator_.predict(K))


def test_tables_keep_their_groups_in_folds():
    X, y, groups = make_modalities(80, random_state=0)
    kernels = [
        (f"{j} {gamma}", "rbf", {"gamma": gamma, "columns": np.flatnonzero(groups == j)})
        for j in range(3)
        for gamma in (0.1, 1.0)
    ]
    model = VSKLClassifierCV(kernels, qs=(1, 2), Cs=(100.0,), cv=2).fit(X, y)
    assert len(model.best_estimator_.group_names_) == 3
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("params", "message"),
    [({"qs": [0.3]}, "at least 0.5"), ({"Cs": [0.0]}, "> 0"), ({"qs": []}, "list of numbers")],
)
def test_bad_grids(params, message):
    X, y, _ = make_modalities(40, random_state=0)
    with pytest.raises(ValueError, match=message):
        VSKLClassifierCV(**params).fit(X, y)
