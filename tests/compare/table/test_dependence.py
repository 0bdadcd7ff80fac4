"""Rows of one entity, and rows in time: kept apart when asked, asked about when noticed."""

import numpy as np
import pandas as pd
import pytest

from octavo.compare import InputError, compare, prepare
from octavo.compare.methods.candidates import candidates_for
from octavo.compare.results.page import verdict
from octavo.compare.running.folds import Settings, outer_split, run_fold
from octavo.compare.table.dependence import group_labels, times_of

RNG = np.random.default_rng(0)
VISITS = pd.DataFrame(
    {
        "patient": np.repeat(np.arange(60), 10),
        "age": np.repeat(RNG.uniform(20, 80, 60), 10),
        "weight": np.repeat(RNG.uniform(50, 90, 60), 10),
        "pulse": RNG.normal(70, 8, 600),
        "ill": np.repeat(RNG.choice(["yes", "no"], 60), 10),
    }
)


def told(problem):
    return " ".join(step.what for step in problem.steps if step.alarm)


def test_groups_stay_on_one_side_of_outer_and_inner_folds():
    problem = prepare(VISITS, "ill", group="patient")
    assert "patient" not in problem.X.columns
    assert "60 groups" in " ".join(step.what for step in problem.steps)
    patients = VISITS["patient"].to_numpy()
    for fold in range(10):
        train, test = outer_split(problem, Settings(), fold)
        assert not set(patients[train]) & set(patients[test])
        inner = problem.take(train)
        a, b = outer_split(inner, Settings(cv=3), 0)
        assert not set(inner.groups[a]) & set(inner.groups[b])
    number = prepare(VISITS.drop(columns="ill"), "pulse", group="patient")
    train, test = outer_split(number, Settings(), 0)
    assert not set(patients[train]) & set(patients[test])


def test_labels_by_patient_are_learnt_only_where_patients_are_torn_apart():
    """Random labels a patient: a forest knows every patient, and nothing about new ones."""
    torn, whole = prepare(VISITS, "ill", drop=["patient"]), prepare(VISITS, "ill", group="patient")
    (forest,) = candidates_for(torn, ["extra-trees"])[0]
    forest.grid = forest.grid[:1]
    assert run_fold(torn, forest, 0, Settings()).score > 0.95
    scores = [run_fold(whole, forest, fold, Settings()).score for fold in range(5)]
    assert np.mean(scores) < 0.7


def test_entities_are_noticed_by_name_and_by_target():
    text = told(prepare(VISITS, "ill"))
    assert "--group 'patient'" in text
    assert "--group 'age'" in told(prepare(VISITS.drop(columns="patient"), "ill"))
    assert "--group 'age'" not in told(prepare(VISITS, "ill"))  # the same entities
    assert "--group" not in told(prepare(VISITS, "ill", group="patient"))


def test_a_verdict_is_doubted_while_entities_are_torn_apart():
    known = {"methods": "knn,guess", "repeats": 1, "journal": False}
    torn = verdict(compare(VISITS, target="ill", **known))
    assert "Do not trust this yet: rows with the same 'patient' stand on both sides" in torn
    whole = verdict(compare(VISITS, target="ill", group="patient", **known))
    assert "trust" not in whole


def test_a_smooth_dependence_is_no_entity():
    x = RNG.integers(0, 40, 400)
    frame = pd.DataFrame({"x": x, "z": RNG.normal(size=400), "k": np.where(x > 20, "a", "b")})
    frame["y"] = np.sin(x / 8) + 0.01 * RNG.normal(size=400)
    assert "--group" not in told(prepare(frame.drop(columns="y"), "k"))
    assert "--group" not in told(prepare(frame.drop(columns="k"), "y"))
    made = frame.assign(y=RNG.normal(size=40)[x] + 0.01 * RNG.normal(size=400))
    assert "--group 'x'" in told(prepare(made.drop(columns="k"), "y"))


def test_copies_of_rows_are_noticed():
    frame = pd.DataFrame(RNG.normal(size=(100, 3)), columns=list("abc"))
    frame["k"] = RNG.choice(["u", "v"], 100)
    assert "exactly the features" not in told(prepare(frame, "k"))
    twice = pd.concat([frame, frame.head(20)], ignore_index=True)
    assert "40 rows have exactly the features of another row" in told(prepare(twice, "k"))


def dated(n=120):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.permutation(n), unit="D")
    x = RNG.normal(size=n)
    return pd.DataFrame(
        {"day": days.strftime("%Y-%m-%d"), "x": x, "k": np.where(x > 0, "up", "down")}
    )


def test_time_order_learns_from_the_past_alone():
    frame = dated()
    assert "--time-order 'day'" in told(prepare(frame, "k"))
    problem = prepare(frame, "k", time_order="day")
    assert "--time-order" not in told(problem)
    days = np.sort(pd.to_datetime(frame["day"]).to_numpy())
    for fold in range(5):
        train, test = outer_split(problem, Settings(), fold)
        assert days[train].max() < days[test].min()
    expected = frame.sort_values("day")["x"].to_numpy()
    np.testing.assert_allclose(problem.X["x"], expected)
    for name in ("linear", "knn"):
        (candidate,) = candidates_for(problem, [name])[0]
        assert run_fold(problem, candidate, 0, Settings()).error is None
    gaps = frame.assign(day=frame["day"].where(frame.index > 2))
    assert "3 rows without it were left out" in told(prepare(gaps, "k", time_order="day"))


def test_times_are_dates_or_numbers():
    np.testing.assert_allclose(np.diff(times_of(pd.Series(["2020-01-01", "2020-01-03"]))), [2])
    np.testing.assert_allclose(np.diff(times_of(pd.Series(["01.02.2020", "01.03.2020"]))), [29])
    np.testing.assert_allclose(times_of(pd.Series([3, 1.5])), [3, 1.5])
    when = pd.Series(pd.to_datetime(["2020-01-01 12:00", "2020-01-02 00:00"]))
    np.testing.assert_allclose(np.diff(times_of(when)), [0.5])


def test_rows_without_a_group_stand_alone():
    groups, steps = group_labels(pd.Series(["a", None, "a", None, "b"], name="g"))
    assert groups[0] == groups[2]
    assert len(set(groups)) == 4
    assert "2 rows without one stand alone" in steps[0].what


def test_a_drift_is_no_doubt_once_time_is_named():
    day = np.cumsum(np.linspace(1, 2, 200))
    frame = pd.DataFrame({"day": day, "x": RNG.normal(size=200), "y": np.sin(day / 50)})
    assert any(step.doubt for step in prepare(frame, "y").steps)
    assert not any(step.doubt for step in prepare(frame, "y", time_order="day").steps)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"group": "patient", "time_order": "age"}, "cannot be used together"),
        ({"time_order": "ward"}, "neither dates nor numbers"),
        ({"group": "ward"}, "The groups are 3"),
        ({"group": "pateint"}, "did you mean patient"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(arguments, words):
    frame = VISITS.assign(ward=np.array(["n", "s", "e"])[np.arange(600) % 3])
    with pytest.raises(InputError, match=words):
        prepare(frame, "ill", **arguments)
    with pytest.raises(InputError, match="not for clustering"):
        prepare(frame.drop(columns="ill"), group="patient")


def test_a_comparison_by_group_resamples_groups(tmp_path):
    from octavo.compare import compare

    result = compare(
        VISITS, "ill", group="patient", methods="linear,guess", journal=False, repeats=1
    )
    rows = compare(
        VISITS.drop(columns="patient"), "ill", methods="linear,guess", journal=False, repeats=1
    )
    assert result.best.high - result.best.low > rows.best.high - rows.best.low
    assert "group='patient'" in result.snippet() or 'group="patient"' in result.snippet()
