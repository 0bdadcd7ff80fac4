"""Map a function over shards and reduce the results along a tree.

A communicator keeps a `Site` for every shard, wherever the shard lives: a thread of this
process, a Dask worker, an MPI rank. ``run(function, *args)`` calls ``function(site, *args)`` at
all of them and combines the returned values pairwise, always in the order of the ranks: the sum
depends on the shards alone, not on how many threads or workers there are or which is first.

A site remembers (``site.memory``) what a later phase can use. Memory is a cache: a function that
misses something raises `MemoryLost`, and is called again after ``restore`` has rebuilt it.
"""

from __future__ import annotations

import copy
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.distributed.shards import Shard
from octavo.engine.distributed.timing import FitTiming, Span, phase_timing
from octavo.engine.estimators.checked import checked

Combine = Callable[[Any, Any], Any]
Restore = tuple[Callable[..., Any], tuple[Any, ...]] | None


class MemoryLost(Exception):
    """Raised at a site that does not remember what a phase needs."""


class ShardError(RuntimeError):
    """A shard could not be processed; the message names it."""


class Site:
    """A shard where it lives, with what the phases remember there."""

    def __init__(self, shard: Shard, rank: int) -> None:
        self.shard, self.rank = shard, rank
        self.memory: dict[str, Any] = {}
        self.work = 0  # nonzeros read since it was last asked

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"shard {self.rank} ({self.shard.name})"


class Report(NamedTuple):
    """What a site, or a part of the tree, sends up.

    ``lost`` holds the ranks whose memory was missing; then there is no value.
    """

    value: Any
    spans: tuple[Span, ...]
    moved: int = 0
    node: str = ""
    lost: tuple[int, ...] = ()


# --- values --------------------------------------------------------------------------------------


def nbytes(value: Any) -> int:
    """Return the size of arrays and numbers in nested tuples and lists."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (tuple, list)):
        return sum(nbytes(part) for part in value)
    return 8


def add(a: Any, b: Any) -> Any:
    """Add numbers, arrays, and tuples of them."""
    if isinstance(a, tuple):
        return tuple(add(x, y) for x, y in zip(a, b))
    return a + b


def largest(a: Any, b: Any) -> Any:
    """Return the elementwise larger of numbers, arrays, and tuples of them."""
    if isinstance(a, tuple):
        return tuple(largest(x, y) for x, y in zip(a, b))
    return np.maximum(a, b)


def join(a: list[Any], b: list[Any]) -> list[Any]:
    """Append lists, which keeps results in the order of the ranks."""
    return a + b


def check_finite(value: Any, name: str) -> None:
    """Refuse a value that would poison the sum."""
    if isinstance(value, (tuple, list)):
        for part in value:
            check_finite(part, name)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        if not math.isfinite(float(value.sum())) and not np.isfinite(value).all():
            count = int((~np.isfinite(value)).sum())
            raise FloatingPointError(_not_finite(name, f"{count} of {value.size} entries"))
    elif isinstance(value, float) and not math.isfinite(value):
        raise FloatingPointError(_not_finite(name, str(value)))


def _not_finite(name: str, what: str) -> str:
    return (
        f"{name} returned a result that is not finite: {what}. Its data hold NaN or infinite "
        "values, or values so large that sums overflow."
    )


# --- the tree ------------------------------------------------------------------------------------


def tree_rounds(n: int) -> list[list[tuple[int, int]]]:
    """Return the rounds of a binary tree over n ranks: in each, (a, b) means a takes in b."""
    rounds, stride = [], 1
    while stride < n:
        rounds.append([(a, a + stride) for a in range(0, n - stride, 2 * stride)])
        stride *= 2
    return rounds


def tree_reduce(values: Sequence[Any], combine: Combine) -> Any:
    """Combine values along the tree; the order is that of the ranks."""
    kept = list(values)
    for pairs in tree_rounds(len(kept)):
        for a, b in pairs:
            kept[a] = combine(kept[a], kept[b])
            kept[b] = None
    return kept[0]


def fold(parts: dict[tuple[int, int], Any], n: int, combine: Combine) -> dict[tuple[int, int], Any]:
    """Combine what can be combined of a part of the tree.

    A key (a, size) stands for the ranks from a to a + size - 1 (as far as there are n), so that
    leaves are (rank, 1) and siblings are (a, size) and (a + size, size). Folding parts and then
    their union gives what `tree_reduce` gives, bit for bit.
    """
    kept = dict(parts)
    size = 1
    while size < n:
        for a in sorted(a for a, own in kept if own == size and a % (2 * size) == 0):
            if a + size >= n:  # no sibling: the node rises alone
                kept[a, 2 * size] = kept.pop((a, size))
            elif (a + size, size) in kept:
                left, right = kept.pop((a, size)), kept.pop((a + size, size))
                kept[a, 2 * size] = combine(left, right)
        size *= 2
    return kept


def _rounds_of_parents(parents: Sequence[int]) -> list[tuple[int, int]]:
    """Return the edges of a tree from the leaves up."""
    parents = list(parents)
    n = len(parents)
    if any(not -1 <= parent < n for parent in parents) or parents.count(-1) != 1:
        raise ValueError(f"A tree has one root (parent -1) and parents in 0..{n - 1}: {parents}.")
    depth = [-1] * n
    for node in range(n):
        path = [node]
        while parents[path[-1]] != -1:
            path.append(parents[path[-1]])
            if len(path) > n:
                raise ValueError(f"The parents {parents} form a cycle.")
        depth[node] = len(path)
    order = sorted(range(n), key=lambda node: (-depth[node], node))
    return [(parents[node], node) for node in order if parents[node] != -1]


@checked
def tree_allreduce(
    arrays: Sequence[ArrayLike],
    op: str = "sum",
    *,
    weights: Sequence[ArrayLike] | None = None,
    tree: Sequence[int] | None = None,
) -> list[NDArray[np.float64]]:
    """Give every node the combination of all nodes' arrays, by way of a tree.

    Parameters
    ----------
    arrays : sequence of array-like
        One array a node, all of the same shape.
    op : {"sum", "average", "max", "min", "broadcast"}, default="sum"
        What is done with them; "broadcast" gives every node the array of the first.
    weights : sequence of array-like, optional
        Weights for "average", one number or one array a node. An entry whose weights are all
        zero becomes zero.
    tree : sequence of int, optional
        Each node's parent, -1 for the root; a balanced binary tree by default.

    Returns
    -------
    results : list of ndarray
        What each node ends up with: the same bits everywhere.

    Examples
    --------
    >>> from octavo.linear import tree_allreduce
    >>> [float(total) for total in tree_allreduce([7, 5, 1, 4, 9, 3, 8])]
    [37.0, 37.0, 37.0, 37.0, 37.0, 37.0, 37.0]
    """
    values = [np.asarray(array, dtype=float) for array in arrays]
    if len({value.shape for value in values}) > 1:
        raise ValueError(f"All nodes need one shape, got {[value.shape for value in values]}.")
    if not values:
        return []
    if op == "average":
        given = [1.0] * len(values) if weights is None else weights
        if len(given) != len(values):
            raise ValueError(f"{len(values)} arrays and {len(given)} weights.")
        scale = [np.broadcast_to(np.asarray(w, dtype=float), values[0].shape) for w in given]
        top = tree_allreduce([w * v for w, v in zip(scale, values)], tree=tree)
        bottom = tree_allreduce(scale, tree=tree)
        return [divide(t, b) for t, b in zip(top, bottom)]
    if op == "broadcast":
        return [values[0].copy() for _ in values]
    operations: dict[str, Combine] = {"sum": np.add, "max": np.maximum, "min": np.minimum}
    if op not in operations:
        known = [*operations, "average", "broadcast"]
        raise ValueError(f"op must be one of {known}, got {op!r}.")
    combine = operations[op]
    if tree is None:
        result = tree_reduce(values, combine)
    else:
        if len(tree) != len(values):
            raise ValueError(f"{len(values)} arrays and a tree of {len(tree)} nodes.")
        for parent, child in _rounds_of_parents(tree):
            values[parent] = combine(values[parent], values[child])
        result = values[list(tree).index(-1)]
    return [np.array(result) for _ in values]


def divide(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide, with zero where both are zero."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)


# --- communicators -------------------------------------------------------------------------------


def work_at(site: Site, node: str, function: Callable[..., Any], args: Any, restore: Any) -> Report:
    """Call a function at a site; time it, check it, and name the shard if it fails."""
    start = time.perf_counter()
    site.work = 0
    try:
        if restore is not None:
            restore[0](site, *restore[1])
        value = function(site, *args)
    except MemoryLost:
        return Report(None, (), 0, node, (site.rank,))
    except FloatingPointError as error:
        raise FloatingPointError(f"{site.name}: {error}") from error
    except (ValueError, TypeError, OSError) as error:
        raise type(error)(f"{site.name}: {error}") from error
    check_finite(value, site.name)
    span = Span(site.rank, node, start, time.perf_counter(), site.work)
    return Report(value, (span,), 0, node)


def combine_reports(a: Report, b: Report, combine: Combine) -> Report:
    """Combine two reports that are at the same node."""
    spans, moved = a.spans + b.spans, a.moved + b.moved
    if a.lost or b.lost:
        return Report(None, spans, moved, a.node, a.lost + b.lost)
    return Report(combine(a.value, b.value), spans, moved, a.node)


def arrived(report: Report, node: str) -> Report:
    """Return a report as it is at a node, with the bytes counted that had to come there."""
    if report.node == node:
        return report
    return report._replace(node=node, moved=report.moved + nbytes(report.value))


class Communicator:
    """The interface of all communicators, and the keeper of their measurements.

    Attributes
    ----------
    timing : FitTiming
        Every phase since the shards were opened.
    """

    def __init__(self) -> None:
        self.timing = FitTiming()

    def open(self, shards: Sequence[Shard]) -> None:
        """Take charge of some shards."""
        raise NotImplementedError

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

        Parameters
        ----------
        function : callable
            Importable by name where the sites are.
        *args : object
            The same for all sites.
        combine : callable
            Takes two values in the order of their ranks: `add`, `largest`, `join`.
        restore : (callable, args), optional
            Called as ``callable(site, *args)`` first at sites that lost their memory.
        phase : str, optional
            Name in the timing; the function's by default.
        race : bool
            Copies may be worked on by several nodes; the first to finish keeps the shard.

        Returns
        -------
        value : object
            What the tree's root holds.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let the shards go."""

    def _record(self, name: str, start: float, report: Report, sent: int) -> None:
        wall = time.perf_counter() - start
        vector = max(nbytes(report.value), sent)
        self.timing.phases.append(phase_timing(name, wall, report.spans, report.moved, vector))


class ThreadCommunicator(Communicator):
    """Shards in this process, each worked on by one thread at a time.

    Parameters
    ----------
    n_threads : int, optional
        Threads; by default as many as there are shards, up to the number of processors.

    Examples
    --------
    >>> from octavo.linear import HybridLinearRegressor, ThreadCommunicator
    >>> model = HybridLinearRegressor(alpha=0.0, n_shards=2, comm=ThreadCommunicator(2))
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]).coef_.round(3)
    array([2.])
    """

    def __init__(self, n_threads: int | None = None) -> None:
        super().__init__()
        self.n_threads = n_threads

    def __deepcopy__(self, memo: dict[int, Any]) -> ThreadCommunicator:
        return type(self)(self.n_threads)

    def open(self, shards: Sequence[Shard]) -> None:
        """Take charge of some shards."""
        self.close()
        self.timing = FitTiming()
        self._sites = [Site(shard, rank) for rank, shard in enumerate(shards)]
        n_threads = self.n_threads or min(len(shards), os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(n_threads, "thread") if n_threads > 1 else None

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

        def at(site: Site) -> Report:
            node = threading.current_thread().name
            report = work_at(site, node, function, args, None)
            if report.lost and restore is not None:
                report = work_at(site, node, function, args, restore)
            if report.lost:
                raise ShardError(f"{site.name} does not hold what {function.__name__} needs.")
            return report._replace(node="")  # one memory: nothing moves

        reports = list(
            map(at, self._sites) if self._pool is None else self._pool.map(at, self._sites)
        )
        root = tree_reduce(reports, lambda a, b: combine_reports(a, b, combine))
        self._record(phase or function.__name__, start, root, nbytes(args))
        return root.value

    def close(self) -> None:
        """Let the shards go."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown()
        self._sites, self._pool = [], None

    def __getstate__(self) -> dict[str, Any]:
        return {"n_threads": self.n_threads, "timing": FitTiming(), "_sites": [], "_pool": None}


def communicator_for(comm: Any, n_threads: int | None = None) -> Communicator:
    """Return the communicator that a user's ``comm`` stands for.

    Parameters
    ----------
    comm : None, str, Communicator, distributed.Client or mpi4py.MPI.Comm
        None and "threads" stay in this process; "dask" starts a cluster on this machine; any
        other text is the address of a Dask scheduler.
    n_threads : int, optional
        Threads for the first two.

    Returns
    -------
    communicator : Communicator
        A new one, to be opened and closed by the caller.
    """
    if comm is None or (isinstance(comm, str) and comm == "threads"):
        return ThreadCommunicator(n_threads)
    if isinstance(comm, Communicator):
        return copy.deepcopy(comm)  # the user's own stays as it is
    if isinstance(comm, str) or hasattr(comm, "scheduler"):
        from octavo.engine.distributed.dask_communicator import DaskCommunicator

        return DaskCommunicator(None if isinstance(comm, str) and comm == "dask" else comm)
    if hasattr(comm, "Get_rank"):
        from octavo.engine.distributed.mpi_communicator import MPICommunicator

        return MPICommunicator(comm)
    raise TypeError(
        "comm must be None, 'threads', 'dask', the address of a Dask scheduler, a "
        "distributed.Client, an mpi4py communicator or a communicator of octavo; "
        f"got {comm!r}."
    )
