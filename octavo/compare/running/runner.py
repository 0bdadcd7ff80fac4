"""All folds of all methods: in order, within the time, whatever fails, and never twice.

The first fold tells what a method takes. From then on the quickest come first in every round.
Within a budget, three folds of the methods begun come before the first fold of further ones.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from octavo.compare.methods.candidates import Candidate
from octavo.compare.running.folds import FoldOutcome, Settings
from octavo.compare.running.journal import Journal
from octavo.compare.running.pools import Job

TICK = 0.5  # seconds between two looks at the clock
WAIT = 3  # folds that a method which took too long lets the others go ahead
EXPLORED = 0.3  # of a budget, in which new methods are begun before the others have three folds
SLOWEST = 1 / 12  # of a budget, which a fold may take whatever waits


class Watcher(Protocol):
    """Who is told how far the work has come."""

    def begin(self, total: int, done: int) -> None:
        """Work begins, some of it done before."""

    def grow(self, total: int) -> None:
        """More work was added: the folds are repeated."""

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
        """Return the method with the best mean over the folds that it has finished."""
        names = {name for name, _ in self.outcomes}
        means = {n: float(np.mean(list(s.values()))) for n in names if (s := self.scores(n))}
        return max(sorted(means.items()), key=lambda pair: pair[1]) if means else None


def typical_seconds(log: RunLog) -> dict[str, float]:
    """Return the mean time of a fold by method, from folds that are done."""
    times: dict[str, list[float]] = {}
    for (name, _), outcome in log.outcomes.items():
        times.setdefault(name, []).append(outcome.seconds)
    return {name: float(np.mean(found)) for name, found in times.items()}


def seconds_left(log: RunLog, todo: list[Job], n_jobs: int) -> float | None:
    """Estimate the time that jobs will take from folds of the same methods, else of all."""
    times = typical_seconds(log)
    if not times:
        return None
    typical = float(np.mean(list(times.values())))
    return sum(times.get(job.candidate.name, typical) for job in todo) / n_jobs


class Queue:
    """Jobs that wait: first folds first, in a round the quickest methods first.

    What a method takes is learnt from its folds that are done; before, methods come in the order
    given, those whose cost grows with the square of the rows last. A method that was postponed
    waits until the others are three folds ahead, enough for a verdict on them; so does one that has
    not begun when `exploring` is over.

    Parameters
    ----------
    candidates : list of Candidate
        The methods.
    settings : Settings
        For the folds.
    log : RunLog
        What is done.
    """

    def __init__(self, candidates: list[Candidate], settings: Settings, log: RunLog) -> None:
        self.candidates, self.settings, self.log = candidates, settings, log
        self.postponed: dict[str, int] = {}
        self.exploring = True
        self.repeat = 0
        self.jobs = self._round(0)

    def _round(self, repeat: int) -> list[Job]:
        cv = self.settings.cv
        return [
            Job(candidate, fold)
            for fold in range(repeat * cv, (repeat + 1) * cv)
            for candidate in self.candidates
            if (candidate.name, fold) not in self.log.outcomes
        ]

    def pop(self) -> Job:
        """Return the job that comes next, and forget it."""
        took = typical_seconds(self.log)
        place = {c.name: (c.row_limit is not None, k) for k, c in enumerate(self.candidates)}

        def turn(job: Job) -> tuple[Any, ...]:
            name = job.candidate.name
            waits = self.postponed.get(name, 0) or (name not in took and not self.exploring)
            return (job.fold + WAIT * waits, took.get(name, 0.0), place[name])

        job = min(self.jobs, key=turn)
        self.jobs.remove(job)
        return job

    def drop(self, name: str) -> None:
        """Forget a method that failed."""
        self.jobs = [job for job in self.jobs if job.candidate.name != name]
        self.candidates = [c for c in self.candidates if c.name != name]

    def postpone(self, job: Job) -> None:
        """Put a job back, behind all that take less time."""
        name = job.candidate.name
        if all(candidate.name != name for candidate in self.candidates):
            return  # it has failed elsewhere
        self.postponed[name] = self.postponed.get(name, 0) + 1
        self.jobs.append(job)

    def repeat_within(self, seconds: float | None, n_jobs: int) -> bool:
        """Add the next repeat of the folds, if it is wanted and would take at most some seconds."""
        if self.repeat + 1 >= self.settings.repeats:
            return False
        jobs = self._round(self.repeat + 1)
        needed = seconds_left(self.log, jobs, n_jobs)
        if seconds is not None and (needed is None or needed > seconds):
            return False
        self.repeat += 1
        self.jobs = jobs
        return True


def allowance(budget: float | None, n_methods: int, n_jobs: int) -> float:
    """Return the seconds of a fold from which a method has to wait for the others.

    A method that takes longer could not finish three folds in its share of the budget. Of many
    methods each has a share in which nothing can be done; then it is a twelfth of the budget.
    """
    if budget is None:
        return float("inf")
    return budget * max(n_jobs / (3 * n_methods), SLOWEST)


def run(
    candidates: list[Candidate],
    settings: Settings,
    pool: Any,
    journal: Journal,
    *,
    budget: float | None = None,
    promise: float | None = None,
    started: float | None = None,
    watcher: Watcher | None = None,
) -> RunLog:
    """Work through all folds of all candidates.

    The first fold of every method comes before the second of any, so that a run that ends early
    has compared all of them; in a round the quickest come first. Within a budget, a fold that takes
    too long gives way to the methods that wait. A method that fails is not tried on further folds.

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
    promise : float, optional
        Seconds within which the folds are repeated; by default all repeats are made.
    started : float, optional
        When the seconds began to count, by `time.monotonic`; by default now.
    watcher : Watcher, optional
        Who is told about progress.

    Returns
    -------
    log : RunLog
        All outcomes.
    """
    start = time.monotonic() if started is None else started
    # A run with more repeats may have left folds that this one was not asked for.
    wanted = settings.cv * settings.repeats
    kept = {key: found for key, found in journal.read(candidates).items() if key[1] < wanted}
    log = RunLog(kept)
    log.resumed = len(log.outcomes)
    before = sum(outcome.seconds for outcome in log.outcomes.values()) / pool.n_jobs
    queue = Queue(candidates, settings, log)
    limit = allowance(budget, len(candidates), pool.n_jobs)
    done_before = sum(fold < settings.cv for _, fold in log.outcomes)
    total = len(queue.jobs) + done_before
    running: dict[tuple[str, int], tuple[Job, float]] = {}
    if watcher is not None:
        watcher.begin(total, done_before)
    try:
        while True:
            spent = time.monotonic() - start
            left = np.inf if budget is None else budget - spent
            if not queue.jobs and not pool.busy:
                ahead = None if promise is None else min(promise - spent - before, left)
                if left <= 0 or not queue.repeat_within(ahead, pool.n_jobs):
                    break
                total += len(queue.jobs)
                if watcher is not None:
                    watcher.grow(total)
                continue
            if left <= 0:
                if queue.repeat == 0 or promise is None:
                    log.stopped = "time budget"
                break
            queue.exploring = budget is None or spent < EXPLORED * budget
            while queue.jobs and pool.has_room():
                job = queue.pop()
                pool.submit(job)
                running[job.candidate.name, job.fold] = job, time.monotonic()
            for job, outcome in pool.wait(min(TICK, left)):
                running.pop((job.candidate.name, job.fold), None)
                log.outcomes[job.candidate.name, job.fold] = outcome
                journal.add(job.candidate, outcome)
                if outcome.error is not None:
                    gone = len(queue.jobs)
                    queue.drop(job.candidate.name)
                    total -= gone - len(queue.jobs)
            _give_way(queue, running, pool, limit)
            if watcher is not None:
                ahead_jobs = [*queue.jobs, *(job for job, _ in running.values())]
                guess = seconds_left(log, ahead_jobs, pool.n_jobs)
                until = guess if guess is None else min(guess, left)
                watcher.update(total - len(ahead_jobs), log.best(), until)
    except KeyboardInterrupt:
        log.stopped = "interrupted"
    finally:
        pool.close()
    log.seconds = time.monotonic() - start
    return log


def _give_way(queue: Queue, running: dict[Any, tuple[Job, float]], pool: Any, limit: float) -> None:
    """Stop folds that have run for too long, once they keep all processes from what waits."""
    now = time.monotonic()
    if getattr(pool, "starting", False):  # nothing runs yet
        for key, (job, _) in running.items():
            running[key] = job, now
        return
    limit = max(limit, 2 * getattr(pool, "start_seconds", 0.0))  # processes end with what they do
    times = {key: queue.postponed.get(job.candidate.name, 0) for key, (job, _) in running.items()}
    if not running or any(
        now - began <= limit * 4 ** times[key] for key, (_, began) in running.items()
    ):
        return
    here = {job.candidate.name for job, _ in running.values()}
    others = {job.candidate.name for job in queue.jobs} - here
    waiting = [queue.postponed.get(name, 0) for name in others]
    if waiting and min(waiting) <= min(times.values()):
        pool.stop()
        for job, _ in running.values():
            queue.postpone(job)
        running.clear()
