"""The code that refits the winner runs, and gives the winner."""

import ast
import contextlib
import io
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import octavo
from octavo.compare import compare
from octavo.compare.methods.candidates import candidates_for
from octavo.compare.methods.encoding import written_out
from octavo.compare.results.snippet import as_code, public_module, write_snippet
from tests.compare.methods.test_candidates import FRAME, PROBLEMS


def evaluated(code, imports, **names):
    space = dict(names)
    for module, name in imports:
        exec(f"from {module} import {name}", space)
    return eval(code, space)


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_the_code_of_every_candidate_makes_the_same_model(kind):
    problem = PROBLEMS[kind]
    for candidate in candidates_for(problem)[0]:
        model = candidate.build(problem, candidate.grid[-1], 5)
        imports = set()
        made = evaluated(as_code(model, imports), imports)
        assert type(made) is type(model)
        assert repr(made.get_params()) == repr(model.get_params())


def executed(code, **names):
    space, said = dict(names), io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, space)
    return space, said.getvalue()


@pytest.mark.parametrize(
    ("arguments", "methods"),
    [
        ({"target": "k", "drop": ["m", "y"]}, "linear"),
        ({"target": "m", "drop": ["k", "y"]}, "HybridLinearClassifier"),
        ({"target": "y", "drop": ["k", "m"]}, "svm"),
        ({"drop": ["k", "m", "y"]}, "KMeans"),
        ({"time": "t", "event": "e", "drop": ["k", "m", "y"]}, "boosting"),
    ],
)
def test_the_script_refits_the_winner(arguments, methods):
    rng = np.random.default_rng(0)
    frame = FRAME.assign(t=np.abs(FRAME["y"]), e=rng.integers(0, 2, len(FRAME)))
    if "time" not in arguments:
        frame = frame.drop(columns=["t", "e"])
    result = compare(frame, methods=methods, journal=False, cv=3, **arguments)
    space, said = executed(result.snippet(), frame=frame)
    X = result.problem.X
    np.testing.assert_array_equal(space["model"].predict(X), result.refit().predict(X))
    assert said.strip()
    later = space["problem"].plan.apply(frame.tail(3))
    assert len(space["model"].predict(later)) == 3


def test_the_script_of_a_ranking_runs(tmp_path):
    import pandas as pd

    path = tmp_path / "games.csv"
    pairs = [("ann", "bob"), ("bob", "eve"), ("ann", "eve"), ("eve", "bob")] * 8
    pd.DataFrame(pairs, columns=["winner", "loser"]).to_csv(path, index=False)
    result = compare(path, methods="OnlineRanker", journal=False, cv=3)
    _, said = executed(result.snippet())
    assert "ann" in said


def test_a_script_on_a_file_runs_alone(tmp_path):
    path = tmp_path / "a 'quoted' näme.csv"
    FRAME.drop(columns=["m", "y"]).to_csv(path, index=False)
    result = compare(path, "k", methods="linear", journal=False, cv=3)
    script = tmp_path / "refit.py"
    script.write_text(result.snippet(), encoding="utf-8")
    root = Path(octavo.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env={"PYTHONPATH": str(root)}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("'")[1] in ("u", "v")


def test_a_limited_method_is_refitted_on_a_part():
    problem = PROBLEMS["classification"]
    (svm,) = candidates_for(problem, ["svm"])[0]
    svm.row_limit = 20
    code = write_snippet(problem, svm, {"C": 1.0}, None, {"target": "k", "drop": ("m", "y")}, 0)
    space, _ = executed(code, frame=FRAME)
    assert 20 <= space["problem"].n_rows <= 40


def test_values_as_code():
    imports = set()
    assert as_code({"a": (1,), "b": [np.float64(0.5), np.nan, None, True]}, imports) == (
        '{"a": (1,), "b": [0.5, nan, None, True]}'
    )
    assert imports == {("math", "nan")}
    assert math.isnan(evaluated(as_code(math.nan, imports), imports))
    assert as_code(written_out, imports) == "written_out"
    assert as_code(LogisticRegression(C=2.0), imports) == "LogisticRegression(C=2.0)"
    assert public_module(LogisticRegression) == "sklearn.linear_model"
    assert public_module(make_pipeline) == "sklearn.pipeline"


NASTY = [
    'a""";import os;os.mkdir("gotcha");""".csv',
    'a\nimport os;os.mkdir("gotcha")\n.csv',
    "a');import os;os.mkdir('gotcha');('.csv",
    'a\\";import os;os.mkdir("gotcha");".csv',
    "a\r\x1b[2J\u2028\u202e.csv",
    "a{problem}.csv",
]


@pytest.mark.parametrize("name", NASTY)
def test_a_file_name_is_never_code(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    frame = FRAME[["y"]].assign(z=FRAME["y"] + np.arange(len(FRAME)))
    frame.to_csv(tmp_path / name, index=False)
    result = compare(str(tmp_path / name), "z", methods="Ridge", cv=2, journal=False)
    result.arguments["keep"] = (name,)
    code = result.snippet()
    assert all(line.isprintable() for line in code.splitlines())
    assert name in [n.value for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Constant)]
    del result.arguments["keep"]
    space, said = executed(result.snippet())
    assert said
    assert space["problem"].target == "z"
    assert not (tmp_path / "gotcha").exists()
    assert repr(result).replace("\n", "").isprintable()


def test_the_script_of_a_tuned_threshold_runs():
    from octavo.compare import prepare
    from octavo.compare.methods.candidates import balanced
    from tests.compare.methods.test_candidates import rare_problem

    problem = rare_problem()
    (arow,) = candidates_for(problem, ["AROW"])[0]
    tuned = balanced(arow, problem, "balanced_accuracy")
    frame = problem.X.assign(k=problem.y)
    code = write_snippet(problem, tuned, arow.grid[4], None, {"target": "k"}, 0)
    assert "TunedThresholdClassifierCV" in code
    space, _ = executed(code, frame=frame)
    expected = tuned.build(problem, arow.grid[4], 0).fit(problem.X, problem.y)
    np.testing.assert_array_equal(
        space["model"].predict(problem.X), expected.predict(prepare(frame, "k").X)
    )
