"""Where folds are worked on: processes of this machine, a joblib backend, or a Dask cluster.

A pool takes jobs while it has room and hands back outcomes as they come. The processes are
joblib's own (loky): one that dies takes no other method with it. Which job killed it is found
by running those that were on their way one at a time.
"""

from __future__ import annotations

import concurrent.futures
import os
import signal
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool

from octavo._interrupts import end_with_parent
from octavo.compare.methods.candidates import Candidate
from octavo.compare.running.folds import FoldOutcome, Settings, run_fold
from octavo.compare.table.problems import Problem
from octavo.compare.table.reading import InputError

DIED = (
    "its process died without a word: out of memory, or a crash in compiled code. Try fewer rows "
    "(--rows), or leave it out (--methods)"
)
DASK_SECONDS = 10  # to wait for a scheduler
THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class Job(NamedTuple):
    """One fold of one candidate."""

    candidate: Candidate
    fold: int


Done = list[tuple[Job, FoldOutcome]]


def failed(job: Job, error: str) -> FoldOutcome:
    """Return the outcome of a job that never came back."""
    return FoldOutcome(job.candidate.name, job.fold, error=error)


def _ignore_interrupts(parent: int | None = None) -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A second one ends the parent at once, and this process with it.
    threading.Thread(target=end_with_parent, args=(parent,), daemon=True).start()


def _nothing() -> None:
    """What a process does first: importing this module takes seconds."""


def available_memory() -> int | None:
    """Return the bytes that this process may still take, or None where that is not told."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        found.append(int(limit) - int(used))
    except (OSError, ValueError):
        pass
    return max(min(found), 1 << 28) if found else None


class ProcessPool:
    """Processes of this machine.

    Parameters
    ----------
    problem : Problem
        Put into a file once, from which every process reads it.
    settings : Settings
        For the folds.
    n_jobs : int
        Number of processes.
    """

    def __init__(self, problem: Problem, settings: Settings, n_jobs: int) -> None:
        self.settings, self.n_jobs = settings, n_jobs
        self._folder = tempfile.TemporaryDirectory(prefix="octavo-compare-")
        self._source = os.path.join(self._folder.name, "problem.joblib")
        joblib.dump(problem, self._source)
        self.start_seconds = 0.0  # that processes took to begin
        self._executor: Any = None
        self._first: Any = None
        self._running: dict[Any, Job] = {}
        self._suspects: list[Job] = []
        self._alone = False

    @property
    def busy(self) -> bool:
        """Whether anything is on its way."""
        return bool(self._running or self._suspects)

    @property
    def starting(self) -> bool:
        """Whether the processes are still on their way, so that no job can have begun."""
        return self._first is not None and not self._first.done()

    def has_room(self) -> bool:
        """Whether a job would begin at once."""
        return not self._suspects and not self._alone and len(self._running) < self.n_jobs

    def submit(self, job: Job) -> None:
        """Begin a job."""
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                1 if self._alone else self.n_jobs,
                env=THREADS,
                initializer=_ignore_interrupts,
                initargs=(os.getpid(),),
                timeout=300,
            )
            self._first, begin = self._executor.submit(_nothing), time.monotonic()
            self._first.add_done_callback(lambda _: self._started(time.monotonic() - begin))
        future = self._executor.submit(
            run_fold, self._source, job.candidate, job.fold, self.settings
        )
        self._running[future] = job

    def _started(self, seconds: float) -> None:
        self.start_seconds = seconds

    def wait(self, timeout: float) -> Done:
        """Return what has finished, after at most some seconds."""
        if self._suspects and not self._running:
            self._kill()
            self._alone = True
            self.submit(self._suspects.pop(0))
        done, _ = concurrent.futures.wait(
            list(self._running), timeout, return_when=concurrent.futures.FIRST_COMPLETED
        )
        finished: Done = []
        for future in done:
            job = self._running.pop(future, None)
            if job is None:
                continue
            try:
                finished.append((job, future.result()))
            except (BrokenProcessPool, concurrent.futures.CancelledError):
                finished += self._broken(job)
            except Exception as error:  # what cannot be sent to a process or back
                finished.append((job, failed(job, f"{type(error).__name__}: {error}")))
        if self._alone and not self._suspects and not self._running:
            self._kill()
            self._alone = False
        return finished

    def _broken(self, job: Job) -> Done:
        was_alone = self._alone
        others = list(self._running.values())
        self._running.clear()
        self._kill()
        if was_alone or not others:
            self._suspects += others
            return [(job, failed(job, DIED))]
        self._suspects += [job, *others]
        return []

    def _kill(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = self._first = None

    def stop(self) -> None:
        """End everything that is on its way."""
        self._running.clear()
        self._suspects.clear()
        self._alone = False
        self._kill()

    def close(self) -> None:
        """Let the processes go."""
        self.stop()
        self._folder.cleanup()


class JoblibPool:
    """Whatever backend the user chose with `joblib.parallel_config`: a round of jobs at a time."""

    def __init__(self, problem: Problem, settings: Settings, n_jobs: int) -> None:
        self.problem, self.settings, self.n_jobs = problem, settings, n_jobs
        self._waiting: list[Job] = []

    @property
    def busy(self) -> bool:
        """Whether anything is on its way."""
        return bool(self._waiting)

    def has_room(self) -> bool:
        """Whether a job would begin at once."""
        return len(self._waiting) < self.n_jobs

    def submit(self, job: Job) -> None:
        """Take a job for the next round."""
        self._waiting.append(job)

    def wait(self, timeout: float) -> Done:
        """Run a round; it ends when its last job does, whatever the timeout."""
        jobs, self._waiting = self._waiting, []
        work = [
            joblib.delayed(run_fold)(self.problem, job.candidate, job.fold, self.settings)
            for job in jobs
        ]
        outcomes = joblib.Parallel(n_jobs=self.n_jobs)(work)
        return list(zip(jobs, outcomes))

    def stop(self) -> None:
        """Forget the next round."""
        self._waiting.clear()

    close = stop


class DaskPool:
    """The workers of a Dask cluster.

    Parameters
    ----------
    problem : Problem
        Sent to every worker once.
    settings : Settings
        For the folds.
    client : distributed.Client
        Of the cluster; it stays open.
    """

    def __init__(self, problem: Problem, settings: Settings, client: Any) -> None:
        self.client, self.settings = client, settings
        self._source = client.scatter(problem, broadcast=True, hash=False)
        self._running: dict[Any, Job] = {}

    @property
    def n_jobs(self) -> int:
        """Threads of all workers, as of now."""
        return max(1, sum(self.client.nthreads().values()))

    @property
    def busy(self) -> bool:
        """Whether anything is on its way."""
        return bool(self._running)

    def has_room(self) -> bool:
        """Whether a job would begin at once."""
        return len(self._running) < self.n_jobs

    def submit(self, job: Job) -> None:
        """Send a job to a worker."""
        future = self.client.submit(
            run_fold, self._source, job.candidate, job.fold, self.settings, pure=False, retries=0
        )
        self._running[future] = job

    def wait(self, timeout: float) -> Done:
        """Return what has finished, after at most some seconds."""
        from distributed import wait

        try:
            done = wait(list(self._running), timeout=timeout, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        finished: Done = []
        for future in done:
            job = self._running.pop(future)
            error = future.exception()
            outcome = (
                future.result()
                if error is None
                else failed(job, f"{DIED} ({type(error).__name__})")
            )
            finished.append((job, outcome))
        return finished

    def stop(self) -> None:
        """Cancel everything that is on its way."""
        self.client.cancel(list(self._running), force=True)
        self._running.clear()

    close = stop


def pool_for(problem: Problem, settings: Settings, n_jobs: int | None, client: Any) -> Any:
    """Return the pool that a user's choices stand for.

    Parameters
    ----------
    problem : Problem
        What is worked on.
    settings : Settings
        For the folds.
    n_jobs : int or None
        Processes; -1 for all processors, None for joblib's own setting or one.
    client : distributed.Client, str or None
        A Dask client or the address of a scheduler.

    Returns
    -------
    pool : ProcessPool, JoblibPool or DaskPool
        To be closed by the caller.
    """
    if client is not None:
        if isinstance(client, str):
            try:
                from distributed import Client
            except ImportError as error:
                raise InputError("--dask needs Dask: pip install 'octavo[scale]'.") from error
            try:
                client = Client(client, timeout=DASK_SECONDS)
            except (OSError, ValueError) as error:
                raise InputError(
                    f"No Dask scheduler answers at {client}; check the address."
                ) from error
        # A limit holds for a whole process: where threads share one, there is none.
        return DaskPool(problem, replace(settings, memory=None), client)
    from joblib.parallel import get_active_backend

    backend, configured = get_active_backend()
    if n_jobs is None:
        n_jobs = configured or 1
    n_jobs = joblib.effective_n_jobs(n_jobs) if n_jobs != 0 else 1
    if type(backend).__name__ != "LokyBackend":
        return JoblibPool(problem, replace(settings, memory=None), n_jobs)
    memory = available_memory() if settings.memory is None else settings.memory
    share = None if memory is None else int(0.9 * memory / n_jobs)
    return ProcessPool(problem, replace(settings, memory=share), n_jobs)
