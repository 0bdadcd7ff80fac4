"""From a file or a DataFrame to a problem that methods can be tried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from octavo.compare.table.cleaning import Step, TablePlan, joined, plan_columns
from octavo.compare.table.dependence import find_dates, find_entities, group_labels, times_of
from octavo.compare.table.leaks import find_leaks
from octavo.compare.table.reading import InputError, Table, need_pandas, read_table
from octavo.compare.table.tasks import (
    TASKS,
    class_target,
    find_column,
    find_targets,
    find_task,
    games_of_table,
    label_targets,
    number_target,
    survival_target,
)

if TYPE_CHECKING:
    import pandas as pd

ROWS = 100_000  # rows that are compared on, unless asked otherwise
LABEL_NAMES = {"class", "target", "label", "labels", "y"}


@dataclass
class Problem:
    """A clean table with its task.

    Parameters
    ----------
    task : str
        One of classification, multilabel, regression, ranking, survival and clustering.
    X : DataFrame, csr_array or list
        Features; or games, for a ranking.
    y : ndarray or None
        Labels, numbers, (event, time) records, or a 0/1 table of several labels.
    name, target : str
        Of the data and of the target, for headings.
    steps : list of Step
        Everything that was done to the data.
    plan : TablePlan or None
        How columns are read; ``plan.apply(frame)`` does the same to later rows.
    n_rows_read : int
        Rows in the file.
    groups : ndarray or None
        Numbers of groups; rows of one stay on one side of every fold.
    ordered : bool
        Whether rows stand in the order of time; then methods learn from earlier ones alone.
    labels : list of str
        Names of the columns of y in a multilabel task.
    """

    task: str
    X: Any
    y: Any
    name: str
    target: str
    steps: list[Step] = field(default_factory=list)
    plan: TablePlan | None = None
    n_rows_read: int = 0
    groups: Any = None
    ordered: bool = False
    labels: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows, or games."""
        return len(self.X) if isinstance(self.X, list) else int(self.X.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the features are a sparse matrix."""
        return sp.issparse(self.X)

    @property
    def numbers(self) -> list[str]:
        """Names of the numeric features."""
        return [] if self.plan is None else [c for c in self.X.columns if self.X[c].dtype != object]

    @property
    def categories(self) -> list[str]:
        """Names of the categorical features."""
        if self.plan is None:
            return []
        return [c for c in self.X.columns if self.X[c].dtype == object and c not in self.texts]

    @property
    def texts(self) -> list[str]:
        """Names of the features that hold free text."""
        return [] if self.plan is None else [p.name for p in self.plan.columns if p.kind == "text"]

    @property
    def classes(self) -> list[Any]:
        """The classes, sorted."""
        return np.unique(self.y).tolist() if self.task == "classification" else []

    def take(self, rows: Any) -> Problem:
        """Return the problem on some of its rows."""
        if isinstance(self.X, list):
            X: Any = [self.X[i] for i in rows]
        else:
            X = self.X[rows] if self.sparse else self.X.iloc[rows]
        y = None if self.y is None else self.y[rows]
        return replace(self, X=X, y=y, groups=None if self.groups is None else self.groups[rows])


def as_table(data: Any, header: bool | None = None) -> Table:
    """Return a table from a path, a DataFrame, or a table."""
    pd = need_pandas()
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, Path)):
        return read_table(data, header=header)
    if isinstance(data, pd.DataFrame):
        frame = data.reset_index(drop=True)
        frame.columns = [str(name) for name in frame.columns]
        if not frame.columns.is_unique:
            twice = sorted(set(frame.columns[frame.columns.duplicated()]))
            raise InputError(
                f"Columns stand twice in the DataFrame: {', '.join(twice)}; rename them."
            )
        return Table(frame, "DataFrame")
    if hasattr(data, "__dataframe__") or hasattr(data, "to_pandas"):  # polars, pyarrow
        frame = (
            data.to_pandas()
            if hasattr(data, "to_pandas")
            else pd.api.interchange.from_dataframe(data)
        )
        return as_table(frame)
    raise InputError(f"Expected a path or a DataFrame, got {type(data).__name__}.")


def prepare(
    data: Any,
    target: str | int | Sequence[str | int] | None = None,
    *,
    task: str = "auto",
    time: str | int | None = None,
    event: str | int | None = None,
    items: Sequence[str] = (),
    game: str | None = None,
    group: str | None = None,
    time_order: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    rows: int | None = None,
    header: bool | None = None,
    cv: int = 5,
    random_state: int = 0,
) -> Problem:
    """Read and clean a table, and find its task.

    Parameters
    ----------
    data : str, Path or DataFrame
        The table.
    target : str, int, or sequence of them, optional
        The column to predict: its name, or its place counted from 1 (-1 is the last). Several, or
        a block ``"first:last"``, are labels with 0 and 1: a multilabel task.
    task : {"auto", "classification", "multilabel", "regression", "ranking", "survival", \
            "clustering"}
        What to do; "auto" looks.
    time, event : str or int, optional
        The columns of a survival task; ``event="status=dead"`` says which value is the event.
    items, game : sequence of str, str, optional
        The columns of items, and of games, of a ranking.
    group : str, optional
        The column of entities; rows of one stay on one side of every fold, and it is no feature.
    time_order : str, optional
        The column of dates or numbers by which rows are ordered; methods learn from earlier rows.
    keep, drop : sequence of str
        Columns that stay whatever they look like, and columns that go.
    rows : int, optional
        Rows to compare on: a random part of that size; 0 for all. By default 100,000.
    header : bool, optional
        Whether the first line of a text file holds names; looked at by default.
    cv : int, default=5
        Number of folds that will be made, for checks.
    random_state : int, default=0
        Seed of the random part.

    Returns
    -------
    problem : Problem
        Features, target, and all steps.
    """
    if rows is not None and rows < 0:
        raise InputError(f"The number of rows must be 0, which takes all, or more, got {rows}.")
    table = as_table(data, header)
    frame, where = table.frame, table.name
    if len(frame) < 2:
        held = "a single row" if len(frame) else "no rows"
        raise InputError(f"{where} holds {held}; check how it was written.")
    if task not in ("auto", *TASKS):
        raise InputError(f"No task is called {task!r}; expected auto or one of {', '.join(TASKS)}.")
    labels: list[str] = []
    if target is not None:
        found = find_targets(frame, target, where)
        if not found:
            raise InputError("The list of targets is empty; give at least one column.")
        labels = found if len(found) > 1 or task == "multilabel" else []
        target = found[0]
    columns, happened = _named_columns(table, None if labels else target, time, event, task)
    steps = [Step(note, "mixes encodings" in note or "fewer cells" in note) for note in table.notes]
    if labels and task in ("auto", "multilabel"):
        task = "multilabel"
        steps.append(Step(f"Task: multilabel, because {len(labels)} targets are given."))
    elif labels:
        raise InputError(
            f"For {task} there is one target, got {len(labels)}: {', '.join(labels[:8])}."
        )
    elif task == "auto":
        chosen = None if columns["target"] is None else frame[columns["target"]]
        task, reason = find_task(
            chosen, time=columns["time"], event=columns["event"], columns=list(frame.columns)
        )
        steps.append(Step(f"Task: {task}, because {reason} (--task says otherwise)."))
    else:
        steps.append(Step(f"Task: {task}, as asked."))
    _check_roles(task, columns, labels, table)
    _check_dependence(task, group, time_order, table)
    if task == "ranking":
        pair = [find_column(frame, item, "--item", where) for item in items]
        named = None if game is None else find_column(frame, game, "--game", where)
        games, more = games_of_table(frame, columns["target"], pair, named)
        label = columns["target"] or "winner"
        problem = Problem(task, games, None, where, label, steps + more, None, len(frame))
    else:
        kept = [find_column(frame, name, "--keep", where) for name in keep]
        dropped = [find_column(frame, name, "--drop", where) for name in drop]
        groups = None if group is None else find_column(frame, group, "--group", where)
        if time_order is not None:
            order = find_column(frame, time_order, "--time-order", where)
            table, more = _in_time(table, order)
            steps += more
        problem = _table_problem(
            table,
            task,
            columns,
            labels,
            happened,
            kept,
            dropped,
            steps,
            cv,
            groups,
            ordered=time_order is not None,
        )
        if not problem.sparse and groups is None:
            problem.steps += _questions(problem)
    _check_size(problem, cv)
    return _fewer_rows(problem, ROWS if rows is None else rows, random_state)


def _named_columns(
    table: Table, target: Any, time: Any, event: Any, task: str
) -> tuple[dict[str, str | None], str | None]:
    happened = None
    if isinstance(event, str) and "=" in event and event not in table.frame.columns:
        event, _, happened = event.partition("=")
    if target is None and time is None and event is None and task != "clustering":
        target = table.target
    given = {"target": target, "time": time, "event": event}
    found = {
        role: None if name is None else find_column(table.frame, name, f"--{role}", table.name)
        for role, name in given.items()
    }
    return found, happened


def _check_roles(
    task: str, columns: dict[str, str | None], labels: list[str], table: Table
) -> None:
    if task == "survival" and (columns["time"] is None or columns["event"] is None):
        lacking = "--time" if columns["time"] is None else "--event"
        raise InputError(
            "Survival needs two columns: how long each row was observed (--time) and whether the "
            "event "
            f"happened then (--event); {lacking} is not given. Columns: "
            f"{', '.join(table.frame.columns[:20])}."
        )
    if task == "multilabel" and table.sparse is not None:
        raise InputError("Several targets are columns of a table; sparse rows have one target.")
    if task == "multilabel" and not labels:
        raise InputError(
            "Multilabel needs several targets: --target A --target B, or --target first:last; "
            f"columns: {', '.join(table.frame.columns[:20])}."
        )
    if task in ("classification", "regression") and columns["target"] is None:
        listed = ", ".join(table.frame.columns[:20])
        raise InputError(f"For {task} name a --target; columns: {listed}.")


def _table_problem(
    table: Table,
    task: str,
    columns: dict[str, str | None],
    labels: list[str],
    happened: str | None,
    keep: list[str],
    drop: list[str],
    steps: list[Step],
    cv: int,
    group: str | None,
    *,
    ordered: bool,
) -> Problem:
    frame = table.frame
    roles = [name for name in (*columns.values(), *labels, group) if name is not None]
    target = columns["target"]
    rows = np.ones(len(frame), dtype=bool)
    y: Any = None
    more: list[Step] = []
    if task == "classification":
        y, rows, more = class_target(frame[target], cv)
    elif task == "regression":
        y, rows, more = number_target(frame[target])
    elif task == "survival":
        assert columns["time"] is not None
        assert columns["event"] is not None
        y, rows, more = survival_target(frame, columns["time"], columns["event"], happened)
        target = columns["event"]
    elif task == "multilabel":
        y, rows, labels, more = label_targets(frame[labels])
        target = f"{len(labels)} labels"
    steps = steps + more
    heading = target or ""
    groups = None
    if group is not None:
        groups, more = group_labels(frame[group][rows])
        steps += more
    if table.sparse is not None:
        return Problem(task, table.sparse[rows], y, table.name, heading, steps, None, len(frame))
    features = frame.loc[rows].drop(columns=roles).reset_index(drop=True)
    for name in features.columns:
        if task == "clustering" and name.lower() in LABEL_NAMES:
            steps.append(
                Step(
                    f"'{name}' is used as a feature; if it is the answer, give --target {name}.",
                    True,
                )
            )
    if features.shape[1] == 0:
        raise InputError(f"{table.name} has no column besides the target; add features.")
    plan, found = plan_columns(features, keep=keep, drop=drop)
    found = joined(found)
    X = plan.apply(features)
    if y is not None and X.shape[1]:
        plan, X, leaks = _without_leaks(
            plan, X, features, y, task, frozenset(keep), heading, ordered
        )
        found = [*found, *leaks]
    steps += found
    if X.shape[1] == 0:
        why = " ".join(step.what for step in found[-3:])
        raise InputError(f"No usable column is left besides the target. {why}")
    n_dates = len({p.name for p in plan.columns if p.kind == "date"})
    problem = Problem(task, X, y, table.name, heading, steps, plan, len(frame), groups)
    problem.labels, problem.ordered = labels, ordered
    n_numbers, n_categories = len(problem.numbers), len(problem.categories)
    summary = f"{_count(X.shape[1], 'feature')}: {_count(n_numbers, 'number')}, "
    summary += f"{n_categories} {'category' if n_categories == 1 else 'categories'}"
    if problem.texts:
        summary += f", {len(problem.texts)} free text"
    dates = f" (with {_count(n_dates, 'date')} taken apart)" if n_dates else ""
    steps.append(Step(f"{summary}{dates}."))
    n_missing = int(X.isna().sum().sum())
    if n_missing:
        steps.append(
            Step(
                f"{n_missing:,} of {X.size:,} cells are missing. In every training part: medians "
                "fill in "
                "numbers, with a column that tells where; in categories, missing is a level of "
                "its own."
            )
        )
    return problem


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _check_dependence(task: str, group: Any, time_order: Any, table: Table) -> None:
    if group is None and time_order is None:
        return
    if group is not None and time_order is not None:
        raise InputError("--group and --time-order cannot be used together; choose one.")
    if task in ("ranking", "clustering") or table.sparse is not None:
        what = "sparse rows" if table.sparse is not None else task
        raise InputError(f"--group and --time-order are for tables with a target, not for {what}.")


def _in_time(table: Table, name: str) -> tuple[Table, list[Step]]:
    """Return the rows in the order of a column of times."""
    times = times_of(table.frame[name])
    known = np.flatnonzero(np.isfinite(times))
    order = known[np.argsort(times[known], kind="stable")]
    text = f"Rows are in the order of '{name}': methods learn from earlier rows alone."
    if len(order) < len(times):
        text += f" {len(times) - len(order):,} rows without it were left out."
    frame = table.frame.iloc[order].reset_index(drop=True)
    return replace(table, frame=frame), [Step(text, len(order) < len(times))]


def _questions(problem: Problem) -> list[Step]:
    """Ask about entities and dates, where the user has said nothing of them."""
    task, y = problem.task, problem.y
    if task == "survival":
        task, y = "classification", y["event"]
    elif task == "multilabel":  # rows with the same labels are of one kind
        task, y = "classification", np.unique(y, axis=0, return_inverse=True)[1].ravel()
    steps = [] if task == "clustering" else find_entities(problem.X, y, task)
    if not problem.ordered and task != "clustering" and problem.plan is not None:
        steps += find_dates(problem.plan)
    return steps


def _without_leaks(
    plan: TablePlan,
    X: pd.DataFrame,
    raw: pd.DataFrame,
    y: Any,
    task: str,
    keep: frozenset[str],
    heading: str,
    ordered: bool,
) -> tuple[TablePlan, pd.DataFrame, list[Step]]:
    if task == "survival":
        checked, kind, what = y["event"].astype(int), "classification", f"'{heading}'"
    elif task == "multilabel":
        return _without_label_leaks(plan, X, raw, y, keep, ordered)
    elif task == "classification":
        checked, kind, what = np.unique(y, return_inverse=True)[1], task, "the target"
    else:
        checked, kind, what = y, task, "the target"
    copies, steps = find_leaks(X, checked, kind, keep=keep, what=what, ordered=ordered)
    return *_without_columns(plan, X, raw, copies), steps


def _without_label_leaks(
    plan: TablePlan,
    X: pd.DataFrame,
    raw: pd.DataFrame,
    y: Any,
    keep: frozenset[str],
    ordered: bool,
) -> tuple[TablePlan, pd.DataFrame, list[Step]]:
    """Leave out the columns that give away any of several labels."""
    steps: dict[Step, None] = {}
    copies: dict[str, None] = {}
    for label in y.T:
        found, told = find_leaks(
            X, label, "classification", keep=keep, what="one of the targets", ordered=ordered
        )
        copies |= dict.fromkeys(found)
        steps |= dict.fromkeys(told)
    return *_without_columns(plan, X, raw, list(copies)), list(steps)


def _without_columns(
    plan: TablePlan, X: pd.DataFrame, raw: pd.DataFrame, names: list[str]
) -> tuple[TablePlan, pd.DataFrame]:
    from octavo.compare.table.cleaning import ColumnPlan

    if not names:
        return plan, X
    origins = {name.split(": ")[0] for name in names} | set(names)
    plans = [ColumnPlan(p.name, "drop") if p.name in origins else p for p in plan.columns]
    plan = TablePlan(plans)
    return plan, plan.apply(raw)


def _check_size(problem: Problem, cv: int) -> None:
    least, what = 4 * cv, "usable game" if problem.task == "ranking" else "usable row"
    if problem.groups is not None and (n := len(np.unique(problem.groups))) < max(cv, 5):
        raise InputError(
            f"The groups are {n}; comparing methods in {cv} folds needs at least {max(cv, 5)} of "
            "them, so that some are left to learn from."
        )
    if problem.ordered and problem.task == "classification":
        first = problem.y[: problem.n_rows // (cv + 1)]
        if len(np.unique(first)) < 2:
            raise InputError(
                f"The earliest {len(first)} rows are all of class {first[0]!r}: there is nothing "
                "to learn from them in the first fold. Choose fewer folds (--cv)."
            )
    if problem.n_rows < least:
        raise InputError(
            f"{problem.name} has {_count(problem.n_rows, what)}; comparing methods in {cv} folds "
            f"needs at least {least}. Collect more"
            + (", or lower --cv." if problem.n_rows >= 8 else ".")
        )


def _fewer_rows(problem: Problem, rows: int, seed: int) -> Problem:
    n = problem.n_rows
    if not 0 < rows < n:
        return problem
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:rows])
    smaller = problem.take(chosen)
    smaller.steps.append(
        Step(
            f"{n:,} rows: methods are compared on {rows:,} of them, drawn at random (seed "
            f"{seed}), where "
            "their differences show in minutes. --rows 0 takes all; refit the winner on all "
            "with the code below.",
            True,
        )
    )
    return smaller
