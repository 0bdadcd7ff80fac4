"""Columns are read as a careful user would, every step is told, later rows get the same."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.compare.table.cleaning import as_numbers, number_of_text, plan_columns
from octavo.compare.table.leaks import find_leaks


def cleaned(**columns):
    frame = pd.DataFrame(columns)
    plan, steps = plan_columns(frame)
    return plan.apply(frame), " ".join(step.what for step in steps), plan


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1,234.5", 1234.5),
        ("1,5", 1.5),
        ("€ 20", 20),
        ("12 %", 12),
        ("-1e3", -1000),
        ("−2", -2),
    ],
)
def test_numbers_as_people_write_them(text, value):
    assert number_of_text(text) == value


@settings(max_examples=60, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_numbers_survive_being_written(value):
    assert number_of_text(repr(value)) == value


def test_numbers_in_text_with_a_few_odd_cells():
    cells = [str(i) for i in range(95)] + ["?", "NA", "n.d.", "n.d.", "1,000"]
    X, text, _ = cleaned(x=cells)
    np.testing.assert_array_equal(X["x"][:95], np.arange(95))
    assert X["x"].isna().sum() == 4
    assert X["x"].iloc[-1] == 1000
    assert "numbers written as text; 2 missing" in text
    assert "'n.d.'" in text


def test_words_are_categories_and_spellings_are_joined():
    X, text, _ = cleaned(sex=["male", "Male", "male ", "female", "?", "female"] * 5)
    assert X["sex"].dropna().unique().tolist() == ["male", "female"]
    assert X["sex"].isna().sum() == 5
    assert "'Male' = 'male'" in text


def test_dates_are_taken_apart():
    days = pd.date_range("2024-01-01", periods=40, freq="36h")
    X, text, plan = cleaned(when=days.strftime("%Y-%m-%d %H:%M"), also=days)
    np.testing.assert_allclose(X["when: days"], np.arange(40) * 1.5)
    np.testing.assert_array_equal(X["also: weekday"], days.day_of_week)
    assert set(X["when: hour"]) == {0, 12}
    assert "month and weekday take its place" in text
    later = plan.apply(pd.DataFrame({"when": ["2024-01-03", "rubbish"], "also": days[:2]}))
    assert later["when: days"].iloc[0] == 2
    assert later["when: days"].isna().iloc[1]


def test_day_first_and_month_first_dates():
    X, _, _ = cleaned(d=["13/02/2024", "01/03/2024"] * 10)
    assert sorted(set(X["d: month"])) == [2, 3]
    X, text, _ = cleaned(d=["02/13/2024", "03/01/2024"] * 10)
    assert sorted(set(X["d: month"])) == [2, 3]
    assert "month first" in text


def test_columns_that_go():
    n = 40
    X, text, plan = cleaned(
        empty=[None] * n,
        marks=["?"] * n,
        constant=[7] * n,
        row=np.arange(n) + 100,
        customer_id=np.random.default_rng(0).permutation(n) * 17,
        name=[f"person {i}" for i in range(n)],
        lists=[[1]] * n,
        infinite=[np.inf] * n,
        x=np.sin(np.arange(n)),
        twin=np.sin(np.arange(n)),
    )
    assert list(X.columns) == ["x"]
    assert len(plan.dropped) == 9
    for words in (
        "'empty' has no value in any row and was left out; check how it was exported",
        "'marks' has no value in any row",
        "'constant' is 7 in every row",
        "'row' numbers the rows",
        "--keep 'customer_id' brings it back",
        "'name' differs in almost every row (an identifier)",
        "'lists' holds lists",
        "'infinite' holds no finite number",
        "'twin' repeats 'x'",
    ):
        assert words in text, words


def test_keep_and_drop():
    frame = pd.DataFrame(
        {"row": np.arange(30), "x": np.arange(30) ** 2 % 7, "y": np.arange(30) % 5}
    )
    plan, steps = plan_columns(frame, keep=["row"], drop=["y"])
    assert list(plan.apply(frame).columns) == ["row", "x"]
    assert any("'y' was left out, as asked" in step.what for step in steps)


def test_codes_for_missing_are_pointed_out():
    _, text, _ = cleaned(x=[1.0, 2.5, -999, 4, -999, 6] * 5)
    assert "if that stands for 'missing', empty those cells first" in text


def test_booleans_extension_types_and_categories():
    frame = pd.DataFrame(
        {
            "flag": [True, False] * 10,
            "nullable": pd.array([1, None] * 10, dtype="Int64"),
            "nullable_flag": pd.array([True, None, False, True] * 5, dtype="boolean"),
            "grade": pd.Categorical(["1", "2", "3", "1"] * 5),
            "text": pd.array(["u", "v"] * 10, dtype="string"),
        }
    )
    X = plan_columns(frame)[0].apply(frame)
    assert X["flag"].tolist() == [1.0, 0.0] * 10
    assert X["nullable"].isna().sum() == 10
    assert X["nullable_flag"].isna().sum() == 5
    assert X["grade"].dtype == object
    assert X["text"].tolist() == ["u", "v"] * 10


def test_later_rows_with_new_values_do_not_fail():
    frame = pd.DataFrame({"x": ["1", "2", "3", "5"] * 6, "c": ["u", "v", "v", "u"] * 6})
    plan, _ = plan_columns(frame)
    later = plan.apply(pd.DataFrame({"x": [9, "much"], "c": ["w", None]}))
    assert later["x"].iloc[0] == 9
    assert later["x"].isna().iloc[1]
    assert later["c"].tolist()[0] == "w"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=4)), min_size=1, max_size=30)
)
def test_any_column_gives_floats_or_nothing(cells):
    numbers = as_numbers(pd.Series(cells, dtype=object))
    assert numbers.dtype == float
    assert not np.isinf(numbers).any()


# --- leaks ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 200)


def test_a_copy_of_the_target_is_left_out_and_a_near_copy_is_told():
    near = Y.astype(float) + 0.01 * RNG.normal(size=200)
    X = pd.DataFrame(
        {"copy": np.array(["u", "v", "w"])[Y], "near": near, "fair": RNG.normal(size=200) + Y}
    )
    copies, steps = find_leaks(X, Y, "classification")
    assert copies == ["copy"]
    text = " ".join(step.what for step in steps)
    assert "'copy' tells the target one to one" in text
    assert "bring it back: --keep 'copy'" in text
    assert "leave it out: --drop 'near'" in text
    assert "fair" not in text
    assert find_leaks(X, Y, "classification", keep=frozenset({"copy", "near"}))[0] == []


def test_a_monotone_copy_of_a_number_is_left_out():
    y = RNG.normal(size=100)
    X = pd.DataFrame(
        {"exp": -np.exp(y), "noisy": y + 0.3 * RNG.normal(size=100), "few": np.round(y)}
    )
    assert find_leaks(X, y, "regression")[0] == ["exp"]


def test_a_column_that_is_empty_for_one_class_is_told():
    X = pd.DataFrame(
        {"cause": np.where(Y == 0, None, "x"), "z": RNG.normal(size=200)}, dtype=object
    )
    _, steps = find_leaks(X.assign(z=X.z.astype(float)), (Y > 0).astype(int), "classification")
    assert any("'cause'" in step.what and "--drop 'cause'" in step.what for step in steps)


def test_honest_columns_raise_no_alarm():
    X = pd.DataFrame(RNG.normal(size=(200, 5)) + Y[:, None], columns=list("abcde"))
    assert find_leaks(X, Y, "classification") == ([], [])


def test_many_plain_categories_are_one_sentence():
    from octavo.compare.table.cleaning import joined

    columns = {f"c{k}": [f"v{i % (k + 2)}" for i in range(60)] for k in range(4)}
    columns["odd"] = ["x", "y", None] * 20
    steps = plan_columns(pd.DataFrame(columns))[1]
    told = [s.what for s in joined(steps)]
    listed = "'c0' (2), 'c1' (3), 'c2' (4), 'c3' (5)"
    assert told[0] == f"4 columns are categories (with their levels): {listed}."
    assert told[1] == "'odd' is a category of 2 levels; 20 missing."
    few = [s for s in steps if "'c0'" not in s.what]
    assert joined(few) == few


def test_a_target_that_drifts_with_a_sorted_column_is_a_question_of_time():
    rng = np.random.default_rng(0)
    day = np.arange(300.0)
    X = pd.DataFrame({"day": day, "mixed": rng.permutation(day)})
    target = np.sin(day / 50)
    _, (step,) = find_leaks(X, target, "regression")
    assert "--time-order 'day'" in step.what
    assert "sorted by 'day'" in step.doubt
    assert find_leaks(X, target, "regression", ordered=True) == ([], [])  # it was answered
    shuffled = rng.permutation(300)
    _, (step,) = find_leaks(X.iloc[shuffled], target[shuffled], "regression")
    assert "a leak?" in step.what
