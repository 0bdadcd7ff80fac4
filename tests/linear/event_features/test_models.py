"""Eliminations, forests, boosting, costs and blends against what defines them."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from octavo.linear import (
    APBlender,
    BackwardElimination,
    IterativeElimination,
    LogitBoost,
    MetaCost,
    RotationForest,
    StratifiedBootstrapForest,
    drift_report,
    window_precision,
)


def planted(seed=0, n=400, noise=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2 + noise))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 1.5).astype(int)
    return X, y


# --- eliminations ------------------------------------------------------------------------------


def test_backward_elimination_is_algorithm_1():
    X, y = planted()
    X_val, y_val = planted(1)
    model = LogisticRegression()
    kept = BackwardElimination(model).fit(X, y, X_val, y_val)
    order = np.argsort(np.abs(model.fit(X, y).coef_[0]), kind="stable")
    best, chosen = -1.0, None
    for removed in range(X.shape[1]):
        columns = np.sort(order[removed:])
        score = average_precision_score(
            y_val, model.fit(X[:, columns], y).predict_proba(X_val[:, columns])[:, 1]
        )
        assert kept.path_[removed].score == score
        assert kept.path_[removed].n_features == len(columns)
        if best <= score:
            best, chosen = score, columns
    np.testing.assert_array_equal(np.flatnonzero(kept.support_), chosen)
    assert kept.best_score_ == best >= kept.path_[0].score
    assert set(kept.ranking_[-2:]) == {0, 1}  # noise goes first
    np.testing.assert_array_equal(kept.transform(X), X[:, chosen])
    assert kept.predict(X_val).shape == y_val.shape


def test_of_equal_levels_the_smaller_is_kept():
    X, y = planted()
    same = BackwardElimination(LogisticRegression(), scorer=lambda *_: 0.5).fit(X, y)
    assert same.n_features_ == 1


@pytest.mark.parametrize(
    ("model", "ranking"),
    [
        (ExtraTreesClassifier(20, random_state=0), "importance"),
        (KNeighborsClassifier(), "f"),
        (KNeighborsClassifier(), "auto"),
        (LogisticRegression(), np.arange(8)),
    ],
)
def test_rankings(model, ranking):
    X, y = planted()
    kept = BackwardElimination(model, ranking=ranking, min_features=3, step=2, random_state=0)
    kept.fit(X, y)
    assert kept.path_[-1].n_features == 3
    if not isinstance(ranking, str):
        np.testing.assert_array_equal(kept.ranking_, np.arange(8))
    else:
        assert set(kept.ranking_[-2:]) == {0, 1}


def test_iterative_elimination_makes_the_removal_that_costs_least():
    X, y = planted(noise=2)
    X_val, y_val = planted(1, noise=2)
    kept = IterativeElimination(GaussianNB()).fit(X, y, X_val, y_val)
    assert kept.n_fits_ == 4 * 5 // 2
    columns = list(range(4))
    for step in kept.path_[1:]:
        scores = {}
        for out in columns:
            left = [c for c in columns if c != out]
            model = GaussianNB().fit(X[:, left], y)
            scores[out] = average_precision_score(y_val, model.predict_proba(X_val[:, left])[:, 1])
        assert step.score == max(scores.values())
        assert scores[step.removed] == step.score
        columns.remove(step.removed)
    loose = IterativeElimination(GaussianNB(), tol=1.0).fit(X, y, X_val, y_val)
    assert loose.n_features_ == 1


def test_bad_eliminations():
    X, y = planted()
    with pytest.raises(ValueError, match="needs a model with coef_"):
        BackwardElimination(KNeighborsClassifier(), ranking="coef").fit(X, y)
    with pytest.raises(ValueError, match="both or neither"):
        BackwardElimination(LogisticRegression()).fit(X, y, X)
    with pytest.raises(ValueError, match="one finite importance"):
        BackwardElimination(LogisticRegression(), ranking=[1.0]).fit(X, y)


# --- forests -----------------------------------------------------------------------------------


def test_trees_draw_the_shares_of_each_class():
    y = np.repeat([0, 1, 2], [200, 50, 10])
    X = np.random.default_rng(0).normal(size=(260, 3))
    shares = {0: 0.1, 1: 0.5, 2: 2.0}
    forest = StratifiedBootstrapForest(7, fractions=shares, min_samples_leaf=1, random_state=0)
    forest.fit(X, y)
    for tree in forest.estimators_:
        root = tree.tree_.value[0, 0] * tree.tree_.weighted_n_node_samples[0]
        np.testing.assert_allclose(root, [20, 25, 20])
    even = StratifiedBootstrapForest(3, random_state=0).fit(X, y)
    for tree in even.estimators_:
        np.testing.assert_allclose(tree.tree_.value[0, 0], [1 / 3] * 3)


def test_table_22():
    y = np.repeat(["OK", "Observation", "Fraud"], [100, 30, 20])
    X = np.random.default_rng(0).normal(size=(150, 3))
    forest = StratifiedBootstrapForest(2, fractions="table22", random_state=0).fit(X, y)
    assert len(forest.estimators_) == 14
    assert forest.fractions_[0] == {"Fraud": 0.9, "Observation": 0.63, "OK": 0.41}
    assert forest.estimators_[4].min_samples_leaf == 3
    with pytest.raises(ValueError, match="table22"):
        StratifiedBootstrapForest(2, fractions="table22").fit(X, y == "OK")
    with pytest.raises(ValueError, match="share for each"):
        StratifiedBootstrapForest(2, fractions={"OK": 1.0}).fit(X, y)
    with pytest.raises(ValueError, match="above 0"):
        StratifiedBootstrapForest(2, fractions={0: 0, 1: 1.0}).fit(X, (y == "OK").astype(int))


def test_out_of_bag_rows_are_judged_by_trees_that_did_not_see_them():
    X, y = planted()
    forest = StratifiedBootstrapForest(60, min_samples_leaf=1, random_state=0).fit(X, y)
    assert forest.score(X, y) > forest.oob_score_
    held, y_held = planted(2, n=2000)
    assert abs(forest.oob_score_ - forest.score(held, y_held)) < 0.06  # 3 s.e. of 400 rows
    noise = np.random.default_rng(0).permutation(y)
    noisy = StratifiedBootstrapForest(60, min_samples_leaf=1, random_state=0).fit(X, noise)
    chance = average_precision_score(noise, noisy.oob_decision_function_[:, 1])
    assert chance < noise.mean() + 0.12  # labels of nothing: unseen rows are not ranked


def test_rotations_are_orthogonal_and_of_blocks():
    X, y = planted()
    X[:, 5] = 3.0  # a constant column turns nothing
    forest = RotationForest(4, group_size=3, random_state=0).fit(X, y)
    for rotation in forest.rotations_:
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(8), atol=1e-12)
        assert (np.count_nonzero(rotation, axis=0) <= 3).all()
    # Groups of one feature with any sign are the tree itself, whatever the scale.
    single = RotationForest(1, group_size=1, random_state=0).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    held, _ = planted(3)
    held[:, 5] = 3.0
    assert np.mean(single.predict(held) == tree.predict(held)) > 0.95


# --- LogitBoost --------------------------------------------------------------------------------


def test_boosted_least_squares_is_logistic_regression():
    """With linear regressions as base each round is a Newton step of logistic regression."""
    X, y = planted(noise=1)
    X, y = X, (X[:, 0] + np.random.default_rng(0).logistic(size=len(X)) > 0).astype(int)
    boost = LogitBoost(30, estimator=LinearRegression(), max_response=np.inf).fit(X, y)
    exact = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(boost.decision_function(X), exact.decision_function(X), atol=1e-6)


def test_first_round_by_hand():
    X, y = planted()
    boost = LogitBoost(1).fit(X, y)
    z = np.where(y == 1, 2.0, -2.0)  # (y - 1/2) / (1/4), weights alike
    tree = boost.estimators_[0][0]
    left = X[:, tree.tree_.feature[0]] <= tree.tree_.threshold[0]
    mean = np.where(left, z[left].mean(), z[~left].mean())
    np.testing.assert_allclose(boost.predict_proba(X)[:, 1], expit(2 * 0.5 * mean))


def test_three_classes():
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, class_sep=1.5, random_state=0)
    boost = LogitBoost(40).fit(X[:300], y[:300])
    np.testing.assert_allclose(boost.decision_function(X).sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(boost.predict_proba(X).sum(axis=1), 1)
    assert boost.losses_[-1] < boost.losses_[0]
    linear = LogitBoost(40, estimator=LinearRegression(), max_response=np.inf).fit(X[:300], y[:300])
    exact = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(X[:300], y[:300])
    assert np.mean(linear.predict(X) == exact.predict(X)) > 0.97


# --- costs and blends --------------------------------------------------------------------------


def test_metacost_relabels_by_expected_cost():
    X, y = planted()
    cost = np.array([[0.0, 8.0], [1.0, 0.0]])
    model = MetaCost(LogisticRegression(), cost_matrix=cost, n_estimators=40, random_state=0)
    model.fit(X, y)
    p = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    wanted = (p * 8 > (1 - p)).astype(int)
    clear = np.abs(p - 1 / 9) > 0.05  # bags differ from the whole by sampling
    np.testing.assert_array_equal(model.relabeled_[clear], wanted[clear])
    assert model.predict(X).sum() > LogisticRegression().fit(X, y).predict(X).sum()


def test_metacost_with_one_class_left():
    X, y = planted()
    model = MetaCost(LogisticRegression(), cost_matrix=[[0, 1e9], [1, 0]], random_state=0)
    model.fit(X, y)
    assert (model.predict(X) == 1).all()
    np.testing.assert_array_equal(model.predict_proba(X)[0], [0, 1])
    with pytest.raises(ValueError, match="row and a column"):
        MetaCost(cost_matrix=[[0, 1]]).fit(X, y)
    assert MetaCost(use_all=False, random_state=0).fit(X, y).score(X, y) > 0.8


def test_blend_is_not_below_its_models_out_of_fold():
    X, y = planted(n=300)
    models = [("a", LogisticRegression()), ("b", GaussianNB()), ("c", KNeighborsClassifier())]
    blend = APBlender(models, random_state=0).fit(X, y)
    assert blend.average_precision_ >= blend.average_precisions_.max()
    np.testing.assert_allclose(blend.weights_.sum(), 1)
    assert (blend.weights_ >= 0).all()
    assert abs(int(blend.predict(X).sum()) - int(y.sum())) < 0.3 * y.sum()
    alone = APBlender(models[:1], random_state=0).fit(X, y)
    order = np.argsort(alone.decision_function(X), kind="stable")
    plain = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    clipped = np.clip(plain, alone.low_[0], alone.high_[0])
    assert (np.diff(clipped[order]) >= -1e-12).all()
    with pytest.raises(ValueError, match="at least one"):
        APBlender([]).fit(X, y)
    with pytest.raises(ValueError, match="Only binary"):
        APBlender().fit(X, np.arange(len(X)) % 3)


# --- drift -------------------------------------------------------------------------------------


def test_drift_report_finds_what_moved():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(800, 3)), rng.normal(size=(700, 3))
    new[:, 1] += 1.5
    report = drift_report(old, new)
    assert report.names[0] == "x1"
    assert report.drifted() == ["x1"]
    assert abs(report.shift[0] - 1.5) < 0.15
    assert report.p_value[0] < 1e-6 < report.p_value[1:].min()
    same = drift_report(old, old)
    assert not same.stability.any()
    assert not same.distance.any()
    with pytest.raises(ValueError, match="same columns"):
        drift_report(old, new[:, :2])


def test_a_fall_between_windows_is_warned_of():
    X, y = planted(n=1000)
    model = LogisticRegression().fit(X, y)
    wrong = np.random.default_rng(0).permutation(y)
    with pytest.warns(UserWarning, match="falls from"):
        found = window_precision(model, {"validation": (X, y), "test": (X, wrong)}, 100, 0)
    assert found["validation"].value > 0.9


@pytest.mark.parametrize("selector", [BackwardElimination, IterativeElimination])
def test_more_features_than_there_are_cannot_be_kept(selector):
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="min_features=4 exceeds the 3 features"):
        selector(ExtraTreesClassifier(5), min_features=4).fit(X, X[:, 0] > 0)
