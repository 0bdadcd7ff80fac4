"""Map/reduce over the workers of a Dask cluster.

Shards stay pinned to workers: a path is opened there, an array is sent once. The results of a
phase meet in a tree of tasks that Dask runs where the data lie; vectors that go out pass from
worker to worker the same way. Nothing here speaks to a socket.

A worker that dies takes its sites with it. Their shards are opened on workers that live, what
they remembered is rebuilt, and the phase goes on; a shard that is lost again and again is named
in an error, as is one that does not answer in time.
"""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from octavo.engine.distributed.map_reduce import (
    Combine,
    Communicator,
    Report,
    Restore,
    ShardError,
    Site,
    add,
    arrived,
    combine_reports,
    fold,
    nbytes,
    tree_rounds,
    work_at,
)
from octavo.engine.distributed.shards import ArrayShard, Block, Shard
from octavo.engine.distributed.timing import FitTiming

if TYPE_CHECKING:
    from distributed import Client, Future

    Leaves = dict[tuple[int, ...], Future]  # what is asked of workers, by ranks

Parts = dict[tuple[int, int], Report]  # pieces of the reduction tree, as `fold` has them

_INLINE = 1 << 16  # bytes of arguments that travel with a task; larger ones go by `_Payload`
_POLL = 0.25  # seconds between looks at whether the workers are alive
_PATIENCE = 10.0  # seconds that a scheduler may be silent
# By worker as well: several workers may share a process.
_SITES: dict[tuple[str, str, int], tuple[Site, threading.Lock]] = {}
_SITES_LOCK = threading.Lock()


# --- what runs on a worker -----------------------------------------------------------------------


def _at_worker(
    pool: str,
    n: int,
    shards: dict[int, Shard | None],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    restore: Any,
    combine: Combine,
) -> Parts:
    """Work on some ranks and combine what can be combined of them."""
    from distributed import get_worker

    node = get_worker().address
    reports = {}
    for rank, shard in shards.items():
        with _SITES_LOCK:
            if shard is not None and (pool, node, rank) not in _SITES:
                _SITES[pool, node, rank] = Site(shard, rank), threading.Lock()
            known = _SITES.get((pool, node, rank))
        if known is None:
            reports[rank, 1] = Report(None, (), 0, node, (rank,))
            continue
        site, lock = known
        with lock:  # an earlier attempt at the same shard may still be running
            rebuild = restore if shard is not None else None
            reports[rank, 1] = work_at(site, node, function, args, rebuild)
    return fold(reports, n, lambda a, b: combine_reports(a, b, combine))


def _merge(a: Parts, b: Parts, n: int, combine: Combine) -> Parts:
    """Bring two parts of the tree together."""
    from distributed import get_worker

    node = get_worker().address
    both = {key: arrived(report, node) for key, report in {**a, **b}.items()}
    return fold(both, n, lambda left, right: combine_reports(left, right, combine))


def _forget(pool: str) -> None:
    with _SITES_LOCK:
        for key in [key for key in _SITES if key[0] == pool]:
            del _SITES[key]


def _count_paused(dask_scheduler: Any) -> tuple[int, int]:
    """Count workers that are paused, and all of them; runs at the scheduler."""
    states = [worker.status.name for worker in dask_scheduler.workers.values()]
    return states.count("paused"), len(states)


def _array_shard(X: Any, y: Any, weight: Any, name: str) -> ArrayShard:
    return ArrayShard.of(X, np.asarray(y), weight, name)


def _same(value: Any) -> Any:
    return value


class _WorkerGone(OSError):
    """The worker that a shard was to be sent to is not there any more."""


class _Payload:
    """Arguments on their way to workers: small ones with the task, large ones from hand to hand.

    Each worker takes them over from one of those before it, so that they spread as a binary tree.
    The first task carries the data themselves and can be repeated wherever it ran.
    """

    def __init__(self, client: Any, value: Any) -> None:
        self._client, self._value = client, value
        self._inline = value is None or nbytes(value) <= _INLINE
        self._relays: dict[str, Future] = {}

    def at(self, address: str) -> Any:
        """Return what a task at a worker is given: the value, or a future that lies there."""
        if self._inline:
            return self._value
        if not self._relays:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that a task is large: once a phase
                self._first = self._client.submit(_same, self._value, pure=False)
        if address not in self._relays:
            before = list(self._relays.values())
            source = before[(len(before) - 1) // 2] if before else self._first
            self._relays[address] = self._client.submit(
                _same, source, workers=[address], pure=False
            )
        return self._relays[address]

    def arrived_at(self, address: str) -> bool:
        """Whether a worker has them; true for small ones."""
        return address not in self._relays or self._relays[address].status == "finished"


class _Task(NamedTuple):
    """What is asked of the sites in a phase."""

    function: Callable[..., Any]
    args: _Payload
    restore: _Payload
    combine: Combine
    name: str

    def arrived_at(self, address: str) -> bool:
        """Whether a worker has all it needs."""
        return self.args.arrived_at(address) and self.restore.arrived_at(address)


class DaskShard(Shard):
    """One chunk of a dask array with its targets; computed where it is needed."""

    def __init__(self, X: Any, y: Any, weight: Any, n_features: int, name: str) -> None:
        from dask import delayed

        self.task = delayed(_array_shard)(X, y, weight, name)
        self.n_features, self.name, self.n_rows = n_features, name, None

    def blocks(self) -> Iterator[Block]:
        """Compute the chunk in this process, anew in every pass."""
        yield from self.task.compute(scheduler="synchronous").blocks()


def dask_shards(X: Any, y: Any, weight: Any = None) -> list[Shard]:
    """Return one shard a row chunk of a dask array."""
    import dask.array as da

    if X.ndim != 2:
        raise ValueError(f"X must be a table, got a dask array of {X.ndim} dimensions.")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    chunks = X.chunks[0]
    if any(np.isnan(size) for size in chunks):
        raise ValueError("The chunks of X have unknown sizes: call compute_chunk_sizes() first.")
    columns: list[list[Any]] = []
    for values in (y, weight):
        if values is None:
            columns.append([None] * len(chunks))
            continue
        if values.shape[0] != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, y or sample_weight {values.shape[0]}.")
        column = values if hasattr(values, "dask") else da.from_array(np.asarray(values))
        columns.append(list(column.rechunk((chunks,)).to_delayed().ravel()))
    rows = X.to_delayed().ravel()
    return [
        DaskShard(part, own_y, own_weight, X.shape[1], f"chunk {k}")
        for k, (part, own_y, own_weight) in enumerate(zip(rows, *columns))
    ]


# --- the communicator ----------------------------------------------------------------------------


class DaskCommunicator(Communicator):
    """Shards on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or the address of a scheduler. By default a cluster of processes on this
        machine lives for the length of each fit.
    n_workers : int, optional
        Processes of that cluster; one a shard by default, up to the number of processors.
    copies : int, default=1
        How many workers may race for a shard in the first pass: idle ones start copies of the
        shards that are still running. The first to finish keeps the shard, so that slow machines
        drop out before the synchronous phases.
    timeout : float, default=600
        Seconds after which a phase is given up and the shards that did not answer are named.
    retries : int, default=3
        How often a shard may lose its worker in one phase.

    Examples
    --------
    >>> from octavo.linear import DaskCommunicator, HybridLinearClassifier
    >>> comm = DaskCommunicator("tcp://scheduler:8786", copies=2, timeout=3600)
    >>> HybridLinearClassifier(n_shards=100, comm=comm).comm.timeout
    3600
    """

    def __init__(
        self,
        client: Client | str | None = None,
        *,
        n_workers: int | None = None,
        copies: int = 1,
        timeout: float = 600.0,
        retries: int = 3,
    ) -> None:
        super().__init__()
        self.client, self.n_workers, self.copies = client, n_workers, copies
        self.timeout, self.retries = timeout, retries
        self._owned: list[Any] = []
        self._client: Client | None = None
        self._shards: list[Shard] = []
        self._threads: dict[str, int] = {}  # of the workers, when they were last looked for
        self._silent = False  # whether the scheduler did not answer then

    def __deepcopy__(self, memo: dict[int, Any]) -> DaskCommunicator:
        return type(self)(
            self.client,
            n_workers=self.n_workers,
            copies=self.copies,
            timeout=self.timeout,
            retries=self.retries,
        )

    def __reduce__(self) -> Any:
        client: Any = self.client
        address = client if client is None or isinstance(client, str) else client.scheduler.address
        state = {k: getattr(self, k) for k in ("n_workers", "copies", "timeout", "retries")}
        return _rebuild, (address, state)

    # --- workers ---

    def _connect(self, n_shards: int) -> Client:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise ImportError(
                "comm needs the package dask[distributed]: pip install 'octavo[scale]'."
            ) from error
        if self.client is None:
            import os

            cluster = LocalCluster(
                n_workers=self.n_workers or min(n_shards, os.cpu_count() or 1),
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
            )
            client = Client(cluster, set_as_default=False)
            self._owned = [client, cluster]
            return client
        if isinstance(self.client, str):
            client = Client(self.client, set_as_default=False, timeout=min(self.timeout, 30))
            self._owned = [client]
            return client
        return self.client

    def _alive(self) -> list[str]:
        """Return the workers that the scheduler knows; raise soon if it does not answer."""
        assert self._client is not None
        client, self._silent = self._client, False
        scheduler: Any = client.scheduler
        patience = min(self.timeout, _PATIENCE)
        deadline = time.monotonic() + patience
        while client.status != "running" and time.monotonic() < deadline:
            time.sleep(_POLL)  # the client tries to connect again by itself
        try:
            if client.status != "running":
                raise TimeoutError
            self._threads = client.sync(scheduler.ncores, callback_timeout=patience)
        except (TimeoutError, OSError) as error:
            self._silent = True
            raise ShardError(
                f"The scheduler at {scheduler.address} has not answered for "
                f"{patience:g} s: it has ended, or cannot be reached."
            ) from error
        return sorted(self._threads)

    def _wait_for_workers(self) -> list[str]:
        """Return the workers; wait a while for the first one."""
        deadline = time.monotonic() + min(self.timeout, 60)
        while not (alive := self._alive()):
            if time.monotonic() > deadline:
                raise ShardError(
                    f"The cluster has no worker left for {self._names(range(len(self._shards)))}. "
                    "Workers that end as soon as they start often have a memory limit below what "
                    "Python and its packages take, about 300 MB."
                )
            time.sleep(_POLL)
        return alive

    def _names(self, ranks: Sequence[int]) -> str:
        named = [f"shard {rank} ({self._shards[rank].name})" for rank in list(ranks)[:5]]
        return ", ".join(named) + (f" and {len(ranks) - 5} more" if len(ranks) > 5 else "")

    def open(self, shards: Sequence[Shard]) -> None:
        """Take charge of some shards: neighbours in rank go to the same worker."""
        self.close()
        self.timing = FitTiming()
        self._shards = list(shards)
        self._pool, self._phase = uuid.uuid4().hex[:12], 0
        self._client = self._connect(len(shards))
        alive = self._wait_for_workers()
        m = len(shards)
        self._place = [alive[rank * len(alive) // m] for rank in range(m)]
        self._opened = [False] * m

    def _move(self, ranks: Sequence[int]) -> None:
        """Give shards whose worker is gone to the workers that have the fewest."""
        alive = self._wait_for_workers()
        for rank in ranks:
            self._opened[rank] = False
            if self._place[rank] not in alive:
                load = {address: self._place.count(address) for address in alive}
                self._place[rank] = min(alive, key=lambda address: (load[address], address))

    # --- phases ---

    def _opener(self, rank: int, address: str) -> Any:
        """Return the shard as it should travel: by name, or as data placed on the worker."""
        assert self._client is not None
        shard = self._shards[rank]
        if isinstance(shard, DaskShard):
            return self._client.compute(shard.task, workers=[address], allow_other_workers=True)
        if not shard.travels_by_name:
            if address not in self._alive():
                raise _WorkerGone(address)
            try:
                return self._client.scatter(
                    shard, workers=[address], hash=False, timeout=self.timeout
                )
            except KeyError as error:  # what the scheduler says of a worker that just left
                raise _WorkerGone(address) from error
        return shard

    def _submit(self, ranks: Sequence[int], address: str, task: _Task) -> Future:
        assert self._client is not None
        shards = {}
        for rank in ranks:
            there = self._opened[rank] and address == self._place[rank]
            shards[rank] = None if there else self._opener(rank, address)
        fresh = any(shard is not None for shard in shards.values())
        self._phase += 1
        return self._client.submit(
            _at_worker,
            self._pool,
            len(self._shards),
            shards,
            task.function,
            task.args.at(address),
            task.restore.at(address) if fresh else None,
            task.combine,
            key=f"{task.name}-{self._pool}-{self._phase}-{ranks[0]}",
            workers=[address],
        )

    def _groups(self, ranks: Sequence[int]) -> list[tuple[list[int], str]]:
        """Return runs of ranks that one thread of a worker shall work on, one after the other."""
        groups = []
        for address in dict.fromkeys(self._place[rank] for rank in ranks):
            own = [rank for rank in ranks if self._place[rank] == address]
            for part in np.array_split(own, min(len(own), self._threads.get(address, 1))):
                groups.append((part.tolist(), address))
        return groups

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        combine: Combine = add,
        restore: Restore = None,
        phase: str | None = None,
        race: bool = False,
    ) -> Any:
        """Call ``function(site, *args)`` at every site and return the combination.

        With ``race`` and several `copies`, each shard is worked on by several workers and stays
        with the first to finish.
        """
        start = time.perf_counter()
        name, sent = phase or function.__name__, nbytes(args)
        everyone = range(len(self._shards))
        failures = dict.fromkeys(everyone, 0)
        leaves: Leaves = {}
        waiting = list(everyone)
        deadline = time.monotonic() + self.timeout
        while True:
            report: Report | None = None
            cause: BaseException | None = None
            args_out, restore_out = (_Payload(self._client, value) for value in (args, restore))
            task = _Task(function, args_out, restore_out, combine, name)
            try:
                leaves.update(self._ask(waiting, task, deadline, race and self.copies > 1))
            except OSError as error:  # a worker died while data were sent to it
                cause = error
            else:
                report, cause = self._await(leaves, combine, deadline, name)
            if report is not None and not report.lost:
                break
            lost = set(report.lost if report is not None else self._gone(leaves))
            waiting = self._to_repeat(leaves, lost, task)
            self._blame(lost or set(waiting), failures, cause)
            self._move(sorted(lost or waiting))
        for rank in everyone:
            self._opened[rank] = True
        moved = report.moved + sent * len(set(self._place)) + nbytes(report.value)
        self._record(name, start, report._replace(moved=moved), sent)
        return report.value

    def _ask(self, ranks: list[int], task: _Task, deadline: float, race: bool) -> Leaves:
        """Set workers to work on some ranks."""
        if race:
            return self._race(ranks, task, deadline)
        return {
            tuple(group): self._submit(group, address, task)
            for group, address in self._groups(ranks)
        }

    def _to_repeat(self, leaves: Leaves, lost: set[int], task: _Task) -> list[int]:
        """Drop what will not come, and return its ranks.

        That is every group with a lost rank, and those whose arguments were to pass through a
        worker that died. When nothing is known to be lost, it was lost on the way: all of it.
        """
        broken = [
            group
            for group, future in leaves.items()
            if not lost
            or lost & set(group)
            or (future.status != "finished" and not task.arrived_at(self._place[group[0]]))
        ]
        for group in broken:
            del leaves[group]
        kept = {rank for group in leaves for rank in group}
        return [rank for rank in range(len(self._shards)) if rank not in kept]

    def _await(
        self, leaves: Leaves, combine: Combine, deadline: float, name: str
    ) -> tuple[Report | None, BaseException | None]:
        """Return the report of the tree's root, or None if workers were lost, and why."""
        root = self._tree(leaves, combine)
        while not self._settled([root]):
            if self._gone(leaves):
                return None, None
            if time.monotonic() > deadline:
                late = [rank for ranks, own in leaves.items() if not own.done() for rank in ranks]
                raise TimeoutError(
                    f"phase {name}: no answer within {self.timeout:g} s from "
                    f"{self._names(sorted(late) or range(len(self._shards)))}{self._paused()}"
                )
        if root.status == "finished":
            try:
                ((_, report),) = root.result(timeout=max(1.0, self.timeout)).items()
                return report, None
            except Exception as error:  # the worker that held it died meanwhile
                return None, error
        cause = root.exception() if root.status == "error" else None
        if cause is not None and not _is_loss(cause):
            raise cause
        return None, cause

    def _paused(self) -> str:
        """Say how many workers have stopped taking tasks for want of memory."""
        assert self._client is not None
        paused, total = self._client.run_on_scheduler(_count_paused)
        told = f"; {paused} of {total} workers are paused, being near their memory limit"
        return told if paused else ""

    def _tree(self, leaves: Leaves, combine: Combine) -> Future:
        """Merge the parts of neighbours until one is left."""
        assert self._client is not None
        nodes = [leaves[ranks] for ranks in sorted(leaves)]
        for pairs in tree_rounds(len(nodes)):
            for a, b in pairs:
                nodes[a] = self._client.submit(
                    _merge, nodes[a], nodes[b], len(self._shards), combine, pure=False
                )
        return nodes[0]

    def _settled(self, futures: list[Future]) -> bool:
        """Wait a little; return whether one of the futures has ended, well or badly."""
        from distributed import TimeoutError as DaskTimeoutError
        from distributed import wait

        assert self._client is not None
        try:
            with self._client.as_current():
                wait(futures, timeout=_POLL, return_when="FIRST_COMPLETED")
        except (TimeoutError, DaskTimeoutError):
            return False
        except Exception as error:
            if not _is_loss(error):
                raise
        return True

    def _gone(self, leaves: Leaves) -> list[int]:
        """Return the ranks without a result whose worker is no longer there."""
        alive = set(self._alive())
        return [
            rank
            for ranks, future in leaves.items()
            if future.status != "finished"
            for rank in ranks
            if self._place[rank] not in alive
        ]

    def _blame(
        self, ranks: set[int], failures: dict[int, int], cause: BaseException | None
    ) -> None:
        """Count the losses; give up on shards that are lost too often."""
        for rank in ranks:
            failures[rank] += 1
        worst = [rank for rank, count in failures.items() if count > self.retries]
        if worst:
            raise ShardError(
                f"{self._names(worst)} lost {'its' if len(worst) == 1 else 'their'} worker "
                f"{self.retries + 1} times in one phase (killed, or out of memory)."
            ) from cause

    def _race(self, ranks: Sequence[int], task: _Task, deadline: float) -> Leaves:
        """Start each shard's pass, and copies of those still running where workers are idle.

        Returns the first of each shard to finish; the shard stays where that was.
        """
        assert self._client is not None
        alive = self._alive()
        runners = {self._submit([k], self._place[k], task): (k, self._place[k]) for k in ranks}
        first: dict[int, Future] = {}
        while len(first) < len(ranks):
            running = [future for future, (rank, _) in runners.items() if rank not in first]
            for rank, address in self._backups(ranks, runners, first, alive):
                copy = self._submit([rank], address, task)
                runners[copy] = rank, address
                running.append(copy)
            if not self._settled(running) and (
                set(self._alive()) != set(alive) or time.monotonic() > deadline
            ):
                break
            for future in running:
                rank, address = runners[future]
                if rank not in first and future.status == "finished":
                    first[rank], self._place[rank] = future, address
                    self._opened[rank] = True
                elif rank not in first and future.status in ("error", "cancelled"):
                    first[rank] = future  # the tree raises its error
        losers = [future for future, (rank, _) in runners.items() if first.get(rank) != future]
        self._client.cancel([future for future in losers if runners[future][0] in first])
        for future, (rank, _) in runners.items():  # undecided when the race was broken off
            first.setdefault(rank, future)
        return {(rank,): future for rank, future in first.items()}

    def _backups(
        self,
        ranks: Sequence[int],
        runners: dict[Future, tuple[int, str]],
        first: dict[int, Future],
        alive: list[str],
    ) -> Iterator[tuple[int, str]]:
        """Yield shards that are still running, each with an idle worker for one more copy."""
        at_work = {address for future, (_, address) in runners.items() if not future.done()}
        idle = [address for address in alive if address not in at_work]
        idle.sort(key=self._place.count)  # those with the fewest shards first
        for rank in (rank for rank in ranks if rank not in first):
            tried = {address for own, address in runners.values() if own == rank}
            free = [address for address in idle if address not in tried]
            if free and len(tried) < self.copies:
                idle.remove(free[0])
                yield rank, free[0]

    def close(self) -> None:
        """Let the shards go; a cluster or a client that was made here is closed."""
        client, self._client = self._client, None
        self._shards = []
        if client is None:
            return
        if not self._owned or len(self._owned) == 1:
            from distributed import fire_and_forget

            for address in self._threads if client.status == "running" and not self._silent else ():
                fire_and_forget(client.submit(_forget, self._pool, workers=[address], pure=False))
        for owned in self._owned:
            owned.close(timeout=10)
        self._owned = []


def _rebuild(address: str | None, state: dict[str, Any]) -> DaskCommunicator:
    return DaskCommunicator(address, **state)


def _is_loss(error: BaseException) -> bool:
    """Tell errors of a dying worker from errors of the computation."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FuturesCancelledError
    from distributed.comm import CommClosedError

    losses = (CancelledError, CommClosedError, FuturesCancelledError, KilledWorker)
    return isinstance(error, losses)
