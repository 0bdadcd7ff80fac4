"""From scores of folds to a ranking that says which differences are real.

The methods are tested against the best one (`octavo.compare.judging.paired`): row by row where the
score has values of rows, else fold by fold. There is no verdict before `ENOUGH_FOLDS` folds, and
methods with the same score share a place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.compare.judging.paired import (
    corrected_error,
    corrected_t_test,
    holm_beside_the_best,
    interval_in_range,
    long_run_error,
    long_run_test,
    mcnemar,
    paired_bootstrap,
    score_range,
)
from octavo.compare.methods.candidates import Candidate
from octavo.compare.running.folds import FoldOutcome
from octavo.compare.running.runner import RunLog
from octavo.engine.estimators.arrays import Floats

LEVEL = 0.05
ENOUGH_FOLDS = 3  # with fewer, nothing is said of who is better
SAME = 1e-9  # scores that differ by less are equal
GUESSES = {"DummyClassifier", "DummyRegressor", "KaplanMeier"}


@dataclass
class Standing:
    """One line of the leaderboard.

    `p_value` is that of the difference from the best, corrected; `tied` says that it could be
    chance. `n_train` is smaller than the training parts for a method that learns from a part.
    """

    rank: int
    name: str
    origin: str
    mean: float
    low: float
    high: float
    p_value: float
    tied: bool
    scores: list[float]
    extras: dict[str, float]
    params: dict[str, Any]
    seconds: float
    fit_seconds: float
    predict_seconds: float
    n_train: int
    limited: bool
    warning: str = ""


@dataclass(frozen=True)
class Failure:
    """A method without a place: "failed", "unfinished" or "not tried", and why."""

    name: str
    kind: str
    why: str


@dataclass
class Leaderboard:
    """Standings, best first, and the methods that have none."""

    standings: list[Standing]
    failures: list[Failure]
    folds: list[int] = field(default_factory=list)

    @property
    def decided(self) -> bool:
        """Whether there are enough folds for a verdict."""
        return len(self.folds) >= ENOUGH_FOLDS


def usual_params(candidate: Candidate, chosen: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings that most folds chose; of equals, the first of the grid."""
    counts = [sum(p == q for q in chosen) for p in candidate.grid]
    return candidate.grid[int(np.argmax(counts))] if any(counts) else chosen[0]


def common_folds(done: list[list[int]], cv: int) -> list[int]:
    """Return the folds to rank on: a run that was stopped has more of some methods than of others.

    Of the first k folds for every k, those with the largest number of methods that finished them,
    times √k, by which the precision of a mean grows.
    """
    best, best_value = 0, 0.0
    for k in range(1, cv + 1):
        n_methods = sum(set(range(k)) <= set(folds) for folds in done)
        if n_methods * k**0.5 >= best_value and n_methods:
            best, best_value = k, n_methods * k**0.5
    return list(range(best))


def ranked_folds(done: dict[str, list[int]], cv: int) -> tuple[list[int], list[str]]:
    """Return the folds to rank on, and the methods that finished them.

    A repeat of the folds counts when every method that finished the first ones has finished it too:
    no method loses its place because others were quicker.
    """
    first = {name: [fold for fold in folds if fold < cv] for name, folds in done.items()}
    folds = common_folds(list(first.values()), cv)
    names = [name for name, found in first.items() if folds and set(folds) <= set(found)]
    if len(folds) < cv:
        return folds, names
    repeat = range(cv, 2 * cv)
    while names and all(set(repeat) <= set(done[name]) for name in names):
        folds = [*folds, *repeat]
        repeat = range(repeat.stop, repeat.stop + cv)
    return folds, names


def row_means(
    found: list[FoldOutcome], test_rows: list[NDArray[np.int64]], n_rows: int
) -> Floats | None:
    """Return each row's value, the mean of those that repeats gave it; NaN for rows never tested.

    Parameters
    ----------
    found : list of FoldOutcome
        Of one method.
    test_rows : list of ndarray
        The rows of their test parts, in the order of the values.
    n_rows : int
        Number of rows of the table.

    Returns
    -------
    values : ndarray or None
        None where the score has no values of rows.
    """
    total, count = np.zeros(n_rows), np.zeros(n_rows)
    for outcome, rows in zip(found, test_rows):
        if not outcome.values:
            return None
        part = rows[: len(outcome.values)]
        total[part] += outcome.values
        count[part] += 1
    return np.divide(total, count, out=np.full(n_rows, np.nan), where=count > 0)


def _sums(values: Floats, groups: NDArray[Any] | None) -> Floats:
    """Return what is resampled, scaled so that its mean is that of the rows: rows, or groups."""
    if groups is None:
        return values
    _, place = np.unique(groups, return_inverse=True)
    n_groups = int(place.max()) + 1
    sums = np.zeros((n_groups, *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums * (n_groups / len(values))


def _standing(
    candidate: Candidate,
    found: list[FoldOutcome],
    values: Floats | None,
    groups: NDArray[Any] | None,
    ordered: bool,
    ratio: float,
    score: str,
) -> Standing:
    scores = [outcome.score for outcome in found]
    mean = float(np.mean(scores))
    if values is None:
        n = len(scores)
        error, df = corrected_error(scores, ratio), float(n - 1)
        if candidate.name in GUESSES and len(set(scores)) == 1:
            error = float("nan")  # what a guess gets by definition, on any rows
    elif ordered:
        known = values[np.isfinite(values)]
        n = len(known)
        error, df = (float(part) for part in long_run_error(known))
    else:
        known = np.isfinite(values)
        units = _sums(values[known], None if groups is None else groups[known])
        n, df = len(units), max(len(units) - 1.0, 1.0)
        error = float(units.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    low, high = interval_in_range(mean, error, n, df, score_range(score))
    names = [k for k in found[0].extras if all(k in o.extras for o in found)]
    extras = {k: float(np.mean([o.extras[k] for o in found])) for k in names}
    used = min(outcome.n_train for outcome in found)
    return Standing(
        0,
        candidate.name,
        candidate.origin,
        mean,
        low,
        high,
        float("nan"),
        True,
        scores,
        extras,
        usual_params(candidate, [o.params for o in found]),
        float(np.mean([o.seconds for o in found])),
        float(np.mean([o.fit_seconds for o in found])),
        float(np.mean([o.predict_seconds for o in found])),
        used,
        candidate.row_limit is not None and used >= candidate.row_limit,
        next((o.warning for o in found if o.warning), ""),
    )


def p_values_beside_the_best(
    scores: list[list[float]],
    values: list[Floats | None],
    groups: NDArray[Any] | None,
    ratio: float,
    single: bool,
    ordered: bool = False,
) -> list[float]:
    """Return the raw p-values of the differences from the first method.

    Parameters
    ----------
    scores : list of list of float
        Fold by fold, the best method first.
    values : list of ndarray or None
        Row by row.
    groups : ndarray or None
        Rows of a group are resampled together.
    ratio : float
        Rows of a test part over rows of a training part.
    single : bool
        Whether every row was tested once: then right and wrong answers have an exact test.
    ordered : bool, default=False
        Whether rows stand in the order of time, so that neighbours are alike.

    Returns
    -------
    p_values : list of float
        One a method after the first.
    """
    best = values[0]
    if best is None or any(v is None for v in values):
        return [corrected_t_test(scores[0], other, ratio) for other in scores[1:]]
    table = np.column_stack([v for v in values if v is not None])
    known = np.isfinite(table).all(axis=1)
    table, part = table[known], None if groups is None else groups[known]
    if ordered:
        return long_run_test(table[:, :1] - table[:, 1:]).tolist()
    if single and part is None and np.isin(table, (0.0, 1.0)).all():
        return [mcnemar(table[:, 0], table[:, k]) for k in range(1, table.shape[1])]
    return paired_bootstrap(_sums(table[:, :1] - table[:, 1:], part)).tolist()


def make_leaderboard(
    candidates: list[Candidate],
    log: RunLog,
    cv: int,
    n_rows: int,
    score: str,
    *,
    test_rows: Callable[[int], NDArray[np.int64]] | None = None,
    groups: NDArray[Any] | None = None,
    ordered: bool = False,
) -> Leaderboard:
    """Rank the methods that finished the folds, and list the others.

    Parameters
    ----------
    candidates : list of Candidate
        All that were to be tried.
    log : RunLog
        What came of it.
    cv, n_rows : int
        Number of folds, and of rows.
    score : str
        The score that counts.
    test_rows : callable, optional
        Returns the test rows of a fold; without it methods are tested fold by fold.
    groups : ndarray, optional
        Which rows belong together.
    ordered : bool, default=False
        Whether rows stand in the order of time.

    Returns
    -------
    board : Leaderboard
        Standings and failures.
    """
    failures, running = [], []
    for candidate in candidates:
        failure = log.failure(candidate.name)
        if failure is not None and failure.fold < cv:
            where = "" if log.scores(candidate.name) == {} else f" (in fold {failure.fold + 1})"
            failures.append(Failure(candidate.name, "failed", f"{failure.error}{where}"))
        else:
            running.append(candidate)
    done = {c.name: list(log.scores(c.name)) for c in running}
    folds, names = ranked_folds(done, cv)
    for candidate in running:
        if candidate.name not in names:
            n = sum(fold < cv for fold in done[candidate.name])
            done_by_then = f"{n} of {cv} folds were done" if n else "no fold was done"
            why = f"{done_by_then} when the run was stopped ({log.stopped or 'early'})"
            failures.append(Failure(candidate.name, "unfinished", why))
    parts = [] if test_rows is None else [test_rows(fold) for fold in folds]
    ranked, values = [], {}
    for candidate in running:
        if candidate.name not in names:
            continue
        found = [log.outcomes[candidate.name, fold] for fold in folds]
        by_row = row_means(found, parts, n_rows) if parts else None
        values[candidate.name] = by_row
        ranked.append(_standing(candidate, found, by_row, groups, ordered, 1 / (cv - 1), score))
    ranked.sort(key=lambda s: -round(s.mean / SAME))  # of equals, the first tried
    if len(ranked) > 1 and len(folds) >= ENOUGH_FOLDS:
        raw = p_values_beside_the_best(
            [s.scores for s in ranked],
            [values[s.name] for s in ranked],
            groups,
            1 / (cv - 1),
            len(folds) <= cv,
            ordered,
        )
        for standing, p in zip(ranked[1:], holm_beside_the_best(raw)):
            standing.p_value, standing.tied = float(p), bool(p > LEVEL)
    for place, standing in enumerate(ranked):
        before = ranked[place - 1] if place else standing
        same = place > 0 and round(before.mean / SAME) == round(standing.mean / SAME)
        standing.rank = before.rank if same else place + 1
    return Leaderboard(ranked, failures, folds)
