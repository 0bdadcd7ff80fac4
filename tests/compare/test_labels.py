"""Several targets at once: labels, their scores and methods."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.svm import SVC

from octavo.compare import InputError, compare, load_model, prepare
from octavo.compare.methods.baselines import SteadyClassifier
from octavo.compare.methods.candidates import candidates_for
from octavo.compare.results.chances import label_chances
from octavo.compare.running.scores import METRICS, judge, row_values


def label_table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    first = x[:, 0] + 0.3 * rng.normal(size=n) > 0
    second = np.where(rng.uniform(size=n) < 0.95, first, ~first)
    third = x[:, 1] > 0.5
    return pd.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "c": x[:, 2],
            "warm": first.astype(int),
            "wet": np.where(second, "yes", "no"),
            "late": third,
        }
    )


def test_targets_are_named_one_by_one_or_as_a_block():
    frame = label_table()
    listed = prepare(frame, ["warm", "wet", "late"])
    block = prepare(frame, "warm:late")
    places = prepare(frame, [4, 5, 6])
    for problem in (listed, block, places):
        assert problem.task == "multilabel"
        assert problem.labels == ["warm", "wet", "late"]
        assert list(problem.X.columns) == ["a", "b", "c"]
        np.testing.assert_array_equal(problem.y[:, 0], frame["warm"])
        np.testing.assert_array_equal(problem.y[:, 1], frame["wet"] == "yes")
        np.testing.assert_array_equal(problem.y[:, 2], frame["late"])


def test_a_list_of_one_target_is_one_target():
    assert prepare(label_table(), ["warm"]).task == "classification"


@pytest.mark.parametrize(
    ("change", "target", "words"),
    [
        ({"wet": "perhaps"}, ["warm", "wet"], "holds 'perhaps'"),
        ({"wet": "yes"}, ["warm", "wet"], "1 of 2 targets have both values"),
        ({}, ["warm", "dry"], "dry"),
        ({}, [], "empty"),
    ],
)
def test_unusable_targets_are_told(change, target, words):
    with pytest.raises(InputError, match=words):
        prepare(label_table().assign(**change), target)


def test_other_tasks_have_one_target():
    with pytest.raises(InputError, match="For regression there is one target, got 2"):
        prepare(label_table(), ["warm", "wet"], task="regression")
    with pytest.raises(InputError, match="Multilabel needs several targets"):
        prepare(label_table(), task="multilabel")


def test_constant_labels_and_rows_without_a_label_are_left_out():
    frame = label_table().assign(never=0)
    frame["wet"] = frame["wet"].astype(object)
    frame.loc[3, "wet"] = None
    problem = prepare(frame, ["warm", "wet", "never"])
    assert problem.labels == ["warm", "wet"]
    assert problem.n_rows == 119
    told = " ".join(step.what for step in problem.steps)
    assert "never" in told
    assert "1 rows without all of their targets" in told


def test_a_column_that_copies_a_label_is_no_feature():
    frame = label_table()
    frame["again"] = frame["wet"].map({"yes": "u", "no": "v"})
    assert "again" not in prepare(frame, ["warm", "wet"]).X.columns


def test_scores_are_scikit_learns_and_row_values_average_to_them():
    problem = prepare(label_table(), "warm:late")
    rng = np.random.default_rng(1)
    guess = np.where(rng.uniform(size=problem.y.shape) < 0.8, problem.y, 1 - problem.y)
    expected = {
        "neg_hamming_loss": -hamming_loss(problem.y, guess),
        "exact_match": accuracy_score(problem.y, guess),
        "f1_micro": f1_score(problem.y, guess, average="micro"),
    }
    for score, value in expected.items():
        assert METRICS["multilabel"][score](problem.y, guess) == pytest.approx(value, abs=1e-12)
        values = row_values(score, None, problem, guess)
        assert values.mean() == pytest.approx(value, abs=1e-12)


def test_influence_values_of_f1_are_its_derivative():
    # Leaving a row out moves F1 by minus its value's excess over n, to first order in 1/n.
    problem = prepare(label_table(400), "warm:late")
    rng = np.random.default_rng(2)
    guess = np.where(rng.uniform(size=problem.y.shape) < 0.8, problem.y, 1 - problem.y)
    values = row_values("f1_micro", None, problem, guess)
    whole, n = f1_score(problem.y, guess, average="micro"), problem.n_rows
    for row in range(0, n, 40):
        kept = np.arange(n) != row
        moved = f1_score(problem.y[kept], guess[kept], average="micro") - whole
        # The second-order term is (change of the denominator / n)^2, below 1e-4 here.
        assert moved == pytest.approx(-(values[row] - whole) / n, abs=3e-5)


def test_a_label_that_is_absent_from_training_is_answered_with_no():
    model = SteadyClassifier(LogisticRegression()).fit([[0.0], [1.0]], [0, 0])
    assert model.predict([[5.0]]).tolist() == [0]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0, 0.0]]
    always = SteadyClassifier(SVC()).fit([[0.0], [1.0]], [1, 1])
    assert always.decision_function([[5.0]]).tolist() == [1.0]
    assert not hasattr(always, "predict_proba")


@pytest.mark.parametrize("wrap", [MultiOutputClassifier, ClassifierChain])
def test_labels_one_of_which_is_absent_from_training_have_chances(wrap):
    X = np.random.default_rng(0).normal(size=(40, 2))
    Y = np.column_stack([X[:, 0] > 0, np.zeros(40), X[:, 1] > 0]).astype(int)
    model = wrap(SteadyClassifier(LogisticRegression())).fit(X, Y)
    chances = label_chances(model, X)
    assert (chances[:, 1] == 0).all()
    alone = LogisticRegression().fit(X, Y[:, 0]).predict_proba(X)[:, 1]
    np.testing.assert_allclose(chances[:, 0], alone, rtol=1e-12)


def test_baselines_are_there_and_predict_tables_of_labels():
    problem = prepare(label_table(), "warm:late")
    chosen, _ = candidates_for(problem, ["baselines"])
    names = {candidate.name for candidate in chosen}
    assert {"LogisticRegressionPerLabel", "LogisticRegressionChain", "SVCPerLabel"} <= names
    for candidate in chosen:
        model = candidate.build(problem, candidate.grid[0], 0).fit(problem.X, problem.y)
        verdict = judge(model, problem, problem, "exact_match")
        assert 0.0 <= verdict.score <= 1.0
        assert set(verdict.extras) == {"neg_hamming_loss", "exact_match", "f1_micro"}


def test_a_comparison_from_table_to_predictions(tmp_path):
    frame = label_table(160)
    result = compare(
        frame,
        "warm:late",
        methods="guess,linear,linear-chain,knn",
        score="exact_match",
        journal=False,
        cv=3,
        inner_cv=2,
    )
    ranked = [standing.name for standing in result.leaderboard]
    assert ranked[-1] == "DummyClassifier"
    best = result.best
    assert 0.0 <= best.low <= best.mean <= best.high <= 1.0
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "label by label" in page
    saved = load_model(result.save(tmp_path / "model.joblib"))
    table = saved.table(frame.drop(columns=["warm", "wet", "late"]))
    assert list(table.columns) == ["predicted warm", "predicted wet", "predicted late"]
    assert (table["predicted late"] == frame["late"]).mean() > 0.8
    scope = {"frame": frame}
    exec(result.snippet(), scope)  # the code that refits the winner runs as it is
    assert scope["model"].predict(scope["problem"].X).shape == (160, 3)


@pytest.mark.parametrize("method", ["linear", "svm", "knn", "MICClassifier", "MaxMarginTrees"])
def test_chances_of_labels_come_true(tmp_path, method):
    """Calibrated or the method's own: among rows with a chance of p about p have the label."""
    frame = label_table(500)
    result = compare(frame[:250], "warm:late", methods=method, journal=False, repeats=1, cv=2)
    model = load_model(result.save(tmp_path / "model.joblib", probabilities=True))
    later = frame[250:]
    chances = model.predict_proba(later)
    truth = prepare(frame, "warm:late").y[250:]
    assert chances.shape == (250, 3)
    assert ((chances >= 0) & (chances <= 1)).all()
    brier, base = ((chances - truth) ** 2).mean(axis=0), truth.var(axis=0)
    assert (brier < 0.6 * base).all()
    np.testing.assert_allclose(chances.mean(axis=0), truth.mean(axis=0), atol=0.06)
    if method in ("linear", "svm"):  # a row, not an answer, has a chance
        assert min(len(np.unique(column)) for column in chances.T) > 100
    table = model.table(later, probabilities=True)
    assert list(table.columns)[3:] == ["chance of warm", "chance of wet", "chance of late"]
    np.testing.assert_array_equal(table["chance of late"], chances[:, 2])


def test_chances_of_what_has_none_are_refused_before_any_work():
    with pytest.raises(InputError, match="Probabilities are of classes; this is a regression"):
        compare(label_table(), "a", probabilities=True, methods=["no such method"])


def test_the_command_line_takes_several_targets(tmp_path):
    from typer.testing import CliRunner

    from octavo.cli import app

    path = tmp_path / "labels.csv"
    label_table(80).to_csv(path, index=False)
    asked = ["compare", str(path), "--target", "warm", "--target", "wet:late"]
    asked += ["--methods", "guess,linear", "--cv", "2", "--jobs", "1", "--fresh"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert "3 targets are given" in found.output
