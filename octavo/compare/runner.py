"""All folds of all methods: in order, within the time, whatever fails, and never twice."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from octavo.compare.candidates import Candidate
from octavo.compare.folds import FoldOutcome, Settings
from octavo.compare.journal import Journal
from octavo.compare.pools import Job

TICK = 0.5  # seconds between two looks at the clock


class Watcher(Protocol):
    """Who is told how far the work has come."""

    def begin(self, total: int, done: int) -> None:
        """Work begins, some of it done before."""

    def update(self, done: int, best: tuple[str, float] | None, left: float | None) -> None:
        """Folds that are done, the best method so far with its score, and seconds left."""


@dataclass
class RunLog:
    """What a run left behind.

    Parameters
    ----------
    outcomes : dict of (str, int) to FoldOutcome
        Finished and failed folds.
    stopped : {"", "time budget", "interrupted"}
        Why it ended before everything was done.
    resumed : int
        Folds that were taken from the journal.
    seconds : float
        How long it took.
    """

    outcomes: dict[tuple[str, int], FoldOutcome] = field(default_factory=dict)
    stopped: str = ""
    resumed: int = 0
    seconds: float = 0.0

    def scores(self, name: str) -> dict[int, float]:
        """Return the scores of a method by fold."""
        return {
            f: o.score
            for (n, f), o in sorted(self.outcomes.items())
            if n == name and o.error is None
        }

    def failure(self, name: str) -> FoldOutcome | None:
        """Return the first fold in which a method failed."""
        found = [
            o for (n, _), o in sorted(self.outcomes.items()) if n == name and o.error is not None
        ]
        return found[0] if found else None

    def best(self) -> tuple[str, float] | None:
        """Return the method with the best mean over the folds that most methods have finished."""
        names = {name for name, _ in self.outcomes}
        means = {n: float(np.mean(list(s.values()))) for n in names if (s := self.scores(n))}
        return max(sorted(means.items()), key=lambda pair: pair[1]) if means else None


def seconds_left(log: RunLog, todo: list[Job], n_jobs: int) -> float | None:
    """Estimate the time that jobs will take from folds of the same methods, else of all."""
    times: dict[str, list[float]] = {}
    for (name, _), outcome in log.outcomes.items():
        times.setdefault(name, []).append(outcome.seconds)
    if not times:
        return None
    typical = float(np.mean([np.mean(found) for found in times.values()]))
    return sum(float(np.mean(times.get(job.candidate.name, [typical]))) for job in todo) / n_jobs


def run(
    candidates: list[Candidate],
    settings: Settings,
    pool: Any,
    journal: Journal,
    *,
    budget: float | None = None,
    watcher: Watcher | None = None,
) -> RunLog:
    """Work through all folds of all candidates.

    The first fold of every method comes before the second of any, so that a run that ends early
    has compared all of them. A method that fails is not tried on further folds.

    Parameters
    ----------
    candidates : list of Candidate
        The methods.
    settings : Settings
        For the folds.
    pool : ProcessPool, JoblibPool or DaskPool
        Where the work is done; closed at the end.
    journal : Journal
        Where finished folds are kept.
    budget : float, optional
        Seconds after which everything is stopped.
    watcher : Watcher, optional
        Who is told about progress.

    Returns
    -------
    log : RunLog
        All outcomes.
    """
    start = time.monotonic()
    log = RunLog(journal.read(candidates))
    log.resumed = len(log.outcomes)
    todo = [
        Job(candidate, fold)
        for fold in range(settings.cv)
        for candidate in candidates
        if (candidate.name, fold) not in log.outcomes
    ]
    total = len(todo) + log.resumed
    lost: set[str] = set()
    running: list[Job] = []
    if watcher is not None:
        watcher.begin(total, log.resumed)
    try:
        while todo or pool.busy:
            left = np.inf if budget is None else budget - (time.monotonic() - start)
            if left <= 0:
                log.stopped = "time budget"
                break
            while todo and pool.has_room():
                job = todo.pop(0)
                if job.candidate.name not in lost:
                    pool.submit(job)
                    running.append(job)
            for job, outcome in pool.wait(min(TICK, left)):
                running.remove(job)
                log.outcomes[job.candidate.name, job.fold] = outcome
                journal.add(job.candidate, outcome)
                if outcome.error is not None:
                    lost.add(job.candidate.name)
            if watcher is not None:
                ahead = [job for job in todo if job.candidate.name not in lost] + running
                guess = seconds_left(log, ahead, pool.n_jobs)
                until = guess if guess is None else min(guess, left)
                watcher.update(total - len(ahead), log.best(), until)
    except KeyboardInterrupt:
        log.stopped = "interrupted"
    finally:
        pool.close()
    log.seconds = time.monotonic() - start
    return log
