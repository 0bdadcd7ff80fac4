"""Map/reduce over MPI ranks, by way of an ``mpi4py`` communicator.

Every process runs the same program and hands ``fit`` the shards that it holds itself. The sum
goes to the first rank and back out from it, so that all processes hold the same bits and take
the same decisions. An error at one rank is raised at all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from octavo.engine.distributed.map_reduce import (
    Combine,
    Communicator,
    Report,
    Restore,
    ShardError,
    Site,
    add,
    combine_reports,
    nbytes,
    tree_reduce,
    work_at,
)
from octavo.engine.distributed.shards import Shard
from octavo.engine.distributed.timing import FitTiming


class MPICommunicator(Communicator):
    """Shards on the processes of an MPI job.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Usually ``MPI.COMM_WORLD``.

    Examples
    --------
    >>> from octavo.linear import MPICommunicator
    >>> MPICommunicator.__name__  # needs mpi4py: mpiexec -n 8 python -m mpi4py train.py
    'MPICommunicator'
    """

    def __init__(self, comm: Any) -> None:
        super().__init__()
        self.comm = comm
        self._sites: list[Site] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> MPICommunicator:
        return type(self)(self.comm)

    def open(self, shards: Sequence[Shard]) -> None:
        """Take charge of the shards of this process; ranks count through all processes."""
        self.timing = FitTiming()
        counts = self.comm.allgather(len(shards))
        first = sum(counts[: self.comm.Get_rank()])
        self._sites = [Site(shard, first + k) for k, shard in enumerate(shards)]
        if not sum(counts):
            raise ValueError("No process holds a shard.")

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        combine: Combine = add,
        restore: Restore = None,
        phase: str | None = None,
        race: bool = False,
    ) -> Any:
        """Call ``function(site, *args)`` at every site and return the combination."""
        start = time.perf_counter()
        node = f"rank {self.comm.Get_rank()}"
        report, error = None, None
        try:
            own = [self._work(site, node, function, args, restore) for site in self._sites]
            if own:
                report = tree_reduce(own, lambda a, b: combine_reports(a, b, combine))
        except Exception as caught:
            error = caught
        # Before anyone waits in a reduction, everyone learns whether all can take part.
        for failure in self.comm.allgather(error):
            if failure is not None:
                raise failure
        root = self._reduce(report, combine)
        self._record(phase or function.__name__, start, root, nbytes(args))
        return root.value

    @staticmethod
    def _work(site: Site, node: str, function: Any, args: Any, restore: Any) -> Report:
        report = work_at(site, node, function, args, None)
        if report.lost and restore is not None:
            report = work_at(site, node, function, args, restore)
        if report.lost:
            raise ShardError(f"{site.name} does not hold what {function.__name__} needs.")
        return report

    def _reduce(self, report: Report | None, combine: Combine) -> Report:
        """Reduce at the first process, then send its result to all."""
        spans = tuple(s for own in self.comm.allgather(report.spans if report else ()) for s in own)
        empty = self.comm.allgather(report is None)
        if combine is add and not any(empty) and report is not None:
            value = self._sum(report.value)
        else:
            values = self.comm.gather(None if report is None else report.value)
            value = None
            if self.comm.Get_rank() == 0:
                value = tree_reduce([v for v, none in zip(values, empty) if not none], combine)
            value = self.comm.bcast(value)
        moved = 2 * nbytes(value) * (self.comm.Get_size() - 1)
        return Report(value, spans, moved)

    def _sum(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._sum(part) for part in value)
        array = np.ascontiguousarray(value, dtype=float)
        total = np.empty_like(array)
        self.comm.Reduce(array, total)
        self.comm.Bcast(total)
        return total if isinstance(value, np.ndarray) else type(value)(total.item())

    def close(self) -> None:
        """Let the shards go."""
        self._sites = []
