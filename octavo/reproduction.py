"""Run claims and draw figures in parallel, one process per core, and keep what is finished.

Work is handed out paper by paper, since claims of a paper share what they compute; full claims,
which may take an hour, seed by seed. A process that dies takes one claim with it and no other.
Finished claims and seeds are written to a journal that is named by a hash of octavo's sources, so
that a second run goes on where the first one was.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from octavo._interrupts import end_with_parent
from octavo._journal_lines import append_line, read_lines
from octavo.catalogue import Paper, find_paper
from octavo.claims import Claim, Result, SeedOutcome, judged, run_claim, run_seed

Outcome = tuple[Paper, Result]
KEPT_JOURNALS = 5
FIGURES = 1  # of a paper in the report of the headlines


# --- the journal ----------------------------------------------------------------------------


def sources_hash() -> str:
    """Return a hash of octavo's sources and of the packages that its numbers rest on."""
    from importlib.metadata import version

    import octavo

    total = hashlib.sha256()
    root = Path(octavo.__file__).parent
    for path in sorted(root.rglob("*.py")):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    for package in ("numpy", "scipy", "scikit-learn", "numba"):
        total.update(version(package).encode())
    return total.hexdigest()[:20]


class ClaimJournal:
    """Finished claims on disk, one JSON line each.

    Parameters
    ----------
    path : Path, optional
        The file; by default one in the cache folder, named by `sources_hash`.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            from octavo._places import cache_folder

            path = cache_folder() / "claims" / f"{sources_hash()}.jsonl"
        self.path = path
        self._keeps = True

    def read(self, claims: Sequence[tuple[Paper, Claim]], full: bool) -> dict[str, Result]:
        """Return kept results by ``paper/claim``; damaged or stale lines are passed over."""
        return {
            key: _result(claim, entry["outcome"])
            for key, claim, entry in self._entries(claims, full)
            if "outcome" in entry
        }

    def read_seeds(
        self, claims: Sequence[tuple[Paper, Claim]], full: bool
    ) -> dict[tuple[str, int], SeedOutcome]:
        """Return kept repetitions by ``paper/claim`` and seed."""
        return {
            (key, entry["seed"]): _seed_outcome(entry["repetition"])
            for key, _, entry in self._entries(claims, full)
            if "repetition" in entry
        }

    def add(self, paper: Paper, result: Result, full: bool) -> None:
        """Write down a result, unless it may change with the machine: missing data, a failure."""
        if result.verdict not in ("not measurable here", "failed"):
            self._append(paper, result.claim, full, {"outcome": _plain(result)})

    def add_seed(
        self, paper: Paper, claim: Claim, seed: int, outcome: SeedOutcome, full: bool
    ) -> None:
        """Write down one repetition, unless it gave no number."""
        if not outcome.problem:
            self._append(paper, claim, full, {"seed": seed, "repetition": astuple(outcome)})

    def _entries(
        self, claims: Sequence[tuple[Paper, Claim]], full: bool
    ) -> Iterator[tuple[str, Claim, dict[str, Any]]]:
        known = {f"{paper.key}/{claim.name}": claim for paper, claim in claims}
        prints = {key: claim.fingerprint for key, claim in known.items()}
        for entry in read_lines(self.path):
            try:
                key = entry["key"]
                if entry["full"] is not full or entry["fingerprint"] != prints[key]:
                    continue
                if "outcome" in entry:
                    _result(known[key], entry["outcome"])
                else:
                    _seed_outcome(entry["repetition"]), int(entry["seed"])
            except (ValueError, KeyError, TypeError):
                continue
            yield key, known[key], entry

    def _append(self, paper: Paper, claim: Claim, full: bool, what: dict[str, Any]) -> None:
        key = f"{paper.key}/{claim.name}"
        line = {"key": key, "full": full, "fingerprint": claim.fingerprint} | what
        try:
            append_line(self.path, line)
        except OSError as error:
            if self._keeps:
                warnings.warn(
                    f"Finished claims cannot be kept in {self.path} ({error.strerror}).",
                    stacklevel=3,
                )
            self._keeps = False

    def tidy(self) -> None:
        """Remove the journals of older sources, all but a few."""
        folder = self.path.parent
        if folder.is_dir():
            by_age = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
            for path in by_age[:-KEPT_JOURNALS]:
                path.unlink(missing_ok=True)


def _plain(result: Result) -> list[Any]:
    return [result.verdict, result.measured, result.interval, result.evidence, result.seconds]


def _result(claim: Claim, plain: list[Any]) -> Result:
    verdict, measured, interval, evidence, seconds = plain
    return Result(claim, verdict, measured, interval and tuple(interval), evidence, seconds)


def _seed_outcome(plain: Sequence[Any]) -> SeedOutcome:
    value, notes, seconds, problem, reason = plain
    return SeedOutcome(value, tuple(notes), seconds, problem, reason)


# --- processes ------------------------------------------------------------------------------


def do_job(job: tuple[Any, ...]) -> Any:
    """Measure a claim or one repetition of it, or draw a figure, and return plain data."""
    kind, key, name, full, *seed = job
    paper = find_paper(key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # verdicts and evidence say what matters
        if kind == "claim":
            return _plain(run_claim(paper.find_claim(name), full=full))
        if kind == "seed":
            return astuple(run_seed(paper.find_claim(name), *seed, full=full))
        from octavo.report import drawn

        return drawn(paper.figures[name])


def _work(pipe: Connection) -> None:
    """Take jobs from the pipe until None comes, and answer each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    os.environ.setdefault("MPLBACKEND", "Agg")
    threading.Thread(target=end_with_parent, daemon=True).start()
    while (job := pipe.recv()) is not None:
        pipe.send(do_job(job))


@dataclass
class _Worker:
    """A process, its pipe and what it was given to do."""

    queue: deque[tuple[Any, ...]] = field(default_factory=deque)
    job: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        # Spawned, not forked: numpy must load with the thread settings below.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def next_job(self) -> bool:
        self.job = self.queue.popleft() if self.queue else None
        if self.job is not None:
            self.pipe.send(self.job)
        return self.job is not None


def run_jobs(
    batches: Sequence[Sequence[tuple[Any, ...]]], n_jobs: int
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Run batches of jobs in processes and yield (job, answer) as they come.

    Parameters
    ----------
    batches : sequence of sequences of jobs
        A batch stays in one process. A job is ``("claim", paper, claim, full)``,
        ``("seed", paper, claim, full, seed)`` or ``("figure", paper, number, full)``.
    n_jobs : int
        Processes; 1 works in this process.

    Yields
    ------
    pair : tuple
        The job and its answer; an answer that is an exception means that the process died.
    """
    waiting = deque(sorted(batches, key=len, reverse=True))
    if n_jobs == 1:
        yield from ((job, do_job(job)) for batch in waiting for job in batch)
        return
    saved = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(_THREADS)  # one core per process
    workers = [_Worker() for _ in range(min(n_jobs, len(waiting)))]
    try:
        for worker in workers:
            worker.queue.extend(waiting.popleft())
            worker.next_job()
        while busy := {worker.pipe: worker for worker in workers if worker.job is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                job = worker.job
                assert job is not None
                try:
                    answer = worker.pipe.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    answer = ChildProcessError(
                        f"The process ended with status {worker.process.exitcode}; "
                        "-9 is what a machine without memory left answers."
                    )
                    worker.start()
                if not worker.queue and waiting:
                    worker.queue.extend(waiting.popleft())
                worker.next_job()
                yield job, answer
    finally:
        for worker in workers:
            worker.process.terminate()
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def batches_of(jobs: Sequence[tuple[Any, ...]], n_jobs: int) -> list[list[tuple[Any, ...]]]:
    """Return jobs by paper, or by paper and seed: these share what they compute.

    Papers are cut in pieces where there are fewer than processes.
    """
    kin: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for job in jobs:
        kin.setdefault((job[1], *job[4:]), []).append(job)
    pieces = max(1, -(-n_jobs // max(len(kin), 1)))
    size = {key: -(-len(own) // pieces) for key, own in kin.items()}
    return [
        own[i : i + size[key]] for key, own in kin.items() for i in range(0, len(own), size[key])
    ]


# --- what the command line calls --------------------------------------------------------------


def _by_claims(
    chosen: Sequence[tuple[Paper, Claim]], n_jobs: int, journal: ClaimJournal | None
) -> Iterator[Outcome]:
    """Yield results of quick claims, one job each."""
    papers = {paper.key: paper for paper, _ in chosen}
    jobs = [("claim", paper.key, claim.name, False) for paper, claim in chosen]
    for (_, key, name, _), answer in run_jobs(batches_of(jobs, n_jobs), n_jobs):
        if isinstance(answer, Exception):
            answer = ["failed", None, None, str(answer), 0.0]
        yield papers[key], _result(papers[key].find_claim(name), answer)


def _by_seeds(
    chosen: Sequence[tuple[Paper, Claim]], n_jobs: int, journal: ClaimJournal | None
) -> Iterator[Outcome]:
    """Yield results of full claims, one job for each seed, as their last seed comes."""
    pairs = {(paper.key, claim.name): (paper, claim) for paper, claim in chosen}
    kept = journal.read_seeds(chosen, True) if journal is not None else {}
    outcomes: dict[tuple[str, str], dict[int, SeedOutcome]] = {
        (key, name): {
            seed: kept[f"{key}/{name}", seed]
            for seed in claim.full_seeds
            if (f"{key}/{name}", seed) in kept
        }
        for (key, name), (_, claim) in pairs.items()
    }

    def results(key: str, name: str) -> Iterator[Outcome]:
        paper, claim = pairs[key, name]
        known = outcomes[key, name]
        if len(known) == len(set(claim.full_seeds)):
            yield paper, judged(claim, [known[seed] for seed in claim.full_seeds], full=True)

    for key, name in pairs:
        yield from results(key, name)
    jobs = [
        ("seed", key, name, True, seed)
        for (key, name), (_, claim) in pairs.items()
        for seed in dict.fromkeys(claim.full_seeds)
        if seed not in outcomes[key, name]
    ]
    for (_, key, name, _, seed), answer in run_jobs(batches_of(jobs, n_jobs), n_jobs):
        dead = isinstance(answer, Exception)
        outcome = (
            SeedOutcome(None, problem="failed", reason=str(answer))
            if dead
            else _seed_outcome(answer)
        )
        outcomes[key, name][seed] = outcome
        if journal is not None:
            journal.add_seed(*pairs[key, name], seed, outcome, True)
        yield from results(key, name)


def reproduce_claims(
    chosen: Sequence[tuple[Paper, Claim]],
    *,
    full: bool = False,
    n_jobs: int | None = None,
    journal: ClaimJournal | None = None,
    tell: Callable[[Paper, Result, bool], None] = lambda paper, result, kept: None,
) -> list[Outcome]:
    """Measure claims in parallel and return the results in the order asked for.

    Parameters
    ----------
    chosen : sequence of (Paper, Claim)
        What to measure.
    full : bool, default=False
        At the paper's size instead of in seconds.
    n_jobs : int, optional
        Processes; all cores by default.
    journal : ClaimJournal, optional
        Where finished claims are found and kept.
    tell : callable
        Called with paper, result and whether it was kept from an earlier run, as results come.

    Returns
    -------
    outcomes : list of (Paper, Result)
        One for each claim.
    """
    n_jobs = n_jobs or os.cpu_count() or 1
    done = journal.read(chosen, full) if journal is not None else {}
    for paper, claim in chosen:
        if (result := done.get(f"{paper.key}/{claim.name}")) is not None:
            tell(paper, result, True)
    left = [pair for pair in chosen if f"{pair[0].key}/{pair[1].name}" not in done]
    measure = _by_seeds if full else _by_claims
    for paper, result in measure(left, n_jobs, journal):
        done[f"{paper.key}/{result.claim.name}"] = result
        if journal is not None:
            journal.add(paper, result, full)
        tell(paper, result, False)
    if journal is not None:
        journal.tidy()
    return [(paper, done[f"{paper.key}/{claim.name}"]) for paper, claim in chosen]


def draw_figures(
    papers: Sequence[Paper], n_jobs: int | None = None, most: int | None = None
) -> dict[str, list[str]]:
    """Draw figures of papers in parallel, `most` of each; one that fails becomes a sentence."""
    from octavo.report import figure_error

    n_jobs = n_jobs or os.cpu_count() or 1
    chosen = {paper.key: paper.figures[:most] for paper in papers}
    drawn = {key: [""] * len(figures) for key, figures in chosen.items()}
    captions = {key: [figure.caption for figure in figures] for key, figures in chosen.items()}
    jobs = [
        ("figure", key, n, False) for key, figures in chosen.items() for n in range(len(figures))
    ]
    for (_, key, number, _), answer in run_jobs(batches_of(jobs, n_jobs), n_jobs):
        if isinstance(answer, Exception):
            answer = figure_error(captions[key][number], answer)
        drawn[key][number] = answer
    return drawn
