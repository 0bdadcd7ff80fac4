"""The task is found, targets are read, and bad input gets a sentence that says what to do."""

import numpy as np
import pandas as pd
import pytest

from octavo.compare import InputError, prepare

RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "colour": RNG.choice(["red", "green"], N),
        "two": RNG.integers(0, 2, N),
        "grade": RNG.integers(1, 6, N),
        "price": RNG.normal(size=N),
        "kind": RNG.choice(["u", "v", "w"], N),
        "days": RNG.integers(1, 400, N),
        "dead": RNG.integers(0, 2, N),
    }
)


def told(problem):
    return " ".join(step.what for step in problem.steps)


@pytest.mark.parametrize(
    ("target", "task"),
    [
        ("kind", "classification"),
        ("two", "classification"),
        ("grade", "classification"),
        ("price", "regression"),
        ("days", "regression"),
        (None, "clustering"),
    ],
)
def test_the_task_is_found_and_the_reason_told(target, task):
    problem = prepare(FRAME, target)
    assert problem.task == task
    assert f"Task: {task}, because" in told(problem)
    assert target is None or target not in problem.X.columns


def test_the_task_can_be_told():
    assert prepare(FRAME, "grade", task="regression").task == "regression"
    with pytest.raises(InputError, match="expected auto or one of classification"):
        prepare(FRAME, "grade", task="regresion")
    with pytest.raises(InputError, match="rows must be 0, which takes all, or more, got -3"):
        prepare(FRAME, "grade", rows=-3)
    with pytest.raises(InputError, match="For regression name a --target"):
        prepare(FRAME, task="regression")


def test_columns_by_place():
    assert prepare(FRAME, 6).target == "kind"
    assert prepare(FRAME, "-1").target == "dead"


def test_files_and_frames_give_the_same_problem(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    FRAME.to_parquet(tmp_path / "t.parquet")
    given = prepare(FRAME, "kind")
    for name in ("t.csv", "t.parquet"):
        read = prepare(tmp_path / name, "kind")
        pd.testing.assert_frame_equal(read.X, given.X)
        np.testing.assert_array_equal(read.y, given.y)


def test_other_tables_become_frames():
    pa = pytest.importorskip("pyarrow")
    pd.testing.assert_frame_equal(
        prepare(pa.Table.from_pandas(FRAME), "kind").X, prepare(FRAME, "kind").X
    )
    with pytest.raises(InputError, match="Expected a path or a DataFrame, got ndarray"):
        prepare(np.ones((30, 2)), 1)


def test_rows_without_a_target_are_left_out():
    frame = FRAME.assign(kind=FRAME["kind"].where(FRAME.index > 4))
    problem = prepare(frame, "kind")
    assert problem.n_rows == N - 5
    assert "5 rows without a target were left out" in told(problem)


def test_labels_keep_their_type():
    assert prepare(FRAME, "grade").y.dtype.kind == "i"
    assert prepare(FRAME, "kind").classes == ["u", "v", "w"]
    floats = FRAME.assign(two=FRAME["two"].astype(float))
    assert prepare(floats, "two").classes == [0, 1]


# --- survival ------------------------------------------------------------------------------------


def test_survival_targets():
    problem = prepare(FRAME, time="days", event="dead")
    assert problem.task == "survival"
    np.testing.assert_array_equal(problem.y["time"], FRAME["days"])
    np.testing.assert_array_equal(problem.y["event"], FRAME["dead"] == 1)
    assert {"days", "dead"}.isdisjoint(problem.X.columns)


@pytest.mark.parametrize(
    ("values", "event", "happened"),
    [
        (["alive", "dead"], "s", "dead"),
        (["censored", "relapsed"], "s", "relapsed"),
        (["yes", "no"], "s", "yes"),
        ([1, 2], "s=2", "2"),
        (["a", "b", "c"], "s=b", "b"),
    ],
)
def test_what_an_event_is(values, event, happened):
    status = RNG.choice(values, N)
    problem = prepare(FRAME.assign(s=status), time="days", event=event)
    np.testing.assert_array_equal(problem.y["event"], status.astype(str) == happened)


@pytest.mark.parametrize(
    ("columns", "arguments", "words"),
    [
        ({"s": ["p", "q"]}, {"event": "s"}, "--event 's=q'"),
        ({"s": ["p", "q", "r"]}, {"event": "s"}, "has 3 values"),
        ({"s": ["p", "q"]}, {"event": "s=z"}, "is never 'z'"),
        ({"s": ["alive"]}, {"event": "s"}, "without events there is nothing to learn"),
        ({"days": [-1.0]}, {"event": "dead"}, "is negative in"),
    ],
)
def test_bad_survival_targets(columns, arguments, words):
    frame = FRAME.assign(**{k: RNG.permutation(np.resize(v, N)) for k, v in columns.items()})
    with pytest.raises(InputError, match=words):
        prepare(frame, time="days", **arguments)


def test_survival_needs_both_columns():
    with pytest.raises(InputError, match="--event is not given"):
        prepare(FRAME, time="days")
    with pytest.raises(InputError, match="--time is not given"):
        prepare(FRAME, event="dead")


def test_something_known_only_after_the_event_is_told():
    dead = FRAME["dead"] == 1
    frame = FRAME.assign(cause=np.where(dead, RNG.choice(["p", "q"], N), None))
    assert "--drop 'cause'" in told(prepare(frame, time="days", event="dead"))


# --- rankings ------------------------------------------------------------------------------------


def test_three_ways_to_write_games():
    pairs = [("ann", "bob"), ("eve", "ann"), ("bob", "eve")] * 10
    won = pd.DataFrame(pairs, columns=["Winner", "Loser"])
    expected = [([[a], [b]], [1.0, 2.0]) for a, b in pairs]
    assert expected == prepare(won).X
    result = pd.DataFrame([(b, a, "0-1") for a, b in pairs], columns=["home", "away", "score"])
    read = prepare(result, "score", task="ranking", items=["home", "away"]).X
    assert [(teams[::-1], ranks[::-1]) for teams, ranks in read] == expected
    places = pd.DataFrame(
        [(g, p, r) for g, pair in enumerate(pairs) for r, p in enumerate(pair, 1)],
        columns=["g", "who", "place"],
    )
    assert expected == prepare(places, "place", task="ranking", items=["who"], game="g").X


def test_draws():
    frame = pd.DataFrame({"a": ["x", "y"] * 12, "b": ["y", "x"] * 12, "r": ["draw", "1"] * 12})
    assert prepare(frame, "r", task="ranking", items=["a", "b"]).X[0][1] == [1.0, 1.0]


def test_bad_games():
    frame = pd.DataFrame({"a": ["x", "y"] * 12, "b": ["y", "x"] * 12, "r": ["good", "1"] * 12})
    with pytest.raises(InputError, match="holds 'good', which is no result of a game"):
        prepare(frame, "r", task="ranking", items=["a", "b"])
    with pytest.raises(InputError, match="columns 'winner' and 'loser'; or two columns of items"):
        prepare(frame, "r", task="ranking")
    with pytest.raises(InputError, match="the column that tells games apart"):
        prepare(frame.assign(g=range(24), r=1), "r", task="ranking", items=["a"], game="g")


# --- the list of bad input ------------------------------------------------------------------------


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        prepare(tmp_path / "none.csv", "y")


def test_wrong_column_suggests_the_nearest():
    with pytest.raises(
        InputError, match=r"No column of DataFrame \(--target\) is called 'prize'; .* price\?$"
    ):
        prepare(FRAME, "prize")
    with pytest.raises(InputError, match="--event"):
        prepare(FRAME, time="days", event="daed")
    with pytest.raises(InputError, match="known: x, colour"):
        prepare(FRAME, "99")


def test_one_class():
    with pytest.raises(
        InputError, match=r"only 'u': there is one class and nothing to learn\. Choose another"
    ):
        prepare(FRAME.assign(kind="u"), "kind")
    with pytest.raises(InputError, match="is 4 in every row: there is nothing to learn"):
        prepare(FRAME.assign(price=4.0), "price", task="regression")


def test_all_missing_column_and_target():
    problem = prepare(FRAME.assign(empty=np.nan), "kind")
    assert "empty" not in problem.X.columns
    assert "'empty' has no value in any row and was left out; check how it was exported" in told(
        problem
    )
    with pytest.raises(InputError, match="holds nothing"):
        prepare(FRAME.assign(kind=None), "kind", task="classification")
    with pytest.raises(InputError, match="No usable column is left"):
        prepare(pd.DataFrame({"y": FRAME["kind"], "a": np.nan, "b": 1}), "y")


def test_three_rows():
    with pytest.raises(
        InputError, match="has 3 usable rows; comparing methods in 5 folds needs at least 20"
    ):
        prepare(FRAME.head(3), "price")
    with pytest.raises(InputError, match="or lower --cv"):
        prepare(FRAME.head(12), "price", task="regression")
    assert prepare(FRAME.head(12), "price", task="regression", cv=3).n_rows == 12


def test_no_rows_and_no_columns():
    with pytest.raises(InputError, match="holds no rows"):
        prepare(FRAME.head(0), "price")
    with pytest.raises(InputError, match="no column besides the target"):
        prepare(FRAME[["price"]], "price")


@pytest.mark.slow
def test_two_million_rows():
    n = 2_000_000
    frame = pd.DataFrame({"x": np.arange(n) % 1009, "y": np.arange(n) % 2})
    problem = prepare(frame, "y")
    assert problem.n_rows == 100_000
    assert problem.n_rows_read == n
    text = told(problem)
    assert (
        "2,000,000 rows: methods are compared on 100,000 of them, drawn at random (seed 0)" in text
    )
    assert "--rows 0 takes all" in text
    again = prepare(frame, "y")
    np.testing.assert_array_equal(again.X.to_numpy(), problem.X.to_numpy())


def test_mixed_encodings(tmp_path):
    rows = [
        f"{'Müller' if i % 2 else 'Zoë'},{i % 7}\n".encode(("utf-8", "cp1252")[i % 3 == 0])
        for i in range(40)
    ]
    (tmp_path / "t.csv").write_bytes(b"name,n\n" + b"".join(rows))
    problem = prepare(tmp_path / "t.csv", "name")
    assert problem.classes == ["Müller", "Zoë"]
    (step,) = [step for step in problem.steps if step.alarm]
    assert "mixes encodings" in step.what
    assert "Save the file in one encoding, UTF-8" in step.what


def test_a_target_that_leaks():
    problem = prepare(FRAME.assign(code=FRAME["kind"].map({"u": 3, "v": 1, "w": 2})), "kind")
    assert "code" not in problem.X.columns
    assert "'code' tells the target one to one" in told(problem)
    kept = prepare(
        FRAME.assign(code=FRAME["kind"].map({"u": 3, "v": 1, "w": 2})), "kind", keep=["code"]
    )
    assert "code" in kept.X.columns


def test_rare_classes_and_identifiers():
    frame = FRAME.assign(kind=np.where(FRAME.index < 2, "rare", FRAME["kind"]))
    problem = prepare(frame, "kind")
    assert problem.classes == ["u", "v", "w"]
    assert "Classes with fewer than 3 rows ('rare')" in told(problem)
    with pytest.raises(InputError, match="looks like an identifier"):
        prepare(FRAME.assign(who=[f"p{i}" for i in range(N)]), "who")
    with pytest.raises(InputError, match="holds dates"):
        prepare(FRAME.assign(day=pd.date_range("2020", periods=N)), "day")
    with pytest.raises(InputError, match="is not a number"):
        prepare(FRAME, "kind", task="regression")
    with pytest.raises(InputError, match="Columns stand twice"):
        prepare(pd.concat([FRAME, FRAME[["x"]]], axis=1), "kind")
