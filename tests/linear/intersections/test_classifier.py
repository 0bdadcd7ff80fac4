"""The rule classifier, features, binariser, topics and rivals against plain definitions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.data import make_tic_tac_toe, make_trigger_corpus, tic_tac_toe_lines
from octavo.linear import (
    InteractionFeatures,
    MinHashPrevalence,
    RandomIntersectionTrees,
    RITClassifier,
    ThresholdBinarizer,
    brute_force_patterns,
    forest_patterns,
    positive_lasso_patterns,
    topic_patterns,
)
from octavo.linear.intersections.classifier import equal_error_threshold


def halves(n_noise, seed):
    X, y = make_tic_tac_toe(n_noise, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order[:471]], y[order[:471]], X[order[471:]], y[order[471:]]


# --- the classifier ------------------------------------------------------------------------------


def test_decisions_are_average_log_odds():
    X, y, X_test, _ = halves(5, 0)
    model = RITClassifier(200, 2, 0.1, random_state=0).fit(X, y)
    values = []
    for row in X_test[:20]:
        odds = []
        for pattern in model.patterns_:
            held = X[:, pattern].all(axis=1)
            rows = held if row[list(pattern)].all() else ~held
            ones, zeros = (y[rows] == 1).sum(), (y[rows] == 0).sum()
            odds.append(np.log(ones + 0.1) - np.log(zeros + 0.1))
        values.append(np.mean(odds))
    found = model.decision_function(X_test[:20])
    shift = found - np.array(values)  # the threshold
    assert np.ptp(shift) < 1e-10


@pytest.mark.parametrize("n_noise", [0, 100, 400])
@pytest.mark.slow
def test_tic_tac_toe_is_learnt(n_noise):
    errors, missing = [], []
    for seed in range(20, 25):
        X, y, X_test, y_test = halves(n_noise, seed)
        model = RITClassifier(random_state=seed).fit(X, y)  # one setting for all, as it comes
        errors.append(1 - model.score(X_test, y_test))
        missing += [line for line in tic_tac_toe_lines() if line not in model.patterns_]
    assert np.mean(errors) <= 0.03
    assert not missing


def test_the_threshold_makes_errors_equal():
    rng = np.random.default_rng(0)
    positive = np.arange(400) < 150
    scores = rng.normal(size=400) + positive
    t = equal_error_threshold(scores, positive)
    missed, kept = (scores[positive] <= t).mean(), (scores[~positive] > t).mean()
    assert abs(missed - kept) <= 1 / 150 + 1 / 250
    assert equal_error_threshold(np.array([0.0, 1.0, 5.0]), np.array([0, 0, 1]) == 1) == 3.0
    assert equal_error_threshold(np.ones(4), np.array([0, 0, 1, 1]) == 1) == 1.0


def test_several_classes_and_numbers():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) + 3.0 * np.eye(4)[y]
    model = RITClassifier(200, theta0=0.05, random_state=0).fit(
        X[:200], np.array(list("abc"))[y[:200]]
    )
    assert model.coef_.shape == (3, len(model.patterns_))
    assert model.score(X[200:], np.array(list("abc"))[y[200:]]) > 0.8
    assert len(model.pattern_names_) == len(model.patterns_)


def test_a_class_of_one_row_is_refused():
    with pytest.raises(ValueError, match="two rows of the class b"):
        RITClassifier(5).fit(np.eye(5), list("aaaab"))


def test_no_pattern_at_all_is_told():
    with pytest.warns(UserWarning, match="No pattern of the class 1"):
        model = RITClassifier(5).fit(np.ones((9, 2)), [0, 0, 0, 0, 0, 1, 1, 1, 1])
    assert (model.predict(np.ones((2, 2))) == 0).all()


# --- features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_are_indicators(form):
    X, y, _, _ = halves(0, 1)
    maker = InteractionFeatures(20, random_state=0).fit(form(X.astype(float)), y)
    out = maker.transform(form(X.astype(float)))
    dense = out.toarray() if sp.issparse(out) else out
    assert dense.shape == (len(y), 18 + len(maker.patterns_))
    assert len(maker.patterns_) <= 20
    assert set(maker.pattern_classes_) == {0, 1}
    for s, pattern in enumerate(maker.patterns_):
        assert (dense[:, 18 + s] == X[:, pattern].all(axis=1)).all()
    assert len(maker.get_feature_names_out()) == dense.shape[1]


# --- the binariser -------------------------------------------------------------------------------


def test_thresholds_have_rows_on_both_sides():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50), np.full(50, 3.0)])
    binary = ThresholdBinarizer(n_thresholds=3).fit(X)
    out = binary.transform(X).toarray()
    assert out.shape[1] == 3 * 2 + 1  # both sides of three cuts; 0/1 as it is; no constant
    assert (out[:, :6:2] + out[:, 1:6:2] == 1).all()
    for at, cut in enumerate(binary.thresholds_[0]):
        assert (out[:, 2 * at] == (X[:, 0] > cut)).all()
        assert 0 < out[:, 2 * at].mean() < 1
    assert (out[:, 6] == X[:, 1]).all()
    assert binary.origin_.tolist() == [0] * 6 + [1]
    assert binary.get_feature_names_out()[-1] == "x1"


def test_categories_and_given_thresholds():
    X = np.array([["red", 1.0], ["blue", 2.0], ["red", 5.0]], dtype=object)
    binary = ThresholdBinarizer([[1.5]], polarity="both", categorical_features=[0]).fit(X)
    assert binary.get_feature_names_out().tolist() == [
        "x0 = blue", "x0 != blue", "x0 = red", "x0 != red", "x1 > 1.5", "x1 <= 1.5",
    ]  # fmt: skip
    out = binary.transform(np.array([["green", 9.0]], dtype=object)).toarray()
    assert out.tolist() == [[0, 1, 0, 1, 1, 0]]
    with pytest.raises(ValueError, match="missing categories"):
        binary.transform(np.array([[None, 9.0]], dtype=object))
    with pytest.raises(ValueError, match="an array for each"):
        ThresholdBinarizer([[1.0], [2.0]], categorical_features=[0]).fit(X)


# --- min-hash ------------------------------------------------------------------------------------


def test_estimates_are_within_their_errors():
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 6)) < 0.4).astype(np.int8)
    X[:, 1] |= X[:, 0]
    sets = [(0, 1), (0, 2), (1, 2, 3), (4,), ()]
    model = MinHashPrevalence(2000, random_state=0).fit(X)
    exact = np.array([X[:, s].all(axis=1).mean() for s in sets])
    error = model.standard_error(sets)
    assert (np.abs(model.estimate(sets) - exact) <= 5 * error + 1e-12).all()
    assert model.estimate([()])[0] == 1.0
    with pytest.raises(ValueError, match="column numbers from 0 to 5"):
        model.estimate([(0, 6)])


@pytest.mark.parametrize(("n_all", "n_some"), [(1, 0), (1, 1), (1, 3), (2, 2)])
def test_the_standard_error_is_that_of_all_orders(n_all, n_some):
    n, any_ = 6, n_all + n_some
    X = np.zeros((n, 2), np.int8)
    X[:n_all] = 1
    X[n_all:any_, 0] = 1
    orders = np.array(list(itertools.permutations(range(n))))
    place = (orders < any_).argmax(axis=1)
    tied = orders[np.arange(len(orders)), place] < n_all
    draws = np.stack([tied, place + 1.0])
    share, first = draws.mean(axis=1)
    some = (n + 1) / n * (1 / first - 1 / (n + 1))
    slope = np.array([some, -share * (n + 1) / n / first**2])  # of π₁π₂, by both means
    expected = slope @ np.cov(draws, bias=True) @ slope
    model = MinHashPrevalence(2, random_state=0).fit(X)
    model.estimate_parts = lambda sets: np.array([[share, some]])
    assert model.standard_error([(0, 1)]) == pytest.approx(np.sqrt(expected / 2), rel=1e-12)


# --- topics and rivals ---------------------------------------------------------------------------


def test_topic_patterns_satisfy_their_rule():
    corpus = make_trigger_corpus(1500, 200, 2, length=15, rarity=0.1, random_state=0)
    all_found = topic_patterns(corpus.X, corpus.Y, n_trees=60, max_nodes=300, random_state=0)
    for topic, found in enumerate(all_found):
        columns = corpus.X[:, list(found.pattern)]
        held = np.asarray(columns.sum(axis=1)).ravel() == len(found.pattern)
        own = corpus.Y[:, topic] == 1
        assert 1 <= len(found.pattern) <= 4
        assert found.precision == pytest.approx(own[held].mean())
        assert found.prevalence == pytest.approx(held.mean())
        assert held.mean() >= own.mean() / 10
        assert found.precision > 2 * own.mean()
    with pytest.raises(ValueError, match="a column a topic"):
        topic_patterns(corpus.X, corpus.Y[:, 0])


def test_brute_force_finds_what_trees_find():
    X, y, _, _ = halves(0, 2)
    found = brute_force_patterns(X, y, 3, theta0=0.0, theta1=0.05)
    lines = tic_tac_toe_lines()
    assert set(lines[:8]) <= set(found)
    mined = RandomIntersectionTrees(
        500, theta0=0.0, theta1=0.05, prevalence="exact", random_state=0
    )
    mined.fit(X, y)
    assert {s for s in mined.patterns_ if len(s) == 3} <= set(found)
    with pytest.raises(ValueError, match="brute force stops"):
        brute_force_patterns(np.tile(X, (1, 40)), y, 5)


def test_rivals_return_sets_of_columns():
    rng = np.random.default_rng(0)
    X = (rng.random((400, 12)) < 0.4).astype(np.int8)
    y = (X[:, 2] & X[:, 5]).astype(int)
    assert (2, 5) in forest_patterns(X, y, n_trees=20, random_state=0)
    path = positive_lasso_patterns(X, y)
    assert (2, 5) in path
    assert all(len(s) <= 4 for s in path)


# --- data ----------------------------------------------------------------------------------------


def test_boards_are_those_of_the_game():
    X, y = make_tic_tac_toe()
    lines = tic_tac_toe_lines()
    first = np.array([[row[list(line)].all() for line in lines[:8]] for row in X]).any(axis=1)
    second = np.array([[row[list(line)].all() for line in lines[8:]] for row in X]).any(axis=1)
    assert (first == (y == 1)).all()
    assert (second == (y == 0)).all()
    assert len(np.unique(X, axis=0)) == len(X) == 942
    assert y.sum() == 626
    assert make_tic_tac_toe(draws=True)[0].shape == (958, 18)
    assert make_tic_tac_toe(7, random_state=0)[0].shape == (942, 25)


def test_triggers_occur_together():
    corpus = make_trigger_corpus(4000, 300, 3, share=0.5, random_state=0)
    for topic, trigger in enumerate(corpus.triggers):
        held = np.asarray(corpus.X[:, list(trigger)].sum(axis=1)).ravel() == len(trigger)
        own = corpus.Y[:, topic] == 1
        assert held[own].mean() > 0.4
        assert held[~own].mean() < 0.2
