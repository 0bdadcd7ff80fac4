"""Rows that are not independent: those of one entity, and those that follow one another in time.

When a patient's visits stand on both sides of a fold, a method is praised for knowing the patient.
`--group` keeps an entity on one side, `--time-order` lets methods learn from the past alone. Where
neither is given, `find_entities` and `find_dates` look for signs and ask.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo.compare.table.cleaning import (
    Step,
    TablePlan,
    as_dates,
    as_numbers,
    as_text,
    date_format_of,
)
from octavo.compare.table.reading import InputError, need_pandas
from octavo.engine.estimators.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ENTITIES = 10
ALIKE = 0.95  # share of pairs of rows of one value that have the same target
_ENTITY = re.compile(
    r"(.*[_ .-])?(patient|subject|person|participant|user|customer|client|member|account|animal|"
    r"household|family|student|session|device|machine|individual|entity|donor|store)"
    r"([_ .-]?(id|no|nr|number|name|key))?|.+[_ .-]?id",
    re.I,
)


def group_labels(column: pd.Series) -> tuple[NDArray[np.int64], list[Step]]:
    """Return the number of each row's group; a row without one is a group of its own.

    Parameters
    ----------
    column : Series
        The column of groups.

    Returns
    -------
    groups : ndarray of int
        Numbers from 0.
    steps : list of Step
        What was decided.
    """
    pd = need_pandas()
    codes = pd.factorize(as_text(column))[0].astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max() + 1 + np.arange(alone.sum())
    n_groups = len(np.unique(codes))
    text = f"Rows of one '{column.name}' stay on one side of every fold: {n_groups:,} groups"
    text += f"; {alone.sum():,} rows without one stand alone." if alone.any() else "."
    return codes, [Step(text)]


def times_of(column: pd.Series) -> Floats:
    """Return a column as numbers that grow with time; NaN where it is missing.

    Parameters
    ----------
    column : Series
        Dates or numbers.

    Returns
    -------
    times : ndarray
        Days, or the numbers.
    """
    pd = need_pandas()
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        form: str | None = ""
    else:
        text, numbers = as_text(column), as_numbers(column)
        if numbers[text.notna()].notna().all() and text.notna().any():
            return numbers.to_numpy(dtype=float)
        form = date_format_of(text)
        if form is None:
            odd = text[text.notna() & numbers.isna()]
            seen = f", but {odd.iloc[0]!r}" if len(odd) else ""
            raise InputError(
                f"'{column.name}' cannot give the order of time: it holds neither dates nor "
                f"numbers{seen}."
            )
    days = (as_dates(column, form or "") - pd.Timestamp(0)).dt.total_seconds() / 86400
    return days.to_numpy(dtype=float)


# --- signs ---------------------------------------------------------------------------------------


def _agreement(codes: NDArray[Any], y: NDArray[Any]) -> tuple[float, float]:
    """Return the share of pairs with the same class: among rows of one value, and among all."""
    classes, place = np.unique(y, return_inverse=True)
    table = np.zeros((int(codes.max()) + 1, len(classes)))
    np.add.at(table, (codes, place), 1)
    sizes, totals = table.sum(axis=1), table.sum(axis=0)
    pairs = (sizes * (sizes - 1)).sum()
    within = (table * (table - 1)).sum() / pairs if pairs else 0.0
    n = totals.sum()
    return float(within), float((totals * (totals - 1)).sum() / (n * (n - 1)))


def _jumps(means: NDArray[Any], spread: float) -> bool:
    """Whether values that lie beside one another have targets as different as any two."""
    steps = np.abs(np.diff(means))
    return bool(len(steps)) and float(np.mean(steps**2)) > 0.5 * 2 * spread**2


def _same_target(column: pd.Series, y: NDArray[Any], task: str) -> bool:
    """Whether rows of one value share the target, in a way that no smooth dependence explains."""
    pd = need_pandas()
    codes, levels = pd.factorize(column, sort=True)
    known = codes >= 0
    codes, target = codes[known], y[known]
    counts = np.bincount(codes, minlength=len(levels))
    if task == "classification":
        within, overall = _agreement(codes, target)
        if within < ALIKE or overall > 0.9:
            return False
        number = np.unique(target, return_inverse=True)[1].astype(float)
    else:
        number = target.astype(float)
    means = np.bincount(codes, number, len(levels)) / np.maximum(counts, 1)
    if task == "regression":
        inside = np.mean((number - means[codes]) ** 2)
        if inside > (1 - ALIKE) * number.var():
            return False
    return column.dtype == object or _jumps(means, float(means.std()))


def find_entities(X: pd.DataFrame, y: NDArray[Any] | None, task: str) -> list[Step]:
    """Look for rows that belong to one entity, and ask about them.

    Parameters
    ----------
    X : DataFrame
        Clean features.
    y : ndarray or None
        Class labels or numbers.
    task : {"classification", "regression"}
        What kind of target it is.

    Returns
    -------
    steps : list of Step
        A question for each sign.
    """
    n, found = len(X), []
    told: list[str] = []
    for name in X.columns:
        n_values = X[name].nunique()
        if not FEWEST_ENTITIES <= n_values <= n / 2:
            continue
        if any(
            len(X[[other, name]].drop_duplicates()) == n_values == X[other].nunique()
            for other in told
        ):
            continue  # the same entities, such as a patient's age
        by_name = bool(_ENTITY.fullmatch(str(name))) and (
            X[name].dtype == object or bool((X[name].dropna() % 1 == 0).all())
        )
        alike = y is not None and _same_target(X[name], y, task)
        if by_name or alike:
            told.append(name)
            why = (
                "rows with the same value almost always have the same target"
                if alike
                else "its name is that of an entity"
            )
            found.append(
                Step(
                    f"'{name}' has {n_values:,} values in {n:,} rows, and {why}. If such rows are "
                    "of one patient, customer or device, methods may be praised for knowing it: "
                    f"keep them on one side of every fold with --group '{name}'.",
                    True,
                    f"rows with the same '{name}' stand on both sides of the folds",
                )
            )
    return found[:3] + _copies(X)


def _copies(X: pd.DataFrame) -> list[Step]:
    """Notice rows whose features are those of another row, where that is no coincidence."""
    numbers = [c for c in X.columns if X[c].dtype != object]
    if X.shape[1] < 3 or not any(X[c].nunique() > 20 for c in numbers):
        return []
    n_copies = int(X.duplicated(keep=False).sum())
    if n_copies < max(4, 0.05 * len(X)):
        return []
    return [
        Step(
            f"{n_copies:,} rows have exactly the features of another row. If they are copies, a "
            "method that has seen one knows the other: remove them, or name the column that tells "
            "entities apart with --group.",
            True,
            "rows that are alike stand on both sides of the folds",
        )
    ]


def find_dates(plan: TablePlan) -> list[Step]:
    """Ask about time, where a column holds dates."""
    return [
        Step(
            f"'{column.name}' holds dates, and rows of all dates are mixed in every fold. If you "
            f"will predict later rows from earlier ones, say so: --time-order '{column.name}'.",
            True,
        )
        for column in plan.columns
        if column.kind == "date"
    ][:1]
