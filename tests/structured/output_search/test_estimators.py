"""Search classifiers against enumeration, limits where they equal something known, bad input."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from octavo.data import make_high_order_markov, make_label_grids, make_tagged_chunks
from octavo.structured import (
    HCSearchClassifier,
    OutputSpaceSearchClassifier,
    RecurrentClassifier,
    joint_features,
    oracle_search,
    search_report,
)


def model(**options):
    return OutputSpaceSearchClassifier(**{"n_epochs": 3, "random_state": 0, **options})


@pytest.fixture(scope="module")
def markov():
    return make_high_order_markov(40, order=2, sigma=0.5, random_state=0)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 2)) for _ in range(8)]
    return X, [(x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5) for x in X]


# --- exact on small cases -----------------------------------------------------------------------


@pytest.mark.parametrize("space", ["lds", "flipbit"])
@pytest.mark.parametrize("search", ["beam", "breadth"])
def test_a_full_beam_finds_the_cheapest_of_all_outputs(small, space, search):
    X, y = small
    fitted = model(space=space, search=search, beam_width=81, n_steps=4).fit(X, y)
    found = fitted.predict(X, n_steps=100)
    for x, labels in zip(X, found):
        costs = {
            z: joint_features(x, z, 3, 2) @ fitted.cost_coef_
            for z in itertools.product(range(3), repeat=4)
        }
        assert costs[tuple(labels)] == pytest.approx(min(costs.values()), abs=1e-10)


def test_greedy_flips_reach_the_optimum_of_single_cells(markov):
    X, y = markov
    fitted = model(space="flipbit", feature_order=0).fit(X[:30], y[:30])
    blocks = fitted.cost_coef_.reshape(5, -1)
    for x, labels in zip(X[30:], fitted.predict(X[30:])):
        np.testing.assert_array_equal(labels, np.argmin(x @ blocks.T, axis=1))


def test_the_cost_is_weights_times_joint_features(markov):
    X, y = markov
    fitted = model(feature_order=3).fit(X[:20], y[:20])
    expected = [joint_features(x, t, 5, 3) @ fitted.cost_coef_ for x, t in zip(X, y)]
    np.testing.assert_allclose(fitted.cost(X, y), expected, atol=1e-9)


# --- limits -------------------------------------------------------------------------------------


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def test_limits_equal_what_is_known(markov):
    X, y = markov
    fitted = model().fit(X[:30], y[:30])
    greedy = fitted.predict(X)
    assert same(fitted.predict(X, n_steps=0), fitted.recurrent_.predict(X))
    assert same(fitted.predict(X, time_budget=0.0), fitted.recurrent_.predict(X))
    assert same(fitted.set_params(search="beam", beam_width=1).predict(X), greedy)
    assert same(fitted.set_params(search="breadth").predict(X), greedy)
    fitted.set_params(search="greedy", sparse_k=5)
    assert same(fitted.predict(X), greedy)
    fitted.set_params(sparse_k=None, n_jobs=2)
    assert same(fitted.predict(X), greedy)
    lengths = [len(x) for x in X]
    stacked = fitted.predict(np.concatenate(X), lengths=lengths)
    np.testing.assert_array_equal(stacked, np.concatenate(greedy))


def test_answers_get_cheaper_with_every_step_and_wider_beams_are_no_worse(markov):
    X, y = markov
    fitted = model().fit(X[:30], y[:30])
    curve = fitted.predict_anytime(X[30:], n_steps=6)
    costs = np.array([fitted.cost(X[30:], answer) for _, answer in curve])
    assert len(curve) == 7
    assert (np.diff(costs, axis=0) <= 1e-9).all()
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(curve))
    assert same(curve[-1][1], fitted.predict(X[30:], n_steps=6))
    for search in ("beam", "breadth"):
        fitted.set_params(search=search, beam_width=20)
        assert (
            fitted.cost(X[30:], fitted.predict(X[30:], n_steps=20)).sum() <= costs[-1].sum() + 1e-9
        )


def test_a_visited_set_leaves_local_minima(small):
    X, y = small
    fitted = model(space="flipbit", skip_visited=True).fit(X, y)
    assert (
        fitted.cost(X, fitted.predict(X, n_steps=81))
        <= fitted.set_params(skip_visited=False).cost(X, fitted.predict(X, n_steps=81)) + 1e-9
    ).all()


def test_errors_of_training_and_depth(markov):
    X, y = markov
    fitted = model(cv_rollouts=0).fit(X, y)
    wrong = [np.mean(a != b) for a, b in zip(fitted.recurrent_.predict(X), y)]
    assert fitted.recurrent_error_ == pytest.approx(np.mean(wrong))  # all sequences have 20 cells
    depth = fitted.recurrent_.imitation_errors(X, y)
    assert fitted.target_depth_ == pytest.approx(depth.mean())
    assert fitted.imitation_error_ == pytest.approx(depth.mean() / 20)
    crossed = model(cv_rollouts=4).fit(X, y)
    assert crossed.imitation_error_ != fitted.imitation_error_


def test_the_report_splits_the_loss(markov):
    X, y = markov
    fitted = model().fit(X[:30], y[:30])
    report = search_report(fitted, X[30:], y[30:])
    assert report.loss == pytest.approx(1 - fitted.score(X[30:], y[30:]))
    assert report.initial_loss == pytest.approx(1 - fitted.recurrent_.score(X[30:], y[30:]))
    assert report.loss == pytest.approx(report.generation_loss + report.selection_loss)
    assert 0 <= report.oracle_loss <= report.initial_loss
    assert report.selection_loss >= 0
    assert report.target_depth == fitted.recurrent_.imitation_errors(X[30:], y[30:]).mean()
    stuck = search_report(fitted.set_params(n_steps=0), X[30:], y[30:])
    assert stuck.loss == stuck.generation_loss == stuck.initial_loss == stuck.oracle_loss


# --- learners -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"rank_learner": "pa-slack"},
        {"rank_learner": "perceptron"},
        {"rank_learner": "svm"},
        {"imitation": "dagger", "dagger_rounds": 2},
        {"tie_break": "cost"},
        {"search": "beam", "beam_width": 3},
        {"search": "breadth", "beam_width": 3},
        {"sparse_k": 2},
        {"base_classifier": LogisticRegression()},
        {"base_classifier": DecisionTreeClassifier(max_depth=4)},
    ],
)
def test_every_learner_improves_on_the_recurrent_classifier(markov, options):
    X, y = markov
    fitted = model(n_steps=8, n_epochs=20, **options).fit(X[:25], y[:25])
    # In training the truth is met: the learned cost must find better outputs than the start.
    assert fitted.score(X[:25], y[:25]) > fitted.recurrent_.score(X[:25], y[:25])
    assert fitted.ranking_examples_ > 0


def test_a_recurrent_classifier_is_taken_as_it_is(markov):
    X, y = markov
    given = RecurrentClassifier(trainer="dagger", random_state=0)
    fitted = model(base_classifier=given, history=2).fit(X[:25], y[:25])
    assert (fitted.recurrent_.trainer, fitted.recurrent_.history) == ("dagger", 1)
    alone = given.fit(X[:25], y[:25]).predict(X[25:])
    for start, own in zip(fitted.predict(X[25:], n_steps=0), alone):
        np.testing.assert_array_equal(start, own)
    found = fitted.predict(X[25:])
    assert np.all(fitted.cost(X[25:], found) <= fitted.cost(X[25:], alone) + 1e-9)
    assert np.any(fitted.cost(X[25:], found) < fitted.cost(X[25:], alone))


def test_hc_search_chooses_the_cheapest_of_what_its_heuristic_meets(markov):
    X, y = markov
    fitted = HCSearchClassifier(n_epochs=3, random_state=0).fit(X[:30], y[:30])
    assert fitted.score(X[:30], y[:30]) > fitted.recurrent_.score(X[:30], y[:30])
    answers = fitted.predict(X[30:])
    assert (
        fitted.cost(X[30:], answers)
        <= fitted.cost(X[30:], fitted.recurrent_.predict(X[30:])) + 1e-9
    ).all()
    expected = [joint_features(x, t, 5, 2) @ fitted.heuristic_coef_ for x, t in zip(X, y)]
    np.testing.assert_allclose(fitted.heuristic(X, y), expected, atol=1e-9)


@pytest.mark.parametrize("trainer", ["imitation", "dagger", "searn"])
def test_recurrent_trainers_learn_a_rule_of_the_label_before(trainer):
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 2, 30) for _ in range(20)]
    X = [np.stack([t ^ np.r_[0, t[:-1]], rng.normal(size=30)], axis=1) for t in y]
    X = [np.hstack([x, np.eye(2)[x[:, 0].astype(int)]]) for x in X]
    # XOR with the label before is not linear: a tree sees it, and its own errors stay rare.
    fitted = RecurrentClassifier(DecisionTreeClassifier(), trainer=trainer, random_state=0)
    assert fitted.fit(X, y).score(X, y) > 0.95


# --- grids, losses ------------------------------------------------------------------------------


def test_grids(markov):
    X, y = make_label_grids(16, shape=(3, 4), sigma=0.8, random_state=0)
    fitted = model(structure="grid", feature_order=1).fit(X[:12], y[:12])
    found = fitted.predict(X[12:])
    assert [part.shape for part in found] == [(3, 4)] * 4
    expected = [joint_features(x, t, 3, 1) @ fitted.cost_coef_ for x, t in zip(X, y)]
    np.testing.assert_allclose(fitted.cost(X, y), expected, atol=1e-9)
    assert fitted.score(X[:12], y[:12]) > fitted.recurrent_.score(X[:12], y[:12])


def test_f1_and_a_function_as_the_loss():
    X, y = make_tagged_chunks(24, random_state=0)
    for loss in ("f1", lambda a, b: float(np.mean(a != b))):
        fitted = model(loss=loss).fit(X, y)
        report = search_report(fitted, X, y)
        assert report.loss < report.initial_loss
        assert 0 <= report.loss <= 1


def test_oracle_search_on_the_same_problem_as_the_report(small):
    """The report's oracle is the public search with the classifier as the policy."""
    X, y = small
    fitted = model(cv_rollouts=0).fit(X, y)
    inner = fitted.recurrent_.estimator_

    class Cells:
        def initial(self, x):
            return (x, ())

        def actions(self, node):
            return (0, 1, 2)

        def step(self, node, action):
            return (node[0], (*node[1], action))

        def is_terminal(self, node):
            return len(node[1]) == len(node[0])

        def policy(self, node):
            x, made = node
            before = np.zeros(3)
            if made:
                before[made[-1]] = 1
            return int(inner.predict(np.concatenate([x[len(made)], before])[None])[0])

    problem = Cells()
    # Greedy ties differ, a wide beam has none that matter.
    fitted.set_params(search="beam", beam_width=81)
    losses = [
        oracle_search(
            problem, x, t.tolist(), policy=problem.policy, search="beam", beam_width=81
        ).loss
        for x, t in zip(X, y)
    ]
    assert search_report(fitted, X, y).oracle_loss == pytest.approx(sum(losses) / 32)


# --- scale and bad input ------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_units_of_features(markov, factor):
    X, y = [x * factor for x in markov[0]], markov[1]
    fitted = model().fit(X[:30], y[:30])
    assert np.isfinite(fitted.cost_coef_).all()
    assert np.isfinite(fitted.cost(X, y)).all()


class NoScores(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_classifiers_without_scores(small):
    X, y = small
    model(base_classifier=NoScores()).fit(X, y).predict(X)
    with pytest.raises(ValueError, match=r"needs a base classifier with decision_function"):
        model(base_classifier=NoScores(), sparse_k=2).fit(X, y)


def test_one_label_is_always_predicted_with_a_warning(small):
    X, _ = small
    with pytest.warns(UserWarning, match="always predicted"):
        fitted = model().fit(X, [["a"] * 4] * 8)
    assert same(fitted.predict(X), [np.array(["a"] * 4)] * 8)


def test_a_label_missing_from_some_folds(small):
    X, y = small
    y = [labels.copy() for labels in y]
    y[3][0] = 7
    fitted = model(cv_rollouts=8).fit(X, y)
    assert fitted.classes_.tolist() == [0, 1, 2, 7]
    fitted.predict(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, X, y: m.fit([X[0], X[1][:0]], y[:2]), "sequence 1 is empty"),
        (lambda m, X, y: m.fit(X, [*y[:-1], y[-1][:2]]), "Sequence 7 has 4 positions in X, but 2"),
        (lambda m, X, y: m.fit(X, y[:3]), "X has 8 sequences"),
        (lambda m, X, y: m.fit(X, y).predict(X, n_steps=-1), "n_steps must be"),
        (lambda m, X, y: m.fit(X, y).predict(X, time_budget=-0.1), "time_budget must be"),
        (lambda m, X, y: m.set_params(n_steps=-1).fit(X, y), "n_steps"),
        (lambda m, X, y: m.set_params(structure="grid").fit(X, y), "Grid 0 must have the shape"),
        (
            lambda m, X, y: m.set_params(structure="grid").fit(
                [x.reshape(2, 2, 2) for x in X[:2]] + [np.zeros((0, 2, 2))], y[:3]
            ),
            "Grid 2 is empty",
        ),
        (lambda m, X, y: m.fit(X, y).predict([x[:, :1] for x in X]), "is expecting 2 features"),
        (lambda m, X, y: m.fit(X, y).cost(X, [t + 9 for t in y]), "never seen in training"),
        (lambda m, X, y: m.set_params(loss=lambda a, b: np.nan).fit(X, y), "finite number"),
        (lambda m, X, y: m.fit(np.concatenate(X), np.concatenate(y), [4, 4]), "add up to 8"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(small, call, words):
    with pytest.raises(ValueError, match=words):
        call(model(), *small)
