"""What a careful user does to a table before modelling it, and a sentence for every step.

A table is first examined: `plan_columns` decides for each column whether it holds numbers,
categories or dates, or has to go. The plan is then applied, to these rows and to any later ones,
by `TablePlan.apply`. Nothing here looks at more than one row at a time when it changes a value:
filling in, scaling and encoding learn from the rows, so they happen inside the folds
(`octavo.compare.methods.encoding`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from octavo.compare.table.reading import InputError, need_pandas

if TYPE_CHECKING:
    import pandas as pd

MISSING = {"", "?", "na", "n/a", "nan", "null", "#n/a", "-", "--", "."}
SENTINELS = (-99.0, -999.0, -9999.0, -99999.0)
MAX_LEVELS = 30  # levels of a category that get a column of their own; the rest share one
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_COMMA = re.compile(r"[-+]?\d+,\d+")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?")
_DATE_FORMATS = ("ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
_ROW_NAME = re.compile(r"(.*[_ .])?(id|idx|index|rownames?|row|uuid|key|no|nr)", re.I)


@dataclass(frozen=True)
class Step:
    """One thing that was done to the data: a sentence, and whether the user should look.

    Parameters
    ----------
    what : str
        The sentence.
    alarm : bool
        Whether it deserves a second look.
    doubt : str
        Why the verdict may not hold; empty where it does not touch it.
    level_note : str
        Of a category about which nothing else is to be said, its name and levels, for a list.
    """

    what: str
    alarm: bool = False
    doubt: str = ""
    level_note: str = ""


@dataclass(frozen=True)
class ColumnPlan:
    """How one column is read: "number", "category", "text", "date" or "drop"."""

    name: str
    kind: str
    spelling: dict[str, str] = field(default_factory=dict)
    date_format: str = ""
    origin: str = ""


@dataclass
class TablePlan:
    """How every column of a table is read, these rows and any later ones.

    Parameters
    ----------
    columns : list of ColumnPlan
        One a column of the features.
    """

    columns: list[ColumnPlan]

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the features: floats, and categories as text; NaN where missing.

        Parameters
        ----------
        frame : DataFrame
            Rows with the columns that the plan was made for.

        Returns
        -------
        features : DataFrame
            The rows as the methods get them, before filling in and encoding.
        """
        pd = need_pandas()
        lacking = [p.name for p in self.columns if p.kind != "drop" and p.name not in frame]
        if lacking:
            listed = ", ".join(f"'{name}'" for name in lacking[:8])
            more = f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
            plural = "s" if len(lacking) > 1 else ""
            raise InputError(
                f"The rows lack the column{plural} {listed}{more}, which the model was made with; "
                f"add {'them' if plural else 'it'} (cells may be empty)."
            )
        done: dict[str, Any] = {}
        for plan in self.columns:
            if plan.kind == "drop":
                continue
            column = frame[plan.name]
            if plan.kind == "number":
                done[plan.name] = as_numbers(column)
            elif plan.kind == "text":
                done[plan.name] = as_text(column)
            elif plan.kind == "category":
                done[plan.name] = as_text(column).replace(plan.spelling)
            else:
                done.update(_date_parts(column, plan))
        return pd.DataFrame(done, index=frame.index)

    @property
    def dropped(self) -> list[str]:
        """Names of the columns that are left out."""
        return [plan.name for plan in self.columns if plan.kind == "drop"]


# --- values --------------------------------------------------------------------------------------


def as_text(column: pd.Series) -> pd.Series:
    """Return a column as stripped text, None-like cells as NaN."""

    def cell(value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = str(value).strip()
        return np.nan if text.lower() in MISSING else text

    pd = need_pandas()
    codes, values = pd.factorize(column)  # each value is looked at once, however many rows
    spelled = np.array([*map(cell, values), np.nan], dtype=object)
    return pd.Series(spelled[codes], index=column.index, dtype=object)


def number_of_text(text: str) -> float:
    """Read a number as people write it: thousands, decimal commas, currencies, per cent."""
    bare = text.strip().strip("€$£¥%").strip().replace("\u00a0", "").replace("\u2212", "-")
    if _GROUPED.fullmatch(bare):
        bare = bare.replace(",", "")
    elif _COMMA.fullmatch(bare):
        bare = bare.replace(",", ".")
    try:
        return float(bare)
    except ValueError:
        return float("nan")


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column as floats; what is no finite number becomes NaN."""
    pd = need_pandas()
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.astype("Float64" if column.isna().any() else float).astype(float)
    elif pd.api.types.is_timedelta64_dtype(column.dtype):
        numbers = column.dt.total_seconds()
    else:
        text = as_text(column)
        table = {value: number_of_text(value) for value in text.dropna().unique()}
        numbers = text.map(table).astype(float)
    return numbers.where(np.isfinite(numbers))


def as_dates(column: pd.Series, date_format: str) -> pd.Series:
    """Return a column as dates without time zone; what is none becomes NaT."""
    pd = need_pandas()
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = column
    else:
        dates = pd.to_datetime(as_text(column), format=date_format, errors="coerce", utc=True)
    return dates.dt.tz_localize(None) if dates.dt.tz is not None else dates


def _date_parts(column: pd.Series, plan: ColumnPlan) -> dict[str, Any]:
    pd = need_pandas()
    dates = as_dates(column, plan.date_format)
    days = (dates - pd.Timestamp(plan.origin)).dt.total_seconds() / 86400
    parts = {"days": days, "month": dates.dt.month, "weekday": dates.dt.day_of_week}
    if (dates.dropna() != dates.dropna().dt.normalize()).any():
        parts["hour"] = dates.dt.hour
    return {f"{plan.name}: {part}": values.astype(float) for part, values in parts.items()}


# --- examination ---------------------------------------------------------------------------------


def plan_columns(
    frame: pd.DataFrame, *, keep: Iterable[str] = (), drop: Iterable[str] = ()
) -> tuple[TablePlan, list[Step]]:
    """Examine the columns of features and decide how each is read.

    Parameters
    ----------
    frame : DataFrame
        The features.
    keep, drop : iterables of str
        Columns that stay although they look like identifiers, and columns that go.

    Returns
    -------
    plan : TablePlan
        How each column is read.
    steps : list of Step
        What was decided, and why.
    """
    kept, dropped = set(keep), set(drop)
    plans, steps = [], []
    for name in frame.columns:
        if name in dropped:
            plan, found = ColumnPlan(name, "drop"), [Step(f"'{name}' was left out, as asked.")]
        else:
            plan, found = _plan_column(frame[name], name, name in kept)
        plans.append(plan)
        steps += found
    plans, twins = _without_twins(frame, plans)
    return TablePlan(plans), steps + twins


def _plan_column(column: pd.Series, name: str, kept: bool) -> tuple[ColumnPlan, list[Step]]:
    pd = need_pandas()
    gone = ColumnPlan(name, "drop")
    if _unusable(column):
        return gone, [Step(f"'{name}' holds lists or objects, not values, and was left out.", True)]
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _plan_dates(column, name, "")
    is_number = (
        pd.api.types.is_numeric_dtype(column.dtype)
        or pd.api.types.is_timedelta64_dtype(column.dtype)
    ) and not isinstance(column.dtype, pd.CategoricalDtype)
    values = column if is_number else as_text(column)
    n_missing = int(values.isna().sum())
    if n_missing == len(column):
        return gone, [
            Step(
                f"'{name}' has no value in any row and was left out; check how it was exported.",
                True,
            )
        ]
    if (
        values.nunique() == 1
        and not n_missing
        and not (is_number and as_numbers(column).isna().all())
    ):
        return gone, [Step(f"'{name}' is {values.iloc[0]} in every row and was left out.")]
    if is_number:
        return _plan_numbers(column, name, kept)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _plan_levels(values, name, n_missing, kept)
    if (date_format := date_format_of(values)) is not None:
        return _plan_dates(column, name, date_format)
    return _plan_text(column, values, name, kept)


def _unusable(column: pd.Series) -> bool:
    if column.dtype.kind == "c":
        return True
    if column.dtype != object:
        return False
    try:
        column.dropna().unique()
    except TypeError:
        return True
    return False


def _missing_note(n: int) -> str:
    return f"; {n:,} missing" if n else ""


def _plan_numbers(column: pd.Series, name: str, kept: bool) -> tuple[ColumnPlan, list[Step]]:
    numbers = as_numbers(column)
    n_infinite = int(column.notna().sum() - numbers.notna().sum())
    steps = []
    if n_infinite:
        steps.append(
            Step(f"'{name}' holds {n_infinite:,} infinite values, taken as missing.", True)
        )
    if numbers.isna().all():
        return ColumnPlan(name, "drop"), [Step(f"'{name}' holds no finite number; left out.", True)]
    if not kept and _numbers_rows(numbers, name):
        why = f"'{name}' numbers the rows and was left out; --keep '{name}' brings it back."
        return ColumnPlan(name, "drop"), [Step(why)]
    low = float(numbers.min())
    if low in SENTINELS and (numbers == low).sum() > 1 and (numbers[numbers != low] >= 0).all():
        count = int((numbers == low).sum())
        steps.append(
            Step(
                f"'{name}' is {low:g} in {count:,} rows and never negative elsewhere: if that "
                "stands "
                "for 'missing', empty those cells first. It was taken as a number.",
                True,
            )
        )
    n_missing = int(numbers.isna().sum())
    if n_missing > 0.5 * len(numbers):
        steps.append(
            Step(f"'{name}' is missing in {n_missing / len(numbers):.0%} of the rows.", True)
        )
    return ColumnPlan(name, "number"), steps


def _numbers_rows(numbers: pd.Series, name: str) -> bool:
    """Whether a column only counts the rows, or is an identifier by name and nature."""
    if numbers.isna().any() or len(numbers) < 10 or (numbers % 1 != 0).any():
        return False
    steps = np.diff(numbers.to_numpy())
    return bool((steps == 1).all() or (numbers.is_unique and _ROW_NAME.fullmatch(str(name))))


def date_format_of(values: pd.Series) -> str | None:
    """Return the format in which almost all cells are dates, or None."""
    pd = need_pandas()
    known = values.dropna()
    sample = known if len(known) <= 300 else known.sample(300, random_state=0)
    if sum(bool(_DATE.fullmatch(cell)) for cell in sample) < 0.95 * len(sample):
        return None
    for date_format in _DATE_FORMATS:
        parsed = pd.to_datetime(sample, format=date_format, errors="coerce", utc=True)
        if parsed.notna().sum() >= 0.95 * len(sample):
            return date_format
    return None


def _plan_dates(column: pd.Series, name: str, date_format: str) -> tuple[ColumnPlan, list[Step]]:
    dates = as_dates(column, date_format)
    origin = dates.min()
    if dates.notna().sum() == 0:
        return ColumnPlan(name, "drop"), [
            Step(f"'{name}' has no value in any row; left out.", True)
        ]
    text = f"'{name}' holds dates: days since {origin:%Y-%m-%d}, month and weekday take its place."
    if date_format == "%m/%d/%Y":
        text += " They were read month first; write YYYY-MM-DD if that is wrong."
    return ColumnPlan(name, "date", date_format=date_format, origin=origin.isoformat()), [
        Step(text)
    ]


def _plan_text(
    column: pd.Series, values: pd.Series, name: str, kept: bool
) -> tuple[ColumnPlan, list[Step]]:
    n_missing = int(values.isna().sum())
    numbers = as_numbers(column)
    known = int(values.notna().sum())
    odd = values[values.notna() & numbers.isna()].unique()
    if numbers.notna().sum() >= 0.95 * known and len(odd) <= 5:
        text = f"'{name}' is numbers written as text{_missing_note(n_missing)}."
        if len(odd):
            listed = ", ".join(map(repr, odd))
            count = int((values.notna() & numbers.isna()).sum())
            text += f" {count:,} cells are not ({listed}): taken as missing."
        plan, more = _plan_numbers(numbers, name, kept)
        return plan, [Step(text, bool(len(odd))), *more]
    return _plan_levels(values, name, n_missing, kept)


def _is_prose(values: Any) -> bool:
    """Whether cells hold sentences: more than three words on average, and words that return."""
    words = [str(value).lower().split() for value in values]
    if np.mean([len(found) for found in words]) <= 3:
        return False
    counts: dict[str, int] = {}
    for found in words:
        for word in set(found):
            counts[word] = counts.get(word, 0) + 1
    return any(n > 1 for n in counts.values())


def _plan_levels(
    values: pd.Series, name: str, n_missing: int, kept: bool
) -> tuple[ColumnPlan, list[Step]]:
    counts = values.value_counts()
    known = int(counts.sum())
    if known >= 20 and len(counts) > MAX_LEVELS / 2 and _is_prose(counts.index[:200]):
        text = (
            f"'{name}' is free text{_missing_note(n_missing)}: its words and pairs of words count"
        )
        return ColumnPlan(name, "text"), [Step(text + ".")]
    if not kept and known >= 20 and len(counts) > 0.9 * known:
        why = (
            f"'{name}' differs in almost every row (an identifier) and was left out; "
            f"--keep '{name}' brings it back."
        )
        return ColumnPlan(name, "drop"), [Step(why)]
    spelling = {}
    by_case: dict[str, str] = {}
    for level in counts.index:  # the most frequent spelling comes first
        first = by_case.setdefault(level.lower(), level)
        if first != level:
            spelling[level] = first
    text = f"'{name}' is a category of {len(by_case):,} levels{_missing_note(n_missing)}"
    plain = not (n_missing or spelling or len(by_case) > MAX_LEVELS)
    note = f"'{name}' ({len(by_case):,})" if plain else ""
    if len(by_case) > MAX_LEVELS:
        text += f"; the {MAX_LEVELS} most frequent of a training part count, the others are one"
    if spelling:
        listed = ", ".join(f"{a!r} = {b!r}" for a, b in list(spelling.items())[:4])
        text += f"; spellings that differ in case only were joined ({listed})"
    return ColumnPlan(name, "category", spelling=spelling), [
        Step(text + ".", bool(spelling), level_note=note)
    ]


def joined(steps: list[Step]) -> list[Step]:
    """Return steps with those that only tell the levels of a category in one sentence.

    Parameters
    ----------
    steps : list of Step
        In order.

    Returns
    -------
    steps : list of Step
        Where more than three columns are plain categories, one step for all of them, in the place
        of the first.
    """
    noted = [step for step in steps if step.level_note]
    if len(noted) <= 3:
        return steps
    listed = ", ".join(step.level_note for step in noted)
    text = Step(f"{len(noted)} columns are categories (with their levels): {listed}.")
    return [
        text if step is noted[0] else step
        for step in steps
        if step is noted[0] or not step.level_note
    ]


def _without_twins(
    frame: pd.DataFrame, plans: list[ColumnPlan]
) -> tuple[list[ColumnPlan], list[Step]]:
    """Leave out columns that repeat an earlier one value for value."""
    pd = need_pandas()
    seen: dict[int, str] = {}
    done, steps = [], []
    for plan in plans:
        if plan.kind == "drop":
            done.append(plan)
            continue
        column = frame[plan.name]
        values = as_numbers(column) if plan.kind == "number" else as_text(column)
        mark = hash(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
        if mark in seen:
            steps.append(Step(f"'{plan.name}' repeats '{seen[mark]}' and was left out."))
            plan = ColumnPlan(plan.name, "drop")
        seen.setdefault(mark, plan.name)
        done.append(plan)
    return done, steps
