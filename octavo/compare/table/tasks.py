"""What kind of task a table poses, and its target in the form that the methods take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo._names import UnknownNameError
from octavo.compare.table.cleaning import Step, as_numbers, as_text, date_format_of
from octavo.compare.table.reading import InputError, need_pandas

if TYPE_CHECKING:
    import pandas as pd

TASKS = ("classification", "multilabel", "regression", "ranking", "survival", "clustering")
FEW_VALUES = 20  # whole numbers with at most so many different values are classes
HAPPENED = {
    "1",
    "true",
    "yes",
    "y",
    "dead",
    "death",
    "died",
    "deceased",
    "event",
    "relapse",
    "failed",
    "failure",
}
NOT_YET = {"0", "false", "no", "n", "alive", "censored", "cens", "none", "survived", "ok"}
SURVIVAL = np.dtype([("event", bool), ("time", float)])


def find_column(frame: pd.DataFrame, wanted: str | int, role: str, where: str) -> str:
    """Return the name of a column given by name, or by its place counted from 1 or from the end."""
    names = [str(name) for name in frame.columns]
    if str(wanted) in names:
        return str(wanted)
    try:
        place = int(wanted)
    except ValueError:
        place = 0
    if 1 <= place <= len(names):
        return names[place - 1]
    if -len(names) <= place <= -1:
        return names[place]
    error = UnknownNameError(f"column of {where} ({role})", str(wanted), names[:40])
    raise InputError(str(error))


def find_targets(frame: pd.DataFrame, wanted: Any, where: str) -> list[str]:
    """Return the names of target columns, given one by one or as a block ``first:last``.

    Parameters
    ----------
    frame : DataFrame
        The table.
    wanted : str, int, or sequence of them
        Names or places; text with a colon that is no column's name is a block of columns.
    where : str
        The name of the table, for errors.

    Returns
    -------
    names : list of str
        Each once, in the order given.
    """
    given = [wanted] if isinstance(wanted, (str, int)) else list(wanted)
    names: list[str] = []
    for item in given:
        if isinstance(item, str) and ":" in item and item not in frame.columns:
            ends = [find_column(frame, end, "--target", where) for end in item.split(":", 1)]
            first, last = sorted(frame.columns.get_loc(end) for end in ends)
            names += [str(name) for name in frame.columns[first : last + 1]]
        else:
            names.append(find_column(frame, item, "--target", where))
    return list(dict.fromkeys(names))


def find_task(
    target: pd.Series | None, *, time: str | None, event: str | None, columns: Sequence[str]
) -> tuple[str, str]:
    """Return the task that the columns suggest, and the reason."""
    if time is not None or event is not None:
        return "survival", "a time and an event are given"
    lower = {name.lower() for name in columns}
    if {"winner", "loser"} <= lower:
        return "ranking", "there are columns 'winner' and 'loser'"
    if target is None:
        return "clustering", "no target is given"
    pd = need_pandas()
    text, numbers = as_text(target), as_numbers(target)
    words = (
        isinstance(target.dtype, pd.CategoricalDtype) or numbers[text.notna()].isna().mean() > 0.05
    )
    if pd.api.types.is_datetime64_any_dtype(target.dtype) or (
        words and date_format_of(text) is not None
    ):
        raise InputError(
            f"The target '{target.name}' holds dates; turn it into a number (days until it), give "
            "it as --time with an --event, or ask for --task classification."
        )
    if words:
        return "classification", f"'{target.name}' holds words"
    values = numbers.dropna().unique()
    if len(values) == 2:
        return "classification", f"'{target.name}' has two values"
    if (values % 1 == 0).all() and len(values) <= min(FEW_VALUES, len(target) / 5):
        return "classification", f"'{target.name}' has {len(values)} values, all whole numbers"
    return "regression", f"'{target.name}' is a number with {len(values):,} values"


# --- targets -------------------------------------------------------------------------------------


def class_target(target: pd.Series, n_folds: int) -> tuple[NDArray, NDArray[np.bool_], list[Step]]:
    """Return labels, the rows to keep, and what was decided.

    Parameters
    ----------
    target : Series
        The column.
    n_folds : int
        How many folds will be made.

    Returns
    -------
    labels : ndarray
        Labels of the rows kept: whole numbers where all are, else text.
    rows : ndarray of bool
        Which rows are kept.
    steps : list of Step
        What was decided.
    """
    text = as_text(target)
    steps = []
    rows = text.notna().to_numpy()
    if not rows.all():
        steps.append(Step(f"{(~rows).sum():,} rows without a target were left out."))
    counts = text[rows].value_counts()
    if len(counts) < 2:
        held = f"only {counts.index[0]!r}" if len(counts) else "nothing"
        raise InputError(
            f"The target '{target.name}' holds {held}: there is one class and nothing to learn. "
            "Choose "
            "another column, or add rows of other classes."
        )
    if len(counts) > 0.5 * counts.sum() and counts.sum() > 20:
        raise InputError(
            f"The target '{target.name}' has {len(counts):,} classes in {counts.sum():,} rows; it "
            "looks like an "
            "identifier or a number. Choose another column, or --task regression."
        )
    rare = counts[counts < 3]
    if len(rare) and len(counts) - len(rare) >= 2:
        listed = ", ".join(map(repr, rare.index[:5])) + (", ..." if len(rare) > 5 else "")
        steps.append(
            Step(
                f"Classes with fewer than 3 rows ({listed}) cannot be in every part of a nested "
                f"cross-validation; their {rare.sum()} rows were left out. Collect more or join "
                "classes.",
                True,
            )
        )
        rows = rows & ~text.isin(rare.index).to_numpy()
    labels = text[rows].to_numpy(dtype=str)
    if all(value.lstrip("-").isdigit() for value in np.unique(labels)):
        labels = labels.astype(np.int64)
    return labels, rows, steps


YES = {"1", "1.0", "true", "yes", "y", "t"}
NO = {"0", "0.0", "false", "no", "n", "f"}


def label_targets(
    targets: pd.DataFrame,
) -> tuple[NDArray, NDArray[np.bool_], list[str], list[Step]]:
    """Return a 0/1 table of labels, the rows and columns to keep, and what was decided.

    Parameters
    ----------
    targets : DataFrame
        One column a label: 0 and 1, no and yes, false and true.

    Returns
    -------
    labels : ndarray of shape (rows kept, labels kept)
        Whether each row has each label.
    rows : ndarray of bool
        Which rows are kept.
    names : list of str
        The labels that are kept: those that some rows have and others have not.
    steps : list of Step
        What was decided.
    """
    text = targets.apply(lambda column: as_text(column).str.strip().str.lower())
    rows = text.notna().all(axis=1).to_numpy()
    steps = []
    if not rows.all():
        steps.append(Step(f"{(~rows).sum():,} rows without all of their targets were left out."))
    found = text[rows]
    for name in found.columns:
        odd = found[name][~found[name].isin(YES | NO)]
        if len(odd):
            raise InputError(
                f"The target '{name}' holds {odd.iloc[0]!r}; several targets are labels, each with "
                "0 and 1 (or no and yes) in its column. Give one target at a time for other kinds."
            )
    labels = found.isin(YES).to_numpy().astype(np.int64)
    varies = labels.min(axis=0) < labels.max(axis=0) if len(labels) else np.zeros(0, dtype=bool)
    names = [str(name) for name, kept in zip(found.columns, varies) if kept]
    if len(names) < len(found.columns):
        gone = [str(name) for name in found.columns if str(name) not in names]
        listed = ", ".join(gone[:5]) + (", ..." if len(gone) > 5 else "")
        steps.append(Step(f"Labels that are the same in every row were left out: {listed}.", True))
    if len(names) < 2:
        raise InputError(
            f"{len(names)} of {len(found.columns)} targets have both values: there are not several "
            "labels to learn. Give one --target, or other columns."
        )
    return labels[:, varies], rows, names, steps


def number_target(target: pd.Series) -> tuple[NDArray, NDArray[np.bool_], list[Step]]:
    """Return numbers, the rows to keep, and what was decided."""
    numbers = as_numbers(target)
    known = as_text(target).notna()
    if numbers[known].isna().mean() > 0.05:
        odd = target[known & numbers.isna()].iloc[0]
        raise InputError(
            f"The target '{target.name}' is not a number (it holds {odd!r}); use --task "
            "classification, "
            "or choose another column."
        )
    rows = numbers.notna().to_numpy()
    steps = []
    if not rows.all():
        steps.append(Step(f"{(~rows).sum():,} rows without a usable target were left out."))
    values = numbers[rows].to_numpy()
    if len(values) and np.ptp(values) == 0:
        raise InputError(
            f"The target '{target.name}' is {values[0]:g} in every row: there is nothing to learn. "
            "Choose another column."
        )
    return values, rows, steps


def survival_target(
    frame: pd.DataFrame, time: str, event: str, happened: str | None
) -> tuple[NDArray, NDArray[np.bool_], list[Step]]:
    """Return (event, time) records, the rows to keep, and what was decided."""
    times = as_numbers(frame[time])
    words = as_text(frame[event])
    rows = (times.notna() & words.notna()).to_numpy()
    steps = []
    if not rows.any():
        raise InputError(f"'{time}' and '{event}' are never both filled in; check the columns.")
    if not rows.all():
        steps.append(Step(f"{(~rows).sum():,} rows without time or event were left out."))
    if (times[rows] < 0).any():
        raise InputError(
            f"'{time}' is negative in {(times[rows] < 0).sum()} rows; a time counts from the "
            "start of "
            "observation. Mend or remove those rows."
        )
    levels = sorted(words[rows].unique())
    which = _event_level(levels, event, happened)
    observed = (words[rows] == which).to_numpy()
    if len(levels) > 1:
        others = ", ".join(level for level in levels if level != which)
        steps.append(
            Step(f"'{event}' = {which} means that the event happened; {others}: censored.")
        )
    if not observed.any():
        raise InputError(
            f"No row has '{event}' = {which}: without events there is nothing to learn."
        )
    y = np.empty(int(rows.sum()), SURVIVAL)
    y["event"], y["time"] = observed, times[rows].to_numpy()
    share = observed.mean()
    steps.append(
        Step(f"{observed.sum():,} events, {share:.0%} of the rows; the others are censored.")
    )
    return y, rows, steps


def _event_level(levels: list[str], event: str, happened: str | None) -> str:
    """Return the value of the event's column that means "it happened"."""
    if happened is not None:
        if happened not in levels:
            raise InputError(
                f"'{event}' is never {happened!r}; its values are {', '.join(levels[:8])}."
            )
        return happened
    if len(levels) > 2:
        raise InputError(
            f"'{event}' has {len(levels)} values ({', '.join(levels[:5])}"
            f"{', ...' if len(levels) > 5 else ''}); say which one means that the event happened: "
            f"--event '{event}={levels[0]}'."
        )
    yes = [level for level in levels if level.lower() in HAPPENED]
    no = [level for level in levels if level.lower() in NOT_YET]
    if len(yes) == 1:
        return yes[0]
    if len(levels) == 2 and len(no) == 1:
        return next(level for level in levels if level not in no)
    if len(levels) == 1 and no:
        raise InputError(
            f"Every row has '{event}' = {levels[0]}: without events there is nothing to learn."
        )
    raise InputError(
        f"'{event}' holds {' and '.join(levels)}; say which one means that the event happened: "
        f"--event '{event}={levels[-1]}'."
    )


# --- games ---------------------------------------------------------------------------------------

Games = list[tuple[list[list[Any]], list[float]]]
WINS = {"1", "1-0", "win", "won", "w", "home", "h", "true", "first", "a"}
LOSSES = {"0", "0-1", "loss", "lost", "l", "lose", "away", "false", "second", "b", "-1", "2"}
DRAWS = {"0.5", "1/2-1/2", "½-½", "draw", "d", "drawn", "tie", "tied", "x", "="}


def games_of_table(
    frame: pd.DataFrame, target: str | None, items: Sequence[str], game: str | None
) -> tuple[Games, list[Step]]:
    """Return games from a table with a row a game, or a row a place in a game.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str or None
        The result of the first item of a row (1, 0, 0.5; win, loss, draw; or two scores as
        "3-1"), or the rank of a row's item (1 is best) when `game` is given.
    items : sequence of str
        The two columns of a row's items, or the one column of items.
    game : str or None
        The column that tells games apart, for a row a place.

    Returns
    -------
    games : list of (teams, ranks)
        As `octavo.ranking` takes them, in the order of the file.
    steps : list of Step
        What was decided.
    """
    lower = {str(name).lower(): str(name) for name in frame.columns}
    if game is not None:
        return _games_by_place(frame, target, items, game)
    if not items and {"winner", "loser"} <= set(lower):
        pair = [lower["winner"], lower["loser"]]
        kept = frame[pair].dropna()
        draws = as_numbers(frame.loc[kept.index, lower["draw"]]) if "draw" in lower else None
        ranks = [
            [1.0, 1.0] if draws is not None and draws[i] == 1 else [1.0, 2.0] for i in kept.index
        ]
        games = [([[str(a)], [str(b)]], r) for (a, b), r in zip(kept.to_numpy().tolist(), ranks)]
        return games, [Step(f"A row is a game that '{pair[0]}' won against '{pair[1]}'.")]
    if len(items) != 2 or target is None:
        raise InputError(
            "A ranking needs games: columns 'winner' and 'loser'; or two columns of items (--item "
            "A "
            "--item B) and the first one's result (--target); or a row a place with --game, "
            "--item and "
            "the rank as --target."
        )
    kept = frame[[*items, target]].dropna()
    games = [
        ([[str(a)], [str(b)]], _ranks_of_result(str(result).strip(), target))
        for a, b, result in kept.to_numpy().tolist()
    ]
    return games, [
        Step(f"A row is a game of '{items[0]}' against '{items[1]}' with result '{target}'.")
    ]


def _ranks_of_result(result: str, target: str) -> list[float]:
    word = result.lower().removesuffix(".0")
    if word in DRAWS:
        return [1.0, 1.0]
    if word in WINS:
        return [1.0, 2.0]
    if word in LOSSES:
        return [2.0, 1.0]
    parts = result.replace(":", "-").split("-")
    if len(parts) == 2 and all(part.strip().isdigit() for part in parts):
        a, b = (int(part) for part in parts)
        return [1.0, 1.0] if a == b else [1.0, 2.0] if a > b else [2.0, 1.0]
    raise InputError(
        f"'{target}' holds {result!r}, which is no result of a game; expected 1, 0 or 0.5, win, "
        "loss or "
        "draw, or scores such as 3-1."
    )


def _games_by_place(
    frame: pd.DataFrame, target: str | None, items: Sequence[str], game: str
) -> tuple[Games, list[Step]]:
    if target is None or len(items) != 1:
        raise InputError(
            "Games with a row a place need --game, one --item and the rank as --target."
        )
    kept = frame[[game, items[0], target]].dropna()
    kept = kept.assign(rank=as_numbers(kept[target]))
    games: Games = []
    for _, rows in kept.groupby(game, sort=False):
        if len(rows) >= 2 and rows["rank"].notna().all():
            games.append(([[str(item)] for item in rows[items[0]]], rows["rank"].tolist()))
    if not games:
        raise InputError(
            f"No value of '{game}' stands in two rows with a rank each; is it the column that "
            "tells games apart?"
        )
    return games, [Step(f"Rows with one '{game}' are a game; '{target}' 1 is the best place.")]
