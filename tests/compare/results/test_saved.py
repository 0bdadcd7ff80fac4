"""Models in files predict later rows as the winner does, and say what is missing."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from octavo.cli import app
from octavo.compare import InputError, compare, load_model
from octavo.compare.results.saved import check_path, expected_type
from octavo.compare.running.folds import Settings, run_fold
from octavo.compare.table.problems import prepare

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 2))
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(
    c=RNG.choice(["p", "q"], N), kind=np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
)
COMMENTS = [
    f"the {RNG.choice(['food', 'room', 'staff'])} was {word} and number {k} said so"
    for k, word in enumerate(np.where(X[:, 0] > 0, "lovely", "awful"))
]


def compared(frame=FRAME, target="kind", methods="linear,guess", **more):
    return compare(frame, target, methods=methods, journal=False, cv=3, repeats=1, **more)


def test_a_saved_model_predicts_as_the_winner_does(tmp_path):
    result = compared()
    path = result.save(tmp_path / "m.joblib")
    later = FRAME.drop(columns="kind").tail(9)
    model = load_model(path)
    expected = result.refit().predict(result.problem.plan.apply(later))
    np.testing.assert_array_equal(model.predict(later), expected)
    table = model.table(later, probabilities=True)
    assert list(table) == ["predicted kind", "chance of no", "chance of yes"]
    np.testing.assert_allclose(table.iloc[:, 1:].sum(axis=1), 1)


def test_a_missing_column_is_a_sentence(tmp_path):
    model = load_model(compared().save(tmp_path / "m.joblib"))
    with pytest.raises(InputError, match="The rows lack the columns 'a', 'c', which the model"):
        model.predict(FRAME[["b"]])
    assert len(model.predict(FRAME.assign(a=np.nan, more=1))) == N


def test_winners_without_probabilities_get_calibrated_ones():
    result = compared(methods="svm")
    with pytest.raises(InputError, match="gives no probabilities"):
        result.model().predict_proba(FRAME)
    chances = result.model(probabilities=True).predict_proba(FRAME)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    # The mean chance is the share of the class: the logistic fit's own equation.
    assert chances[:, 1].mean() == pytest.approx((FRAME["kind"] == "yes").mean(), abs=0.06)
    number = compared(FRAME.drop(columns="kind"), "b", methods="linear")
    with pytest.raises(InputError, match="this is a regression"):
        number.model(probabilities=True)


def test_skops_where_it_is_installed(tmp_path):
    try:
        import skops.io  # noqa: F401
    except ImportError:
        with pytest.raises(InputError, match=r"octavo\[skops\]"):
            check_path(tmp_path / "m.skops")
        return
    result = compared()
    model = load_model(result.save(tmp_path / "m.skops"))
    np.testing.assert_array_equal(model.predict(FRAME), result.model().predict(FRAME))
    calibrated = compared(methods="svm").model(probabilities=True)
    again = load_model(calibrated.save(tmp_path / "c.skops"))
    np.testing.assert_array_equal(again.predict_proba(FRAME), calibrated.predict_proba(FRAME))
    rare = FRAME.assign(kind=np.where(FRAME["a"] > 0.9, "rare", "usual"))
    for frame, method in ((FRAME, "boosting"), (FRAME, "spline"), (rare, "knn")):
        saved = compared(frame, methods=method, score="balanced_accuracy").model()
        again = load_model(saved.save(tmp_path / "again.skops"))
        np.testing.assert_array_equal(again.predict(frame), saved.predict(frame))
    saved.model.octavo_test_ = print  # what could not be read again is not written
    with pytest.raises(InputError, match=r"builtins.print.*save it as .joblib"):
        saved.save(tmp_path / "no.skops")
    assert not (tmp_path / "no.skops").exists()


def test_a_file_of_data_may_not_name_functions():
    assert expected_type("octavo.online.one_pass.arow.AROW")
    assert expected_type("octavo.compare.methods.encoding.written_out")
    assert expected_type("sklearn.calibration._CalibratedClassifier")
    for name in (
        "builtins.eval",
        "os.system",
        "octavo.compare.results.saved.load_model",
        "numpy.load",
    ):
        assert not expected_type(name)


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04N."])
def test_what_is_no_model_is_refused(tmp_path, content):
    path = tmp_path / "m.joblib"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"no sound model file|holds no model of octavo"):
        load_model(path)
    with pytest.raises(InputError, match="There is no file"):
        load_model(tmp_path / "none.joblib")
    with pytest.raises(InputError, match=r"saved as .joblib or .skops"):
        check_path(tmp_path / "m.pkl")


def test_the_command_line_saves_and_predicts(tmp_path):
    data, model, out = tmp_path / "d.csv", tmp_path / "m.joblib", tmp_path / "out.csv"
    FRAME.to_csv(data, index=False)
    invoke = CliRunner().invoke
    arguments = ["compare", str(data), "--target", "kind", "--methods", "linear", "--cv", "3"]
    done = invoke(app, [*arguments, "--repeats", "1", "--jobs", "1", "--save", str(model)])
    assert done.exit_code == 0, done.output
    assert "It is a pickle" in done.output
    done = invoke(app, ["predict", str(model), str(data), "--probabilities"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "predicted kind,chance of no,chance of yes"
    assert len(lines) == N + 1
    assert "Open only files that you trust" in done.stderr.replace("\n", " ")
    assert invoke(app, ["predict", str(model), str(data), "--out", str(out)]).exit_code == 0
    assert pd.read_csv(out)["predicted kind"].tolist() == [x.split(",")[0] for x in lines[1:]]
    FRAME[["a"]].to_csv(data, index=False)
    wrong = invoke(app, ["predict", str(model), str(data)])
    assert wrong.exit_code == 2
    assert "lack the columns 'b', 'c'" in wrong.output.replace("\n", " ")


# --- free text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "boosting", "TANClassifier", "svm"])
def test_free_text_becomes_words_and_pairs(method):
    from octavo.compare.methods.candidates import candidates_for

    frame = FRAME[["b", "c", "kind"]].assign(said=COMMENTS)
    frame.loc[3, "said"] = None
    problem = prepare(frame, "kind")
    assert problem.texts == ["said"]
    assert problem.categories == ["c"]
    assert any("'said' is free text" in step.what for step in problem.steps)
    (candidate,) = candidates_for(problem, [method])[0]
    candidate.grid = candidate.grid[-1:]
    outcome = run_fold(problem, candidate, 0, Settings(cv=3))
    assert outcome.error is None
    assert outcome.score > 0.7  # without the words: a guess


def test_the_script_of_a_winner_on_text_runs():
    frame = FRAME[["b", "kind"]].assign(said=COMMENTS)
    result = compared(frame)
    space = {"frame": frame}
    exec(result.snippet(), space)
    np.testing.assert_array_equal(
        space["model"].predict(result.problem.X), result.refit().predict(result.problem.X)
    )
