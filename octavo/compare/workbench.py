"""`compare`: every method that fits, on a table of one's own, under nested cross-validation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from octavo._outside_text import visible
from octavo._places import cache_folder
from octavo.compare.judging.leaderboard import (
    GUESSES,
    Failure,
    Leaderboard,
    Standing,
    make_leaderboard,
)
from octavo.compare.methods.candidates import (
    BALANCING,
    EVALUATIONS,
    Candidate,
    NotTried,
    balanced,
    candidates_for,
)
from octavo.compare.results.chances import check_chances
from octavo.compare.results.snippet import params_text, write_snippet
from octavo.compare.running.folds import INNER_ROWS, MARGIN, Settings, fit_model, outer_split
from octavo.compare.running.journal import Journal, problem_key
from octavo.compare.running.pools import pool_for
from octavo.compare.running.runner import RunLog, Watcher, run
from octavo.compare.running.scores import NAMES, choose_score
from octavo.compare.table.cleaning import Step
from octavo.compare.table.problems import Problem, prepare
from octavo.compare.table.reading import InputError

if TYPE_CHECKING:
    import pandas as pd

    from octavo.compare.results.saved import SavedModel

PROMISE = 120.0  # seconds within which the folds of a small table are repeated
REPEATED_ROWS = 2000  # with so many rows tested, repeats add little
MOST_REPEATS = 10
BALANCED = {
    "weights": "classes weighted by their rarity",
    "threshold": "threshold tuned inside the training part",
    "": "fitted without class weights: it takes none",
}
LIMITED = "trained on {n:,} rows a fold, because its cost grows with {cost}"


class Comparison:
    """What came of a comparison.

    Parameters
    ----------
    problem : Problem
        What was compared on.
    candidates : list of Candidate
        The methods that were tried.
    left_out : list of NotTried
        The methods that do the task but not on these data.
    log : RunLog
        Every fold.
    settings : Settings
        Folds, score and seed.
    steps : list of Step
        Everything that was done, in sentences.
    source : str or None
        The file; None for a DataFrame.
    arguments : dict
        What `prepare` was told.
    journal : Path or None
        Where finished folds are kept.

    Attributes
    ----------
    leaderboard : list of Standing
        Methods, the best first, with confidence intervals and corrected p-values.
    failures : list of Failure
        Methods without a place: failed, unfinished or not tried, each with the reason.
    stopped : str
        "time budget" or "interrupted" when not everything was done.
    """

    def __init__(
        self,
        problem: Problem,
        candidates: list[Candidate],
        left_out: list[NotTried],
        log: RunLog,
        settings: Settings,
        steps: list[Step],
        source: str | None,
        arguments: dict[str, Any],
        journal: Path | None,
    ) -> None:
        self.problem, self.candidates, self.log = problem, candidates, log
        self.settings, self.steps, self.source = settings, steps, source
        self.arguments, self.journal = arguments, journal
        self.board: Leaderboard = make_leaderboard(
            candidates,
            log,
            settings.cv,
            problem.n_rows,
            settings.score,
            test_rows=lambda fold: outer_split(problem, settings, fold)[1],
            groups=problem.groups,
            ordered=problem.ordered,
        )
        self.leaderboard: list[Standing] = self.board.standings
        self.failures: list[Failure] = self.board.failures + [
            Failure(item.name, "not tried", item.why) for item in left_out
        ]
        self.stopped = log.stopped

    @property
    def best(self) -> Standing:
        """The winner."""
        if not self.leaderboard:
            raise RuntimeError(
                f"No method finished a fold ({self.stopped or 'all failed'}): "
                + "; ".join(f"{f.name}: {f.why}" for f in self.failures if f.kind != "not tried")
            )
        return self.leaderboard[0]

    @property
    def score_name(self) -> str:
        """The score that methods are ranked by, in words."""
        return NAMES.get(self.settings.score, self.settings.score)

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of a name."""
        return next(c for c in self.candidates if c.name == name)

    def note(self, standing: Standing) -> str:
        """Return what a reader of a line of the leaderboard should know."""
        notes = []
        if standing.limited:
            cost = self.candidate(standing.name).cost
            notes.append(LIMITED.format(n=standing.n_train, cost=cost))
        if self.problem.task == "classification" and self.settings.score in BALANCING:
            how = BALANCED.get(self.candidate(standing.name).balance)
            if how is not None and standing.name not in GUESSES:
                notes.append(how)
        if standing.warning:
            notes.append(f"it warned: {standing.warning}")
        return "; ".join(notes)

    def snippet(self, *, with_path: bool = True) -> str:
        """Return a script that refits the winner on all rows; it runs as it is.

        Parameters
        ----------
        with_path : bool, default=True
            Whether the file stands with its folders, or with its bare name, as on a page that is
            shown around.

        Returns
        -------
        code : str
            A script. After a comparison on a DataFrame it expects that as ``frame``.
        """
        best = self.best
        source = self.source
        if source is not None and not with_path:
            source = Path(source).name
        return write_snippet(
            self.problem,
            self.candidate(best.name),
            best.params,
            source,
            self.arguments,
            self.settings.seed,
        )

    def refit(self) -> Any:
        """Return the winner, fitted on all rows that were compared on.

        Returns
        -------
        model : estimator
            Encoding and method; give it ``problem.plan.apply(new_frame)``.
        """
        best = self.best
        return fit_model(self.candidate(best.name), self.problem, best.params, self.settings.seed)

    def model(self, *, probabilities: bool = False) -> SavedModel:
        """Return the winner, fitted on all rows, as a model that takes rows of a file.

        Parameters
        ----------
        probabilities : bool, default=False
            Whether a classifier that gives no chances gets calibrated ones.

        Returns
        -------
        model : SavedModel
            With ``predict``, ``predict_proba`` and ``save``.
        """
        from octavo.compare.results.saved import saved_winner

        return saved_winner(self.problem, self.refit(), self.best.name, probabilities=probabilities)

    def save(self, path: str | Path, *, probabilities: bool = False) -> Path:
        """Fit the winner on all rows and write it into a file for `octavo predict`.

        Parameters
        ----------
        path : str or Path
            Ending in ``.joblib`` (a pickle, to be loaded only by those who trust it) or
            ``.skops``.
        probabilities : bool, default=False
            Whether a classifier that gives no chances gets calibrated ones.

        Returns
        -------
        path : Path
            Where it is.
        """
        return self.model(probabilities=probabilities).save(path)

    def report(self, path: str | Path) -> Path:
        """Write a page with leaderboard, plots, steps and code that needs no other file.

        Parameters
        ----------
        path : str or Path
            The HTML file.

        Returns
        -------
        path : Path
            Where it is.
        """
        from octavo.compare.results.page import write_page

        return write_page(self, Path(path))

    def frame(self) -> pd.DataFrame:
        """Return the leaderboard as a DataFrame.

        Returns
        -------
        table : DataFrame
            A line a method.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "method": s.name,
                "from": s.origin,
                self.settings.score: s.mean,
                "low": s.low,
                "high": s.high,
                "p": s.p_value,
                "could be best": s.tied,
                "settings": params_text(s.params),
                "seconds": s.seconds,
            }
            for s in self.leaderboard
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the models as plain values, for JSON."""
        return {
            "data": self.problem.name,
            "task": self.problem.task,
            "score": self.settings.score,
            "folds": self.settings.cv,
            "seed": self.settings.seed,
            "stopped": self.stopped,
            "leaderboard": [vars(s) for s in self.leaderboard],
            "failures": [vars(f) for f in self.failures],
            "steps": [vars(s) for s in self.steps],
        }

    def __repr__(self) -> str:
        problem, folds = self.problem, self.settings.cv
        head = f"{problem.task} on {visible(problem.name)}, {self.score_name}, {folds} folds"
        lines = []
        for s in self.leaderboard:
            interval = f"[{s.low:.4f}, {s.high:.4f}]" if s.low == s.low else ""
            star = " *" if s.tied and self.board.decided else ""
            line = f"{s.rank:>3}  {visible(s.name):<34} {s.mean:8.4f}  {interval}{star}"
            lines.append(line.rstrip())
        lines += [
            f"  -  {visible(f.name):<34} {f.kind}: {visible(f.why)}"
            for f in self.failures
            if f.kind != "not tried"
        ]
        foot = (
            "* not distinguishable from the best at the 5 % level"
            if self.board.decided
            else f"no verdict: {len(self.board.folds)} folds cannot tell methods apart"
        )
        return "\n".join([head, *lines, foot])


def most_repeats(problem: Problem) -> int:
    """Return how often it is worth drawing the folds of a table anew."""
    if problem.ordered:
        return 1  # time has one order
    return min(MOST_REPEATS, -(-REPEATED_ROWS // problem.n_rows))


def _search_step(chosen: list[Candidate], settings: Settings) -> Step:
    """Say how many settings each method may try: the same number for all that have as many."""
    text = (
        f"Every method may try {EVALUATIONS} settings, each on the same {settings.inner_cv} inner "
        "folds"
    )
    fewer: dict[int, list[str]] = {}
    for candidate in chosen:
        if len(candidate.grid) != EVALUATIONS:
            fewer.setdefault(len(candidate.grid), []).append(candidate.name)
    parts = [
        f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} {n}"
        for n, names in sorted(fewer.items(), reverse=True)
    ]
    text += f" ({'; '.join(parts)})." if parts else "."
    plain = [candidate.name for candidate in chosen if candidate.simple]
    if plain:
        text += (
            f" {', '.join(plain)} leaves its simplest settings only for others that are ahead by "
            f"{MARGIN:g} over the root of the rows."
        )
    return Step(text)


def _settings_steps(problem: Problem, settings: Settings, why: str) -> list[Step]:
    what = "games" if problem.task == "ranking" else "rows"
    text = (
        f"Nested cross-validation: {settings.cv} outer folds to compare, {settings.inner_cv} "
        "inner folds of each "
        f"training part to choose settings (seed {settings.seed})."
    )
    if problem.n_rows * (settings.cv - 1) / settings.cv > INNER_ROWS:
        text += f" Settings are chosen on {INNER_ROWS:,} {what} of a training part."
    return [Step(why), Step(text)]


@dataclass(frozen=True)
class BudgetClock:
    """When a time budget began, and how much of it is needed after the folds.

    Parameters
    ----------
    started : float
        By `time.monotonic`; by default now.
    afterwards : float, default=0.05
        What judging and writing take, as a share of the seconds from the start to the first fold:
        both are slow on a machine that is slow or busy.
    """

    started: float = field(default_factory=monotonic)
    afterwards: float = 0.05

    def for_folds(self, budget: float) -> float:
        """Return the seconds of a budget after which the folds have to end, asked for before
        the first of them. At most a quarter is kept aside.
        """
        return budget - min(self.afterwards * (monotonic() - self.started), budget / 4)


def compare(
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
    methods: str | Iterable[str] | Iterable[Candidate] = (),
    score: str | None = None,
    cv: int = 5,
    repeats: int | None = None,
    inner_cv: int = 3,
    time_budget: float | None = None,
    clock: BudgetClock | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    client: Any = None,
    rows: int | None = None,
    memory: int | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    header: bool | None = None,
    resume: bool = True,
    journal: str | Path | bool = True,
    probabilities: bool = False,
    progress: bool | Watcher = False,
) -> Comparison:
    """Try the methods that fit a table under nested cross-validation.

    Parameters
    ----------
    data : str, Path or DataFrame
        The table; a CSV, TSV, Parquet, ARFF or libsvm file.
    target : str, int, or sequence of them, optional
        The column to predict, by name or by place from 1 (-1 is the last); none clusters rows.
        Several, or a block ``"first:last"``, are labels with 0 and 1: a multilabel task.
    task : {"auto", "classification", "multilabel", "regression", "ranking", "survival", \
            "clustering"}
        What to do; "auto" looks at the target.
    time, event : str or int, optional
        Columns of a survival task; ``event="status=dead"`` says which value is the event.
    items, game : sequence of str, str, optional
        Columns of a ranking: the two items of a row's game, or the item and the game of a row.
    group : str, optional
        The column of entities, whose rows stay on one side of every fold.
    time_order : str, optional
        The column of times; methods learn from earlier rows and are tested on later ones.
    methods : str, or iterable of str or Candidate
        Names, "octavo", "baselines" or "all"; by default octavo's main methods and the baselines.
    score : str, optional
        What methods are ranked by: one of scikit-learn's scorers, or octavo's for the task.
    cv, inner_cv : int, default=5, 3
        Outer folds, which compare, and inner ones, which choose settings.
    repeats : int, optional
        How often the outer folds are drawn anew. By default as often as small tables gain from it
        (2,000 rows tested, at most 10 times) and the time budget, or else two minutes, allows.
    time_budget : float, optional
        Minutes after which everything is stopped; what is finished is compared. Reading and
        cleaning count, and what comes afterwards is kept aside for (see `clock`).
    clock : BudgetClock, optional
        When the budget began, and how much of it is needed after the comparison; by default now,
        and a twentieth of the seconds until the first fold.
    random_state : int, default=0
        Decides everything random: the same seed gives the same leaderboard, whatever `n_jobs`.
    n_jobs : int, optional
        Processes; -1 for all processors. Other joblib backends are respected.
    client : distributed.Client or str, optional
        A Dask client, or a scheduler's address, to work on instead.
    rows : int, optional
        Rows to compare on, at random; 0 for all, by default at most 100,000.
    memory : int, optional
        Bytes that all processes together may take; by default what is free now.
    keep, drop : sequence of str
        Columns that stay whatever they look like, and columns that go.
    header : bool, optional
        Whether the first line of a text file holds names; by default it is looked at.
    resume : bool, default=True
        Take finished folds of an earlier call on the same data and settings; False begins anew.
    journal : str, Path or bool, default=True
        The file that finished folds are kept in; True for one in octavo's cache, False for none.
    probabilities : bool, default=False
        Whether chances will be asked for: a task that has none is refused before any work is done.
    progress : bool, default=False
        Draw a bar with the best method so far and the time left.

    Returns
    -------
    comparison : Comparison
        Leaderboard, failures, steps, and what writes code and report.

    Raises
    ------
    InputError
        When the data cannot be used; the message says what to do.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from octavo.compare import compare
    >>> x = np.linspace(0, 1, 60)
    >>> frame = pd.DataFrame({"x": x, "y": 2 * x + np.sin(40 * x)})
    >>> result = compare(frame, "y", methods="Ridge,guess", journal=False)
    >>> result.best.name
    'Ridge'
    """
    if cv < 2 or inner_cv < 2:
        raise InputError(
            f"Cross-validation needs at least 2 folds, got cv={cv} and inner_cv={inner_cv}."
        )
    clock = clock or BudgetClock()
    if repeats is not None and repeats < 1:
        raise InputError(f"The folds are made at least once, got repeats={repeats}.")
    if time_budget is not None and time_budget <= 0:
        raise InputError(f"The time budget must be positive, got {time_budget:g} minutes.")
    arguments: dict[str, Any] = {
        "target": target if target is None or isinstance(target, (str, int)) else list(target),
        "task": task,
        "time": time,
        "event": event,
        "items": tuple(items),
        "game": game,
        "group": group,
        "time_order": time_order,
        "keep": tuple(keep),
        "drop": tuple(drop),
        "header": header,
    }
    problem = prepare(data, rows=rows, cv=cv, random_state=random_state, **arguments)
    arguments["task"] = problem.task
    if probabilities:
        check_chances(problem)
    score, why = choose_score(problem, score)
    settings = Settings(cv, inner_cv, score, random_state, memory, repeats or most_repeats(problem))
    steps = problem.steps + _settings_steps(problem, settings, why)
    chosen, left_out = _chosen(problem, methods)
    chosen = [balanced(candidate, problem, score) for candidate in chosen]
    steps.append(_search_step(chosen, settings))
    if not chosen:
        raise InputError(f"No method for {problem.task} is left; name some with --methods.")
    path = _journal_path(journal, problem, settings)
    kept = Journal(path)
    if not resume:
        kept.clear()
    pool = pool_for(problem, settings, n_jobs, client)
    with contextlib.ExitStack() as stack:
        watcher: Watcher | None = None if isinstance(progress, bool) else progress
        if progress is True:
            from octavo.compare.running.progress_bar import ComparisonBar

            watcher = stack.enter_context(ComparisonBar())
        budget = None if time_budget is None else clock.for_folds(60 * time_budget)
        promise = None if repeats is not None else PROMISE if budget is None else budget
        log = run(
            chosen,
            settings,
            pool,
            kept,
            budget=budget,
            promise=promise,
            started=clock.started,
            watcher=watcher,
        )
    if log.resumed:
        steps.append(Step(f"{log.resumed} finished folds were taken from an earlier run."))
    source = str(data) if isinstance(data, (str, Path)) else None
    found = Comparison(problem, chosen, left_out, log, settings, steps, source, arguments, path)
    if (n_repeats := len(found.board.folds) // cv) > 1:
        again = "" if repeats is not None else f" (--repeats {n_repeats} does just that again)"
        steps.append(Step(f"The outer folds were drawn {n_repeats} times{again}."))
    return found


def _chosen(problem: Problem, methods: Any) -> tuple[list[Candidate], list[NotTried]]:
    if isinstance(methods, str):
        methods = [methods]
    given = list(methods)
    own = [item for item in given if isinstance(item, Candidate)]
    names = [item for item in given if not isinstance(item, Candidate)]
    if own and not names:
        return own, []
    found, left_out = candidates_for(problem, names)
    return found + own, left_out


def _journal_path(journal: str | Path | bool, problem: Problem, settings: Settings) -> Path | None:
    if journal is False:
        return None
    if journal is True:
        return cache_folder() / "compare" / f"{problem_key(problem, settings)}.jsonl"
    return Path(journal)
